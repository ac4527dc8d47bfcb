/* krylov.c: GMRES with restarts: the least residual b - A x with x in the span of r, A r, A^2 r, ..., whose basis is
 * made orthonormal as it grows; the small least squares problem is kept triangular by rotations. A
 * preconditioner M stands on the right: the space is that of A M^-1, and the residual stays that of A x = b.
 * Source: Saad, Schultz 1986. */
#include "ode/step/linear.h"

#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"

enum { M = KRYLOV_SPACE };

int krylov_new(Krylov *k, size_t n)
{
    *k = (Krylov){.n = n};
    k->basis = memory_new(M + 3, n * sizeof(double));
    if (!k->basis) return ERR_MEMORY;
    k->image = k->basis + (M + 1) * n;
    k->eased = k->image + n;
    return 0;
}

void krylov_free(Krylov *k)
{
    k->basis = memory_free(k->basis);
}

static double dot(size_t n, const double *x, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static void add(size_t n, double c, const double *x, double *y)
{
    for (size_t i = 0; i < n; i++) y[i] += c * x[i];
}

static void rotate(double c, double s, double *x, double *y)
{
    double a = *x, b = *y;
    *x = c * a + s * b;
    *y = c * b - s * a;
}

/* Makes the image of basis vector j orthogonal to those before, and column j of H (M + 1). */
static void extend(Krylov *k, int j, double *H)
{
    const double *last = k->basis + (size_t)j * k->n;
    double *next = k->basis + (size_t)(j + 1) * k->n;
    if (k->precondition) {
        memcpy(k->eased, last, k->n * sizeof *last);
        k->precondition(k->arg, k->eased);
        last = k->eased;
    }
    k->apply(k->arg, last, next);
    for (int i = 0; i <= j; i++) {
        const double *q = k->basis + (size_t)i * k->n;
        H[i] = dot(k->n, q, next);
        add(k->n, -H[i], q, next);
    }
    H[j + 1] = sqrt(dot(k->n, next, next));
    for (size_t i = 0; i < k->n && H[j + 1] > 0; i++) next[i] /= H[j + 1];
}

/* Adds sum y_i q_i to x, with H y = g triangular. */
static void take(const Krylov *k, int count, double H[M][M + 1], double *g, double *x)
{
    for (int i = count - 1; i >= 0; i--) {
        for (int j = i + 1; j < count; j++) g[i] -= H[j][i] * g[j];
        g[i] = H[i][i] != 0 ? g[i] / H[i][i] : 0;
        add(k->n, g[i], k->basis + (size_t)i * k->n, x);
    }
}

/* Finds x, 0 before, in one space grown from the residual r, which is lost; returns what is left of it. *vectors grows. */
static double cycle(Krylov *k, const double *r, double wanted, double *x, int *vectors)
{
    double H[M][M + 1], c[M], s[M], g[M + 1] = {0};
    int j = 0;
    g[0] = sqrt(dot(k->n, r, r));
    if (!(g[0] > wanted)) return g[0];
    for (size_t i = 0; i < k->n; i++) k->basis[i] = r[i] / g[0];
    for (double left = g[0]; j < M && left > wanted; j++) {
        extend(k, j, H[j]);
        for (int i = 0; i < j; i++) rotate(c[i], s[i], &H[j][i], &H[j][i + 1]);
        double size = hypot(H[j][j], H[j][j + 1]);
        c[j] = size > 0 ? H[j][j] / size : 1;
        s[j] = size > 0 ? H[j][j + 1] / size : 0;
        rotate(c[j], s[j], &H[j][j], &H[j][j + 1]);
        rotate(c[j], s[j], &g[j], &g[j + 1]);
        left = fabs(g[j + 1]);
    }
    double left = fabs(g[j]);
    take(k, j, H, g, x);
    if (k->precondition) k->precondition(k->arg, x);
    *vectors += j;
    return left;
}

static int solve(Krylov *k, double *b, double tolerance, int restarts, double *x)
{
    double wanted = tolerance * sqrt(dot(k->n, b, b)), *step = k->image;
    int vectors = 0;
    memset(x, 0, k->n * sizeof *x);
    for (int i = 0; i <= restarts; i++) {
        memset(step, 0, k->n * sizeof *step);
        double left = cycle(k, b, wanted, step, &vectors);
        add(k->n, 1, step, x);
        if (left <= wanted) return vectors;
        if (i == restarts || isnan(left)) break;
        k->apply(k->arg, step, k->basis); /* the residual is b - A x again */
        add(k->n, -1, k->basis, b);
    }
    return -vectors - 1;
}

/* Multiplies b by a power of 2 where squares of its entries would be 0 or infinite, as b of 1e-200 would be found solved by
 * x = 0; returns it, else 1. */
static double tame(size_t n, double *b)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(b[i]));
    if (!(most > 0) || !isfinite(most) || (most > 1e-100 && most < 1e100)) return 1;
    double by = ldexp(1, -ilogb(most));
    for (size_t i = 0; i < n; i++) b[i] *= by;
    return by;
}

int krylov_solve(Krylov *k, double *b, double tolerance, int restarts, double *x)
{
    double by = tame(k->n, b);
    int turns = solve(k, b, tolerance, restarts, x);
    for (size_t i = 0; i < k->n && by != 1; i++) x[i] /= by;
    return turns;
}
