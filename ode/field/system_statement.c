/* system_statement.c: the statements of a system file, one a line (system_file.c has them all), and what lines say before they are read. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "ode/field/program.h"

/* ---- statements ---------------------------------------------------------------------------------- */

static int read_text(Reader *p, char *out, size_t bytes)
{
    Cursor *c = &p->cursor;
    cursor_blanks(c);
    size_t n = (size_t)(c->end - c->at);
    while (n && isspace((unsigned char)c->at[n - 1])) n--;
    if (n >= bytes) return cursor_error(c, "expected at most %zu bytes", bytes - 1);
    memcpy(out, c->at, n);
    out[n] = '\0';
    c->at = c->end;
    return 0;
}

static int read_name(Reader *p)
{
    char *name = p->formulas->name;
    if (*name) return cursor_error(&p->cursor, "expected one system in a file");
    TRY(read_text(p, name, sizeof p->formulas->name));
    for (const char *s = name; *s; s++)
        if (!isalnum((unsigned char)*s) && !strchr("-_.", *s)) *name = '\0';
    return *name ? 0
                 : cursor_error(&p->cursor, "expected a name of letters, digits, '-', '_', '.'");
}

static int read_count(Reader *p, long most, size_t *out)
{
    long count;
    Cursor before = p->cursor;
    TRY(cursor_integer(&p->cursor, most, &count));
    *out = (size_t)count;
    return count ? 0 : cursor_error(&before, "expected a whole number of at least 1");
}

static int read_size(Reader *p, const char *what, size_t given, long most, size_t *out)
{
    if (p->begun)
        return cursor_error(&p->cursor, "expected '%s' before the first expression", what);
    TRY(read_count(p, most, out));
    if (given) *out = given;
    return 0;
}

/* Reads `memory N`; `memory = ...` is a rule. */
static int read_memory(Reader *p)
{
    p->several = 1;
    if (p->memory) return cursor_error(&p->cursor, "the memory has its %zu particles", p->memory);
    return read_count(p, SIZE_LIMIT, &p->memory);
}

static int read_positive(Reader *p, const char *place, double *out)
{
    Cursor before = p->cursor;
    TRY(formula_constant(p, place, out));
    return *out > 0 && *out <= 1e15 ? 0 : cursor_error(&before, "expected a number in (0, 1e15]");
}

/* Takes the value that an option gives to a parameter. */
static int take_option(Reader *p, Param *a)
{
    size_t n = strlen(a->name);
    double written = a->value;
    for (const char *at = p->options; at && *at; at += strcspn(at, ":")) {
        char *end;
        if (strncmp(++at, a->name, n) != 0 || at[n] != '=') continue;
        a->value = strtod(at + n + 1, &end);
        if (end == at + n + 1 || (*end && *end != ':') || !isfinite(a->value))
            return error_set(ERR_INPUT, "system %s: expected %s=NUMBER, not '%.*s'",
                             p->formulas->name, a->name, (int)strcspn(at, ":"), at);
    }
    p->changed |= a->value != written;
    return 0;
}

/* Keeps the value in hand as a vector's next number. */
static int keep_number(Reader *p, Param *a)
{
    Formulas *f = p->formulas;
    if (f->vectors == VECTORS_MAX)
        return cursor_error(&p->cursor, "expected at most %d numbers in vectors", VECTORS_MAX);
    f->vector[f->vectors++] = a->value;
    a->count++;
    return 0;
}

/* Reads the numbers behind the first of `param m = 1, 2, 3`. */
static int read_vector(Reader *p, Param *a)
{
    a->first = p->formulas->vectors;
    TRY(keep_number(p, a));
    do {
        TRY(formula_constant(p, "a vector", &a->value));
        TRY(keep_number(p, a));
    } while (cursor_take(&p->cursor, ","));
    return 0;
}

static int read_param(Reader *p)
{
    Cursor before = p->cursor;
    Param *a = &p->param[p->params];
    if (p->params == PARAMS_MAX)
        return cursor_error(&before, "expected at most %d parameters", PARAMS_MAX);
    if (!cursor_word(&p->cursor, a->name, sizeof a->name))
        return cursor_error(&before, "expected a name");
    if (formula_reserved(p, a->name)) return cursor_error(&before, "'%s' is taken", a->name);
    TRY(cursor_expect(&p->cursor, "="));
    TRY(formula_constant(p, "a parameter", &a->value));
    p->params++;
    return cursor_take(&p->cursor, ",") ? read_vector(p, a) : take_option(p, a);
}

