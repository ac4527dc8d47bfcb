/* ratio.h: R(z) = P(z) / Q(z) of a one-step table on y' = lambda y, exactly. Private to limit.c, stiff.c and
 * stability_function.c. */
#ifndef TROTTER_RATIO_H
#define TROTTER_RATIO_H

#include "ode/theory/poly.h"
#include "ode/scheme/table.h"

typedef struct {
    Poly P, Q; /* without a common factor, Q(0) = 1; explicit stages have Q = 1 */
    /* (P.room + 1), (Q.room + 1) by how much the coefficients of an inexact table may be off; those that may be nothing
     * else are 0. Exact tables: NULL. */
    double *p_off, *q_off;
} Ratio;

/* Finds the colour of every slope that is solved for; -1: they have several, or none is. */
int ratio_colour(const Table *t, int *colour);
/* Finds R of a frozen one-step table of stages. colour: the one whose h lambda is z, the others' being 0; -1: each has
 * z / colours. *told = 0, and nothing to free, where implicit stages are too many for it, or fractions too long. ERR_MEMORY. */
int ratio_new(const Table *t, int colour, Ratio *out, int *told);
void ratio_free(Ratio *r); /* a zeroed struct is allowed */
/* ratio_excess writes |P|^2 - |Q|^2 at z = -r exp(i angle) as a polynomial in r, on the imaginary axis, cosine 0, in r^2. ratio_below writes sign P - Q on the negative real axis in -z. f (zeroed) is the caller's to poly_free.
 * Coefficients that may be rounding alone are 0. */
int ratio_excess(const Ratio *r, const mpq_t cosine, Poly *f);
int ratio_below(const Ratio *r, int sign, Poly *f);

#endif
