/* formula.c: compiles an expression of a system file into a program, by recursive descent.
 *
 *     sum     = [+] product { (+ | -) product }        power  = - power | factor [ ^ [-] factor ]
 *     product = power { (* | /) power }                factor = number | name | function ( sum ) | ( sum )
 *
 * Operations on constants are done at once, so that a parameter costs nothing.
 */
#include "ode/field/program.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"

enum { DEPTH_LIMIT = 64 };

#define BIT(code) (1u << (code))
#define BITS_PAIR                                                                             \
    (BIT(GET_OWN) | BIT(GET_OTHER) | BIT(GET_INDEX_I) | BIT(GET_INDEX_J) | BIT(GET_INDEX_C) | \
     BIT(GET_TIME) | BIT(GET_R2) | BIT(GET_R) | BIT(GET_DOT))
#define BITS_NEXT \
    (BIT(GET_OWN) | BIT(GET_NEXT) | BIT(GET_INDEX_I) | BIT(GET_INDEX_C) | BIT(GET_TIME))
#define BITS_START (BIT(GET_INDEX_I) | BIT(GET_INDEX_C) | BIT(GET_UNIFORM) | BIT(GET_NORMAL))
static const unsigned allowed[RULES] = {
    [RULE_F] = BITS_PAIR,
    [RULE_G] = BITS_NEXT,
    [RULE_C] = BITS_PAIR,
    [RULE_INITIAL] = BITS_START,
    [RULE_MEMORY] = BITS_START,
    [RULE_EXACT] = BIT(GET_INDEX_I) | BIT(GET_INDEX_C) | BIT(GET_TIME),
    [RULE_ENERGY] = BIT(GET_OWN) | BIT(GET_NEXT) | BIT(GET_INDEX_I),
};
const char *const formula_rules[RULES] = {"F", "G", "C", "initial", "memory", "exact", "energy"};

static const struct {
    const char *name;
    int code;
} leaves[] = {{"y", GET_OWN},           {"z", GET_OTHER},      {"i", GET_INDEX_I},
              {"j", GET_INDEX_J},       {"c", GET_INDEX_C},    {"t", GET_TIME},
              {"r2", GET_R2},           {"r", GET_R},          {"dot", GET_DOT},
              {"uniform", GET_UNIFORM}, {"normal", GET_NORMAL}};
enum { LEAVES = sizeof leaves / sizeof *leaves };

static int parse_sum(Reader *p);

static int emit(Reader *p, int code, int k, double value)
{
    Formulas *m = p->formulas;
    int n = program_operands(code);
    Op op = {code, k, value};
    int fold = n > 0 && m->op[m->ops - 1].code == GET_CONSTANT &&
               (n == 1 || (m->ops > 1 && m->op[m->ops - 2].code == GET_CONSTANT));
    if (fold) {
        double b = m->op[m->ops - 1].value;
        Op *a = &m->op[m->ops - n];
        program_apply(&op, 1, &a->value, &b);
        m->ops -= n - 1;
        p->stack -= n - 1;
        return 0;
    }
    if (m->ops == PROGRAM_OPS)
        return cursor_error(&p->cursor, "expected at most %d operations in a system", PROGRAM_OPS);
    p->stack += 1 - n;
    if (p->stack > PROGRAM_STACK - 1)
        return cursor_error(&p->cursor, "expected an expression of less depth");
    TRY(memory_more(&m->op, (size_t)m->ops, sizeof *m->op));
    m->op[m->ops++] = op;
    return 0;
}

static int parse_number(Reader *p)
{
    Cursor *c = &p->cursor;
    char text[64], *end;
    size_t n = (size_t)(c->end - c->at);
    if (n > sizeof text - 1) n = sizeof text - 1;
    memcpy(text, c->at, n);
    text[n] = '\0';
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return cursor_error(c, "expected a decimal number");
    double value = strtod(text, &end);
    if (end == text + sizeof text - 1 || !isfinite(value))
        return cursor_error(c, "expected a number of fewer digits");
    c->at += end - text;
    return emit(p, GET_CONSTANT, 0, value);
}

/* Returns the coordinates of a particle, without its velocities. */
static size_t positions(const Reader *p)
{
    return p->formulas->second ? p->formulas->second : p->d;
}

static int known_constant(const Reader *p, const char *word, double *value)
{
    const struct {
        const char *name;
        double value;
    } fixed[] = {{"pi", 3.14159265358979323846}, {"n", (double)p->n}, {"d", (double)positions(p)}};
    for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++)
        if (strcmp(word, fixed[k].name) == 0) return *value = fixed[k].value, 1;
    for (int k = 0; k < p->params; k++)
        if (!p->param[k].count && strcmp(word, p->param[k].name) == 0)
            return *value = p->param[k].value, 1;
    return 0;
}