static int read_interaction(Reader *p, Rule *r, int which)
{
    char word[WORD_MAX] = "";
    Cursor before = p->cursor;
    static const char *const kinds[] = {"", "sum", "mean", "softmax"};
    cursor_word(&p->cursor, word, sizeof word);
    for (int k = OTHERS_SUM; k <= OTHERS_SOFTMAX; k++)
        if (strcmp(word, kinds[k]) == 0) r->kind = k;
    if (r->kind == OTHERS_NONE) {
        r->kind = OTHERS_NEXT;
        if (which == RULE_F && strcmp(word, "own") == 0) return formula_neighbours(p, &r->value);
        if (p->formulas->second ||
            (which == RULE_F && memchr(before.at, '[', (size_t)(before.end - before.at)))) {
            p->cursor = before;
            return formula_neighbours(p, &r->value);
        }
        cursor_blanks(&before);
        return cursor_error(&before,
                            "expected 'sum', 'mean', 'softmax' or 'own', or neighbours: y[i+1]; a "
                            "part that is 0 is not written");
    }
    p->several = 1;
    if (r->kind == OTHERS_SOFTMAX) {
        TRY(formula_read(p, which, &r->score));
        TRY(cursor_expect(&p->cursor, ":"));
    }
    return formula_read(p, which, &r->value);
}

static int read_rule(Reader *p, int which, Rule *r)
{
    TRY(cursor_expect(&p->cursor, "="));
    if (which == RULE_F || which == RULE_C) return read_interaction(p, r, which);
    return formula_read(p, which, &r->value);
}

/* Reads the values behind the first of `initial = 2, 0`, or of `exact`. */
static int read_list(Reader *p, int which)
{
    Rule *rule = p->formulas->rule[which];
    size_t values = 1;
    for (; cursor_take(&p->cursor, ","); values++) {
        Rule next = {.line = p->cursor.line};
        TRY(formula_read(p, which, &next.value));
        if (values < p->d) rule[values] = next;
    }
    int at_rest = which == RULE_INITIAL && values == p->formulas->second;
    if (values == 1 || values == p->d || at_rest) return 0;
    return cursor_error(
        &p->cursor, "expected 1 value of %s, or %zu, one a coordinate%s; there are %zu",
        formula_rules[which], p->d,
        which == RULE_INITIAL && p->n > 1 ? ", or those of all particles" : "", values);
}

/* Returns how many values the list behind the cursor has. */
static size_t count_values(const Cursor *c)
{
    size_t values = 1;
    for (const char *at = c->at; at < c->end; at++) values += *at == ',';
    return values;
}

/* Returns whether `initial = ...` lists the state of all particles, and not of one. */
static int lists_all(const Reader *p, int which)
{
    size_t values = count_values(&p->cursor);
    return which == RULE_INITIAL && p->n > 1 && values == p->n * p->d && values > 1 &&
           values != p->formulas->second;
}

/* Reads `initial = ` and n d numbers: a coordinate's rule is then a vector, with a number for each particle. */
static int read_all(Reader *p)
{
    Formulas *f = p->formulas;
    Cursor before = p->cursor;
    size_t first = (size_t)f->vectors;
    if (first + p->n * p->d > VECTORS_MAX)
        return cursor_error(&before, "expected at most %d numbers in lists", VECTORS_MAX);
    TRY(cursor_expect(&p->cursor, "="));
    f->vectors += (int)(p->n * p->d);
    for (size_t k = 0; k < p->n * p->d; k++) {
        double x;
        if (k) TRY(cursor_expect(&p->cursor, ","));
        TRY(formula_constant(p, "a list of all particles", &x));
        f->vector[first + k % p->d * p->n + k / p->d] = x;
    }
    for (size_t c = 0; c < p->d; c++) {
        const Op op = {.code = GET_VECTOR, .k = (int)(first + c * p->n), .value = GET_INDEX_I};
        if (f->ops == PROGRAM_OPS) return cursor_error(&before, "expected fewer operations");
        f->rule[RULE_INITIAL][c] = (Rule){.value = {f->ops, 1}, .line = before.line};
        TRY(memory_more(&f->op, (size_t)f->ops, sizeof *f->op));
        f->op[f->ops++] = op;
    }
    return 0;
}

