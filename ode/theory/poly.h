/* poly.h: polynomials with rational coefficients (FLINT's) and their roots in balls (Arb's); private to ode/theory. */
#ifndef TROTTER_POLY_H
#define TROTTER_POLY_H

#include <gmp.h>

#include <flint/fmpq.h>
#include <flint/fmpq_mat.h>
#include <flint/fmpq_poly.h>
#include <flint/fmpz_poly.h>
#include <flint/fmpz_poly_mat.h>
/* Arb is a library of its own before FLINT 3. */
#if __has_include(<flint/acb_poly.h>)
#include <flint/acb_poly.h>
#else
#include <acb_poly.h>
#endif

#include "kernels/base/scoped.h"

/* POLY(p) declares a polynomial 0 that is cleared where its scope ends, FRACTION(x) and BALL(x) such numbers of FLINT and Arb. */
static inline void poly_drop(fmpq_poly_t *p)
{
    fmpq_poly_clear(*p);
}
#define POLY(p)                      \
    SCOPED(poly_drop) fmpq_poly_t p; \
    fmpq_poly_init(p)
static inline void whole_drop(fmpz_poly_t *p)
{
    fmpz_poly_clear(*p);
}
#define WHOLE(p)                      \
    SCOPED(whole_drop) fmpz_poly_t p; \
    fmpz_poly_init(p)
static inline void fraction_drop(fmpq_t *x)
{
    fmpq_clear(*x);
}
#define FRACTION(x)                 \
    SCOPED(fraction_drop) fmpq_t x; \
    fmpq_init(x)
static inline void ball_drop(arb_t *x)
{
    arb_clear(*x);
}
#define BALL(x)                \
    SCOPED(ball_drop) arb_t x; \
    arb_init(x)

static inline int poly_degree(const fmpq_poly_t p) /* -1: p is 0 */
{
    return (int)fmpq_poly_degree(p);
}
void poly_set(fmpq_poly_t p, int i, const mpq_t c);
void poly_get(const fmpq_poly_t p, int i, mpq_t c);
double poly_number(const fmpq_poly_t p, int i); /* coefficient i, the nearest double */

/* What looks for roots returns ERR_NUMERIC where some lie so near each other that thousands of bits do not tell them apart. */

/* Finds sup of X with p <= 0 on [0, X], the nearest double; inf without end; 0 where p > 0 at once. square: p is one in X^2. */
int poly_interval(const fmpq_poly_t p, int square, double *end);

void poly_simple(fmpz_poly_t p); /* leaves each root once; p is not 0 */

/* Writes the positive roots of a polynomial that has each root once to root (degree), rising, in balls of POLY_BITS bits;
 * count out: how many there are. */
int poly_positive(const fmpz_poly_t p, arb_ptr root, slong *count);

/* Finds the complex zeros z (degree; re, im) of p of degree >= 1, the nearest doubles; by multiplicity, then real part, then size
 * of the imaginary part, the upper of a pair first. */
int poly_zeros(const fmpq_poly_t p, double *z);

/* Finds the largest cosine of the angle between a zero of p and the negative axis, -1 where there is none. ERR_MEMORY. */
int poly_cosine(const fmpq_poly_t p, double *cosine);

/* The number in a ball as a double: the nearest where the ball is small enough, as those of POLY_BITS are. */
enum { POLY_BITS = 128 };
double poly_nearest(const arb_t x);

#endif
