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
 * Source: Al-Mohy, Higham 2011, "Computing the action of the matrix exponential", theorem 2.1 and section 3 (with steps
 * of norm <= 1 in place of their norm estimates); Saad 1992 for J = 1. Hochbruck, Ostermann 2010, "Exponential
 * integrators", for the use of the functions.
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

size_t exponential_phi(size_t N, Act *act, const void *context, double norm, double t, int J,
                       const double *v, double *x, double *work)
{
    Phi p = {N, act, context, t, J, v, work, work + N, work + 2 * N, 0, 0, 0};
    double wanted = fmax(1, ceil(fabs(t) * norm));
    long most = 1L << PHI_DOUBLINGS, steps = wanted <= (double)most ? (long)wanted : 2 * most,
         done = 0;
    p.size_v = exponential_size(N, v);
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
