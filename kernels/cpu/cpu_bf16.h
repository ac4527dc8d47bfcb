/* cpu_bf16.h: the matrix product of the bf16 backend. Part of cpu.c, where PRECISION_bf16 is set.
 *
 * Operands are f32 and are rounded to bf16 (8 bits of significand, nearest even) while they are packed
 * for the cache, so no converted copy exists that could become stale. The product of two bf16 numbers
 * is exact in f32; sums are f32. A result is off by at most 2^-8 of sum |a||b|, and its bits depend
 * neither on the number of threads nor on the cut into panels: the sum goes in the order of k.
 *
 * The instruction adds two products at once to each sum of a vector, so operands are kept in words: two
 * numbers that follow each other along k. A tile of C is ROWS x COLS sums, in 28 of 32 registers on x86-64
 * and in 16 of 32 on ARM; with AMX it is in registers of tiles (cpu_amx.h).
 *   B  panel of K words x NC columns, shared: strips of COLS columns, a word row [COLS] after another
 *   A  block of MC rows, each thread's own: rows of words; transposed, strips [K][LANES] (not for AMX)
 * Source: Goto, van de Geijn 2008, "Anatomy of high-performance matrix multiplication", figure 8.
 */
#ifndef TROTTER_CPU_BF16_H
#define TROTTER_CPU_BF16_H

#include <pthread.h>

#include "kernels/cpu/cpu_tile.h"

typedef uint32_t Word; /* number of k in the low half, that of k + 1 in the high half */

/* ---- instructions ------------------------------------------------------------------------------- */

/* floats_at and floats_put load and store the first n lanes, all where n is larger; a lane that is not loaded is 0.
 * words_of rounds 2 LANES numbers that follow each other to LANES words; halves_of puts each of LANES numbers into
 * the low half of a word; add_products adds to each sum the two products of its words. */
#ifdef __AVX512BF16__
#include <immintrin.h>

enum { LANES = 16, VECTORS = 2 };
typedef float Sums __attribute__((vector_size(4 * LANES)));
typedef Word Words __attribute__((vector_size(4 * LANES)));

static inline __mmask16 lanes(size_t n)
{
    return (__mmask16)(n < LANES ? (1u << n) - 1 : UINT16_MAX);
}

static inline Sums floats_at(const float *x, size_t n)
{
    return (Sums)_mm512_maskz_loadu_ps(lanes(n), x);
}

static inline void floats_put(float *x, size_t n, Sums s)
{
    _mm512_mask_storeu_ps(x, lanes(n), (__m512)s);
}

static inline Words words_of(Sums low, Sums high)
{
    return (Words)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
}

static inline Words halves_of(Sums x)
{
    return (Words)_mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh((__m512)x));
}

static inline Sums add_products(Sums s, Words a, Words b)
{
    return (Sums)_mm512_dpbf16_ps((__m512)s, (__m512bh)a, (__m512bh)b);
}

#else
#include <arm_neon.h>

enum { LANES = 4, VECTORS = 4 };
typedef float Sums __attribute__((vector_size(4 * LANES)));
typedef Word Words __attribute__((vector_size(4 * LANES)));

static inline Sums floats_at(const float *x, size_t n)
{
    Sums s = {0};
    if (n >= LANES) return (Sums)vld1q_f32(x);
    for (size_t l = 0; l < n; l++) s[l] = x[l];
    return s;
}

static inline void floats_put(float *x, size_t n, Sums s)
{
    if (n >= LANES)
        vst1q_f32(x, (float32x4_t)s);
    else
        for (size_t l = 0; l < n; l++) x[l] = s[l];
}

static inline Words words_of(Sums low, Sums high)
{
    return (Words)vcvtq_high_bf16_f32(vcvtq_low_bf16_f32((float32x4_t)low), (float32x4_t)high);
}

static inline Words halves_of(Sums x)
{
    return (Words)vmovl_u16((uint16x4_t)vcvt_bf16_f32((float32x4_t)x));
}

/* BFDOT rounds its two additions to odd, so each may lose 2^-23 of its sum, twice of what rounding to the nearest may (Arm,
 * "Architecture reference manual for A-profile"). */
static inline Sums add_products(Sums s, Words a, Words b)
{
    return (Sums)vbfdotq_f32((float32x4_t)s, (bfloat16x8_t)a, (bfloat16x8_t)b);
}
#endif