static const Param *find_vector(const Reader *p, const char *word)
{
    for (int k = 0; k < p->params; k++)
        if (p->param[k].count && strcmp(word, p->param[k].name) == 0) return &p->param[k];
    return NULL;
}

/* Returns the number of a component: 3 for y3; 0: there is none. */
static int component(const char *word)
{
    char *end;
    if ((word[0] != 'y' && word[0] != 'z') || !isdigit((unsigned char)word[1])) return 0;
    long k = strtol(word + 1, &end, 10);
    return *end || k > 9999 ? 0 : (int)k;
}

static int find_leaf(const char *word, int *code, int *k)
{
    *k = component(word) - 1; /* THIS for a bare y */
    for (size_t l = 0; l < LEAVES; l++) {
        *code = leaves[l].code;
        if (strcmp(word, leaves[l].name) == 0) return 1;
    }
    *code = word[0] == 'y' ? GET_OWN : GET_OTHER;
    return *k >= 0;
}

int formula_reserved(const Reader *p, const char *word)
{
    int code, k;
    double value;
    for (size_t f = 0; f < PROGRAM_FUNCTIONS; f++)
        if (strcmp(word, program_functions[f].name) == 0) return 1;
    return find_leaf(word, &code, &k) || known_constant(p, word, &value) || find_vector(p, word);
}

static int parse_call(Reader *p, const char *word, int *found)
{
    for (int f = 0; f < PROGRAM_FUNCTIONS; f++) {
        if (strcmp(word, program_functions[f].name) != 0) continue;
        *found = 1;
        TRY(cursor_expect(&p->cursor, "("));
        TRY(parse_sum(p));
        TRY(cursor_expect(&p->cursor, ")"));
        return emit(p, DO_CALL, f, 0);
    }
    return 0;
}

/* Reads "i+N]" or "i-N]" behind a bracket. */
static int parse_neighbour(Reader *p, double *by)
{
    Cursor *c = &p->cursor;
    long n;
    TRY(cursor_expect(c, "i"));
    int minus = cursor_take(c, "-");
    if (!minus) TRY(cursor_expect(c, "+"));
    TRY(cursor_integer(c, 65536, &n));
    *by = (double)(minus ? -n : n);
    return cursor_expect(c, "]");
}

/* Reads "[i]", "[j]", "[c]" or "[3]" behind a vector's name. */
static int parse_vector(Reader *p, const Param *v)
{
    Cursor *c = &p->cursor;
    char word[WORD_MAX];
    size_t most = p->n;
    long number;
    int code = GET_CONSTANT, k;
    TRY(cursor_expect(c, "["));
    Cursor before = *c;
    if (!cursor_word(c, word, sizeof word)) {
        TRY(cursor_integer(c, 65536, &number));
        if (number < 1 || number > v->count)
            return cursor_error(&before, "'%s' has the numbers 1 to %d", v->name, v->count);
        TRY(cursor_expect(c, "]"));
        return emit(p, code, 0, p->formulas->vector[v->first + number - 1]);
    }
    if (find_leaf(word, &code, &k) && code == GET_INDEX_C) most = positions(p);
    if (code == GET_INDEX_J && p->place == formula_rules[RULE_C]) most = p->memory;
    if ((code != GET_INDEX_I && code != GET_INDEX_J && code != GET_INDEX_C) ||
        !(p->allowed & BIT(code)))
        return cursor_error(&before, "'%s[%s]' has no meaning in %s", v->name, word, p->place);
    if (most != (size_t)v->count)
        return cursor_error(&before, "'%s' has %d numbers, and '%s' goes to %zu", v->name, v->count,
                            word, most);
    TRY(cursor_expect(c, "]"));
    p->several |= code != GET_INDEX_C;
    return emit(p, GET_VECTOR, v->first, code);
}

/* Makes a coordinate that of the velocity where y' or z' stands. */
static int parse_prime(Reader *p, int code, int *k)
{
    Cursor before = p->cursor;
    if ((code != GET_OWN && code != GET_OTHER && code != GET_NEXT) || !cursor_take(&p->cursor, "'"))
        return 0;
    if (!p->formulas->second)
        return cursor_error(&before,
                            "a velocity y' is known where the system says y'' = ... first");
    p->moved = 1;
    *k = *k == THIS ? VELOCITY : *k + (int)p->formulas->second;
    return 0;
}

