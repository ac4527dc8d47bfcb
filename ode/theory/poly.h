/* poly.h: polynomials in one variable with rational coefficients; private to stability.c, limit.c, ratio.c and stiff.c. */
#ifndef TROTTER_POLY_H
#define TROTTER_POLY_H

#include <gmp.h>

/* sum c[i] x^i; degree -1 is zero. c has room for degree `room`, what lies above `degree` is zero. */
typedef struct {
    int degree, room;
    mpq_t *c;
} Poly;

int poly_new(Poly *p, int room);            /* zero; ERR_MEMORY */
void poly_free(Poly *p);                    /* a zeroed struct is allowed */
void poly_trim(Poly *p);                    /* degree := that of the highest coefficient not zero */
void poly_copy(Poly *to, const Poly *from); /* to->room >= from->degree */

/* Replaces p by p mod q, q not 0; quotient (NULL: none) has room for p->degree - q->degree. */
void poly_divide(Poly *p, const Poly *q, Poly *quotient);

/* Computes a multiple of gcd(p, q), of whole coefficients. out (q allowed) has room for both. ERR_MEMORY. */
int poly_common(const Poly *p, const Poly *q, Poly *out);

/* Computes repeated = gcd(p, p') and simple = p / repeated, which has every root of p once. Both need
 * rooms of p->degree; p is not zero. */
int poly_squarefree(const Poly *p, Poly *simple, Poly *repeated);

/* Finds sup of X with p <= 0 on [0, X], to 16 digits; inf without end; 0 where p > 0 at once.
 * Descartes' rule of signs isolates the roots: none is missed. Returns 1, and NaN, where two
 * are closer than 2^-512 of the largest. */
int poly_interval(const Poly *p, double *end);

/* Finds the complex zeros z (degree; re, im) of p of degree >= 1 in double precision. ERR_NUMERIC: they were not found. */
int poly_zeros(const Poly *p, double *z);

#endif
