/* derivation.c: derives the expansion of a step. Every series is that of ode/theory (series.c, bracket.c); here its terms
 * are written where they arise. */
#include "studies/theory/derivation_pen.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "ode/scheme/rationals.h"

/* ---- stages ------------------------------------------------------------------------------------------ */

/* The series that rows are sums of. */
typedef struct {
    Derivation *d;
    const DerivationField *of;
    const Table *t;
    Series **stage; /* (stages) k1, k2, ...: all evaluations of each */
    char *text;     /* of the table, a line each */
} Stages;

/* Returns where the text has what stands behind "k2 = ". */
static const char *written(const Stages *s, const char *name)
{
    char begin[40];
    snprintf(begin, sizeof begin, "\n%s = ", name);
    const char *at = strstr(s->text, begin);
    return at ? at + strlen(begin) : "";
}

/* Returns the series of what a term reads, new: a state or a stage's slopes, j steps ago on the exact solution. */
static int term_series(const Stages *s, const Term *x, Series **out)
{
    RATIONAL(theta);
    Series *past;
    TRY(series_new(s->of->forest, out));
    mpq_set_si(theta, -x->past, 1);
    if (x->eval == TABLE_STATE) {
        series_exact(*out, theta, ((Table *)s->t)->weight);
        return 0;
    }
    Series *k = s->stage[s->t->eval[x->eval].stage];
    if (x->past == 0) {
        for (size_t i = 0; i < s->of->forest->count; i++) mpq_set((*out)->a[i], k->a[i]);
        return 0;
    }
    TRY(series_new(s->of->forest, &past));
    series_exact(past, theta, ((Table *)s->t)->weight);
    series_compose(*out, past, k);
    series_free(past);
    return 0;
}

/* Returns whether a term is the first of its stage's, which has equal weights for all of them. */
static int speaks(const Table *t, const Term *x)
{
    return x->eval == TABLE_STATE || t->stage[t->eval[x->eval].stage].eval == x->eval;
}

static void name_term(const Table *t, const Term *x, char out[32])
{
    size_t n = x->eval == TABLE_STATE
                   ? (size_t)snprintf(out, 32, "y")
                   : (size_t)snprintf(out, 32, "k%d", t->eval[x->eval].stage + 1);
    if (x->past) snprintf(out + n, 32 - n, "[-%d]", x->past);
}

/* The terms of a row with their series. */
typedef struct {
    size_t count;
    const Term **term;
    Series **series;
} Sum;

static void sum_free(Sum *s)
{
    for (size_t i = 0; s->series && i < s->count; i++) series_free(s->series[i]);
    memory_free(s->term);
    memory_free(s->series);
}

#define SUM(s) __attribute__((cleanup(sum_free))) Sum s = {0}

static int sum_new(const Stages *s, const Row *row, Sum *out)
{
    *out = (Sum){.term = memory_new(row->terms, sizeof *out->term),
                 .series = memory_new(row->terms, sizeof *out->series)};
    if (!out->term || !out->series) return ERR_MEMORY;
    for (size_t i = 0; i < row->terms; i++) {
        if (!speaks(s->t, &row->term[i])) continue;
        out->term[out->count] = &row->term[i];
        TRY(term_series(s, &row->term[i], &out->series[out->count++]));
    }
    return 0;
}

/* Computes the sum: total (a series, zeros). */
static void sum_total(const Sum *s, Series *total)
{
    for (size_t k = 0; k < s->count; k++) {
        if (s->term[k]->eval == TABLE_STATE) mpq_add(total->empty, total->empty, s->term[k]->c);
        for (size_t i = 0; i < total->forest->count; i++)
            rational_add(total->a[i], s->term[k]->c, s->series[k]->a[i]);
    }
}

