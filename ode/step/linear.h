/* linear.h: the linear systems of steps: small ones by factors, large ones by their action alone, with a preconditioner
 * for fields whose particles see their neighbours on a grid or ring. Private to ode/ (implicit.c, functions.c). */
#ifndef TROTTER_LINEAR_H
#define TROTTER_LINEAR_H

#include "ode/step/steps.h"

/* ---- lu.c: factors ---- */

/* Unknowns up to which systems are solved by factors; beyond, by their action alone. */
enum { LU_MOST = 600 };

/* Factors A (n, n) row-major = L U in place, with rows exchanged: pivot (n). Short of memory A is not finite. Source:
 * GSL. */
void lu_factor(size_t n, double *A, size_t *pivot);
/* Solves in place, x (n), by the factors; a singular matrix leaves x not finite. */
void lu_substitute(size_t n, const double *A, const size_t *pivot, double *x);
/* Returns the step of a central difference at a coordinate y of states of RMS `scale`: 2^-17, near eps^(1/3). */
double lu_difference(double y, double scale);

/* ---- krylov.c: the action alone ---- */

enum { KRYLOV_SPACE = 40 };

typedef struct {
    size_t n;
    void (*apply)(void *arg, const double *x, double *Ax); /* (n) each, apart */
    void (*precondition)(void *arg, double *x);            /* x := M^-1 x, M near A; NULL: M = 1 */
    void *arg;
    double *basis;         /* (KRYLOV_SPACE + 1, n) */
    double *image, *eased; /* (n) scratch */
} Krylov;

int krylov_new(Krylov *k, size_t n); /* ERR_MEMORY; the caller sets apply, precondition, arg */
void krylov_free(Krylov *k);
/* Finds x (n), |b - A x| <= tolerance |b| (RMS); b is lost. Returns the vectors that the spaces took, or where x is only
 * as near as the restarts come a number below 0. */
int krylov_solve(Krylov *k, double *b, double tolerance, int restarts, double *x);

/* ---- band.c: the preconditioner ---- */

/* The matrix 1 - sum over i of A_i x J_i of `points` states of N coordinates, J_i banded: entry (p r, q c) takes away
 * a_i(p, q) J_i(r, c). */
typedef struct {
    size_t N, points;
    int wide;      /* 1: the derivatives are no bands, and nothing else holds */
    size_t width;  /* J(r, c) is 0 where r and c are more than this apart */
    int ring;      /* coordinates are counted around a ring */
    size_t probes; /* values of fields that finding this took */
    size_t reach;  /* largest distance of an entry of the matrix from its diagonal */
    double *J;     /* (derivatives, N, 2 width + 1): of column c rows c - width .. c + width */
    double *matrix,
        *row; /* (points N, 3 reach + 1) as GSL stores its factors; (points N) scratch */
    unsigned *pivot;
} Band;

/* Looks at the initial state which coordinates of the operators (evals) change with one of some others; work (3, N):
 * scratch. Then prepares for `points` states. A band that is too wide has no memory and no error. ERR_MEMORY. */
int band_new(Band *b, const System *s, const Eval *eval, const int *which, size_t evals,
             size_t points, double *work);
void band_free(Band *b);
/* Returns the values of a field that band_derive takes. */
size_t band_calls(const Band *b);
/* Computes J_i of an operator at (t, y) by central differences of columns that share no row, with steps (N). y is moved
 * and put back; work (2, N): scratch. Source: Curtis, Powell, Reid 1974. */
void band_derive(Band *b, size_t i, const System *s, const Eval *e, double t, const double *step,
                 double *y, double *work);
/* Makes the matrix 1, takes a J_i from its entries (p, q), factors it. */
void band_clear(Band *b);
void band_take(Band *b, size_t i, size_t p, size_t q, double a);
void band_factor(Band *b);
/* Solves for x (points, N) in place; a singular matrix leaves x not finite. */
void band_solve(Band *b, double *x);

#endif
