/* rationals.h: lists of rationals, and sums of products. For ode/ and bridge/. */
#ifndef TROTTER_RATIONALS_H
#define TROTTER_RATIONALS_H

#include <gmp.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/scoped.h"

extern const mpq_t rational_one; /* 1 */

/* RATIONAL(x) declares mpq_t x = 0, which is cleared where its scope ends; RATIONALS(x, y, ...) several. */
static inline void rational_drop(mpq_t *x)
{
    mpq_clear(*x);
}
#define RATIONAL(x)                \
    SCOPED(rational_drop) mpq_t x; \
    mpq_init(x)
#define RATIONALS(...)                       \
    SCOPED(rational_drop) mpq_t __VA_ARGS__; \
    mpq_inits(__VA_ARGS__, NULL)

/* Compute sum + a b, sum - a b and x / k, k > 0, in place. */
void rational_add(mpq_ptr sum, mpq_srcptr a, mpq_srcptr b);
void rational_subtract(mpq_ptr sum, mpq_srcptr a, mpq_srcptr b);
void rational_divide(mpq_ptr x, uint64_t k);
/* Reads digits with a point and an exponent exactly; returns the bytes, 0: none stand there. */
size_t rational_decimal(const char *s, size_t n, mpq_ptr out);

/* Whole numbers of 64 bits, where GMP's functions take `long`, which may have 32: n as an integer, one below 2^64 as a number,
 * and n modulo p, p > 0. */
void integer_set(mpz_ptr out, uint64_t n);
uint64_t integer_get(mpz_srcptr n);
uint64_t integer_modulo(mpz_srcptr n, uint64_t p);

/* A sum of products over one denominator, which is brought to lowest terms at its end alone: a term takes one common divisor at
 * most, and rational_add four. */
typedef struct {
    mpq_t sum;
    mpz_t n, d, common; /* n / d: the product so far */
} RationalSum;

#define RATIONAL_SUM(x)                      \
    SCOPED(rational_sum_drop) RationalSum x; \
    mpq_init(x.sum);                         \
    mpz_inits(x.n, x.d, x.common, NULL)
static inline void rational_sum_drop(RationalSum *s)
{
    mpq_clear(s->sum);
    mpz_clears(s->n, s->d, s->common, NULL);
}

/* Makes the product a b, not 0; multiplies it by x; adds it to the sum; ends the sum, which then is 0. */
void rational_sum_begin(RationalSum *s, mpq_srcptr a, mpq_srcptr b);
void rational_sum_times(RationalSum *s, mpq_srcptr x);
void rational_sum_take(RationalSum *s);
void rational_sum_end(RationalSum *s, mpq_ptr out);

/* Rounds a number of an inexact table to 320 bits, and almost to a power of 2 as denominator: exact ones of decimals grow
 * without end, and take their time for common divisors. */
void rational_shorten(mpq_ptr x);

mpq_t *rationals_new(size_t n); /* zeros; NULL: out of memory */
void rationals_free(mpq_t *list);
DROP(mpq_t, rationals)

/* Eliminates by Gauss and Jordan in m (rows, wide), with pivots in the first `columns` columns, above `nothing` in
 * modulus; where that is above 0, numbers are kept to 320 bits alone. Each row of the rank, which is returned, then
 * begins with its pivot, 1, in column pivot[row]. */
size_t rationals_reduce(mpq_t *m, size_t rows, size_t wide, size_t columns, double nothing,
                        size_t *pivot);

#endif
