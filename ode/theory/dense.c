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
 * Where all stages are H one field is enough, and a stage is one unknown. Everything is rational.
 * Source: Hairer, Norsett, Wanner 1993, section II.6. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "ode/scheme/scheme.h"
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
    size_t unused;
    s->rank = rationals_reduce(s->m, s->rows, s->wide, s->n, s->nothing, s->pivot);
    for (size_t r = s->rank; r < s->rows; r++)
        if (rationals_reduce(s->m + r * s->wide + s->n, 1, (size_t)s->q, (size_t)s->q, s->nothing,
                             &unused))
            return 0;
    return 1;
}

/* Computes x (n), the least x with E x = right (rank), E the reduced rows: E' (E E')^-1 right. g (rank, rank + 1):
 * scratch. */
static void least(const Search *s, mpq_t *right, mpq_t *g, mpq_t *x)
{
    size_t n = s->rank, wide = n + 1;
    mpq_t y;
    mpq_init(y);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            mpq_set_ui(g[i * wide + j], 0, 1);
            for (size_t v = 0; v < s->n; v++) {
                rational_add(g[i * wide + j], s->m[i * s->wide + v], s->m[j * s->wide + v]);
            }
        }
        mpq_set(g[i * wide + n], right[i]);
    }
    for (size_t c = 0; c < n; c++) /* positive definite: no pivoting */
        for (size_t i = 0; i < n; i++) {
            if (i == c) continue;
            mpq_div(y, g[i * wide + c], g[c * wide + c]);
            for (size_t k = c; k < wide; k++) {
                rational_subtract(g[i * wide + k], y, g[c * wide + k]);
            }
        }
    for (size_t v = 0; v < s->n; v++) {
        mpq_set_ui(x[v], 0, 1);
        for (size_t i = 0; i < n; i++) {
            mpq_div(y, g[i * wide + n], g[i * wide + i]);
            rational_add(x[v], y, s->m[i * s->wide + v]);
        }
    }
    mpq_clear(y);
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
    Row y = {0};
    int code = row_add(&y, TABLE_STATE, 0, rational_one, 0, NULL);
    *first = unknown_at(s, &y);
    *last = unknown_at(s, &s->t->update);
    row_free(&y);
    return code;
}

/* Adds c to to (n) at unknown v; v < 0: nowhere. */
static void add_unit(mpq_t *to, int v, int c)
{
    mpq_t x;
    mpq_init(x);
    mpq_set_si(x, c, 1);
    if (v >= 0) mpq_add(to[v], to[v], x);
    mpq_clear(x);
}

/* Adds n_d = u + d v to the x_d in beta (n, q), for d = low .. q. sum n_d = end and, where there is slope (NULL: not
 * asked for), sum d n_d = slope; both (n). */
static void meet_ends(const Search *s, int low, mpq_t *end, mpq_t *slope, mpq_t *beta)
{
    long S0 = 0, S1 = 0, S2 = 0;
    for (int d = low; d <= s->q; d++) S0++, S1 += d, S2 += d * d;
    mpq_t over, x, y, u, v;
    mpq_inits(over, x, y, u, v, NULL);
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
    mpq_clears(over, x, y, u, v, NULL);
}

