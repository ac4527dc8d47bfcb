/* joined.c: joins the evaluations of a Runge-Kutta method that no tree tells apart (joined.h). */
#include "ode/theory/joined.h"

#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"

int joined_differ(const Table *t, const mpq_t a, const mpq_t b)
{
    RATIONAL(d);
    mpq_sub(d, a, b);
    return !theory_is_zero(t, d);
}

int joined_takes(const Table *t)
{
    enum { EVALS_MAX = 256 };
    int ok = !table_past(t) && row_plain(&t->update) && t->evals <= EVALS_MAX;
    for (size_t p = 0; p < t->points; p++) ok = ok && row_plain(&t->point[p].row);
    return ok;
}

/* Computes out (evals), a row by joined evaluation; `op` >= 0: only the other operators'. */
static void row_coefficients(const Joined *s, mpq_t *row, int op, mpq_t *out)
{
    for (size_t j = 0; j < s->evals; j++) mpq_set_ui(out[j], 0, 1);
    for (size_t j = 0; j < s->evals; j++)
        if (s->colour[j] != op) mpq_add(out[s->of[j]], out[s->of[j]], row[j]);
}

static int find_equal(const Joined *s, int op, mpq_t *row)
{
    size_t n = s->evals;
    for (size_t i = 0; i < s->n; i++) {
        size_t j = 0;
        while (j < n && !joined_differ(s->t, s->a[i * n + j], row[j])) j++;
        if (j == n && s->op[i] == op) return (int)i;
    }
    return -1;
}

/* Marks evaluations that used ones read; returns 0 where there were none to mark. */
static int mark_used(Joined *s)
{
    size_t n = s->evals;
    int more = 0;
    for (size_t i = s->n; i-- > 0;)
        for (size_t j = 0; j < s->n && !s->used[i]; j++)
            more |= s->used[i] = s->used[j] && !theory_is_zero(s->t, s->a[j * n + i]);
    return more;
}

/* Joins equal evaluations: at first all, then those of one operator that read as much of each,
 * until none can be told apart; implicit slopes too (Hundsdorfer, Spijker 1981). */
static void join_evaluations(Joined *s)
{
    size_t n = s->evals, before;
    do {
        before = s->n;
        s->n = 0;
        for (size_t e = 0; e < n; e++) {
            mpq_t *row = s->a + s->n * n;
            row_coefficients(s, s->row + e * n, s->separable ? s->colour[e] : -1, row);
            int same = find_equal(s, s->colour[e], row);
            s->next[e] = same < 0 ? (int)s->n : same;
            if (same < 0) s->op[s->n++] = s->colour[e];
        }
        memcpy(s->of, s->next, n * sizeof *s->of);
    } while (s->n != before);
    row_coefficients(s, s->weight, -1, s->b);
    for (size_t i = 0; i < s->n; i++) s->used[i] = !theory_is_zero(s->t, s->b[i]);
    while (mark_used(s)) {}
}

void joined_free(Joined *s)
{
    memory_free(s->colour);
    rationals_free(s->row);
}

/* Writes a row's weights on evaluations. */
static void write_weights(const Row *r, mpq_t *out)
{
    for (size_t i = 0; i < r->terms; i++)
        if (r->term[i].eval != TABLE_STATE)
            mpq_add(out[r->term[i].eval], out[r->term[i].eval], r->term[i].c);
}

int joined_new(const Table *t, int separable, int adjoint, Joined *s)
{
    size_t m = t->evals, n = adjoint ? 2 * m : m;
    *s = (Joined){.t = t, .separable = separable, .evals = n};
    s->colour = memory_new(5 * n, sizeof *s->colour);
    s->row = rationals_new(2 * (n * n + n));
    if (!s->colour || !s->row) return ERR_MEMORY;
    s->of = s->colour + n;
    s->next = s->of + n;
    s->op = s->next + n;
    s->used = s->op + n;
    s->weight = s->row + n * n;
    s->a = s->weight + n;
    s->b = s->a + n * n;
    write_weights(&t->update, s->weight);
    for (size_t e = 0; e < m; e++) {
        write_weights(&eval_point(t, (int)e)->row, s->row + e * n);
        s->colour[e] = t->eval[e].op;
    }
    for (size_t e = m; e < n; e++) {
        s->colour[e] = s->colour[e - m];
        mpq_neg(s->weight[e], s->weight[e - m]);
        for (size_t j = 0; j < m; j++)
            mpq_sub(s->row[e * n + m + j], s->weight[j], s->row[(e - m) * n + j]);
    }
    join_evaluations(s);
    return 0;
}