/* Reads `F = ...`, the rule of every component, or `F2 = ...`, that of one; y'' is the F of the velocities, and one value
 * of `initial` is that of positions. */
static int read_rules(Reader *p, int which, const char *number)
{
    Rule rule = {.line = p->cursor.line};
    size_t second = p->formulas->second, first = which == RULE_F ? second : 0, end = p->d;
    if (second && which == RULE_INITIAL) end = second;
    if (which == RULE_ENERGY) end = 1;
    if (*number) {
        size_t k = strtoul(number, NULL, 10), most = which == RULE_ENERGY ? 0 : p->d - first;
        if (k < 1 || k > most)
            return most ? cursor_error(&p->cursor, "expected a coordinate of 1 to %zu", most)
                        : cursor_error(&p->cursor, "expected 'energy = ...'");
        first += k - 1;
        end = first + 1;
    }
    for (size_t c = first; c < end; c++)
        if (p->formulas->rule[which][c].line)
            return cursor_error(&p->cursor, "coordinate %zu has its rule in line %zu",
                                c + 1 - (which == RULE_F ? second : 0),
                                p->formulas->rule[which][c].line);
    if (!*number && lists_all(p, which)) return read_all(p);
    TRY(read_rule(p, which, &rule));
    for (size_t c = first; c < end; c++) p->formulas->rule[which][c] = rule;
    return (which == RULE_INITIAL || which == RULE_EXACT) && !*number ? read_list(p, which) : 0;
}

/* Makes the state positions and velocities, of which G is the drift. */
static int begin_second(Reader *p)
{
    Formulas *f = p->formulas;
    if (p->whole)
        return cursor_error(
            &p->cursor,
            "expected y'' alone, not beside y': in first order y'' = f is y1' = y2 and y2' = f");
    for (int k = 0; k < RULES; k++)
        if (formulas_have(f, k, p->d))
            return cursor_error(&p->cursor, "expected y'' before F, G, C, initial and exact");
    if (2 * p->d > SYSTEM_D_MAX)
        return cursor_error(&p->cursor, "expected d of at most %d beside y''", SYSTEM_D_MAX / 2);
    f->second = p->d;
    p->d *= 2;
    Rule drift = {.value = {f->ops, 1}, .line = p->cursor.line};
    TRY(memory_more(&f->op, (size_t)f->ops, sizeof *f->op));
    f->op[f->ops++] = (Op){.code = GET_OWN, .k = VELOCITY};
    for (size_t c = 0; c < f->second; c++) f->rule[RULE_G][c] = drift;
    return 0;
}

/* Reads `y' = ...` or `y1' = ...`, the right side as G. */
static int read_whole(Reader *p, const char *number)
{
    if (p->formulas->second)
        return cursor_error(&p->cursor, "expected y'' alone, not y' beside it");
    p->whole = 1;
    return read_rules(p, RULE_G, number);
}

/* Reads `y'' = ...`, `y1'' = ...`, `y' = ...` or `y1' = ...`, where the word of n bytes at the cursor is its y; *known = 0:
 * it is none of these. */
static int read_primes(Reader *p, const char *word, size_t n, int *known)
{
    Cursor behind = p->cursor;
    behind.at += n;
    *known = *word == 'y' && strspn(word + 1, "0123456789") == n - 1 && n <= 5 &&
             cursor_take(&behind, "'");
    if (!*known) return 0;
    int second = cursor_take(&behind, "'");
    if (second && !p->formulas->second) TRY(begin_second(p));
    p->cursor = behind;
    TRY(second ? read_rules(p, RULE_F, word + 1) : read_whole(p, word + 1));
    return cursor_end(&p->cursor, "an operator or the end of the line");
}

/* Reads the word that begins a line, '-' included. */
static size_t first_word(const Cursor *c, char *out, size_t bytes)
{
    size_t n = 0;
    while (c->at + n < c->end && (isalnum((unsigned char)c->at[n]) || c->at[n] == '-')) n++;
    if (n >= bytes) n = 0;
    memcpy(out, c->at, n);
    out[n] = '\0';
    return n;
}

/* ---- equations whose left side is no single derivative ------------------------------------------- */

/* Returns whether the line begins like dy1'/dy2. */
static int is_partial(const Cursor *c)
{
    char word[WORD_MAX];
    Cursor at = *c;
    return cursor_word(&at, word, sizeof word) && strncmp(word, "dy", 2) == 0 &&
           strspn(word + 2, "0123456789") == strlen(word + 2) && cursor_take(&at, "'") &&
           cursor_take(&at, "/");
}

