/* scheme.c: the language of schemes (ode.h), a line at a time. statement.c reads what a line says,
 * expression.c reads coefficients and linear combinations. A scheme's k lines are looked through once before
 * they are parsed, so that a slope may belong to a later stage (two-step Runge-Kutta methods) or to the
 * stage itself (implicit ones).
 *
 *   scheme NAME | title TEXT | source TEXT | note TEXT | start NAME
 *   let NAME = sum | learn NAME = number | gate NAME = sigmoid(sum, ...) | gate NAME = tanh(...)
 *   kN = OP[set](sum [@ number])      OP: F G H L, of a decoder C A too      y' = sum
 *                                     sum of y, y[-j], kM, kM[-j]; implicit where M >= N
 *   kN = phiJ([coefficient] OP[set])(sum)   phi_J(c h OP'(y)) of slopes of this step: OP: F G H C, J: 0 .. 4
 *   kN = solve([coefficient] OP[set])(sum)  (1 - c h OP'(y))^-1 of slopes of this step: a Rosenbrock method's; W-method: W
 *   linear OP                         the scheme is for fields whose OP is linear
 *   separable                         the scheme is for fields whose F reads only what G moves, and G what F moves
 *   separable G                       the scheme is for fields whose G reads nothing that it moves
 *   kN = norm(sum)                    a layer norm of what is carried and slopes, of networks
 *   carry NAME [= sum]                a quantity that is carried from step to step, and its value before the first
 *   carry NAME = embedding            ... which networks begin by an embedding of the tokens
 *   NAME' = sum                       its update
 *   error = sum                       y' - yhat of an embedded pair, of slopes k1, k2, ... alone; a second one is coarser (adapt.c)
 *   flow [coefficient] OP[set]        OP: F G C
 *   field coefficient F [coefficient C] coefficient G   the field a word solves; absent: F + G, F + C + G
 *   decoder                           a scheme of F + C + G, as one is in which C or A stands */
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/lexer.h"
#include "ode/scheme/rationals.h"
#include "ode/scheme/print.h"
#include "ode/scheme/scheme.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 65536, SCHEMES_MAX = 4096 };

/* ---- lines ----------------------------------------------------------------------------------------- */

int scheme_is_remark(const char *line, const char *stop)
{
    static const char *const texts[] = {"title", "source", "note"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t n = strlen(texts[i]);
        if ((size_t)(stop - line) > n && memcmp(line, texts[i], n) == 0 && line[n] == ' ') return 1;
    }
    return 0;
}

/* Moves to the next line that holds a statement; 0 at the end. Texts keep their '#'. */
static int next_line(Cursor *c, const char *stop)
{
    while (c->end < stop || c->line == 0) {
        c->begin = c->line ? c->end + 1 : c->end;
        c->line++;
        const char *newline = memchr(c->begin, '\n', (size_t)(stop - c->begin));
        const char *whole = newline ? newline : stop;
        c->at = c->begin;
        c->end = whole;
        cursor_blanks(c);
        const char *hash =
            scheme_is_remark(c->at, whole) ? NULL : memchr(c->at, '#', (size_t)(whole - c->at));
        const char *cut = hash ? hash : whole;
        if (c->at < cut) {
            c->end = cut;
            return 1;
        }
        c->end = whole;
    }
    return 0;
}

static void leave_line(Cursor *c, const char *stop)
{
    const char *newline = memchr(c->end, '\n', (size_t)(stop - c->end));
    c->end = newline ? newline : stop;
}

/* ---- schemes --------------------------------------------------------------------------------------- */

static int is_name_letter(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("-_.+", c));
}

int scheme_named(const char *name)
{
    size_t n = 0;
    while (is_name_letter(name[n]) || name[n] == ':' || name[n] == '/') n++;
    return n > 0 && n < TABLE_NAME && name[n] == '\0';
}

