/* ratio.h: R(z) = P(z) / Q(z) of a one-step table on y' = lambda y, exactly. Private to limit.c, stiff.c and
 * stability_function.c. */
#ifndef TROTTER_RATIO_H
#define TROTTER_RATIO_H

#include "ode/theory/poly.h"
#include "ode/scheme/table.h"

typedef struct {
    fmpq_poly_t P, Q; /* without a common factor, Q(0) = 1; explicit stages have Q = 1 */
    size_t points;    /* of the table: no degree is higher */
    /* (points + 1): by how much the coefficients of an inexact table may be off; those that may be nothing
     * else are 0. Exact tables: NULL. */
    double *p_off, *q_off;
} Ratio;

/* Finds the colour of every slope that is solved for; -1: they have several, or none is. */
int ratio_colour(const Table *t, int *colour);
/* Finds R of a frozen one-step table of stages, out of RATIO. colour: the one whose h lambda is z, the others' being 0; -1: each has
 * z / colours. *told = 0 where implicit stages are too many for it, or fractions too long. ERR_MEMORY. */
int ratio_new(const Table *t, int colour, Ratio *out, int *told);
void ratio_free(Ratio *r);
/* RATIO(r) declares an R without polynomials, for ratio_new, which is freed where its scope ends. */
#define RATIO(r)                      \
    SCOPED(ratio_free) Ratio r = {0}; \
    fmpq_poly_init(r.P);              \
    fmpq_poly_init(r.Q)
/* ratio_excess writes |P|^2 - |Q|^2 at z = -r exp(i angle) as a polynomial in r, on the imaginary axis, cosine 0, in r^2. ratio_below writes sign P - Q on the negative real axis in -z. f is 0 before.
 * Coefficients that may be rounding alone are 0. */
int ratio_excess(const Ratio *r, const mpq_t cosine, fmpq_poly_t f);
void ratio_below(const Ratio *r, int sign, fmpq_poly_t f);

#endif
