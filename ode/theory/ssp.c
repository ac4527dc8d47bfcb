/* ssp.c: the coefficient of strong stability of a one-step method, its radius of absolute monotonicity
 *
 *     C = sup { r >= 0 : K (I + r K)^-1 >= 0 and r K (I + r K)^-1 e <= e },   K = (A 0; b 0), e = (1, ..., 1)
 *
 * entry by entry: a quantity, such as a total variation, that Euler's method does not increase for h <= h0 is not
 * increased by the method for h <= C h0. Both hold on all of [0, C], so C is found by bisection in doubles, and proved by
 * deciding them in rationals on both sides of it. It is at most the
 * number of stages of an explicit method, and infinite for implicit Euler. Source: Kraaijevanger 1991, theorem 4.2;
 * Gottlieb, Ketcheson, Shu 2011, chapters 3 and 7. */
#include <math.h>
#include <stdlib.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"
#include "ode/theory/poly.h"

#include <flint/fmpq_mat.h>
#include <flint/fmpz_mat.h>
#include "ode/theory/theory.h"

enum { HALVINGS = 60 };

/* Fills K (n, n) for a table of stages H, y + slopes of this step alone; 0 where it is none. */
static int fill(const Table *t, fmpq_mat_t K)
{
    for (size_t i = 0; i <= t->stages; i++) {
        const Row *row = i < t->stages ? &eval_point(t, t->stage[i].eval)->row : &t->update;
        for (size_t k = 0; k < row->terms; k++) {
            const Term *x = &row->term[k];
            if (x->past || x->symbols) return 0;
            if (x->eval == TABLE_STATE && mpq_cmp_ui(x->c, 1, 1) != 0) return 0;
            for (size_t j = 0; j < t->stages; j++)
                if (x->eval == t->stage[j].eval)
                    fmpq_set_mpq(fmpq_mat_entry(K, (slong)i, (slong)j), x->c);
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

/* ---- the proof ------------------------------------------------------------------------------------------ */

/* K (n, n) in rationals, and arrays for what is tested of it. */
typedef struct {
    fmpq_mat_t K, W, M;
} Exact;

static void exact_free(Exact *x)
{
    fmpq_mat_clear(x->K);
    fmpq_mat_clear(x->W);
    fmpq_mat_clear(x->M);
}

/* Tells whether the conditions hold at r. */
static int holds_at(Exact *x, const fmpq_t r)
{
    FRACTION(sum);
    slong n = fmpq_mat_nrows(x->K);
    fmpq_mat_scalar_mul_fmpq(x->W, x->K, r);
    for (slong i = 0; i < n; i++)
        fmpq_add_si(fmpq_mat_entry(x->W, i, i), fmpq_mat_entry(x->W, i, i), 1);
    int holds = fmpq_mat_solve(x->M, x->W, x->K);
    for (slong i = 0; i < n && holds; i++) {
        fmpq_zero(sum);
        for (slong j = 0; j < n; j++) {
            holds &= fmpq_sgn(fmpq_mat_entry(x->M, i, j)) >= 0;
            fmpq_add(sum, sum, fmpq_mat_entry(x->M, i, j));
        }
        fmpq_mul(sum, sum, r);
        holds &= fmpq_cmp_si(sum, 1) <= 0;
    }
    return holds;
}

/* Tells whether C > 0: K >= 0, and K is not 0 where K^2 is not (Kraaijevanger 1991, theorem 4.2). */
static int is_positive(Exact *x)
{
    slong n = fmpq_mat_nrows(x->K);
    int holds = 1;
    fmpq_mat_mul(x->M, x->K, x->K);
    for (slong i = 0; i < n; i++)
        for (slong j = 0; j < n; j++) {
            int sign = fmpq_sgn(fmpq_mat_entry(x->K, i, j));
            holds &= sign > 0 || (sign == 0 && fmpq_is_zero(fmpq_mat_entry(x->M, i, j)));
        }
    return holds;
}

/* Sets r beyond all roots of numerators and denominators in the conditions: these have whole coefficients of no more than this. */
static void beyond_roots(const Exact *x, fmpq_t r)
{
    fmpz_mat_t whole;
    fmpz_t below;
    slong n = fmpq_mat_nrows(x->K);
    fmpz_init(below);
    fmpz_mat_init(whole, n, n);
    fmpq_mat_get_fmpz_mat_matwise(whole, below, x->K);
    slong bits = labs(fmpz_mat_max_bits(whole)) + (slong)fmpz_bits(below) + n;
    fmpq_one(r);
    fmpq_mul_2exp(r, r, (flint_bitcnt_t)(2 * (n + 1) * bits));
    fmpz_mat_clear(whole);
    fmpz_clear(below);
}

/* Sets low and high to share of the way from c to 0 and 2 c, and tells whether the conditions hold at the one and not at the other. */
static int bracket(Exact *x, double c, double share, fmpq_t low, fmpq_t high)
{
    RATIONALS(a, b);
    mpq_set_d(a, c);
    mpq_set_d(b, share);
    mpq_mul(b, a, b);
    mpq_sub(a, a, b);
    fmpq_set_mpq(low, a);
    mpq_add(a, a, b);
    mpq_add(a, a, b);
    fmpq_set_mpq(high, a);
    return holds_at(x, low) && !holds_at(x, high);
}

static double nearest(const fmpq_t x)
{
    RATIONAL(c);
    fmpq_get_mpq(c, x);
    return table_double(c);
}

/* Proves a coefficient that was found, all digits of it: where the conditions hold and where they do not, by less than its rounding apart, or
 * halved until they are. */
static int is_proved(Exact *x, double *c)
{
    FRACTION(low);
    FRACTION(high);
    FRACTION(middle);
    int positive = is_positive(x);
    if (*c == 0 || !positive) return *c == 0 && !positive;
    beyond_roots(x, high);
    if (isinf(*c)) return holds_at(x, high);
    if (bracket(x, *c, 0x1p-54, low, high)) return 1;
    if (!bracket(x, *c, 1e-9, low, high)) return 0;
    while (nearest(low) != nearest(high)) {
        fmpq_add(middle, low, high);
        fmpq_div_2exp(middle, middle, 1);
        fmpq_swap(middle, holds_at(x, middle) ? low : high);
    }
    *c = nearest(low);
    return 1;
}

int stability_ssp(const Table *t, double *coefficient, int *proved)
{
    size_t n = t->stages + 1;
    int found;
    if (!proved) proved = &found;
    *coefficient = NAN;
    *proved = 1;
    if (!table_over(t, OP_H) || table_past(t) || table_phi(t)) return 0;
    SCOPED(exact_free) Exact x;
    fmpq_mat_init(x.K, (slong)n, (slong)n);
    fmpq_mat_init(x.W, (slong)n, (slong)n);
    fmpq_mat_init(x.M, (slong)n, (slong)n);
    SCOPED(memory_drop) double *K = memory_new(n, 3 * n * sizeof *K);
    if (!K) return ERR_MEMORY;
    if (!fill(t, x.K)) return 0;
    for (size_t i = 0; i < n * n; i++)
        K[i] = nearest(fmpq_mat_entry(x.K, (slong)(i / n), (slong)(i % n)));
    *coefficient = find(K, n, K + n * n);
    *proved = t->exact && is_proved(&x, coefficient);
    return 0;
}
