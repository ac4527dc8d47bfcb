/* dense.c: values between the ends of a step, from its slopes alone, read off the scheme's own table.
 *
 *     y(t + theta h) = y + sum_e b_e(theta) k_e + O(h^(q+1)),   b_e(theta) = sum_d beta_ed theta^d,  d = 1 .. q,
 *
 * holds where for every tree of order 1 .. q and every d
 *
 *     sum_e beta_ed K_e(tree) = [d = order of the tree] a(tree),
 *
 * where a(tree) is that of the exact flow (series.c); with sum_d beta_ed = b_e the step ends where it does without. q
 * is the largest for which this can be met, at most the order p. Of all solutions the one with the least sum of squares
 * is taken; where the first slope is that at y and the last one that at y' (first same as last), among those whose
 * derivative is continuous: b_e'(0) and b_e'(1) are 1 for these two and 0 for the others. In x_d, the least solution by
 * itself, and N, the solutions of the conditions with 0 on the right, beta_d = x_d + n_d with n_d in N: the ends ask
 * for sum n_d, the derivatives for sum d n_d, and the least n_d are u + d v.
 *
 * In Rosenbrock methods the weights stand on solved stages alone. One of these is bounded however stiff the field is, as
 * z / (1 - g z) -> -1/g where z = h lambda -> -inf, but a slope k = h f(Y) is z times the error of Y in a stiff
 * component. So these values stay as bounded as the step's own; their order is that for h -> 0 (adapt.c).
 *
 * Where stages are implicit, and the estimate of the error alone has resolvents, no stage that only the estimate reads has
 * a weight, for the same reason: one of them is a slope at y.
 *
 * Where all stages are H one field is enough, and a stage is one unknown. Everything is rational; where the scheme has
 * decimals, to 320 bits.
 * Source: Hairer, Norsett, Wanner 1993, section II.6; solved stages: Hairer, Wanner 1996, section IV.7. */
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/theory/theory.h"
#include "ode/scheme/rationals.h"

typedef struct {
    const Table *t;
    int one, q;          /* one: unknowns are stages */
    size_t n;            /* unknowns */
    size_t *eval;        /* (n) the evaluation of an unknown, or its first one */
    size_t rows, wide;   /* conditions; wide = n + q columns, the last for x_1 .. x_q */
    mpq_t *m;            /* (rows, wide), reduced to echelon form */
    size_t *pivot, rank; /* (rank) column of a row's leading 1 */
    size_t *other;       /* (n - rank) the other columns */
    size_t *unused;      /* (n) scratch */
    double nothing;      /* a number of an inexact table that is not more than this is rounding */
} Search;

/* ---- conditions ------------------------------------------------------------------------------------- */

static void fill_conditions(Search *s, const Forest *f, Series **slope, const Series *exact)
{
    s->rows = f->count;
    for (size_t i = 0; i < f->count; i++) {
        mpq_t *row = s->m + i * s->wide;
        for (size_t v = 0; v < s->n; v++) mpq_set(row[v], slope[s->eval[v]]->a[i]);
        for (int d = 1; d <= s->q; d++)
            if (d == f->tree[i].order)
                mpq_set(row[s->n + (size_t)d - 1], exact->a[i]);
            else
                mpq_set_ui(row[s->n + (size_t)d - 1], 0, 1);
    }
}

static int reduce(Search *s)
{
    s->rank = rationals_reduce(s->m, s->rows, s->wide, s->n, s->nothing, s->pivot);
    for (size_t r = s->rank; r < s->rows; r++)
        if (rationals_reduce(s->m + r * s->wide + s->n, 1, (size_t)s->q, (size_t)s->q, s->nothing,
                             s->unused))
            return 0;
    for (size_t v = 0, r = 0, k = 0; v < s->n; v++)
        if (r < s->rank && s->pivot[r] == v)
            r++;
        else
            s->other[k++] = v;
    return 1;
}

/* Computes x (n, q): x_d has the least sum of squares of all with E x_d = right_d, E the reduced rows, right_d their
 * columns behind it. E is 1 in the columns of pivots and N in the others, so of x the former are right - N z, z the
 * latter, and the least is where (1 + N'N) z = N' right. g (others, others + q): scratch. */
static void least(const Search *s, mpq_t *g, mpq_t *x)
{
    size_t q = (size_t)s->q, others = s->n - s->rank, wide = others + q;
    for (size_t i = 0; i < others; i++) {
        for (size_t k = 0; k < wide; k++) {
            size_t column = k < others ? s->other[k] : s->n + k - others;
            mpq_set_ui(g[i * wide + k], k == i, 1);
            for (size_t r = 0; r < s->rank; r++) {
                mpq_t *row = s->m + r * s->wide;
                rational_add(g[i * wide + k], row[s->other[i]], row[column]);
            }
        }
    }
    rationals_reduce(g, others, wide, others, s->nothing, s->unused);
    for (size_t d = 0; d < q; d++) {
        for (size_t i = 0; i < others; i++)
            mpq_set(x[s->other[i] * q + d], g[i * wide + others + d]);
        for (size_t r = 0; r < s->rank; r++) {
            mpq_t *row = s->m + r * s->wide, *to = x + s->pivot[r] * q + d;
            mpq_set(*to, row[s->n + d]);
            for (size_t i = 0; i < others; i++)
                rational_subtract(*to, row[s->other[i]], g[i * wide + others + d]);
        }
    }
}

