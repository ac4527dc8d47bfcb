/* cpu_math.h: the element type of this compilation, its exponential, and how work is cut into parts.
 * Part of cpu.c, which is compiled once per precision and instruction set.
 */
#ifndef TROTTER_CPU_MATH_H
#define TROTTER_CPU_MATH_H

#include <math.h>
#include <omp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/backend.h"

/* exp(x) = 2^n e^r with n = round(x / ln 2), r = x - n ln 2, |r| <= ln(2)/2, and e^r by its Taylor
 * sum to r^K / K!. Lagrange's remainder is below (ln(2)/2)^(K+1) / (K+1)!: 5.2e-9 for K = 7 and
 * 4.2e-18 for K = 13, 1/11 and 1/26 of half an ulp of 1. ln 2 = HI + LO with HI short enough that
 * n HI is exact (Cody, Waite 1980, "Software Manual for the Elementary Functions", chapter 6).
 * Adding SHIFT = 1.5 * 2^(bits of the fraction) rounds to an integer and leaves n in the low bits. */
#if defined PRECISION_f32 || defined PRECISION_bf16
typedef float real;
typedef uint32_t realbits;
#define REAL(x) x##f
#define GEMM cblas_sgemm
#define SQRT sqrtf
enum { EXP_TERMS = 7, EXP_FRACTION = 23 };
#define EXP_MOST 60.0f /* e^60 = 1.1e26 */
#define EXP_LN2_HI 0x1.63p-1f
#define EXP_LN2_LO (-0x1.bd0106p-13f)
#define EXP_ONE 0x3f800000u
#define EXP_SHIFT 0x1.8p23f
#elif defined PRECISION_f64
typedef double real;
typedef uint64_t realbits;
#define REAL(x) x
#define GEMM cblas_dgemm
#define SQRT sqrt
enum { EXP_TERMS = 13, EXP_FRACTION = 52 };
#define EXP_MOST 600.0
#define EXP_LN2_HI 0x1.62e42fefa0000p-1
#define EXP_LN2_LO 0x1.cf79abc9e3b3ap-40
#define EXP_ONE 0x3ff0000000000000u
#define EXP_SHIFT 0x1.8p52
#else
#error "define PRECISION_f32, PRECISION_f64 or PRECISION_bf16"
#endif

/* Return e^x, branch-free, for loops that the compiler vectorises: relative error below 2 eps for |x| <= EXP_MOST,
 * constant outside; NaN stays NaN. exp_below is for x <= EXP_MOST. Compilers compute a loop's results for the constants
 * too, for every number, and choose afterwards. So products with the constants must stay far from subnormal numbers,
 * each of which takes 100 cycles. */
static inline real exp_below(real x)
{
    static const real c[] = {1,
                             1,
                             (real)(1.0 / 2),
                             (real)(1.0 / 6),
                             (real)(1.0 / 24),
                             (real)(1.0 / 120),
                             (real)(1.0 / 720),
                             (real)(1.0 / 5040),
                             (real)(1.0 / 40320),
                             (real)(1.0 / 362880),
                             (real)(1.0 / 3628800),
                             (real)(1.0 / 39916800),
                             (real)(1.0 / 479001600),
                             (real)(1.0 / 6227020800)}; /* 1 / k! */
    x = x < -EXP_MOST ? -EXP_MOST : x;
    real t = x * REAL(1.44269504088896340736) + EXP_SHIFT;
    real n = t - EXP_SHIFT;
    real r = x - n * EXP_LN2_HI - n * EXP_LN2_LO;
    real p = c[EXP_TERMS];
    for (int k = EXP_TERMS; k-- > 0;) p = p * r + c[k];
    realbits b;
    memcpy(&b, &t, sizeof b);
    b = (b << EXP_FRACTION) + EXP_ONE; /* 2^n */
    real power;
    memcpy(&power, &b, sizeof b);
    return p * power;
}

static inline real fast_exp(real x)
{
    return exp_below(x > EXP_MOST ? EXP_MOST : x);
}

/* Part t of `parts` of 0 .. n-1, cut at multiples of 16, so that panels of a matrix stay aligned. */
typedef struct {
    size_t lo, hi;
} Range;

static inline Range range_of(size_t n, int t, int parts)
{
    size_t blocks = (n + 15) / 16, p = (size_t)parts;
    size_t lo = blocks * (size_t)t / p * 16, hi = blocks * ((size_t)t + 1) / p * 16;
    return (Range){lo < n ? lo : n, hi < n ? hi : n};
}

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Sums over rows: rows are cut into one panel per thread, a panel is summed in order on the stack of its thread,
 * and the panels are added in order (`omp ordered`). So a sum is a function of the data and the number of
 * threads, and needs no memory. SUMS columns are summed at a time; TILE numbers of a row are drawn or kept at a
 * time. */
enum { TILE = 256, SUMS = 4096 };

static inline int panels_of(size_t rows)
{
    int threads = omp_get_max_threads();
    return rows < 32 ? 1 : threads;
}

static inline real dot(size_t n, const real *x, const real *y)
{
    real s = 0;
#pragma omp simd reduction(+ : s)
    for (size_t i = 0; i < n; i++) s += x[i] * y[i];
    return s;
}

static inline void add_scaled(size_t n, real c, const real *x, real *y)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] += c * x[i];
}

#endif