int scheme_many(const char *name)
{
    static const char *const group[SCHEMES_GROUPS] = {"all", "decoders", "implicit", "exponential",
                                                      "rosenbrock"};
    for (int i = 0; i < SCHEMES_GROUPS; i++)
        if (strcmp(name, group[i]) == 0) return i;
    return -1;
}

static int scheme_name(Cursor *c, char *name)
{
    cursor_blanks(c);
    size_t n = 0;
    while (c->at + n < c->end && is_name_letter(c->at[n])) n++;
    if (n == 0 || n >= TABLE_NAME)
        return cursor_error(c, "expected a scheme's name: 1 to %d letters, digits, - _ . +",
                            TABLE_NAME - 1);
    memcpy(name, c->at, n);
    name[n] = 0;
    if (scheme_many(name) >= 0)
        return cursor_error(c, "expected another name: '%s' means many schemes", name);
    c->at += n;
    return cursor_end(c, "the end of the line after the scheme's name (letters, digits, - _ . +)");
}

static int is_scheme_line(const Cursor *c)
{
    Cursor copy = *c;
    char word[TABLE_NAME];
    return cursor_word(&copy, word, sizeof word) && strcmp(word, "scheme") == 0;
}

/* Declares the stages of the k lines up to the next scheme, and whether it is a decoder's. */
static int declare_stages(Parser *p, const char *stop)
{
    Cursor keep = p->cursor;
    leave_line(&p->cursor, stop);
    while (next_line(&p->cursor, stop) && !is_scheme_line(&p->cursor)) {
        Cursor line = p->cursor;
        char word[TABLE_NAME];
        if (statement_stage_head(&p->cursor) && cursor_take(&p->cursor, "="))
            TRY(statement_declare(p));
        else if (cursor_word(&line, word, sizeof word) && strcmp(word, "decoder") == 0)
            p->table->colours = 3;
        leave_line(&p->cursor, stop);
    }
    TRY(statement_evaluations(p));
    p->cursor = keep;
    return 0;
}

static void find_depth(Table *t, const Row *r)
{
    for (size_t i = 0; i < r->terms; i++) {
        int *deepest = r->term[i].eval < 0 ? &t->past_y : &t->past_k;
        if (r->term[i].past > *deepest) *deepest = r->term[i].past;
    }
}

/* Refuses an estimate unless the scheme is a one-step method of stages, without learned names. */
static int check_error(const Parser *p)
{
    const Table *t = p->table;
    const char *what = t->flows        ? "is made of flows"
                       : t->carries    ? "carries quantities from step to step"
                       : table_past(t) ? "reads earlier steps"
                       : t->dense      ? "reads every slope so far"
                       : t->symbols    ? "has learned names"
                       : t->coarse.terms && (table_implicit(t) || table_phi(t))
                           ? "has two, for explicit stages alone, and solves for some"
                           : NULL;
    if (!t->error.terms || !what) return 0;
    return cursor_error(&p->error,
                        "expected error = ... in a one-step scheme of stages; scheme '%s' %s",
                        t->name, what);
}

/* Refuses functions of derivatives in other schemes: phi_J(h A) takes A at y, where the step begins. Resolvents may
 * stand beside implicit stages, as in the estimate of radau-iia5. */
static int check_phi(const Parser *p)
{
    const Table *t = p->table;
    const char *what = t->dense                                    ? "reads every slope so far"
                       : table_exponential(t) && table_implicit(t) ? "has implicit stages"
                                                                   : NULL;
    if (!what || !table_phi(t)) return 0;
    return cursor_error(
        &p->cursor,
        "expected phi functions in a scheme of explicit stages, solve in one without dense history; "
        "scheme '%s' %s",
        t->name, what);
}

/* Refuses rows of which rounding leaves nothing. */
static int check_rounded(const Parser *p)
{
    const Table *t = p->table;
    int empty = !t->flows && !t->update.terms;
    for (size_t i = 0; i < t->points; i++) empty |= !t->point[i].row.terms;
    if (!empty) return 0;
    return cursor_error(&p->cursor, "expected a coefficient above 1e-%d in each row of scheme '%s'",
                        TABLE_DIGITS, t->name);
}