/* ---- the ends --------------------------------------------------------------------------------------- */

/* Returns the unknown whose slope is at y, or at y'; -1: none. */
static int unknown_at(const Search *s, const Row *row)
{
    const Table *t = s->t;
    for (size_t v = 0; s->one && v < s->n; v++)
        if (row_equal(&t->point[t->eval[s->eval[v]].point].row, row)) return (int)v;
    return -1;
}

static int find_ends(const Search *s, int *first, int *last)
{
    ROW(y);
    TRY(row_add(&y, TABLE_STATE, 0, rational_one, 0, NULL));
    *first = unknown_at(s, &y);
    *last = unknown_at(s, &s->t->update);
    return 0;
}

/* Adds c to to (n) at unknown v; v < 0: nowhere. */
static void add_unit(mpq_t *to, int v, int c)
{
    RATIONAL(x);
    mpq_set_si(x, c, 1);
    if (v >= 0) mpq_add(to[v], to[v], x);
}

/* Adds n_d = u + d v to the x_d in beta (n, q), for d = low .. q. sum n_d = end and, where there is slope (NULL: not
 * asked for), sum d n_d = slope; both (n). */
static void meet_ends(const Search *s, int low, mpq_t *end, mpq_t *slope, mpq_t *beta)
{
    long S0 = 0, S1 = 0, S2 = 0;
    for (int d = low; d <= s->q; d++) S0++, S1 += d, S2 += d * d;
    RATIONALS(over, x, y, u, v);
    mpq_set_si(over, 1, (unsigned long)(slope ? S0 * S2 - S1 * S1 : S0));
    for (size_t k = 0; k < s->n; k++) {
        if (slope) { /* S0 u + S1 v = end, S1 u + S2 v = slope */
            mpq_set_si(x, S2, 1), mpq_mul(u, x, end[k]);
            mpq_set_si(x, -S1, 1), mpq_mul(y, x, slope[k]), mpq_add(u, u, y);
            mpq_mul(v, x, end[k]);
            mpq_set_si(x, S0, 1), mpq_mul(y, x, slope[k]), mpq_add(v, v, y);
            mpq_mul(v, v, over);
        } else {
            mpq_set(u, end[k]);
        }
        mpq_mul(u, u, over);
        for (int d = low; d <= s->q; d++) {
            mpq_t *b = beta + k * (size_t)s->q + (size_t)d - 1;
            mpq_set_si(x, d, 1);
            mpq_mul(x, x, v);
            mpq_add(x, x, u);
            mpq_add(*b, *b, x);
        }
    }
}