/* Writes the products that make the factor of a tree, "1/6 + 1/3 1/2": weight and coefficient of each term. */
static void products(const Stages *s, const Sum *sum, size_t tree, char *out, size_t bytes)
{
    char a[NUMBER], b[NUMBER];
    RATIONAL(c);
    size_t n = 0;
    out[0] = '\0';
    for (size_t k = 0; k < sum->count && n + 2 * NUMBER < bytes; k++) {
        if (!pen_find(s->of, sum->series[k], tree, c)) continue;
        int minus = (mpq_sgn(c) < 0) != (mpq_sgn(sum->term[k]->c) < 0);
        pen_size(s->of, sum->term[k]->c, a);
        pen_size(s->of, c, b);
        n += (size_t)snprintf(out + n, bytes - n, "%s%s%s%s",
                              n       ? (minus ? " - " : " + ")
                              : minus ? "-"
                                      : "",
                              strcmp(a, "1") == 0 ? "" : a,
                              strcmp(a, "1") == 0 || strcmp(b, "1") == 0 ? "" : "·",
                              strcmp(b, "1") == 0 && strcmp(a, "1") != 0 ? "" : b);
    }
}

/* Returns whether some factor is a product or a sum of several, worth a line of its own. */
static int has_products(const Stages *s, const Sum *sum)
{
    char product[400];
    int some = 0;
    for (size_t i = 0; !some && i < s->of->forest->count; i++) {
        products(s, sum, i, product, sizeof product);
        some = strpbrk(product, " ·") != NULL;
    }
    return some;
}

/* Writes a row with the series of its terms put in, the products not yet multiplied. */
static void put_products(Pen *pen, const Stages *s, const Sum *sum)
{
    const Forest *f = s->of->forest;
    Powers p = {.pen = pen, .begun = 1};
    char product[400], factor[420], name[NAME];
    pen_put(pen, "y");
    for (int n = 1; n <= f->max; n++) {
        int terms = 0;
        for (int pass = 0; pass < 2; pass++) {
            if (pass && terms) powers_begin(&p, n, terms, 1);
            for (size_t i = f->first[n]; i < f->first[n + 1]; i++) {
                if (tree_vanishes(f, i, s->of->special)) continue;
                products(s, sum, i, product, sizeof product);
                terms += !pass && *product;
                if (!pass || !*product) continue;
                pen_name(s->of, i, name);
                snprintf(factor, sizeof factor, strpbrk(product, " -·") ? "(%s) " : "%s ", product);
                if (strcmp(product, "1") == 0) *factor = '\0';
                powers_add(&p, factor, 0, name);
            }
        }
    }
    powers_end(&p);
}

/* Returns the sum of the series of a stage's evaluations. */
static int collect_stages(Stages *s)
{
    Series **slope = memory_new(s->t->evals, sizeof *slope);
    int code = slope ? series_slopes(s->of->forest, s->t, slope) : ERR_MEMORY;
    for (size_t i = 0; code == 0 && i < s->t->stages; i++)
        code = series_new(s->of->forest, &s->stage[i]);
    for (size_t e = 0; code == 0 && e < s->t->evals; e++) {
        Series *to = s->stage[s->t->eval[e].stage];
        for (size_t i = 0; i < s->of->forest->count; i++)
            mpq_add(to->a[i], to->a[i], slope[e]->a[i]);
    }
    for (size_t e = 0; slope && e < s->t->evals; e++) series_free(slope[e]);
    memory_free(slope);
    return code;
}

/* Adds the lines of a stage: as written, by Taylor about y, with D put in. */
static int derive_stage(Stages *s, size_t i)
{
    char name[24], left[32];
    const Stage *stage = &s->t->stage[i];
    const Point *point = eval_point(s->t, stage->eval);
    SUM(sum);
    snprintf(name, sizeof name, "k%zu", i + 1);
    snprintf(left, sizeof left, "%s =", name);
    const char *text = written(s, name);
    int applied = *text && strchr(table_letters, *text), plain = applied && stage->op <= OP_H,
        at_y = point->row.terms == 1 && point->row.term[0].past == 0;
    derivation_part(s->d, "stage %zu", i + 1);
    Pen p;
    pen_open(&p, s->d, left);
    if (applied) pen_put(&p, "h ");
    pen_written(&p, text);
    pen_close(&p, "");
    TRY(sum_new(s, &point->row, &sum));
    if (plain && !at_y) {
        char op = s->of->one ? s->of->one : table_letters[stage->op];
        SCOPED(series_drop) Series *D = NULL;
        pen_open(&p, s->d, "=");
        pen_put(&p, "h (");
        pen_taylor(&p, op, s->of->forest->max - 1);
        pen_put(&p, ")");
        pen_close(&p, "D: that point less y");
        TRY(series_new(s->of->forest, &D));
        sum_total(&sum, D);
        derivation_series(s->d, s->of, "D =", D, 0);
    }
    derivation_series(s->d, s->of, plain && !at_y ? left : "=", s->stage[i], 0);
    return 0;
}

