/* ratio_inside.h: what ratio.c, ratio_rows.c and ratio_off.c share. */
#ifndef TROTTER_RATIO_INSIDE_H
#define TROTTER_RATIO_INSIDE_H

#include <math.h>

#include "ode/theory/ratio.h"

/* ---- ratio_rows.c ----------------------------------------------------------------------------------- */

/* Sets out to the share of z in the slope of evaluation e. */
void ratio_share(const Table *t, int colour, int e, mpq_t out);
/* Adds a row's weight on y and, times shares of z, those on its slopes' points to at (points). u (points), A (points,
 * points): the rows before, which slopes of resolvents stand for. */
void ratio_row(const Table *t, int colour, const Row *r, mpq_t *u, mpq_t *A, mpq_t state,
               mpq_t *at);

/* The points are Y = u y + z A Y, and y' = v y + z b Y: A (n, n), u, b (n), v (1). */
typedef struct {
    size_t n;
    mpq_t *A, *u, *b, *v;
} RatioRows;

/* ---- ratio_off.c ------------------------------------------------------------------------------------ */

/* Set p_off and q_off of an inexact table's R, and drop the coefficients that may be nothing else. */
int off_explicit(const Table *t, int colour, Ratio *out);
int off_implicit(const Table *t, int colour, const RatioRows *rows, Ratio *out);
/* Sets a sum to 0 where it may be rounding alone. */
void off_drop(mpq_t sum, double off);
static inline double off_modulus(const mpq_t q)
{
    return fabs(mpq_get_d(q));
}

#endif