/* Makes the formula of order p, sum over j = 1 .. p of (1/j) nabla^j y = h f, solved for the newest state: the weight of y[-m]
 * is that of the state m + 1 steps before it. */
static int backward_row(int p, Row *out)
{
    RATIONALS(c, sum, part, of_all);
    for (int j = 1; j <= p; j++) {
        mpq_set_ui(part, 1, (unsigned long)j);
        mpq_add(of_all, of_all, part);
    }
    for (int m = 1; m <= p; m++) {
        mpq_set_ui(sum, 0, 1);
        for (int j = m; j <= p; j++) {
            mpz_bin_uiui(mpq_numref(part), (unsigned long)j, (unsigned long)m);
            mpz_set_ui(mpq_denref(part), (unsigned long)j);
            mpq_canonicalize(part);
            mpq_add(sum, sum, part);
        }
        mpq_div(c, sum, of_all);
        if (m % 2 == 0) mpq_neg(c, c);
        TRY(row_add(out, TABLE_STATE, m - 1, c, 0, NULL));
    }
    mpq_inv(c, of_all);
    for (int e = 0; e < 2; e++) TRY(row_add(out, e, 0, c, 0, NULL));
    return 0;
}

static int check_orders(const Parser *p)
{
    ROW(row);
    const Table *t = p->table;
    if (!t->orders) return 0;
    TRY(backward_row(t->orders, &row));
    if (t->stages == 1 && t->stage[0].op == OP_H && t->colours == 2 && !t->carries &&
        !t->point[0].timed && row_equal(&t->update, &row) && row_equal(&t->point[0].row, &row))
        return 0;
    return cursor_error(
        &p->cursor,
        "expected the backward differentiation formula of order %d, of one stage H, in "
        "scheme '%s', which says orders 1..%d",
        t->orders, t->name, t->orders);
}

/* Returns whether a term has a gate as a factor. */
static int gated(const Table *t, const Term *s)
{
    int is = 0;
    for (int i = 0; i < s->symbols; i++) is |= t->symbol[s->symbol[i]].kind != SYMBOL_LEARN;
    return is;
}

/* Marks the stages whose slopes are known before anything is carried: they read y and each other, without gates. */
static void mark_starting(const Table *t, char *known)
{
    for (int more = 1; more--;)
        for (size_t i = 0; i < t->stages; i++) {
            const Row *r = &eval_point(t, t->stage[i].eval)->row;
            int all = !known[i];
            for (size_t k = 0; k < r->terms; k++) {
                const Term *s = &r->term[k];
                all &= !s->past && s->eval >= TABLE_STATE && !gated(t, s) &&
                       (s->eval < 0 || known[t->eval[s->eval].stage]);
            }
            if (all) known[i] = 1, more = 1;
        }
}