/* Adds the states and slopes of earlier steps that some row reads. */
static int derive_history(Stages *s)
{
    int past = s->t->past_y > s->t->past_k ? s->t->past_y : s->t->past_k;
    derivation_part(s->d, "earlier steps, on the exact solution");
    for (size_t i = 0; i < s->t->update.terms; i++) {
        const Term *x = &s->t->update.term[i];
        char name[32], left[40];
        SCOPED(series_drop) Series *k = NULL;
        if (past == 0 || x->past == 0 || !speaks(s->t, x)) continue;
        name_term(s->t, x, name);
        snprintf(left, sizeof left, "%s =", name);
        TRY(term_series(s, x, &k));
        derivation_series(s->d, s->of, left, k, x->eval == TABLE_STATE);
    }
    return 0;
}

static int derive_stages(Stages *s, Series **step)
{
    SUM(sum);
    TRY(collect_stages(s));
    for (size_t i = 0; i < s->t->stages; i++) TRY(derive_stage(s, i));
    TRY(derive_history(s));
    derivation_part(s->d, "update");
    Pen p;
    pen_open(&p, s->d, "y' =");
    pen_written(&p, written(s, "y'"));
    pen_close(&p, "");
    TRY(series_step(s->of->forest, s->t, step));
    TRY(sum_new(s, &s->t->update, &sum));
    if (has_products(s, &sum)) {
        pen_open(&p, s->d, "=");
        put_products(&p, s, &sum);
        pen_close(&p, "");
    }
    derivation_series(s->d, s->of, "=", *step, 1);
    return 0;
}

/* ---- flows ------------------------------------------------------------------------------------------- */

/* Writes the first n flows of a table, or the n-th alone, as a table that borrows them. */
static Table part_of(const Table *t, size_t from, size_t count)
{
    Table part = *t;
    part.flow = t->flow + from;
    part.flows = count;
    return part;
}

/* Writes the flow's own series at `at`: "Y1 + h F(Y1) + 1/2 h^2 F'F(Y1)". */
static void put_flow(Pen *pen, const DerivationField *of, const Series *s, const char *at)
{
    char number[NUMBER], name[NAME], h[16];
    RATIONAL(c);
    pen_put(pen, "%s", at);
    for (size_t i = 0; i < of->forest->count; i++) {
        if (!pen_find(of, s, i, c)) continue;
        pen_name(of, i, name);
        pen_put(pen, " %c %s%s%s(%s)", mpq_sgn(c) < 0 ? '-' : '+', pen_factor(of, c, number),
                pen_power(of->forest->tree[i].order, h), name, at);
    }
}

static int derive_flow(Derivation *d, const DerivationField *of, const Table *t, size_t i)
{
    char left[32], at[32] = "y", value[48], c[NUMBER];
    const Flow *f = &t->flow[i];
    Table alone = part_of(t, i, 1), all = part_of(t, 0, i + 1), before = part_of(t, 0, i);
    SCOPED(series_drop) Series *own = NULL, *step = NULL, *D = NULL;
    if (i) snprintf(at, sizeof at, "Y%zu", i);
    snprintf(left, sizeof left, "Y%zu =", i + 1);
    derivation_part(d, "flow %zu: %s%s%c%s%s, from %s", i + 1, mpq_sgn(f->c) < 0 ? "-" : "",
                    pen_factor(of, f->c, c), table_letters[f->op], f->method ? ":" : "",
                    f->method ? f->method : "", at);
    TRY(series_step(of->forest, &alone, &own));
    TRY(series_step(of->forest, &all, &step));
    if (i) TRY(series_step(of->forest, &before, &D));
    Pen p;
    pen_open(&p, d, left);
    put_flow(&p, of, own, at);
    pen_close(&p, "");
    if (i == 0) return 0;
    snprintf(value, sizeof value, "%c(%s) =", table_letters[f->op], at);
    pen_open(&p, d, value);
    pen_taylor(&p, table_letters[f->op], of->forest->max - 1);
    pen_close(&p, "D: that point less y");
    derivation_series(d, of, "D =", D, 0);
    derivation_series(d, of, left, step, 1);
    return 0;
}

