/* phi.c: phi functions of a field's derivative, by their action, for exponential stages.
 *
 *     phi_0(z) = e^z,   phi_(j+1)(z) = (phi_j(z) - 1/j!) / z,   phi_j(z) = sum over k of z^k / (k + j)!
 *
 * x(s) = s^J phi_J(s A) v solves x' = A x + v s^(J-1) / (J-1)!, x(0) = 0; for J = 0 it solves x' = A x, x(0) = v. On
 * the way to s + d, with g_k = s^(J-1-k) / (J-1-k)! d^k / k!, 0 from k = J on, the Taylor terms are
 *     x_0 = x(s),   x_k = d / k (A x_(k-1) + g_(k-1) v).
 * These are the terms of the exponential of a matrix with J more rows than A. No norm of A is known, so steps are
 * halved until their terms end, and without growing much, which would cost digits.
 *
 * A x is f(x) - f(0) where the system says that f is linear; else a central difference, whose relative error is about
 * 1e-10.
 *
 * Source: Al-Mohy, Higham 2011, "Computing the action of the matrix exponential", theorem 2.1 and section 3; Saad 1992
 * for J = 1. Hochbruck, Ostermann 2010, "Exponential integrators", for the use of the functions.
 */
#include "ode/field/system.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "ode/field/combine.h"

static double max_abs(size_t N, const double *x)
{
    double m = 0;
    for (size_t i = 0; i < N; i++) m = fmax(m, fabs(x[i]));
    return m;
}

/* ---- derivatives ------------------------------------------------------------------------------------ */

static int is_linear(const Derivative *A)
{
    return (A->ops & ~A->system->linear_ops) == 0;
}

/* Computes ax = sum of f(y + r x) over A's colours; it uses work (2, N) of three. */
static void field_at(const Derivative *A, const double *y, double r, const double *x, double *ax)
{
    size_t N = A->system->n * A->system->d;
    for (size_t i = 0; i < N; i++) A->work[i] = (y ? y[i] : 0) + r * x[i];
    system_sum(A->system, A->ops, A->set, A->t, A->work, ax, A->work + N);
}

void derivative_act(const void *derivative, const double *x, double *ax)
{
    const Derivative *A = derivative;
    size_t N = A->system->n * A->system->d;
    if (is_linear(A)) {
        field_at(A, NULL, 1, x, ax);
        for (int op = 0; op < COLOURS; op++)
            for (size_t i = 0; i < N && A->ops >> op & 1; i++)
                ax[i] -= A->offset[(size_t)op * N + i];
        return;
    }
    double *back = A->work + 2 * N;
    double r = cbrt(DBL_EPSILON) * (1 + max_abs(N, A->y)) / max_abs(N, x);
    field_at(A, A->y, r, x, ax);
    field_at(A, A->y, -r, x, back);
    for (size_t i = 0; i < N; i++) ax[i] = (ax[i] - back[i]) / (2 * r);
}

size_t derivative_evals(const Derivative *A)
{
    size_t n = 0;
    for (int op = 0; op < COLOURS; op++) n += A->ops >> op & 1;
    return is_linear(A) ? n : 2 * n;
}

void derivative_offsets(const System *s, double *work, double *offset)
{
    size_t N = s->n * s->d;
    memset(work, 0, N * sizeof *work);
    memset(offset, 0, COLOURS * N * sizeof *offset);
    for (int op = 0; op < COLOURS; op++)
        if (s->linear_ops >> op & 1) s->field[op](s, 1, 0, work, offset + (size_t)op * N);
}

/* ---- phi functions ---------------------------------------------------------------------------------- */

enum { PHI_TERMS = 48, PHI_HALVINGS = 23 };

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
    p->size = max_abs(p->N, p->term);
}

/* Computes sum = x(s + d) from x = x(s). Returns 0 where the terms grow beyond twice what goes in, which would cost
 * digits, or do not end: two in a row below rounding. */
static int phi_step(Phi *p, double s, double d, const double *x)
{
    int small = 0;
    p->size = max_abs(p->N, x);
    double in = p->size + d * power_over(s + d, p->J - 1) * p->size_v;
    memcpy(p->term, x, p->N * sizeof *x);
    memcpy(p->sum, x, p->N * sizeof *x);
    for (int k = 1; k <= PHI_TERMS && small < 2; k++) {
        next_term(p, s, d, k);
        for (size_t i = 0; i < p->N; i++) p->sum[i] += p->term[i];
        if (!combine_finite(p->N, p->term) || !(p->size <= 2 * in)) return 0;
        if (k >= p->J && p->size == 0) return 1; /* and so are those behind it */
        int ends = k >= p->J && p->size <= DBL_EPSILON / 64 * max_abs(p->N, p->sum);
        small = ends ? small + 1 : 0;
    }
    return small == 2;
}

size_t exponential_phi(size_t N, Act *act, const void *context, double t, int J, const double *v,
                       double *x, double *work)
{
    Phi p = {N, act, context, t, J, v, work, work + N, work + 2 * N, 0, 0, 0};
    long steps = 1, done = 0;
    p.size_v = max_abs(N, v);
    for (size_t i = 0; i < N; i++) x[i] = J == 0 ? v[i] : 0;
    while (done < steps) {
        if (phi_step(&p, (double)done / (double)steps, 1 / (double)steps, x)) {
            memcpy(x, p.sum, N * sizeof *x);
            done++;
        } else if (steps < 1L << PHI_HALVINGS) {
            steps *= 2;
            done *= 2;
        } else {
            for (size_t i = 0; i < N; i++) x[i] = NAN;
            break;
        }
    }
    return p.actions;
}