enum { COLS = VECTORS * LANES, WORDS = 512, NC = 128 * COLS };

/* ---- packing ------------------------------------------------------------------------------------ */

/* Loads LANES words of a row that runs along k; n of its numbers exist, the others are 0. */
static inline Words words_along(const float *x, size_t n)
{
    return words_of(floats_at(x, n), floats_at(x + LANES, n > LANES ? n - LANES : 0));
}

/* Loads a word from each of LANES columns (n exist); k runs down the rows, of which `rows` exist. */
static inline Words words_across(const float *x, size_t ld, size_t rows, size_t n)
{
    Words high = halves_of(rows > 1 ? floats_at(x + ld, n) : (Sums){0});
    return halves_of(floats_at(x, n)) | high << 16;
}

#ifdef __AMX_BF16__
#include "kernels/cpu/cpu_amx.h"
#else
enum { ROWS = LANES == 4 ? 4 : 14, MC = 168 / ROWS * ROWS };
/* Row stride of a block: room for a strip in ROWS rows, no two of which share a cache set. */
enum { STRIDE = (WORDS * LANES / ROWS + 2 * LANES) / LANES * LANES };

static inline void tiles_begin(void) {}
static inline void tiles_end(void) {}

/* Packs a block (m, k) of the transpose of A, stored (k, m), in strips. */
static void pack_turned(size_t m, size_t k, const float *A, size_t ld, Word *out)
{
    for (size_t i = 0; i < m; i += ROWS)
        for (size_t p = 0; p < k; p += 2)
            *(Words *)(out + i * STRIDE + p / 2 * LANES) =
                words_across(A + p * ld + i, ld, k - p, least(ROWS, m - i));
}

/* Computes s (ROWS, COLS) = A B over `words` words; the word of row i is a[i * row + p * step]. */
static inline __attribute__((always_inline)) void sums_of_words(size_t words, const Word *a,
                                                                size_t row, size_t step,
                                                                const Word *b,
                                                                Sums s[ROWS][VECTORS])
{
    Sums t[ROWS][VECTORS] = {{{0}}};
    for (size_t p = 0; p < words; p++) {
        const Words *c = (const Words *)(b + p * COLS);
#pragma GCC unroll 14
        for (size_t i = 0; i < ROWS; i++) {
            Words x = a[i * row + p * step] + (Words){0};
#pragma GCC unroll 4
            for (size_t v = 0; v < VECTORS; v++) t[i][v] = add_products(t[i][v], x, c[v]);
        }
    }
    memcpy(s, t, sizeof t);
}

static inline void tile_sums(int turned, size_t words, const Word *a, const Word *b,
                             Sums s[ROWS][VECTORS])
{
    if (turned)
        sums_of_words(words, a, 1, LANES, b, s);
    else
        sums_of_words(words, a, STRIDE, 1, b, s);
}
#endif

/* Packs a block (m, k) of A, k numbers along, in rows of words. */
static void pack_rows(size_t m, size_t k, const float *A, size_t ld, Word *out)
{
    for (size_t i = 0; i < m; i++)
        for (size_t p = 0; p < k; p += 2 * LANES)
            *(Words *)(out + i * STRIDE + p / 2) = words_along(A + i * ld + p, k - p);
}

/* Packs a strip of op(B), n <= COLS columns; missing ones, and rows up to 16 words, are 0. */
static void pack_strip(int trans, size_t n, size_t k, const float *B, size_t ld, Word *out)
{
    for (size_t h = 0; h < COLS; h += LANES) {
        size_t here = n > h ? least(LANES, n - h) : 0;
        for (size_t p = 0; p < k && !trans; p += 2)
            *(Words *)(out + p / 2 * COLS + h) =
                words_across(B + p * ld + (here ? h : 0), ld, k - p, here);
        for (size_t q = (k + 1) / 2; q % LANES && !trans; q++)
            *(Words *)(out + q * COLS + h) = (Words){0};
        for (size_t p = 0; p < k && trans; p += 2 * LANES) {
            Lane r[LANES];
#pragma GCC unroll 16
            for (size_t j = 0; j < LANES; j++)
                r[j] = (Lane)(j < here ? words_along(B + (h + j) * ld + p, k - p) : (Words){0});
            transpose(r); /* these are words, although a lane's type holds numbers */
#pragma GCC unroll 16
            for (size_t q = 0; q < LANES; q++)
                *(Words *)(out + (p / 2 + q) * COLS + h) = (Words)r[q];
        }
    }
}

