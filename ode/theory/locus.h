/* locus.h: where an amplification factor of a table with history meets the unit circle, exactly; private to ode/theory. */
#ifndef TROTTER_LOCUS_H
#define TROTTER_LOCUS_H

#include "ode/scheme/table.h"
#include "ode/theory/poly.h"

/* Finds the ends of the stability interval on the negative real and the positive imaginary axis, the nearest doubles. *done = 0:
 * coefficients are not fractions, there are phi functions or resolvents, the table is too large, or a factor is on the circle throughout
 * while others are not. ERR_MEMORY. */
int locus_limits(const Table *t, double *real, double *imag, int *done);

/* Finds the widest angle alpha <= 90 degrees such that no factor is above 1 where |arg(-z)| <= alpha, z being h lambda of `colour`, or
 * of all (-1), and the largest factor as z goes to infinity. *done as above. */
int locus_angle(const Table *t, int colour, double *alpha, double *infinity, int *done);
/* Bisects tan(alpha / 2) in (0, 1) until alpha, in degrees, is known to the nearest double. holds: so does the sector of t = tan(alpha / 2). */
int locus_bisect(int (*holds)(const void *of, const mpq_t t, int *yes), const void *of,
                 double *alpha);

/* Tells whether a polynomial's roots are in the closed unit disc, those on the circle simple; *on_circle: how many are there. */
int locus_disc(const fmpq_poly_t p, int *on_circle);
/* Tells whether all its roots z have Re z > 0. */
int locus_right(const fmpq_poly_t p);

#endif
