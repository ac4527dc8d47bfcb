/* compose.c: makes schemes of one-step schemes: steps one after another, adjoints, conjugates, each a scheme in the
 * language.
 *
 * Steps S_i over c_i h are one table: flows one after another, times c_i, neighbours of an operator joined; or stages
 * one after another, where the point of a later step begins at the update Y of those before,
 *
 *     u y + sum a_e k_e    becomes    u Y + c_i sum a_e k_(base + e),    t + c h    becomes    t + (c_1 + ... + c_(i-1) + c_i c) h.
 *
 * A layer L(x) = F(x) + G(x + F(x)) over c h is F and then G at x + c F(x), two stages; so is A.
 *
 * The adjoint S*(h) = S(-h)^-1 of flows is the flows reversed. For stages Y_i = y + sum a_ij k_j it has their points
 * from the new y, y' - sum a_ij k_j, which is y + sum (b_j - a_ij) k_j: implicit where the stages are explicit. They
 * stand in the opposite order. The inverse of S(h) is its adjoint over -h. Source: Hairer, Lubich, Wanner 2006,
 * sections II.3, II.4, theorem V.1.5; conjugates (processing): Butcher 1969; Blanes, Casas, Ros 1999. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/lexer.h"
#include "ode/scheme/print.h"
#include "ode/scheme/rationals.h"
#include "ode/scheme/scheme.h"

enum { SUBSTEPS_MAX = 256 };

static int check_substep(const Table *t, const Table *first)
{
    TRY(table_refuse_carries(t, "only schemes that read y alone compose"));
    if (table_past(t) || t->dense)
        return error_set(ERR_INPUT, "'%s' reads earlier steps: only one-step schemes compose",
                         t->name);
    if (table_phi(t))
        return error_set(ERR_INPUT,
                         "'%s' is %s are taken at the beginning of a step, so it does not compose",
                         t->name,
                         table_exponential(t) ? "exponential: its phi functions"
                                              : "a Rosenbrock method: its matrices");
    if (t->symbols)
        return error_set(
            ERR_INPUT, "'%s' has learned names: give a text with numbers in their place", t->name);
    if ((t->flows > 0) != (first->flows > 0))
        return error_set(
            ERR_INPUT,
            "'%s' and '%s': flows and stages do not compose; give the splitting a solver, "
            "as %s:heun",
            first->name, t->name, t->flows ? t->name : first->name);
    if (table_methods(t))
        return error_set(
            ERR_INPUT,
            "'%s' does not compose: some of its flows name a method and some are exact; let all name one",
            t->name);
    if (table_complex(t))
        return error_set(
            ERR_INPUT,
            "'%s' does not compose: its fractions are complex, and its step is a real part",
            t->name);
    if (t->colours != first->colours)
        return error_set(
            ERR_INPUT,
            "'%s' and '%s': a decoder's scheme composes with decoders' alone, as %s-decoder",
            first->name, t->name, t->colours == 2 ? t->name : first->name);
    return 0;
}

/* ---- flows ---------------------------------------------------------------------------------------------- */

static void add_flow(Table *t, const Flow *f, const mpq_t c)
{
    RATIONAL(x);
    mpq_mul(x, f->c, c);
    Flow *last = t->flows ? &t->flow[t->flows - 1] : NULL;
    if (last && last->op == f->op && last->set == f->set) {
        mpq_add(last->c, last->c, x);
    } else {
        last = &t->flow[t->flows++];
        *last = (Flow){.op = f->op, .set = f->set};
        mpq_inits(last->c, last->im, NULL);
        mpq_set(last->c, x);
    }
    if (mpq_sgn(last->c) == 0) {
        mpq_clears(last->c, last->im, NULL);
        t->flows--;
    }
}

/* ---- texts ---------------------------------------------------------------------------------------------- */