/* Computes beta (n, q); smooth: with a continuous derivative. work (4 n + rank (rank + 2)). */
static void solve(const Search *s, int smooth, int first, int last, mpq_t *beta, mpq_t *work)
{
    size_t n = s->n, q = (size_t)s->q;
    mpq_t *x = work, *end = x + n, *slope = end + n, *right = slope + n, *g = right + s->rank, y;
    int low = smooth ? 2 : 1;
    mpq_init(y);
    for (size_t v = 0; v < n; v++) mpq_set_ui(end[v], 0, 1), mpq_set_ui(slope[v], 0, 1);
    for (size_t i = 0; i < s->t->update.terms; i++)
        for (size_t v = 0; v < n; v++)
            if (s->t->update.term[i].eval == (int)s->eval[v])
                mpq_set(end[v], s->t->update.term[i].c);
    if (smooth) add_unit(end, first, -1), add_unit(slope, first, -1), add_unit(slope, last, 1);
    for (size_t d = 1; d <= q; d++) {
        for (size_t r = 0; r < s->rank; r++) mpq_set(right[r], s->m[r * s->wide + n + d - 1]);
        least(s, right, g, x);
        for (size_t v = 0; v < n; v++) {
            if (d < (size_t)low) mpq_set_ui(x[v], (int)v == first, 1);
            mpq_set(beta[v * q + d - 1], x[v]);
            if (d < (size_t)low) continue;
            mpq_sub(end[v], end[v], x[v]);
            mpq_set_ui(y, (unsigned long)d, 1);
            rational_subtract(slope[v], y, x[v]);
        }
    }
    meet_ends(s, low, end, smooth ? slope : NULL, beta);
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
            if (s->one ? s->t->eval[e].stage != s->t->eval[s->eval[v]].stage : e != v) continue;
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
    size_t room = 4 * s->n + s->rank * (s->rank + 2);
    mpq_t *beta = rationals_new(s->n * (size_t)s->q), *work = rationals_new(room);
    int code = beta && work ? 0 : ERR_MEMORY;
    if (code == 0) {
        solve(s, smooth, first, last, beta, work);
        code = keep(s, smooth, beta, out);
    }
    rationals_free(beta, s->n * (size_t)s->q);
    rationals_free(work, room);
    return code;
}

static int try_order(Search *s, Dense *out)
{
    Forest *f;
    Series *exact = NULL, **slope = memory_new(s->t->evals, sizeof *slope);
    TRY(forest_trees(s->q, s->one ? 1 : table_tree_colours(s->t), 0, &f));
    s->wide = s->n + (size_t)s->q;
    s->m = rationals_new(f->count * s->wide);
    int code = slope && s->m ? series_slopes(f, s->t, slope) : ERR_MEMORY;
    if (code == 0) code = series_new(f, &exact);
    if (code == 0) {
        series_exact(exact, rational_one, ((Table *)s->t)->weight);
        fill_conditions(s, f, slope, exact);
        if (reduce(s)) code = finish(s, out);
    }
    for (size_t e = 0; slope && e < s->t->evals; e++) series_free(slope[e]);
    series_free(exact);
    memory_free(slope);
    rationals_free(s->m, f->count * s->wide);
    forest_free(f);
    return code;
}

/* Returns whether there are values between the ends: one step, stages, y + slopes. */
static int has_dense(const Table *t)
{
    return !t->flows && !t->past_y && !t->past_k && t->evals && !table_exponential(t) &&
           row_plain(&t->update);
}

int dense_find(const Table *scheme, Dense *out)
{
    Theory theory;
    *out = (Dense){0};
    Table *t = table_freeze(table_whole(scheme));
    if (!t) return ERR_MEMORY;
    Search s = {.t = t, .one = table_over(t, OP_H), .nothing = t->exact ? 0 : 1e-12};
    int code = has_dense(t) ? theory_search(t, DENSE_MOST, &theory) : 1;
    if (code == 0 && theory.order_autonomous == 0) code = 1;
    s.eval = memory_new(2 * t->evals, sizeof *s.eval);
    if (code == 0 && !s.eval) code = ERR_MEMORY;
    s.pivot = s.eval + t->evals;
    for (size_t e = 0; code == 0 && e < t->evals; e++)
        if (!s.one || t->stage[t->eval[e].stage].eval == (int)e) s.eval[s.n++] = e;
    for (s.q = code == 0 ? theory.order_autonomous : 0; code == 0 && s.q > 0 && out->order == 0;
         s.q--)
        code = try_order(&s, out);
    memory_free(s.eval);
    table_free(t);
    if (code < 0) dense_free(out);
    return code > 0 ? 0 : code;
}

void dense_free(Dense *d)
{
    rationals_free(d->beta, d->evals * (size_t)d->order);
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
