/* ssp.c: the coefficient of strong stability of a one-step method, its radius of absolute monotonicity
 *
 *     C = sup { r >= 0 : K (I + r K)^-1 >= 0 and r K (I + r K)^-1 e <= e },   K = (A 0; b 0), e = (1, ..., 1)
 *
 * entry by entry: a quantity, such as a total variation, that Euler's method does not increase for h <= h0 is not
 * increased by the method for h <= C h0. Both hold on all of [0, C], so C is found by bisection. It is at most the
 * number of stages of an explicit method, and infinite for implicit Euler. Source: Kraaijevanger 1991, theorem 4.2;
 * Gottlieb, Ketcheson, Shu 2011, chapters 3 and 7. */
#include <math.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/theory/theory.h"

enum { HALVINGS = 60 };

/* Fills K (n, n) for a table of stages H, y + slopes of this step alone; 0 where it is none. */
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

/* Solves by elimination with row pivots. W (n, 2 n) out: I + r K, lost, and beside it M = (I + r K)^-1 K, which is
 * K (I + r K)^-1. Returns 0 where I + r K is singular. */
static int solve(const double *K, size_t n, double r, double *W)
{
    size_t wide = 2 * n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            W[i * wide + j] = (i == j) + r * K[i * n + j];
            W[i * wide + n + j] = K[i * n + j];
        }
    for (size_t j = 0; j < n; j++) {
        size_t best = j;
        for (size_t i = j + 1; i < n; i++)
            if (fabs(W[i * wide + j]) > fabs(W[best * wide + j])) best = i;
        if (W[best * wide + j] == 0) return 0;
        for (size_t c = j; c < wide && best != j; c++) {
            double swap = W[j * wide + c];
            W[j * wide + c] = W[best * wide + c];
            W[best * wide + c] = swap;
        }
        for (size_t c = wide; c-- > j;) W[j * wide + c] /= W[j * wide + j];
        for (size_t i = 0; i < n; i++) {
            double x = W[i * wide + j];
            for (size_t c = j; c < wide && i != j && x != 0; c++)
                W[i * wide + c] -= x * W[j * wide + c];
        }
    }
    return 1;
}

static int is_monotonic(const double *K, size_t n, double r, double *W)
{
    const double tiny = 1e-12;
    int holds = solve(K, n, r, W);
    for (size_t i = 0; i < n && holds; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++) {
            double m = W[i * 2 * n + n + j];
            sum += m;
            holds &= m >= -tiny;
        }
        holds &= r * sum <= 1 + tiny;
    }
    return holds;
}

/* Returns a fraction of three digits where one lies within 1e-10 of r, else r. The conditions are met to `tiny`, so r
 * is known to some 1e-11. */
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

static double find(const double *K, size_t n, double *W)
{
    const double far = 1e6;
    double low = 0, high = 2 * (double)n;
    if (!is_monotonic(K, n, 0, W)) return 0;
    if (is_monotonic(K, n, far, W)) return INFINITY;
    while (high < far && is_monotonic(K, n, high, W)) high *= 2;
    for (int i = 0; i < HALVINGS; i++) {
        double r = (low + high) / 2;
        *(is_monotonic(K, n, r, W) ? &low : &high) = r;
    }
    return low < 1e-9 ? 0 : settle(low);
}

int stability_ssp(const Table *t, double *coefficient)
{
    size_t n = t->stages + 1;
    *coefficient = NAN;
    if (!table_over(t, OP_H) || table_past(t) || table_phi(t)) return 0;
    SCOPED(memory_drop) double *K = memory_new(n, 3 * n * sizeof *K);
    if (!K) return ERR_MEMORY;
    if (fill(t, K)) *coefficient = find(K, n, K + n * n);
    return 0;
}