int derivation_step(Derivation *d, const DerivationField *of, const Table *t, Series **step)
{
    *step = NULL;
    if (table_complex(t))
        return error_set(
            ERR_INPUT,
            "%s has complex fractions, whose flows are not written out one by one: its "
            "terms are printed without --steps",
            t->name);
    for (size_t i = 0; i < t->flows; i++) TRY(derive_flow(d, of, t, i));
    if (t->flows) return d->code ? d->code : series_step(of->forest, t, step);
    TRY(table_refuse_carries(t, "the derivation of its order is not written out"));
    Stages s = {.d = d, .of = of, .t = t, .stage = memory_new(t->stages, sizeof *s.stage)};
    size_t bytes;
    FILE *f = open_memstream(&s.text, &bytes);
    int code = s.stage && f ? table_print(t, f) : ERR_MEMORY;
    if (f && fclose(f) != 0) code = ERR_MEMORY;
    if (code == 0) code = derive_stages(&s, step);
    for (size_t i = 0; s.stage && i < t->stages; i++) series_free(s.stage[i]);
    memory_free(s.stage);
    free(s.text);
    return code ? code : d->code;
}

/* ---- the exact solution, the difference -------------------------------------------------------------- */

int derivation_exact(Derivation *d, const DerivationField *of, const mpq_t theta,
                     mpq_t weight[COLOURS], Series **exact)
{
    char c[NUMBER], left[NUMBER + 16];
    TRY(series_new(of->forest, exact));
    series_exact(*exact, theta, weight);
    derivation_part(d, "exact solution");
    snprintf(left, sizeof left, "y(t + %sh) =", pen_factor(of, theta, c));
    derivation_series(d, of, left, *exact, 1);
    return d->code;
}

/* Adds "(1/4 - 1/6) H''(H,H) = 1/12 H''(H,H)". */
static void less_term(Derivation *d, const DerivationField *of, const char *left, const char *name,
                      const mpq_t a, const mpq_t b)
{
    char number[3][NUMBER];
    RATIONAL(c);
    mpq_sub(c, a, b);
    int zero = pen_zero(of, c);
    Pen p;
    pen_open(&p, d, left);
    pen_put(&p, "(%s %c %s) %s =", pen_number(of, a, number[0]), mpq_sgn(b) < 0 ? '+' : '-',
            pen_zero(of, b) ? "0" : pen_size(of, b, number[1]), name);
    if (zero)
        pen_put(&p, " 0");
    else
        pen_put(&p, " %s%s%s", mpq_sgn(c) < 0 ? "-" : "", pen_factor(of, c, number[2]), name);
    pen_close(&p, zero ? "cancels" : "is left");
}

int derivation_less(Derivation *d, const DerivationField *of, const Series *a, const Series *b)
{
    const Forest *f = of->forest;
    char left[16], name[NAME];
    RATIONALS(x, z);
    derivation_part(d, "the difference, power by power");
    if (b) mpq_set(z, b->empty);
    if (mpq_sgn(a->empty) || mpq_sgn(z)) less_term(d, of, "1:", "y", a->empty, z);
    for (int n = 1, said; n <= f->max; n++) {
        snprintf(left, sizeof left, n > 1 ? "h^%d:" : "h:", n);
        said = 0;
        for (size_t i = f->first[n]; i < f->first[n + 1]; i++) {
            int some = pen_find(of, a, i, x);
            mpq_set_ui(z, 0, 1);
            if (b) some |= pen_find(of, b, i, z);
            if (!some) continue;
            pen_name(of, i, name);
            less_term(d, of, said++ ? "" : left, name, x, z);
        }
    }
    return d->code;
}

