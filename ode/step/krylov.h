/* krylov.h: large linear systems by their action alone. Private to ode/ (implicit.c, functions.c). */
#ifndef TROTTER_KRYLOV_H
#define TROTTER_KRYLOV_H

#include <stddef.h>

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

#endif