/* ---- a tile of C -------------------------------------------------------------------------------- */

/* Computes C (m, n) = alpha s + beta C; beta = 0 does not read C. */
static void tile_put(size_t m, size_t n, float alpha, Sums s[ROWS][VECTORS], float beta, float *C,
                     size_t ldc)
{
    for (size_t i = 0; i < m; i++)
        for (size_t h = 0; h < VECTORS && h * LANES < n; h++) {
            float *c = C + i * ldc + h * LANES;
            Sums x = alpha * s[i][h];
            if (beta != 0) x += beta * floats_at(c, n - h * LANES);
            floats_put(c, n - h * LANES, x);
        }
}

/* Prefetches C's lines: without this a twentieth of the time is waiting. */
static void tile_fetch(size_t m, const float *C, size_t ldc)
{
    for (size_t i = 0; i < m; i++)
        for (size_t c = 0; c < COLS; c += LANES) __builtin_prefetch(C + i * ldc + c, 1);
}

/* ---- the product -------------------------------------------------------------------------------- */

typedef struct {
    int ta, tb;
    size_t m, n, k;
    float alpha, beta;
    const float *A, *B;
    float *C;
    size_t lda, ldb, ldc;
} Product;

/* Computes rows i0 .. and columns j0 .. of C over k numbers from k0, with a packed panel of B. */
static void block_product(const Product *p, size_t i0, size_t m, size_t j0, size_t n, size_t k0,
                          size_t k, const Word *panel)
{
    _Alignas(64) Word block[MC * STRIDE];
    size_t words = (k + 1) / 2;
    if (p->ta)
        pack_turned(m, k, p->A + k0 * p->lda + i0, p->lda, block);
    else
        pack_rows(m, k, p->A + i0 * p->lda + k0, p->lda, block);
    for (size_t j = 0; j < n; j += COLS)
        for (size_t i = 0; i < m; i += ROWS) {
            _Alignas(64) Sums s[ROWS][VECTORS];
            float *C = p->C + (i0 + i) * p->ldc + j0 + j;
            size_t rows = least(ROWS, m - i);
            tile_fetch(rows, C, p->ldc);
            tile_sums(p->ta, words, block + i * STRIDE, panel + j * WORDS, s);
            tile_put(rows, least(COLS, n - j), p->alpha, s, k0 ? 1 : p->beta, C, p->ldc);
        }
}

/* Multiplies panel by panel of B: threads pack its strips, then take blocks of rows of C as they
 * are free; no number depends on which thread made it. */
static void panels_product(const Product *p, Word *panel)
{
    tiles_begin();
    size_t threads = (size_t)omp_get_num_threads(), tiles = (p->m + ROWS - 1) / ROWS;
    size_t blocks = ((p->m + MC - 1) / MC + threads - 1) / threads * threads;
    size_t rows = (tiles + blocks - 1) / blocks * ROWS;
    for (size_t j0 = 0; j0 < p->n; j0 += NC)
        for (size_t k0 = 0; k0 < p->k; k0 += 2 * WORDS) {
            size_t n = least(NC, p->n - j0), k = least(2 * WORDS, p->k - k0);
            const float *B = p->B + (p->tb ? j0 * p->ldb + k0 : k0 * p->ldb + j0);
#pragma omp for schedule(dynamic, 4)
            for (size_t j = 0; j < n; j += COLS)
                pack_strip(p->tb, n - j, k, B + (p->tb ? j * p->ldb : j), p->ldb,
                           panel + j * WORDS);
#pragma omp for schedule(dynamic)
            for (size_t i = 0; i < p->m; i += rows)
                block_product(p, i, least(rows, p->m - i), j0, n, k0, k, panel);
        }
    tiles_end();
}

/* Multiplies; one product at a time has the panel, and a small one needs no team. */
static void bf16_gemm(int ta, int tb, size_t m, size_t n, size_t k, double alpha, const void *A,
                      size_t lda, const void *B, size_t ldb, double beta, void *C, size_t ldc)
{
    static _Alignas(64) Word panel[NC * WORDS];
    static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
    Product p = {ta, tb, m, n, k, (float)alpha, (float)beta, A, B, C, lda, ldb, ldc};
    pthread_mutex_lock(&taken);
#pragma omp parallel if (m * n * k >= 32768)
    panels_product(&p, panel);
    pthread_mutex_unlock(&taken);
}

#endif
