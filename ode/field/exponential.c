/* exponential.c: the exponential of a matrix and its phi functions, by their action on a vector.
 *
 *     phi_0(z) = e^z,   phi_(j+1)(z) = (phi_j(z) - 1/j!) / z,   phi_j(z) = sum over k of z^k / (k + j)!
 *
 * x(s) = s^J phi_J(s A) v solves x' = A x + v s^(J-1) / (J-1)!, x(0) = 0; for J = 0 it solves x' = A x, x(0) = v. On
 * the way to s + d, with g_k = s^(J-1-k) / (J-1-k)! d^k / k!, 0 from k = J on, the Taylor terms are
 *     x_0 = x(s),   x_k = d / k (A x_(k-1) + g_(k-1) v).
 * These are the terms of the exponential of a matrix with J more rows than A. Nothing is factored, cached or allocated.
 * Where a norm of A is known there are as many steps as it asks for, of norm <= 1; else, and where it was too small,
 * steps are halved until their terms end, and without growing much, which would cost digits.
 *
 * That takes some 19 |t A| products with A. Where A is symmetric, and an interval with its eigenvalues is known, a Chebyshev
 * series takes some sqrt(40 |t A|):
 *     phi_J(high + r (x - 1)) = c_0/2 + c_1 T_1(x) + c_2 T_2(x) + ...,   x = 1 + (t A - high) / r,   |x| <= 1,
 * where [high - 2 r, high] holds 0 and the eigenvalues of t A. With high = 0, c_k of e^z is 2 e^-r I_k(r), twice the probability
 * that a walk of steps +1 and -1, at the times of a Poisson process of rate r, ends at k. By Chernoff's bound it is at k >= K
 * with a probability of at most e^-B, B = K asinh(K/r) - sqrt(K^2 + r^2) + r, which falls as r does. So the series without what
 * is behind K errs by at most 2 e^(high - B) |v|, and for phi_J, the mean of e^(s z) over s in (0, 1) with weight
 * (1 - s)^(J-1) / (J-1)!, by that over J!, in the norm in which A is symmetric.
 *
 * The sums of Clenshaw, from the highest k downwards, keep nothing; Reinsch's form, with x - 1 and differences of sums, keeps
 * the digits of the smooth part of v, at x = 1. The coefficients go downwards too: c_(k-1) = c_(k+1) + 2k/r c_k for e^z
 * (Miller), and as z phi_(j+1) = phi_j - 1/j!, the differences of those of phi_(j+1) grow by 2/r (c_k of phi_j - high c_k);
 * with high = 0 all of these are sums of positive numbers. Rounding is relative to |v|, so where the result is a small
 * part of v the Taylor terms take its place.
 *
 * Source: Al-Mohy, Higham 2011, "Computing the action of the matrix exponential", theorem 2.1 and section 3 (with steps
 * of norm <= 1 in place of their norm estimates); Saad 1992 for J = 1. Hochbruck, Ostermann 2010, "Exponential
 * integrators", for the use of the functions. Druskin, Knizhnerman 1989 and Bergamaschi, Vianello 2000 for Chebyshev series;
 * Oliver 1977, "An error analysis of the modified Clenshaw method", for Reinsch's form.
 */
#include "ode/field/system.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/base/tick.h"
#include "ode/field/combine.h"
#include "kernels/base/simd.h"

/* A function by itself, as clang 14 links no clones of one that other files call. */
SIMD_CLONES static double largest(size_t N, const double *x)
{
    double m = 0;
#pragma omp simd reduction(max : m)
    for (size_t i = 0; i < N; i++) m = fabs(x[i]) > m ? fabs(x[i]) : m;
    return m;
}

double exponential_size(size_t N, const double *x)
{
    return largest(N, x);
}

enum { PHI_TERMS = 48, PHI_DOUBLINGS = 23 };

/* Returns s^m / m!, 0 for m < 0. */
static double power_over(double s, int m)
{
    double p = m >= 0;
    for (int i = 1; i <= m; i++) p *= s / i;
    return p;
}

typedef struct {
    size_t N;
    Act *act;
    const void *context;
    double t;
    int J;
    const double *v;
    double *term, *next, *sum; /* (N) each */
    double size, size_v;       /* sizes of term, of v */
    size_t actions;
} Phi;

/* Computes term = x_k from x_(k-1). */
static void next_term(Phi *p, double s, double d, int k)
{
    double g = power_over(s, p->J - k) * power_over(d, k - 1);
    int moves = p->size != 0; /* derivative_act takes no 0 */
    if (moves) p->act(p->context, p->term, p->next);
    p->actions += (size_t)moves;
    for (size_t i = 0; i < p->N; i++)
        p->term[i] = d * ((moves ? p->t * p->next[i] : 0) + g * p->v[i]) / k;
    p->size = exponential_size(p->N, p->term);
}

/* Computes sum = x(s + d) from x = x(s). Returns 0 where the terms grow beyond twice what goes in, which would cost
 * digits, or do not end: two in a row below rounding. */
static int phi_step(Phi *p, double s, double d, const double *x)
{
    int small = 0;
    p->size = exponential_size(p->N, x);
    double in = p->size + d * power_over(s + d, p->J - 1) * p->size_v;
    memcpy(p->term, x, p->N * sizeof *x);
    memcpy(p->sum, x, p->N * sizeof *x);
    for (int k = 1; k <= PHI_TERMS && small < 2; k++) {
        next_term(p, s, d, k);
        for (size_t i = 0; i < p->N; i++) p->sum[i] += p->term[i];
        if (!combine_finite(p->N, p->term) || !(p->size <= 2 * in)) return 0;
        if (k >= p->J && p->size == 0) return 1; /* and so are those behind it */
        int ends = k >= p->J && p->size <= DBL_EPSILON / 64 * exponential_size(p->N, p->sum);
        small = ends ? small + 1 : 0;
    }
    return small == 2;
}