/* Joins the names by '+', or writes "composition"; none is the name of a step. */
static void join_names(const Substep *step, size_t n, char name[TABLE_NAME])
{
    size_t at = 0;
    for (size_t i = 0; i < n && at < TABLE_NAME; i++)
        at += (size_t)snprintf(name + at, TABLE_NAME - at, "%s%s", i ? "+" : "",
                               step[i].scheme->name);
    if (n == 1) at += (size_t)snprintf(name + at, TABLE_NAME - at, "-composed");
    if (at >= TABLE_NAME / 2) strcpy(name, "composition");
}

static char *say_steps(const Substep *step, size_t n)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    if (!f) return NULL;
    for (size_t i = 0; i < n; i++) {
        fprintf(f, "%s%s over ", i ? ", then " : "", step[i].scheme->name);
        if (step[i].inexact)
            fprintf(f, "%.6g ", table_double(step[i].c));
        else if (mpq_cmp_ui(step[i].c, 1, 1) != 0)
            gmp_fprintf(f, "%Qd ", step[i].c);
        fputc('h', f);
    }
    fclose(f);
    char *copy = text ? memory_string(text) : NULL;
    free(text);
    return copy;
}

static int print(const void *t, FILE *f)
{
    return table_print(t, f);
}

/* ---- composition ------------------------------------------------------------------------------------------ */

static int make_room(Table *t, const Substep *step, size_t n)
{
    size_t evals = 0, points = 0, flows = 0;
    for (size_t i = 0; i < n; i++) {
        evals += step[i].scheme->evals;
        points += step[i].scheme->points;
        flows += step[i].scheme->flows;
    }
    if (!(t->stage = memory_new(evals, sizeof(Stage)))) return ERR_MEMORY;
    if (!(t->eval = memory_new(evals, sizeof(Eval)))) return ERR_MEMORY;
    if (!(t->point = memory_new(points, sizeof(Point)))) return ERR_MEMORY;
    return (t->flow = memory_new(flows, sizeof(Flow))) ? 0 : ERR_MEMORY;
}

/* Sets the field; with words it is the sum of c times the words' fields. */
static void add_field(Table *t, const Substep *step, size_t n)
{
    for (size_t i = 0; i < n; i++) t->word |= step[i].scheme->word;
    if (!t->word) return;
    for (int op = 0; op < COLOURS; op++) {
        mpq_set_ui(t->weight[op], 0, 1);
        for (size_t i = 0; i < n; i++) {
            rational_add(t->weight[op], step[i].c, step[i].scheme->weight[op]);
        }
    }
}

static int add_steps(Table *t, const Substep *step, size_t n)
{
    RATIONAL(begin);
    TRY(make_room(t, step, n));
    t->colours = step[0].scheme->colours;
    add_field(t, step, n);
    if (!step[0].scheme->flows) TRY(row_add(&t->update, TABLE_STATE, 0, rational_one, 0, NULL));
    for (size_t i = 0; i < n; i++) {
        const Table *from = step[i].scheme;
        t->exact &= from->exact && !step[i].inexact;
        for (size_t k = 0; k < from->flows; k++) add_flow(t, &from->flow[k], step[i].c);
        if (!from->flows) TRY(table_append(t, from, step[i].c, begin, &t->update));
        mpq_add(begin, begin, step[i].c);
    }
    if (step[0].scheme->flows && !t->flows)
        return error_set(ERR_INPUT, "'%s': its flows cancel, and nothing is left", t->name);
    expression_round_table(t);
    return 0;
}

/* Composes the steps. name, title: NULL for those made from the steps. */
static int compose(const Substep *step, size_t n, const char *name, const char *title, Table **out)
{
    char joined[TABLE_NAME];
    *out = NULL;
    if (n < 1 || n > SUBSTEPS_MAX)
        return error_set(ERR_INPUT, "expected 1 to %d steps to compose, not %zu", SUBSTEPS_MAX, n);
    for (size_t i = 0; i < n; i++) TRY(check_substep(step[i].scheme, step[0].scheme));
    join_names(step, n, joined);
    TABLE(t);
    if (!(t = table_new(name ? name : joined))) return ERR_MEMORY;
    memory_free(t->title);
    t->title = title ? memory_string(title) : say_steps(step, n);
    if (!t->title) return error_set(ERR_MEMORY, "out of memory");
    TRY(add_steps(t, step, n));
    return scheme_written(t->name, print, t, out); /* the only way into a table */
}