/* Reads `y1`, or of one coordinate `y`, behind d. */
static int read_coordinate(Reader *p, size_t *out)
{
    char word[WORD_MAX];
    Cursor before = p->cursor;
    if (!cursor_word(&p->cursor, word, sizeof word) || strncmp(word, "dy", 2) != 0) *word = '\0';
    *out = *word && !word[2] && p->d == 1 ? 0 : strtoul(*word ? word + 2 : "0", NULL, 10) - 1;
    if (*out < p->d && strspn(word + 2, "0123456789") == strlen(word + 2)) return 0;
    return cursor_error(&before, "expected dyK'/dyL = ..., K and L of 1 to %zu", p->d);
}

static int read_partial(Reader *p)
{
    Cursor *c = &p->cursor, before = *c;
    Partial new = {.line = c->line};
    int timed = p->timed;
    TRY(read_coordinate(p, &new.of));
    TRY(cursor_expect(c, "'"));
    TRY(cursor_expect(c, "/"));
    TRY(read_coordinate(p, &new.by));
    TRY(cursor_expect(c, "="));
    for (size_t k = 0; k < p->partials; k++)
        if (p->partial[k].of == new.of && p->partial[k].by == new.by)
            return cursor_error(&before, "this entry stands in line %zu", p->partial[k].line);
    TRY(formula_partial(p, &new.value));
    p->timed = timed;
    TRY(memory_add(p->partial, p->partials, new));
    return cursor_end(c, "an operator or the end of the line");
}

/* Returns whether the line is one, and where its '=' is: its left side is 0, or has primes and is no y', y1'. */
static int is_balance(const Cursor *c, const char **equals)
{
    char word[WORD_MAX];
    Cursor left = *c;
    cursor_blanks(&left);
    if (is_partial(&left)) return 0;
    *equals = memchr(left.at, '=', (size_t)(left.end - left.at));
    if (!*equals) return 0;
    left.end = *equals;
    Cursor plain = left;
    if (cursor_take(&plain, "0") && (cursor_blanks(&plain), plain.at == plain.end)) return 1;
    size_t n = first_word(&left, word, sizeof word);
    if (strcmp(word, "title") == 0 || strcmp(word, "source") == 0 ||
        !memchr(left.at, '\'', (size_t)(left.end - left.at)))
        return 0;
    plain = left;
    plain.at += n;
    if (*word != 'y' || strspn(word + 1, "0123456789") != n - 1) return 1;
    while (cursor_take(&plain, "'")) {}
    cursor_blanks(&plain);
    return plain.at < plain.end;
}

/* Reads `3*y2'` or `y2'`, a term of a left side, into the row of M. */
static int read_derivative(Reader *p, double sign, double *row)
{
    Cursor *c = &p->cursor, before = *c;
    char word[WORD_MAX];
    double factor = 1;
    cursor_blanks(c);
    const char *prime = memchr(c->at, '\'', (size_t)(c->end - c->at)), *end = c->end;
    if (!prime) return cursor_error(c, "expected derivatives, as y1', on the left");
    const char *name = prime;
    while (name > c->at && isdigit((unsigned char)name[-1])) name--;
    name -= name > c->at && name[-1] == 'y';
    if (name > c->at) {
        const char *star = name;
        while (star > c->at && star[-1] != '*') star--;
        if (star == c->at) return cursor_error(c, "expected a number, '*' and a derivative");
        c->end = star - 1;
        TRY(formula_constant(p, "a factor of a derivative", &factor));
        TRY(cursor_end(c, "'*'"));
        c->at = star;
        c->end = end;
    }
    size_t number = cursor_word(c, word, sizeof word) ? strtoul(word + 1, NULL, 10) : 0;
    if (*word == 'y' && !word[1] && p->d == 1) number = 1;
    if (*word != 'y' || number < 1 || number > p->d || !cursor_take(c, "'"))
        return cursor_error(&before, "expected derivatives y1' to y%zu' on the left", p->d);
    row[number - 1] += sign * factor;
    return 0;
}

/* Returns the first coordinate that has no equation yet, nor will have one y1' = ...; d where there is none. */
static size_t free_place(const Reader *p)
{
    size_t c = 0;
    while (c < p->d && (p->plain[c] || p->formulas->rule[RULE_G][c].line)) c++;
    return c;
}