/* Checks that what is carried has an update, and a start that can be computed. */
static int check_carries(const Parser *p)
{
    const Table *t = p->table;
    const char *what = t->flows ? "is made of flows" : t->dense ? "reads every slope so far" : NULL;
    if (t->carries && what)
        return cursor_error(&p->cursor, "expected no 'carry' in scheme '%s': it %s", t->name, what);
    if (t->carries && (t->past_y || t->past_k))
        return cursor_error(
            &p->cursor,
            "expected no [-j] in scheme '%s', which carries '%s': it can carry what it reads, as "
            "carry a and a' = y",
            t->name, t->carry[0].name);
    if (table_has(t, HAS_NORM) && (!t->carries || table_implicit(t) || table_phi(t)))
        return cursor_error(&p->cursor,
                            "expected norm(...) in a scheme that carries a quantity, and has "
                            "explicit stages; scheme '%s' %s",
                            t->name, t->carries ? "has others" : "carries none");
    int starts = t->start[0] != '\0';
    SCOPED(memory_drop) char *known = memory_new(t->stages, 1);
    if (!known) return ERR_MEMORY;
    mark_starting(t, known);
    for (size_t i = 0; i < t->carries; i++) {
        const Carry *v = &t->carry[i];
        if (!v->update.terms)
            return cursor_error(&p->cursor, "expected %s' = ... in scheme '%s', which carries %s",
                                v->name, t->name, v->name);
        int other = v->started != t->carry[0].started || v->embedded != t->carry[0].embedded;
        if (other || (starts && (v->started || v->embedded)))
            return cursor_error(
                &p->cursor,
                "expected one way in which all begins that scheme '%s' carries: rows (carry v = ...), "
                "embeddings, 0 (carry v), or the scheme that 'start NAME' names; '%s' has another",
                t->name, v->name);
        for (size_t k = 0; k < v->start.terms; k++) {
            const Term *s = &v->start.term[k];
            if (gated(t, s) || (s->eval >= 0 && !known[t->eval[s->eval].stage]))
                return cursor_error(
                    &p->cursor,
                    "expected slopes of stages that read y alone, and each other, without gates, "
                    "as the start of '%s' in scheme '%s'; a scheme that 'start NAME' names can "
                    "have stages of its own",
                    v->name, t->name);
        }
    }
    return 0;
}

/* Refuses complex fractions beside flows by a method, which takes real states, and those whose sum is not real: of such a text not
 * even the step on y' = lambda y is the exponential of one. */
static int check_complex(Parser *p)
{
    const Table *t = p->table;
    RATIONAL(sum);
    if (!table_complex(t)) return 0;
    if (table_methods(t))
        return cursor_error(
            &p->cursor, "expected no method of a flow in scheme '%s': its fractions are complex",
            t->name);
    for (int op = 0; op < COLOURS; op++) {
        mpq_set_ui(sum, 0, 1);
        for (size_t i = 0; i < t->flows; i++)
            if (t->flow[i].op == op) mpq_add(sum, sum, t->flow[i].im);
        if (fabs(mpq_get_d(sum)) > (t->exact ? 0 : 1e-12))
            return cursor_error(&p->cursor,
                                "expected complex fractions of %c whose sum is real in scheme '%s'",
                                table_letters[op], t->name);
    }
    return 0;
}

static int finish(Parser *p)
{
    Table *t = p->table;
    Cursor *c = &p->cursor;
    if (t->flows && (t->stages || t->update.terms))
        return cursor_error(c, "expected k lines or flow lines in scheme '%s', not both", t->name);
    if (t->flows && t->special)
        return cursor_error(
            c, "expected no 'linear' or 'separable' in scheme '%s': it is made of flows", t->name);
    if (!t->flows && !t->update.terms)
        return cursor_error(c, "expected y' = ... or flow lines in scheme '%s'", t->name);
    for (size_t i = 0; t->flows && i < t->symbols; i++)
        if (t->symbol[i].kind != SYMBOL_LEARN)
            return cursor_error(c, "expected no gate in scheme '%s': it is made of flows", t->name);
    expression_round_table(t);
    TRY(check_complex(p));
    TRY(check_rounded(p));
    table_times(t);
    find_depth(t, &t->update);
    for (size_t i = 0; i < t->carries; i++) find_depth(t, &t->carry[i].update);
    for (size_t i = 0; i < t->points; i++) find_depth(t, &t->point[i].row);
    for (size_t i = 0; i < t->symbols; i++)
        for (size_t k = 0; k < t->symbol[i].inputs; k++) find_depth(t, &t->symbol[i].input[k]);
    TRY(check_carries(p));
    TRY(check_phi(p));
    TRY(check_orders(p));
    TRY(check_error(p));
    return t->error.terms ? table_pair(t, &p->table) : 0;
}

