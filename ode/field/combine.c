/* combine.c: out = c_0 x_0 + c_1 x_1 + ... in one pass over memory.
 *
 * A loop over the terms inside a loop over elements does not vectorise, and one over elements inside
 * one over terms moves `out` again and again. So sums of 1 to 6 terms are written out; a longer row
 * goes on from `out` in blocks that stay in the nearest cache. Terms are added from left to right.
 */
#include "ode/field/combine.h"

#include <stdint.h>
#include <string.h>

#include "kernels/base/simd.h"

enum { TERMS = 6, BLOCK = 2048 }; /* 16 KiB of out */

typedef void Combination(size_t N, const double *c, const double *const *x, double *out);
typedef uint64_t Checked(size_t N, const double *c, const double *const *x, double *out);

/* Carries into bit 63 where the exponent is all ones: infinite or NaN. */
static inline uint64_t carry(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7ff0000000000000u) + 0x0010000000000000u;
}

/* Defines name, and name_checked, which returns bit 63 where a number of out is not finite. */
#define COMBINATION(name, terms, sum)                                                             \
    SIMD_CLONES static void name(size_t N, const double *c, const double *const *x, double *out)  \
    {                                                                                             \
        terms _Pragma("omp simd") for (size_t i = 0; i < N; i++) out[i] = sum;                    \
    }                                                                                             \
    SIMD_CLONES static uint64_t name##_checked(size_t N, const double *c, const double *const *x, \
                                               double *out)                                       \
    {                                                                                             \
        uint64_t all = 0;                                                                         \
        terms _Pragma("omp simd reduction(| : all)") for (size_t i = 0; i < N; i++)               \
        {                                                                                         \
            double y = sum;                                                                       \
            out[i] = y;                                                                           \
            all |= carry(y);                                                                      \
        }                                                                                         \
        return all;                                                                               \
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
static Checked *const checked_sums[TERMS + 1] = {
    NULL, sum1_checked, sum2_checked, sum3_checked, sum4_checked, sum5_checked, sum6_checked};

/* Sums one block at offset `at`: the first terms, then out and the next ones, and so on. With `check` it returns the
 * bits of the last sum. */
static uint64_t block(size_t N, size_t parts, const double *c, const double *const *x, size_t at,
                      int check, double *out)
{
    double weight[TERMS];
    const double *source[TERMS];
    for (size_t m = 0, held = 0; m < parts; held = 1) {
        weight[0] = 1;
        source[0] = out + at;
        size_t n = held;
        for (; n < TERMS && m < parts; n++, m++) {
            weight[n] = c[m];
            source[n] = x[m] + at;
        }
        if (check && m == parts) return checked_sums[n](N, weight, source, out + at);
        sums[n](N, weight, source, out + at);
    }
    return 0;
}

SIMD_CLONES static uint64_t poison(size_t N, const double *x)
{
    uint64_t all = 0;
#pragma omp simd reduction(| : all)
    for (size_t i = 0; i < N; i++) all |= carry(x[i]);
    return all;
}

int combine_finite(size_t N, const double *x)
{
    return !(poison(N, x) >> 63);
}

static uint64_t combine_by(size_t at, size_t N, size_t parts, const double *c,
                           const double *const *x, int check, double *out)
{
    uint64_t bits = 0;
    if (parts == 0) memset(out + at, 0, N * sizeof *out);
    for (size_t end = at + N; at < end; at += BLOCK)
        bits |= block(end - at < BLOCK ? end - at : BLOCK, parts, c, x, at, check, out);
    return bits;
}

void combine(size_t at, size_t N, size_t parts, const double *c, const double *const *x,
             double *out)
{
    combine_by(at, N, parts, c, x, 0, out);
}

int combine_checked(size_t at, size_t N, size_t parts, const double *c, const double *const *x,
                    double *out)
{
    return !(combine_by(at, N, parts, c, x, 1, out) >> 63);
}