static int read_balance(Reader *p)
{
    Cursor *c = &p->cursor;
    Formulas *f = p->formulas;
    size_t at = free_place(p);
    Rule rule = {.line = c->line};
    if (f->second) return cursor_error(c, "expected y'' alone, no other equations beside it");
    if (at == p->d) return cursor_error(c, "expected %zu equations, one a coordinate", p->d);
    for (size_t i = 0; i < p->d && !f->massive; i++) f->mass[i * p->d + i] = 1;
    f->massive = p->whole = 1;
    f->mass[at * p->d + at] = 0;
    Cursor before = *c;
    if (!cursor_take(c, "0") || !cursor_take(c, "="))
        for (*c = before; !cursor_take(c, "=");) {
            double sign = cursor_take(c, "-") ? -1 : 1;
            if (sign > 0) cursor_take(c, "+");
            TRY(read_derivative(p, sign, f->mass + at * p->d));
        }
    TRY(formula_read(p, RULE_G, &rule.value));
    f->rule[RULE_G][at] = rule;
    return cursor_end(c, "an operator or the end of the line");
}

/* ---- a line -------------------------------------------------------------------------------------- */

/* Reads `end = ...`, the numbers of all particles at the end. */
static int read_end(Reader *p)
{
    Formulas *f = p->formulas;
    p->end = (size_t)f->vectors + 1;
    p->end_values = 0;
    do {
        if (f->vectors == VECTORS_MAX)
            return cursor_error(&p->cursor, "expected at most %d numbers in lists", VECTORS_MAX);
        TRY(formula_constant(p, "the end", &f->vector[f->vectors++]));
        p->end_values++;
    } while (cursor_take(&p->cursor, ","));
    return 0;
}

/* Reads what a line says behind its first word; *known = 0: there is no such statement. */
static int read_known(Reader *p, const char *word, int *known)
{
    enum {
        SYSTEM,
        TITLE,
        SOURCE,
        N,
        D,
        PARAM,
        T_END,
        T_WHOLE,
        SMALL,
        END,
        H0,
        MEMORY,
        RING,
        ENDS,
        WORDS
    };
    static const char *const words[WORDS] = {"system", "title",  "source",  "n",     "d",
                                             "param",  "t-end",  "t-whole", "small", "end",
                                             "h0",     "memory", "ring",    "ends"};
    Formulas *f = p->formulas;
    int which = 0;
    Cursor before = p->cursor;
    if (!cursor_take(&p->cursor, "=")) p->cursor = before; /* of a number; else blanks stay */
    while (which < WORDS && strcmp(word, words[which]) != 0) which++;
    *known = which < WORDS;
    switch (which) {
    case SYSTEM: return read_name(p);
    case TITLE: return read_text(p, f->title, sizeof f->title);
    case SOURCE: return read_text(p, f->source, sizeof f->source);
    case N: return read_size(p, "n", p->n_given, SIZE_LIMIT, &p->n);
    case D: return read_size(p, "d", p->d_given, SYSTEM_D_MAX, &p->d);
    case PARAM: return read_param(p);
    case T_END: return read_positive(p, "t-end", &p->t_end);
    case T_WHOLE: return read_positive(p, "t-whole", &p->t_whole);
    case SMALL: return read_positive(p, "small", &p->small);
    case END: return read_end(p);
    case H0: return read_positive(p, "h0", &p->h0);
    case MEMORY: return read_memory(p);
    case RING: f->ring = 1; return 0;
    case ENDS: return formula_constant(p, "ends", &f->ends);
    default: return 0;
    }
}

/* Returns whether '=' follows the word of n bytes at the cursor: then it is a rule, but for numbers of the system. */
static int is_rule(const Cursor *c, const char *word, size_t n)
{
    static const char *const numbers[] = {"n",     "d",   "t-end", "t-whole",
                                          "small", "end", "h0",    "ends"};
    Cursor behind = *c;
    behind.at += n;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(word, numbers[i]) == 0) return 0;
    return cursor_take(&behind, "=");
}