static int parse_word(Reader *p, const char *word, const char *at)
{
    double value;
    int code, k, found = 0;
    TRY(parse_call(p, word, &found));
    if (found) return 0;
    p->several |= strcmp(word, "n") == 0;
    if (known_constant(p, word, &value)) return emit(p, GET_CONSTANT, 0, value);
    const Param *vector = find_vector(p, word);
    if (vector) return parse_vector(p, vector);
    int is_leaf = find_leaf(word, &code, &k);
    Cursor here = p->cursor;
    here.at = at;
    if (!is_leaf)
        return cursor_error(&here,
                            "unknown name '%s'; expected a parameter, a function or one of y, z, "
                            "r, r2, dot, i, j, c, t, n, d, pi",
                            word);
    double by = 0;
    if (code == GET_OWN && cursor_take(&p->cursor, "[")) {
        TRY(parse_neighbour(p, &by));
        code = GET_NEXT;
    }
    if (!(p->allowed & BIT(code)))
        return cursor_error(&here, "'%s' has no meaning in %s", word, p->place);
    if (k >= (int)positions(p))
        return cursor_error(&here, "'%s': a particle has %zu coordinates", word, positions(p));
    TRY(parse_prime(p, code, &k));
    p->timed |= code == GET_TIME;
    p->several |= code != GET_OWN && code != GET_TIME && code != GET_INDEX_C;
    return emit(p, code, k, by);
}

static int parse_factor(Reader *p)
{
    Cursor *c = &p->cursor;
    char word[WORD_MAX];
    cursor_blanks(c);
    const char *at = c->at;
    if (cursor_take(c, "(")) {
        TRY(parse_sum(p));
        return cursor_expect(c, ")");
    }
    if (cursor_word(c, word, sizeof word)) return parse_word(p, word, at);
    if (c->at < c->end && (isdigit((unsigned char)*c->at) || *c->at == '.')) return parse_number(p);
    return cursor_error(c, "expected a number, a name or '('");
}

/* Parses a power: -a^-b is -(a^(-b)). */
static int parse_power(Reader *p)
{
    Cursor *c = &p->cursor;
    if (cursor_take(c, "-")) {
        if (++p->depth > DEPTH_LIMIT) return cursor_error(c, "expected fewer signs in a row");
        TRY(parse_power(p));
        p->depth--;
        return emit(p, DO_NEG, 0, 0);
    }
    TRY(parse_factor(p));
    if (!cursor_take(c, "^")) return 0;
    int minus = cursor_take(c, "-");
    TRY(parse_factor(p));
    if (minus) TRY(emit(p, DO_NEG, 0, 0));
    Op *last = &p->formulas->op[p->formulas->ops - 1];
    if (last->code != GET_CONSTANT || last->value != rint(last->value) || fabs(last->value) > 16)
        return emit(p, DO_POW, 0, 0);
    int power = (int)last->value;
    p->formulas->ops--;
    p->stack--;
    return emit(p, DO_POWI, power, 0);
}

static int parse_product(Reader *p)
{
    Cursor *c = &p->cursor;
    TRY(parse_power(p));
    for (;;) {
        int code = cursor_take(c, "*") ? DO_MUL : cursor_take(c, "/") ? DO_DIV : 0;
        if (code == 0) return 0;
        TRY(parse_power(p));
        TRY(emit(p, code, 0, 0));
    }
}

static int parse_sum(Reader *p)
{
    Cursor *c = &p->cursor;
    if (++p->depth > DEPTH_LIMIT) return cursor_error(c, "expected fewer nested parentheses");
    cursor_take(c, "+");
    TRY(parse_product(p));
    for (;;) {
        int code = cursor_take(c, "+") ? DO_ADD : cursor_take(c, "-") ? DO_SUB : 0;
        if (code == 0) break;
        TRY(parse_product(p));
        TRY(emit(p, code, 0, 0));
    }
    p->depth--;
    return 0;
}

static int parse(Reader *p, unsigned leaves_allowed, const char *place, Program *out)
{
    p->allowed = leaves_allowed;
    p->place = place;
    p->depth = p->stack = 0;
    p->begun = 1;
    out->first = p->formulas->ops;
    TRY(parse_sum(p));
    out->count = p->formulas->ops - out->first;
    return 0;
}

int formula_neighbours(Reader *p, Program *out)
{
    return parse(p, BITS_NEXT, p->formulas->second ? "y''" : "F of neighbours", out);
}

int formula_partial(Reader *p, Program *out)
{
    return parse(p, BIT(GET_OWN) | BIT(GET_INDEX_I) | BIT(GET_TIME), "a Jacobian", out);
}

int formula_quantity(Reader *p, Program *out)
{
    return parse(p, BIT(GET_OWN) | BIT(GET_TIME), "a quantity of a state", out);
}

int formula_read(Reader *p, int which, Program *out)
{
    int timed = p->timed, moved = p->moved;
    TRY(parse(p, allowed[which], formula_rules[which], out));
    if (which >= RULE_INITIAL) p->timed = timed, p->moved = moved; /* no field */
    return 0;
}

int formula_constant(Reader *p, const char *place, double *out)
{
    Program program;
    Cursor before = p->cursor;
    TRY(parse(p, 0, place, &program));
    *out = p->formulas->op[program.first].value;
    p->formulas->ops = program.first; /* used up at once */
    return isfinite(*out) ? 0 : cursor_error(&before, "expected a finite number");
}
