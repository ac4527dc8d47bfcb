/* ssp.c: the coefficient of strong stability of an explicit one-step method, its radius of absolute monotonicity
 *
 *     C = sup { r >= 0 : K (I + r K)^-1 >= 0 and r K (I + r K)^-1 e <= e },   K = (A 0; b 0), e = (1, ..., 1)
 *
 * entry by entry: what Euler's method does not increase for h <= h0, as a total variation, the method does not increase for h
 * <= C h0. Both hold on all of [0, C], so C is found by bisection; K is strictly lower triangular, so the inverse is a
 * substitution. Source: Kraaijevanger 1991, theorem 4.2; Gottlieb, Ketcheson, Shu 2011, chapter 3. */
#include <math.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "ode/ode.h"

enum { HALVINGS = 60 };

/* K (n, n) of a table of stages H, y + slopes of this step alone; 0 where it is none. */
static int fill(const Table *t, double *K)
{
    size_t n = t->stages + 1;
    for (size_t i = 0; i < n; i++) {
        const Row *row =
            i < t->stages ? &t->point[t->eval[t->stage[i].eval].point].row : &t->update;
        for (size_t k = 0; k < row->terms; k++) {
            const Term *x = &row->term[k];
            if (x->past || x->symbols) return 0;
            if (x->eval == TABLE_STATE && mpq_cmp_ui(x->c, 1, 1) != 0) return 0;
            for (size_t j = 0; j < t->stages; j++)
                if (x->eval == t->stage[j].eval) K[i * n + j] = table_double(x->c);
        }
    }
    return 1;
}

/* M (n, n) = K (I + r K)^-1, and whether both conditions hold. M = K - r M K, column by column from the last. */
static int is_monotonic(const double *K, size_t n, double r, double *M)
{
    const double tiny = 1e-12;
    int holds = 1;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = n; j-- > 0;) {
            double m = K[i * n + j];
            for (size_t k = j + 1; k < n; k++) m -= r * M[i * n + k] * K[k * n + j];
            M[i * n + j] = m;
            sum += m;
            holds &= m >= -tiny;
        }
        holds &= r * sum <= 1 + tiny;
    }
    return holds;
}

/* The conditions are met to `tiny`, so r is known to some 1e-11: where a fraction of three digits lies within 1e-10 it is that, else r. */
static double settle(double r)
{
    double x = r, p = 1, q = 0, before = 0,
           under = 1; /* convergents p/q of r's continued fraction */
    while (q <= 1000) {
        double a = floor(x + 1e-7), next = a * p + before, below = a * q + under;
        before = p, under = q, p = next, q = below;
        if (q <= 1000 && fabs(p / q - r) < 1e-10) return p / q;
        if (!(x - a > 1e-7)) break;
        x = 1 / (x - a);
    }
    return r;
}

static double find(const double *K, size_t n, double *M)
{
    double low = 0, high = 2 * (double)n; /* C <= stages */
    if (!is_monotonic(K, n, 0, M)) return 0;
    for (int i = 0; i < HALVINGS; i++) {
        double r = (low + high) / 2;
        *(is_monotonic(K, n, r, M) ? &low : &high) = r;
    }
    return low < 1e-9 ? 0 : settle(low);
}

int stability_ssp(const Table *t, double *coefficient)
{
    size_t n = t->stages + 1;
    *coefficient = NAN;
    if (!table_over(t, OP_H) || t->past_y || t->past_k || table_implicit(t)) return 0;
    double *K = memory_new(n, 2 * n * sizeof *K);
    if (!K) return ERR_MEMORY;
    if (fill(t, K)) *coefficient = find(K, n, K + n * n);
    memory_free(K);
    return 0;
}
