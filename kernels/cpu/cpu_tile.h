/* cpu_tile.h: products of small windows of matrices, for attention. Part of cpu.c.
 *
 * A library's product of 64 x 64 numbers spends half of its time in the call, and cannot leave out the
 * entries that a causal mask hides. Here R x W vectors of sums stay in registers, a number of A is
 * multiplied with a vector of B's row, and A may be read by rows or by columns.
 */
#ifndef TROTTER_CPU_TILE_H
#define TROTTER_CPU_TILE_H

#include "kernels/cpu/cpu_math.h"
#include "kernels/cpu/shuffle.h"

#if defined __AVX512F__
enum { VECTOR = 64, R = 8 };
#elif defined __ARM_FEATURE_SVE_BITS
enum { VECTOR = __ARM_FEATURE_SVE_BITS / 8, R = 8 };
#elif defined __AVX2__
enum { VECTOR = 32, R = 4 };
#else
enum { VECTOR = 16, R = 4 };
#endif
enum { LANE = VECTOR / (int)sizeof(real) };
typedef real Lane __attribute__((vector_size(VECTOR), aligned(sizeof(real)), may_alias));

typedef realbits Mask __attribute__((vector_size(VECTOR)));

/* Transposes r (LANE, LANE): squares off the diagonal change places, largest first (Eklundh 1972). */
static inline __attribute__((always_inline)) void transpose(Lane r[LANE])
{
    for (int s = LANE / 2; s; s /= 2) {
        Mask low = {0}, high = {0};
        for (int l = 0; l < LANE; l++) {
            low[l] = (realbits)(l & s ? l - s + LANE : l);
            high[l] = (realbits)(l & s ? l + LANE : l + s);
        }
#pragma GCC unroll 16
        for (int i = 0; i < LANE; i++) {
            if (i & s) continue;
            Lane x = r[i], y = r[i + s];
            r[i] = SHUFFLE(Lane, LANE, x, y, low);
            r[i + s] = SHUFFLE(Lane, LANE, x, y, high);
        }
    }
}

/* Transposes x (n, m) into y (m, n); y's columns from n up to a multiple of LANE become 0. */
static void turn(size_t m, size_t n, const real *x, size_t ldx, real *y, size_t ldy)
{
    size_t whole = m / LANE * LANE, j = 0;
    for (; j + LANE <= n; j += LANE) {
        for (size_t e = 0; e < whole; e += LANE) {
            Lane r[LANE];
#pragma GCC unroll 16
            for (size_t i = 0; i < LANE; i++) r[i] = *(const Lane *)(x + (j + i) * ldx + e);
            transpose(r);
#pragma GCC unroll 16
            for (size_t i = 0; i < LANE; i++) *(Lane *)(y + (e + i) * ldy + j) = r[i];
        }
        for (size_t e = whole; e < m; e++)
            for (size_t i = j; i < j + LANE; i++) y[e * ldy + i] = x[i * ldx + e];
    }
    for (size_t end = j < n ? j + LANE : j; j < end; j++)
        for (size_t e = 0; e < m; e++) y[e * ldy + j] = j < n ? x[j * ldx + e] : 0;
}

/* A window of a matrix, or of its transpose: element (i, p) at x[i * row + p * col]. */
typedef struct {
    const real *x;
    size_t row, col;
} Window;

/* Computes C (r, w vectors) = (add ? C : 0) + c A B: r <= R rows of A, B's row p at B + p * ldb. */
static inline __attribute__((always_inline)) void tile_block(int r, int w, size_t k, real c,
                                                             Window A, const real *B, size_t ldb,
                                                             int add, real *C, size_t ldc)
{
    Lane s[R][2] = {{{0}}};
    for (size_t p = 0; p < k; p++)
        for (int i = 0; i < r; i++)
            for (int j = 0; j < w; j++)
                s[i][j] += A.x[(size_t)i * A.row + p * A.col] *
                           *(const Lane *)(B + p * ldb + (size_t)(j * LANE));
    for (int i = 0; i < r; i++)
        for (int j = 0; j < w; j++) {
            Lane *to = (Lane *)(C + (size_t)i * ldc + (size_t)(j * LANE));
            *to = add ? *to + c * s[i][j] : c * s[i][j];
        }
}

/* Computes the rows of one column of blocks, R at a time and then one by one. */
static inline __attribute__((always_inline)) void tile_column(int w, size_t m, size_t k, real c,
                                                              Window A, const real *B, size_t ldb,
                                                              int add, real *C, size_t ldc)
{
    size_t i = 0;
    for (; i + R <= m; i += R, A.x += R * A.row, C += R * ldc)
        tile_block(R, w, k, c, A, B, ldb, add, C, ldc);
    for (; i < m; i++, A.x += A.row, C += ldc) tile_block(1, w, k, c, A, B, ldb, add, C, ldc);
}

/* Computes C (m, n) = (add ? C : 0) + c A B: A (m, k) a window, B (k, n) by rows. */
static void tile_product(size_t m, size_t n, size_t k, real c, Window A, const real *B, size_t ldb,
                         int add, real *C, size_t ldc)
{
    size_t j = 0;
    for (; j + 2 * LANE <= n; j += 2 * LANE)
        tile_column(2, m, k, c, A, B + j, ldb, add, C + j, ldc);
    for (; j + LANE <= n; j += LANE) tile_column(1, m, k, c, A, B + j, ldb, add, C + j, ldc);
    for (; j < n; j++)
        for (size_t i = 0; i < m; i++) {
            real s = 0;
            for (size_t p = 0; p < k; p++) s += A.x[i * A.row + p * A.col] * B[p * ldb + j];
            C[i * ldc + j] = add ? C[i * ldc + j] + c * s : c * s;
        }
}

#endif
