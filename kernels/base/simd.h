/* simd.h: hot loops for the processor at hand, and an exponential that vectorises.
 *
 * SIMD_CLONES before a function compiles it for x86-64-v2's default, v3 and v4; the best is taken when
 * the program starts (GCC's target_clones). Last bits depend on it where a*b + c is rounded once
 * (ODE_HOT in the Makefile) and in sums over elements. An OpenMP region does not inherit the target:
 * call clones from inside it.
 */
#ifndef TROTTER_SIMD_H
#define TROTTER_SIMD_H

#include <stdint.h>
#include <string.h>

/* Their resolvers run before ThreadSanitizer has begun, which would instrument them. clang's clones are of one feature each, so
 * they do without fused products. */
#if !defined __x86_64__ || defined __SANITIZE_THREAD__
#define SIMD_CLONES
#elif defined __clang__
#define SIMD_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define SIMD_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#endif

/* Returns e^x without branches, for omp simd loops. The relative error is below 1e-15 on [-708,
 * 709]; e^x is held constant outside; NaN stays NaN. e^x = 2^n e^r, n = round(x / ln 2), r = x - n
 * ln 2, |r| <= ln(2)/2; e^r by its Taylor sum to r^13/13!, remainder (ln(2)/2)^14 / 14! = 4.2e-18.
 * ln 2 = HI + LO with n HI exact (Cody, Waite 1980, chapter 6); adding 1.5 * 2^52 rounds to an
 * integer and leaves it in the low bits. */
static inline double simd_exp(double x)
{
    static const double c[] = {1.0 / 6227020800,
                               1.0 / 479001600,
                               1.0 / 39916800,
                               1.0 / 3628800,
                               1.0 / 362880,
                               1.0 / 40320,
                               1.0 / 5040,
                               1.0 / 720,
                               1.0 / 120,
                               1.0 / 24,
                               1.0 / 6,
                               1.0 / 2,
                               1.0,
                               1.0}; /* 1 / (13 - k)! */
    x = x < -708 ? -708 : x;
    x = x > 709 ? 709 : x;
    double t = x * 1.44269504088896340736 + 0x1.8p52, n = t - 0x1.8p52;
    double r = x - n * 0x1.62e42fefa0000p-1 - n * 0x1.cf79abc9e3b3ap-40, p = c[0], power;
#pragma GCC unroll 16 /* unrolls before the vectoriser, which takes no inner loop */
    for (int k = 1; k < 14; k++) p = p * r + c[k];
    uint64_t bits;
    memcpy(&bits, &t, sizeof bits);
    bits = (bits << 52) + 0x3ff0000000000000u; /* 2^n */
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

#endif
