/* krylov.h: large linear systems by their action alone. Private to ode/ (implicit.c). */
#ifndef TROTTER_KRYLOV_H
#define TROTTER_KRYLOV_H

#include <stddef.h>

enum { KRYLOV_SPACE = 40 };

typedef struct {
    size_t n;
    void (*apply)(void *arg, const double *x, double *Ax); /* (n) each, apart */
    void *arg;
    double *basis; /* (KRYLOV_SPACE + 1, n) */
    double *image; /* (n) scratch */
} Krylov;

int krylov_new(Krylov *k, size_t n); /* ERR_MEMORY; the caller sets apply, arg */
void krylov_free(Krylov *k);
/* Finds x (n), |b - A x| <= tolerance |b| (RMS), or as near as the restarts come: returns 0 then. b is lost. */
int krylov_solve(Krylov *k, double *b, double tolerance, int restarts, double *x);

#endif