/* Computes beta (n, q); smooth: with a continuous derivative. work (2 n + others (others + q)). */
static void solve(const Search *s, int smooth, int first, int last, mpq_t *beta, mpq_t *work)
{
    size_t n = s->n, q = (size_t)s->q;
    mpq_t *end = work, *slope = end + n, y;
    size_t low = smooth ? 2 : 1;
    mpq_init(y);
    least(s, slope + n, beta);
    for (size_t v = 0; v < n; v++) {
        row_weight(s->t, &s->t->update, (int)s->eval[v], end[v]);
        mpq_set_ui(slope[v], 0, 1);
    }
    if (smooth) add_unit(end, first, -1), add_unit(slope, first, -1), add_unit(slope, last, 1);
    for (size_t v = 0; v < n; v++) {
        if (smooth) mpq_set_ui(beta[v * q], (int)v == first, 1);
        for (size_t d = low; d <= q; d++) {
            mpq_t *x = beta + v * q + d - 1;
            mpq_sub(end[v], end[v], *x);
            mpq_set_ui(y, (unsigned long)d, 1);
            rational_subtract(slope[v], y, *x);
        }
    }
    meet_ends(s, (int)low, end, smooth ? slope : NULL, beta);
    mpq_clear(y);
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static int keep(const Search *s, int smooth, mpq_t *beta, Dense *out)
{
    out->order = s->q;
    out->smooth = smooth;
    out->evals = s->t->evals;
    out->beta = rationals_new(out->evals * (size_t)s->q);
    out->b = memory_new(out->evals * (size_t)s->q, sizeof *out->b);
    if (!out->beta || !out->b) return ERR_MEMORY;
    for (size_t v = 0; v < s->n; v++)
        for (size_t e = 0; e < out->evals; e++) {
            if (s->one ? s->t->eval[e].stage != s->t->eval[s->eval[v]].stage : e != s->eval[v])
                continue;
            for (size_t d = 0; d < (size_t)s->q; d++) {
                mpq_set(out->beta[e * (size_t)s->q + d], beta[v * (size_t)s->q + d]);
                out->b[e * (size_t)s->q + d] = table_double(beta[v * (size_t)s->q + d]);
            }
        }
    return 0;
}

static int finish(Search *s, Dense *out)
{
    int first, last;
    TRY(find_ends(s, &first, &last));
    int smooth = first >= 0 && last >= 0 && first != last && s->q >= 3;
    size_t others = s->n - s->rank;
    SCOPED(rationals_drop) mpq_t *beta = rationals_new(s->n * (size_t)s->q);
    SCOPED(rationals_drop) mpq_t *work = rationals_new(2 * s->n + others * (others + (size_t)s->q));
    if (!beta || !work) return ERR_MEMORY;
    solve(s, smooth, first, last, beta, work);
    return keep(s, smooth, beta, out);
}

/* Finds whether the conditions in trees f can be met, and there the solution (out NULL: not wanted). slope (evals):
 * scratch. */
static int meet(Search *s, const Forest *f, Series **slope, int *met, Dense *out)
{
    SCOPED(series_drop) Series *exact = NULL;
    SCOPED(rationals_drop) mpq_t *m = s->m = rationals_new(f->count * s->wide);
    if (!m) return ERR_MEMORY;
    TRY(series_slopes(f, s->t, slope));
    TRY(series_new(f, &exact));
    series_exact(exact, rational_one, ((Table *)s->t)->weight);
    fill_conditions(s, f, slope, exact);
    *met = reduce(s);
    return *met && out ? finish(s, out) : 0;
}

static int try_order(Search *s, int *met, Dense *out)
{
    SCOPED(forest_drop) Forest *f = NULL;
    SCOPED(memory_drop) Series **slope = memory_new(s->t->evals, sizeof *slope);
    if (!slope) return ERR_MEMORY;
    TRY(forest_trees(s->q, s->one ? 1 : table_tree_colours(s->t), 0, &f));
    s->wide = s->n + (size_t)s->q;
    int code = meet(s, f, slope, met, out);
    for (size_t e = 0; e < s->t->evals; e++) series_free(slope[e]);
    return code;
}

/* Returns whether there are values between the ends: one step, stages, y + slopes. */
static int has_dense(const Table *t)
{
    return !t->flows && !table_past(t) && t->evals && !table_exponential(t) &&
           row_plain(&t->update);
}

int dense_weighs(const Table *t, size_t e)
{
    RATIONAL(c);
    row_weight(t, &t->update, (int)e, c);
    int free = eval_point(t, (int)e)->phi || mpq_sgn(c) != 0;
    for (size_t i = 0; i < t->evals && !free; i++) {
        const Point *p = eval_point(t, (int)i);
        if (p->phi && point_fields(t, p) >> t->eval[e].op & 1) return 0;
    }
    return 1;
}

/* Finds the highest order, up from 1: what an order asks for, every higher one does. */
static int climb(Search *s, Dense *out)
{
    Theory theory;
    int trees = forest_most(s->one ? 1 : table_tree_colours(s->t)), met = 1,
        most = trees < DENSE_MOST ? trees : DENSE_MOST;
    TRY(theory_search(s->t, most < trees ? most + 1 : most, &theory));
    int p = theory.order_autonomous;
    for (s->q = 0; met && s->q < p && s->q < most; s->q += met) {
        Search next = *s;
        next.q++;
        TRY(try_order(&next, &met, NULL));
    }
    out->bounded = s->q == most && p > most;
    return s->q ? try_order(s, &met, out) : 0;
}

static int find(const Table *t, Dense *out)
{
    SCOPED(memory_drop) size_t *list = memory_new(4 * t->evals, sizeof *list);
    if (!list) return ERR_MEMORY;
    Search s = {.t = t, .one = table_over(t, OP_H), .nothing = t->exact ? 0 : 1e-12, .eval = list};
    s.pivot = list + t->evals;
    s.other = s.pivot + t->evals;
    s.unused = s.other + t->evals;
    for (size_t e = 0; e < t->evals; e++)
        if ((!s.one || t->stage[t->eval[e].stage].eval == (int)e) && dense_weighs(t, e))
            s.eval[s.n++] = e;
    return climb(&s, out);
}

int dense_find(const Table *scheme, Dense *out)
{
    *out = (Dense){0};
    SCOPED(table_drop) Table *t = table_freeze(table_unfiltered(scheme));
    if (!t) return ERR_MEMORY;
    int code = has_dense(t) ? find(t, out) : 0;
    if (code < 0) dense_free(out);
    return code > 0 ? 0 : code;
}

void dense_free(Dense *d)
{
    rationals_free(d->beta);
    memory_free(d->b);
    *d = (Dense){0};
}

double dense_value(const Dense *d, size_t e, double theta)
{
    double sum = 0;
    for (size_t k = (size_t)d->order; k-- > 0;)
        sum = theta * (sum + d->b[e * (size_t)d->order + k]);
    return sum;
}