static void parser_free(Parser *p)
{
    for (size_t i = 0; i < p->bindings; i++) row_free(&p->binding[i].value);
    memory_free(p->binding);
    *p = (Parser){.cursor = p->cursor, .work = p->work};
}

/* Parses the lines behind a `scheme` line; *more: the cursor is on another one's. */
static int parse_lines(Parser *p, const char *stop, int *more)
{
    TRY(declare_stages(p, stop));
    for (;;) {
        leave_line(&p->cursor, stop);
        Cursor last = p->cursor;
        *more = next_line(&p->cursor, stop);
        if (!*more || is_scheme_line(&p->cursor)) {
            Cursor next = p->cursor;
            p->cursor = last;
            p->cursor.at = p->cursor.begin;
            TRY(finish(p));
            p->cursor = next;
            return 0;
        }
        if (p->cursor.end - p->cursor.begin > LINE_MAX_BYTES)
            return cursor_error(&p->cursor, "expected a line of at most %d bytes", LINE_MAX_BYTES);
        TRY(statement_parse(p));
    }
}

/* Parses a scheme from its `scheme` line; leaves the cursor on the next one's, or at the end. */
static int parse_scheme(Parser *p, const char *stop, Table **out, int *more)
{
    char name[TABLE_NAME], word[TABLE_NAME];
    if (!is_scheme_line(&p->cursor)) return cursor_error(&p->cursor, "expected 'scheme NAME'");
    cursor_word(&p->cursor, word, sizeof word);
    TRY(scheme_name(&p->cursor, name));
    if (!(p->table = table_new(name))) return ERR_MEMORY;
    int code = parse_lines(p, stop, more);
    if (code == 0)
        *out = p->table;
    else
        table_free(p->table);
    parser_free(p);
    return code;
}

static int check_bytes(const char *file, const char *text, size_t bytes)
{
    size_t line = 1;
    if (bytes > SCHEME_BYTES)
        return error_set(ERR_INPUT, "%s: expected a scheme text of at most 1 MiB", file);
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == 0)
            return error_set(ERR_INPUT, "%s:%zu: expected text; a NUL byte stands there", file,
                             line);
        line += text[i] == '\n';
    }
    return 0;
}

int scheme_parse(const char *file, const char *text, size_t bytes, Table ***list, size_t *count)
{
    Parser p = {.cursor = {.file = file, .begin = text, .at = text, .end = text}};
    size_t before = *count;
    int code = check_bytes(file, text, bytes);
    int more = code == 0 && next_line(&p.cursor, text + bytes);
    if (code == 0 && !more)
        code = error_set(ERR_INPUT, "%s: expected 'scheme NAME'; the text is empty", file);
    while (code == 0 && more) {
        Table *t = NULL;
        size_t line = p.cursor.line;
        code = *count - before < SCHEMES_MAX
                   ? parse_scheme(&p, text + bytes, &t, &more)
                   : cursor_error(&p.cursor, "expected at most %d schemes", SCHEMES_MAX);
        for (size_t i = 0; code == 0 && i < *count; i++)
            if (strcmp((*list)[i]->name, t->name) == 0)
                code =
                    error_set(ERR_INPUT, "%s:%zu: expected a new name; scheme '%s' exists already",
                              file, line, t->name);
        if (code == 0) code = memory_add(*list, *count, t);
        if (code != 0) table_free(t);
    }
    while (code != 0 && *count > before) table_free((*list)[--*count]);
    return code;
}

int scheme_written(const char *name, SchemeWriter *write, const void *of, Table **out)
{
    char *text = NULL;
    size_t bytes, count = 0;
    Table **list = NULL;
    FILE *f = open_memstream(&text, &bytes);
    int code = f ? write(of, f) : 0;
    if (!f || fclose(f) != 0) code = error_set(ERR_MEMORY, "out of memory: the text of a scheme");
    if (code == 0) code = scheme_parse(name, text, bytes, &list, &count);
    if (code == 0) *out = list[0];
    free(text);
    memory_free(list);
    return code;
}