int derivation_error(Derivation *d, const Table *t, int degree, char one)
{
    SCOPED(forest_drop) Forest *f = NULL;
    SCOPED(series_drop) Series *step = NULL, *exact = NULL;
    int timed = table_written(t), cuts = table_methods(t) || t->past_k;
    TRY((cuts ? forest_timed : forest_trees)(degree, one ? 1 : t->colours, timed, &f));
    DerivationField of = {f, one, t->special, t->exact};
    TRY(derivation_step(d, &of, t, &step));
    TRY(derivation_exact(d, &of, rational_one, ((Table *)t)->weight, &exact));
    return derivation_less(d, &of, step, exact);
}

/* ---- brackets ---------------------------------------------------------------------------------------- */

/* Finds log of a product of flows, in brackets. */
static int find_log(const Table *t, size_t flows, int degree, Brackets *out)
{
    Table part = part_of(t, 0, flows);
    for (int c = 0; c < COLOURS; c++) mpq_init(part.weight[c]);
    int code = bracket_error(&part, degree, out);
    for (int c = 0; c < COLOURS; c++) mpq_clear(part.weight[c]);
    return code;
}

static void put_brackets(Pen *pen, const DerivationField *of, const Brackets *b)
{
    Powers p = {.pen = pen};
    char number[NUMBER];
    for (size_t i = 0; i < b->count; i++) {
        const Bracket *x = &b->bracket[i];
        if (i == 0 || x->degree != x[-1].degree) {
            int terms = 0;
            while (i + (size_t)terms < b->count && x[terms].degree == x->degree) terms++;
            powers_begin(&p, x->degree, terms, mpq_sgn(x->c));
        }
        powers_add(&p, pen_factor(of, x->c, number), mpq_sgn(x->c) < 0, x->name);
    }
    powers_end(&p);
    if (b->count == 0) pen_put(pen, "0");
}

/* Adds log of the first n + 1 flows by the series of Baker, Campbell and Hausdorff, Z the log so far and X the next. */
static int derive_log(Derivation *d, const DerivationField *of, const Table *t, size_t n,
                      int degree)
{
    static const char *const series[] = {
        "", "Z + X", " + 1/2 [Z,X]", " + 1/12 [Z,[Z,X]] + 1/12 [X,[X,Z]]", " - 1/24 [X,[Z,[Z,X]]]"};
    const Flow *f = &t->flow[n];
    char left[32], c[NUMBER];
    SCOPED(bracket_free) Brackets b = {0};
    snprintf(left, sizeof left, "Z%zu =", n + 1);
    derivation_part(d, "flow %zu", n + 1);
    if (n) {
        Pen p;
        pen_open(&p, d, left);
        pen_put(&p, "log(exp(Z) exp(X)), Z = Z%zu, X = %s%sh %c", n, mpq_sgn(f->c) < 0 ? "-" : "",
                pen_factor(of, f->c, c), table_letters[f->op]);
        pen_break(&p);
        pen_put(&p, "= ");
        for (int k = 1; k <= degree && k <= 4; k++) pen_put(&p, "%s", series[k]);
        if (degree > 4) pen_put(&p, " + ...");
        pen_close(&p, "");
    }
    TRY(find_log(t, n + 1, degree, &b));
    Pen p;
    pen_open(&p, d, left);
    put_brackets(&p, of, &b);
    pen_close(&p, "");
    return d->code;
}

int derivation_brackets(Derivation *d, const Table *t, int degree)
{
    DerivationField of = {NULL, 0, 0, t->exact};
    SCOPED(bracket_free) Brackets b = {0};
    char left[16];
    for (size_t n = 0; n < t->flows; n++) TRY(derive_log(d, &of, t, n, degree));
    derivation_part(d, "log(step)/h less the field, power by power");
    TRY(find_log(t, t->flows, degree, &b));
    for (size_t i = 0; i < b.count; i++) {
        const Bracket *x = &b.bracket[i];
        int power = x->degree - 1, same = i && x[-1].degree == x->degree;
        RATIONAL(field);
        if (power == 0)
            mpq_set(field, t->weight[strchr(table_letters, x->name[0]) - table_letters]);
        snprintf(left, sizeof left, power == 0 ? "1:" : power == 1 ? "h:" : "h^%d:", power);
        less_term(d, &of, same ? "" : left, x->name, x->c, field);
    }
    return d->code;
}