int scheme_compose(const Substep *step, size_t n, Table **out)
{
    return compose(step, n, NULL, NULL, out);
}

/* ---- adjoint and conjugate ---------------------------------------------------------------------------------- */

static void reverse_flows(const Table *t, Table *back)
{
    for (size_t i = 0; i < t->flows; i++) {
        const Flow *f = &t->flow[t->flows - 1 - i];
        back->flow[i].op = f->op;
        back->flow[i].set = f->set;
        mpq_set(back->flow[i].c, f->c);
    }
}

static int check_adjoint(const Table *t)
{
    int plain = table_exact_flows(t) || row_plain(&t->update);
    for (size_t p = 0; p < t->points; p++) plain = plain && row_plain(&t->point[p].row);
    for (size_t i = 0; i < t->stages; i++)
        plain = plain && !stage_parts(t, t->stage[i].op)->in_turn;
    TRY(table_refuse_carries(t, "only schemes that read y alone have an adjoint here"));
    if (plain && !table_past(t) && !t->symbols && !t->dense) return 0;
    return error_set(ERR_INPUT,
                     "'%s' has no adjoint here: expected a splitting by exact flows, or a one-step "
                     "scheme of stages F, G, C or H, each y and slopes, without learned names",
                     t->name);
}

/* Computes out = y + (the update's slopes) - (r's), evaluation e being to[e]; r NULL: none. */
static int adjoint_row(const Table *t, const Row *r, const int *to, Row *out)
{
    RATIONAL(x);
    TRY(row_add(out, TABLE_STATE, 0, rational_one, 0, NULL));
    for (size_t i = 1; i < t->update.terms; i++)
        TRY(row_add(out, to[t->update.term[i].eval], 0, t->update.term[i].c, 0, NULL));
    for (size_t i = 1; r && i < r->terms; i++) {
        mpq_neg(x, r->term[i].c);
        TRY(row_add(out, to[r->term[i].eval], 0, x, 0, NULL));
    }
    return 0;
}

/* Reverses the stages, of one point each; to (evals): where each evaluation goes. */
static int reverse_stages(const Table *t, Table *back, int *to)
{
    int evals = 0;
    for (size_t i = 0; i < t->stages; i++) {
        const Stage *s = &t->stage[t->stages - 1 - i];
        back->stage[i] = (Stage){.op = s->op, .set = s->set, .eval = evals};
        for (int k = 0; k < stage_parts(t, s->op)->count; k++, evals++) {
            to[s->eval + k] = evals;
            back->eval[evals] = t->eval[s->eval + k];
            back->eval[evals].stage = back->eval[evals].point = (int)i;
        }
    }
    for (size_t i = 0; i < t->stages; i++) {
        const Point *from = &t->point[t->eval[t->stage[t->stages - 1 - i].eval].point];
        Point *p = &back->point[i];
        row_free(&p->row);
        TRY(adjoint_row(t, &from->row, to, &p->row));
        p->timed = from->timed;
        for (int op = 0; op < COLOURS && p->timed; op++)
            mpq_sub(p->c[op], rational_one, from->c[op]);
    }
    row_free(&back->update);
    return adjoint_row(t, NULL, to, &back->update);
}

/* Reverses t in a copy: its flows or its stages. */
static int reverse(const Table *t, Table *back)
{
    SCOPED(memory_drop) int *to = memory_new(t->evals, sizeof *to);
    if (!to) return ERR_MEMORY;
    reverse_flows(t, back);
    return t->flows ? 0 : reverse_stages(t, back, to);
}

