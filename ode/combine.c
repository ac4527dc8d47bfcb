/* combine.c: out = c_0 x_0 + c_1 x_1 + ... in one pass over memory.
 *
 * A loop over the terms inside a loop over elements does not vectorise, and one over elements inside
 * one over terms moves `out` again and again. So sums of 1 to 6 terms are written out; a longer row
 * goes on from `out` in blocks that stay in the nearest cache. Element by element the terms are added
 * from left to right whatever the grouping, so that the bits are those of the plain loop.
 */
#include "ode/combine.h"

#include <string.h>

#include "ode/simd.h"

enum { TERMS = 6, BLOCK = 2048 }; /* 16 KiB of out */

/* 0 x is 0 where x is finite and NaN otherwise; sums of those are 0 or NaN. */
typedef double Combination(size_t N, const double *c, const double *const *x, double *out);

#define COMBINATION(name, terms, sum)                                                              \
    SIMD_CLONES static double name(size_t N, const double *c, const double *const *x, double *out) \
    {                                                                                              \
        double poison = 0;                                                                         \
        terms _Pragma("omp simd reduction(+ : poison)") for (size_t i = 0; i < N; i++)             \
        {                                                                                          \
            double s = sum;                                                                        \
            out[i] = s;                                                                            \
            poison += 0 * s;                                                                       \
        }                                                                                          \
        return poison;                                                                             \
    }

#define C(m) const double c##m = c[m], *const x##m = x[m];
#define X(m) c##m *x##m[i]

/* clang-format off */
COMBINATION(sum1, C(0), X(0))
COMBINATION(sum2, C(0) C(1), X(0) + X(1))
COMBINATION(sum3, C(0) C(1) C(2), X(0) + X(1) + X(2))
COMBINATION(sum4, C(0) C(1) C(2) C(3), X(0) + X(1) + X(2) + X(3))
COMBINATION(sum5, C(0) C(1) C(2) C(3) C(4), X(0) + X(1) + X(2) + X(3) + X(4))
COMBINATION(sum6, C(0) C(1) C(2) C(3) C(4) C(5), X(0) + X(1) + X(2) + X(3) + X(4) + X(5))
/* clang-format on */

static Combination *const sums[TERMS + 1] = {NULL, sum1, sum2, sum3, sum4, sum5, sum6};

/* One block at offset `at`: the first terms, then out and the next ones, and so on. */
static double block(size_t N, size_t parts, const double *c, const double *const *x, size_t at,
                    double *out)
{
    double weight[TERMS], poison = 0;
    const double *source[TERMS];
    for (size_t m = 0, held = 0; m < parts; held = 1) {
        weight[0] = 1;
        source[0] = out + at;
        size_t n = held;
        for (; n < TERMS && m < parts; n++, m++) {
            weight[n] = c[m];
            source[n] = x[m] + at;
        }
        poison = sums[n](N, weight, source, out + at);
    }
    return poison;
}

double combine(size_t N, size_t parts, const double *c, const double *const *x, double *out)
{
    double poison = 0;
    if (parts == 0) memset(out, 0, N * sizeof *out);
    for (size_t at = 0; at < N; at += BLOCK)
        poison += block(N - at < BLOCK ? N - at : BLOCK, parts, c, x, at, out);
    return poison;
}

SIMD_CLONES static double poison_of(size_t N, const double *x)
{
    double poison = 0;
#pragma omp simd reduction(+ : poison)
    for (size_t i = 0; i < N; i++) poison += 0 * x[i];
    return poison;
}

int combine_finite(size_t N, const double *x)
{
    return poison_of(N, x) == 0;
}