/* ---- Chebyshev series ---------------------------------------------------------------------------- */

enum { INDICES = 5 }; /* of J */
/* Lengths of [high - 2 r, high] up to which Taylor terms are taken, and from which on series would get too long. */
static const double short_one = 4, longest = 0x1p36;
static const double highest = 1;          /* high above which e^z may be far above what is found */
static const double least_part = 0x1p-10; /* of |v| / J! that a result has to be */
/* B of the sums of vectors; and of the first coefficients, whose errors grow on the way down. */
static const double cut = 40, cut_last = 90;

/* The coefficients on the way down, at an index k. */
typedef struct {
    double r, high;
    int J;
    size_t k;
    double c[INDICES];    /* c_k of phi_0 ... phi_J */
    double rise[INDICES]; /* c_k - c_(k+1), but of phi_0 */
    double before;        /* c_(k+1) of phi_0 */
} Descent;

static double falls_by(double r, double K)
{
    return K * asinh(K / r) - K * K / (hypot(K, r) + r);
}

/* Returns the least K whose B is at least `least`. */
static size_t degree(double r, double least)
{
    size_t low = 0, high = 1;
    while (falls_by(r, (double)high) < least) low = high, high *= 2;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(falls_by(r, (double)middle) < least ? &low : &high) = middle;
    }
    return high;
}

static void go_down(Descent *a)
{
    for (int j = a->J; j > 0; j--) {
        a->rise[j] += 2 / a->r * (a->c[j - 1] - a->high * a->c[j]);
        a->c[j] += a->rise[j];
    }
    double next = a->before + 2 * (double)a->k / a->r * a->c[0];
    a->before = a->c[0];
    a->c[0] = next;
    a->k--;
}

/* Begins far behind the last one that counts. The sum of all of e^z is its value at x = 1. */
static Descent begin_descent(double r, double high, int J)
{
    const double tiny = 1e-250;
    Descent first = {.r = r, .high = high, .k = degree(r, cut_last), .c = {tiny}}, a = first;
    double sum = 0;
    for (; a.k > 0; go_down(&a)) sum += a.c[0];
    first.c[0] = tiny * exp(high) / (sum + a.c[0] / 2);
    first.J = J;
    return first;
}

/* Computes Ab = 2 / r (t A - high) b. */
static void act_scaled(Phi *p, const Descent *a, const double *b, double *Ab)
{
    tick();
    p->act(p->context, b, Ab);
    p->actions++;
    for (size_t i = 0; i < p->N; i++) Ab[i] = 2 / a->r * (p->t * Ab[i] - a->high * b[i]);
}

/* Computes x = phi_J(t A) v for a symmetric A by b_k = b_(k+1) + d_k, d_k = d_(k+1) + c_k v + 2 (x - 1) b_(k+1). Returns 0 where this is not
 * shorter, or loses digits; then x is as it was. */
static int add_series(Phi *p, const Spectrum *known, double *x)
{
    double *b = p->term, *Ab = p->next, *d = p->sum, factorial = power_over(1, p->J);
    double ends[] = {p->t * known->low, p->t * known->high};
    double low = fmin(0, fmin(ends[0], ends[1])), high = fmax(0, fmax(ends[0], ends[1]));
    if (!(high - low > short_one && high - low < longest) || high > highest || p->size_v == 0)
        return 0;
    Descent a = begin_descent((high - low) / 2, high, p->J);
    for (size_t K = degree(a.r, cut); a.k > K;) go_down(&a);
    for (size_t i = 0; i < p->N; i++) b[i] = d[i] = a.c[p->J] * p->v[i];
    for (go_down(&a); a.k > 0; go_down(&a)) {
        act_scaled(p, &a, b, Ab);
        for (size_t i = 0; i < p->N; i++) b[i] += d[i] += a.c[p->J] * p->v[i] + Ab[i];
    }
    act_scaled(p, &a, b, Ab);
    for (size_t i = 0; i < p->N; i++) d[i] += (a.c[p->J] * p->v[i] + Ab[i]) / 2;
    if (!combine_finite(p->N, d) ||
        !(exponential_size(p->N, d) >= least_part * factorial * p->size_v))
        return 0;
    memcpy(x, d, p->N * sizeof *x);
    return 1;
}

size_t exponential_phi(size_t N, Act *act, const void *context, Spectrum known, double t, int J,
                       const double *v, double *x, double *work)
{
    Phi p = {N, act, context, t, J, v, work, work + N, work + 2 * N, 0, 0, 0};
    double wanted = fmax(1, ceil(fabs(t) * known.norm));
    long most = 1L << PHI_DOUBLINGS, steps = wanted <= (double)most ? (long)wanted : 2 * most,
         done = 0;
    p.size_v = exponential_size(N, v);
    if (add_series(&p, &known, x)) return p.actions;
    for (size_t i = 0; i < N; i++) x[i] = J == 0 ? v[i] : 0;
    while (done < steps && steps <= most) {
        tick();
        if (phi_step(&p, (double)done / (double)steps, 1 / (double)steps, x)) {
            memcpy(x, p.sum, N * sizeof *x);
            done++;
        } else {
            steps *= 2;
            done *= 2;
        }
    }
    for (size_t i = 0; i < N && done < steps; i++) x[i] = NAN;
    return p.actions;
}