int system_statement(Reader *p)
{
    char word[WORD_MAX];
    Cursor *c = &p->cursor;
    cursor_blanks(c);
    if (c->at == c->end) return 0;
    size_t n = first_word(c, word, sizeof word);
    if (!*p->formulas->name && strcmp(word, "system") != 0)
        return cursor_error(c, "expected 'system NAME'");
    if (*p->formulas->name && is_partial(c)) return read_partial(p);
    const char *equals;
    if (*p->formulas->name && is_balance(c, &equals)) return read_balance(p);
    if (!is_rule(c, word, n)) {
        int known;
        Cursor before = *c;
        c->at += n;
        TRY(read_known(p, word, &known));
        if (known) return cursor_end(c, "the end of the line");
        *c = before;
    }
    int second;
    TRY(read_primes(p, word, n, &second));
    for (int k = 0; k < RULES && !second; k++) {
        size_t length = strlen(formula_rules[k]);
        if (strncmp(word, formula_rules[k], length) != 0) continue;
        if (strspn(word + length, "0123456789") != n - length || n - length > 4) continue;
        if (p->formulas->second && k <= RULE_MEMORY && k != RULE_INITIAL)
            return cursor_error(c, "%s has no meaning beside y''", formula_rules[k]);
        c->at += n;
        TRY(read_rules(p, k, word + length));
        return cursor_end(c, "an operator or the end of the line");
    }
    if (second) return 0;
    return cursor_error(
        c,
        "expected system, title, source, n, d, param, F, G, C, y', y'', dy'/dy, memory, initial, exact, energy, ring, ends, small, t-end or h0");
}

/* ---- sizes ------------------------------------------------------------------------------------- */

/* What lines say before they are read: sizes that follow from others. */
typedef struct {
    int n, d; /* there are such lines */
    size_t coordinates, first,
        values; /* largest number of y1' and y1''; of line d; of a list `initial` */
    int second;
    unsigned char plain[SYSTEM_D_MAX]; /* 1: the coordinate has a y1' = ... */
    int balances;                      /* there are equations of another kind */
    size_t equations,
        used; /* all of them; the largest number on the left of those of another kind */
} Survey;

static void survey_line(const char *at, const char *end, Survey *s)
{
    char word[WORD_MAX];
    Cursor c = {.at = at, .end = end, .begin = at};
    const char *equals;
    if (is_balance(&c, &equals)) {
        s->equations++;
        for (const char *y = c.at; y < equals; y++) { /* y2', not a parameter capacity2 */
            char *behind;
            size_t number = *y == 'y' ? strtoul(y + 1, &behind, 10) : 0;
            if (number > s->used && *behind == '\'') s->used = number;
        }
        s->balances = 1;
        return;
    }
    cursor_blanks(&c);
    size_t n = first_word(&c, word, sizeof word), number = strtoul(word + (n > 0), NULL, 10);
    c.at += n;
    int primes = cursor_take(&c, "'") ? 1 + cursor_take(&c, "'") : 0, is = cursor_take(&c, "=");
    if (strcmp(word, "n") == 0) s->n = 1;
    if (strcmp(word, "d") == 0) s->d = 1, s->first = strtoul(c.at, NULL, 10);
    if (strcmp(word, "initial") == 0 && is) s->values = count_values(&c);
    if (*word != 'y' || !primes || strspn(word + 1, "0123456789") != n - 1) return;
    s->second |= primes == 2;
    s->equations++;
    if (n == 1) memset(s->plain, 1, sizeof s->plain);
    if (number - 1 < SYSTEM_D_MAX) s->plain[number - 1] = 1;
    if (number > s->coordinates) s->coordinates = number;
}

void system_survey(Reader *p, const char *text, size_t bytes)
{
    Survey s = {0};
    const char *end = text + bytes;
    for (const char *at = text; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        const char *hash = memchr(at, '#', (size_t)(stop - at));
        survey_line(at, hash ? hash : stop, &s);
        at = stop + 1;
    }
    memcpy(p->plain, s.plain, sizeof p->plain);
    if (s.balances && s.used > s.coordinates) s.coordinates = s.used;
    if (s.balances && s.equations > s.coordinates) s.coordinates = s.equations;
    if (!p->d_given && !s.d && s.coordinates && s.coordinates <= SYSTEM_D_MAX) p->d = s.coordinates;
    if (p->n_given || s.n || s.values < 2) {
        p->n_found = p->n_given || s.n;
        return;
    }
    size_t d = p->d_given ? p->d : s.d ? s.first : p->d;
    d *= s.second && s.values != d ? 2 : 1;
    p->n = d > 0 && s.values % d == 0 ? s.values / d : 1;
    p->n_found = 1;
}
