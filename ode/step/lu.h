/* lu.h: small linear systems by factors, and the steps of differences that their matrices are made with. Private to ode/
 * (implicit.c, functions.c). */
#ifndef TROTTER_LU_H
#define TROTTER_LU_H

#include <stddef.h>

/* Unknowns up to which systems are solved by factors; beyond, by their action alone (krylov.h). */
enum { LU_MOST = 600 };

/* Factors A (n, n) row-major = L U in place, with rows exchanged: pivot (n). Short of memory A is not finite. Source:
 * GSL. */
void lu_factor(size_t n, double *A, size_t *pivot);
/* Solves in place, x (n), by the factors; a singular matrix leaves x not finite. */
void lu_substitute(size_t n, const double *A, const size_t *pivot, double *x);
/* Returns the step of a central difference at a coordinate y of states of RMS `scale`: 2^-17, near eps^(1/3). */
double lu_difference(double y, double scale);

#endif
