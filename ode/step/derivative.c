/* derivative.c: the action of a field's derivative at a point, for exponential stages. A x is f(x) - f(0) where the system
 * says that f is linear; else a central difference, whose relative error is about 1e-10.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ode/field/system.h"

static int is_linear(const Derivative *A)
{
    return (A->ops & ~A->system->special) == 0;
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
    double r = cbrt(DBL_EPSILON) * (1 + exponential_size(N, A->y)) / exponential_size(N, x);
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
        if (s->special >> op & 1) s->field[op](s, 1, 0, work, offset + (size_t)op * N);
}
