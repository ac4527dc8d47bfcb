/* exponential.c: the action of a matrix exponential, by Taylor series in substeps of norm <= 1.
 *
 * The matrix is known by its action, so nothing is factored, cached or allocated.
 *
 * Source: Al-Mohy, Higham 2011, "Computing the action of the matrix exponential", section 3 (with
 * substeps of norm <= 1 in place of their norm estimates).
 */
#include "ode/field/system.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/tick.h"
#include "ode/field/simd.h"

enum { STEPS_MAX = 10000000 }; /* minutes */

/* Returns the largest |x_i|; it ignores NaN, as fmax does. */
SIMD_CLONES static double max_abs(size_t N, const double *x)
{
    double m = 0;
#pragma omp simd reduction(max : m)
    for (size_t i = 0; i < N; i++) m = fabs(x[i]) > m ? fabs(x[i]) : m;
    return m;
}

/* Computes term = h next / k and y += term. */
SIMD_CLONES static void add_term(size_t N, double h, int k, const double *next, double *term,
                                 double *y)
{
#pragma omp simd
    for (size_t i = 0; i < N; i++) y[i] += term[i] = h * next[i] / k;
}

/* Computes y (N) = exp(h A) y, |h| |A| <= 1: sum of (h A)^k y / k! until a term is rounding. h (A
 * term) comes before the division, which is then exact where k! divides. */
static void exp_short(size_t N, Act *act, const void *context, double h, double *y, double *term,
                      double *next)
{
    memcpy(term, y, N * sizeof *y);
    for (int k = 1; k <= 24; k++) { /* 1/24! < eps^1.4 */
        act(context, term, next);
        add_term(N, h, k, next, term, y);
        if (!(max_abs(N, term) > DBL_EPSILON / 64 * max_abs(N, y))) break;
    }
}

void exponential_apply(size_t N, Act *act, const void *context, double norm, double t, double *y,
                       double *work)
{
    double steps = fmax(1, ceil(fabs(t) * norm));
    if (!(steps <= STEPS_MAX)) steps = 1, t = NAN; /* NaN in every coordinate */
    for (double k = 0; k < steps; k++) {
        exp_short(N, act, context, t / steps, y, work, work + N);
        tick();
    }
}