int scheme_adjoint(const Table *t, Table **out)
{
    char name[TABLE_NAME], title[2 * TABLE_NAME];
    TABLE(back);
    RATIONAL(one);
    *out = NULL;
    TRY(check_adjoint(t));
    if (!(back = table_freeze(t))) return ERR_MEMORY;
    TRY(reverse(t, back));
    mpq_set_ui(one, 1, 1);
    snprintf(name, sizeof name, "%.*s-adjoint", TABLE_NAME / 2 - 10, t->name);
    snprintf(title, sizeof title, "The adjoint of %s", t->name);
    return compose(&(Substep){back, {*one}, 0}, 1, name, title, out);
}

int scheme_conjugate(const Table *P, const Table *S, Table **out)
{
    char name[TABLE_NAME], title[4 * TABLE_NAME];
    TABLE(back);
    RATIONALS(one, minus);
    *out = NULL;
    TRY(scheme_adjoint(P, &back));
    mpq_set_si(one, 1, 1);
    mpq_set_si(minus, -1, 1);
    snprintf(name, sizeof name, "%.*s-conjugate", TABLE_NAME / 2 - 12, S->name);
    snprintf(title, sizeof title, "%s, then %s, then the inverse of %s", P->name, S->name, P->name);
    const Substep step[3] = {{P, {*one}, 0}, {S, {*one}, 0}, {back, {*minus}, 0}};
    return compose(step, 3, name, title, out);
}

/* ---- lists ---------------------------------------------------------------------------------------------------- */

static int read_weight(const char *item, const char *star, Substep *s)
{
    TABLE(t);
    if (!(t = table_new(""))) return ERR_MEMORY;
    Parser p = {.cursor = {.file = item, .line = 1, .begin = item, .at = item, .end = star},
                .table = t};
    TRY(expression_number(&p, s->c));
    s->inexact = !t->exact;
    return cursor_end(&p.cursor, "'*' and a scheme's name");
}

/* Reads the items of "c*A,c*B" or "A,B", each with its scheme; *n of them. Cuts list at commas. */
static int read_items(const Zoo *z, char *list, Substep *step, Table **scheme, size_t *n)
{
    size_t weights = 0;
    for (char *item = list, *next; item; item = next) {
        next = strchr(item, ',');
        if (next) *next++ = '\0';
        if (*n == SUBSTEPS_MAX)
            return error_set(ERR_INPUT, "expected at most %d steps to compose", SUBSTEPS_MAX);
        char *star = strrchr(item, '*'), *name = star ? star + 1 : item;
        Substep *s = &step[(*n)++];
        mpq_init(s->c);
        if (star) TRY(read_weight(item, star, s));
        name += strspn(name, " ");
        for (char *end = name + strlen(name); end > name && end[-1] == ' ';) *--end = '\0';
        TRY(zoo_find(z, name, "exact", &scheme[*n - 1]));
        s->scheme = scheme[*n - 1];
        weights += star != NULL;
    }
    if (weights && weights < *n)
        return error_set(ERR_INPUT,
                         "expected a weight before every name, as 1/2*%s, or before none",
                         step[0].scheme->name);
    for (size_t i = 0; i < *n && !weights; i++) mpq_set_ui(step[i].c, 1, (unsigned)*n);
    return 0;
}

int zoo_compose(const Zoo *z, const char *list, mpq_t total, Table **out)
{
    SCOPED(memory_drop) Substep *step = memory_new(SUBSTEPS_MAX, sizeof *step);
    SCOPED(memory_drop) Table **scheme = memory_new(SUBSTEPS_MAX, sizeof *scheme);
    SCOPED(memory_drop) char *text = memory_string(list);
    size_t n = 0;
    *out = NULL;
    int code = step && scheme && text ? read_items(z, text, step, scheme, &n) : ERR_MEMORY;
    if (code == 0) code = scheme_compose(step, n, out);
    mpq_set_ui(total, 0, 1);
    for (size_t i = 0; i < n; i++) {
        mpq_add(total, total, step[i].c);
        mpq_clear(step[i].c);
        table_free(scheme[i]);
    }
    return code;
}
