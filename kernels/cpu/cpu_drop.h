/* cpu_drop.h: dropout masks and the elementwise kernels around a linear layer. Part of cpu.c.
 *
 * Element i (counted from drop->first) is kept where word i % 4 of random_words(seed, stream + step 2^24, i / 4) >= p * 2^32. The ten rounds
 * of Philox4x32 (Salmon, Moraes, Dror, Shaw 2011, section 3.3 and table 2) are written over vectors here because the
 * function of Random123 does not vectorise; the tests check that both are equal. A round needs 32 x 32 -> 64 bit
 * products, which every instruction set has as one instruction but gcc does not find in plain loops (up to
 * 3 times slower on x86), hence one intrinsic for each.
 */
#ifndef TROTTER_CPU_DROP_H
#define TROTTER_CPU_DROP_H

#ifdef __x86_64__
#include <immintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>
#endif

#include "kernels/cpu/cpu_norm.h"
#include "kernels/cpu/shuffle.h"

#if defined __AVX512F__
enum { WIDE = 8 };
#define PRODUCT(a, b) ((Lanes)_mm512_mul_epu32((__m512i)(a), (__m512i)(b)))
#elif defined __AVX2__
enum { WIDE = 4 };
#define PRODUCT(a, b) ((Lanes)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#elif defined __x86_64__
enum { WIDE = 2 };
#define PRODUCT(a, b) ((Lanes)_mm_mul_epu32((__m128i)(a), (__m128i)(b)))
#elif defined __aarch64__
enum { WIDE = 2 };
#define PRODUCT(a, b) ((Lanes)vmull_u32(vmovn_u64((uint64x2_t)(a)), vmovn_u64((uint64x2_t)(b))))
#else
enum { WIDE = 2 };
#define PRODUCT(a, b) (((a)&UINT32_MAX) * ((b)&UINT32_MAX))
#endif
typedef uint64_t Lanes __attribute__((vector_size(8 * WIDE)));
typedef Lanes Stored __attribute__((aligned(4), may_alias));

/* Two vectors of blocks at a time hide the latency of the products. */
enum { PAIR = 2, BLOCKS = PAIR * WIDE };

/* Stores words 0 .. 3 of each lane, which are the low halves of c0 .. c3, lane by lane; out (4 * WIDE). */
static inline void store_lanes(Lanes c0, Lanes c1, Lanes c2, Lanes c3, uint32_t *out)
{
    Lanes first = (c0 & UINT32_MAX) | c1 << 32, second = (c2 & UINT32_MAX) | c3 << 32;
    Lanes low = {0}, high = {0};
    for (int l = 0; l < WIDE; l++) {
        low[l] = (uint64_t)(l % 2 * WIDE + l / 2);
        high[l] = low[l] + WIDE / 2;
    }
    *(Stored *)out = SHUFFLE(Lanes, WIDE, first, second, low);
    *(Stored *)(out + 2 * WIDE) = SHUFFLE(Lanes, WIDE, first, second, high);
}

/* Computes the words of blocks `block` .. `block` + BLOCKS - 1, in order; out (4 * BLOCKS). A number is in the low half
 * of a 64-bit lane; the upper half is never used. */
static void philox(uint64_t seed, uint64_t stream, uint64_t block, uint32_t *restrict out)
{
    const Lanes zero = {0}, m0 = zero + 0xD2511F53u, m1 = zero + 0xCD9E8D57u;
    Lanes c0[PAIR], c1[PAIR], c2[PAIR], c3[PAIR], lane = {0};
    for (int l = 0; l < WIDE; l++) lane[l] = (uint64_t)l;
    for (int u = 0; u < PAIR; u++) {
        c0[u] = lane + (block + (uint64_t)(u * WIDE));
        c1[u] = c0[u] >> 32, c2[u] = zero + stream, c3[u] = c2[u] >> 32;
    }
    uint64_t k0 = seed, k1 = seed >> 32;
    for (int round = 0; round < 10; round++) {
        for (int u = 0; u < PAIR; u++) {
            Lanes p0 = PRODUCT(c0[u], m0), p1 = PRODUCT(c2[u], m1);
            c0[u] = p1 >> 32 ^ c1[u] ^ k0, c2[u] = p0 >> 32 ^ c3[u] ^ k1;
            c1[u] = p1, c3[u] = p0;
        }
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    for (int u = 0; u < PAIR; u++) store_lanes(c0[u], c1[u], c2[u], c3[u], out + 4 * u * WIDE);
}

/* Fills keep (n <= TILE) with the factor of elements index .. index + n - 1, 0 or 1 / (1 - p); all 1 without dropout.
 * Multiplying by it leaves a NaN visible. */
static void keep_fill(const Dropout *drop, uint64_t index, size_t n, real *restrict keep)
{
    if (!(drop->rate > 0)) {
        for (size_t i = 0; i < n; i++) keep[i] = 1;
        return;
    }
    uint32_t word[TILE + 8 * BLOCKS];
    uint64_t stream = drop->stream + (drop->step ? *drop->step << DROPOUT_STEP : 0);
    index += drop->first;
    size_t skip = index % 4;
    for (size_t i = 0; i < skip + n; i += 4 * BLOCKS)
        philox(drop->seed, stream, (index - skip + i) / 4, word + i);
    uint32_t limit = (uint32_t)(ceil(drop->rate * 0x1p32) - 1); /* kept: word > limit */
    real scale = (real)(1 / (1 - drop->rate));
#pragma omp simd
    for (size_t i = 0; i < n; i++) keep[i] = word[skip + i] > limit ? scale : 0;
}

/* Compute y = act(u + b) keep and dy *= keep act'(u), n numbers. ReLU does not change u, and its backward reads no
 * mask: y > 0 exactly where u + b was > 0 and was kept. GELU's tanh form (Hendrycks, Gimpel 2016) is u s with s =
 * sigmoid(2 a (u + b u^3)), a = sqrt(2/pi), b = 0.044715; its derivative is s + u s (1 - s) 2 a (1 + 3 b u^2). */
#define GELU_2A REAL(1.59576912160573071176)
#define GELU_B REAL(0.044715)

static void relu_row(size_t n, real *u, const real *b, const real *keep, real *y)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = (u[i] + b[i] < 0 ? 0 : u[i] + b[i]) * keep[i];
}

static void relu_row_back(size_t n, const real *u, const real *y, const Dropout *drop,
                          uint64_t index, real *dy)
{
    (void)u, (void)index;
    real scale = (real)(1 / (1 - drop->rate));
#pragma omp simd
    for (size_t i = 0; i < n; i++) dy[i] *= y[i] > 0 ? scale : 0;
}

static inline real gelu_sigmoid(real u)
{
    return 1 / (1 + fast_exp(-GELU_2A * (u + GELU_B * u * u * u)));
}

static inline real gelu(real u)
{
    return u * gelu_sigmoid(u);
}

static inline real gelu_slope(real u)
{
    real s = gelu_sigmoid(u);
    return s + u * s * (1 - s) * GELU_2A * (1 + 3 * GELU_B * u * u);
}

/* tanh and GELU by the error function are the library's, in double: they serve few numbers, and models of others. */
static inline real tanh_of(real u)
{
    return (real)tanh((double)u);
}

static inline real tanh_slope(real u)
{
    double t = tanh((double)u);
    return (real)(1 - t * t);
}

static inline double normal_below(double u)
{
    return 0.5 * (1 + erf(u * M_SQRT1_2));
}

static inline real erf_gelu(real u)
{
    return (real)(u * normal_below((double)u));
}

static inline real erf_gelu_slope(real u)
{
    double x = (double)u;
    return (real)(normal_below(x) + x * exp(-0.5 * x * x) * 0.39894228040143267794);
}

/* Makes name_row and name_row_back of an activation that keeps u + b, from its value and its slope there. */
#define ACT_ROWS(name, value, slope)                                                         \
    static void name##_row(size_t n, real *u, const real *b, const real *keep, real *y)      \
    {                                                                                        \
        _Pragma("omp simd") for (size_t i = 0; i < n; i++)                                   \
        {                                                                                    \
            u[i] += b[i];                                                                    \
            y[i] = value(u[i]) * keep[i];                                                    \
        }                                                                                    \
    }                                                                                        \
    static void name##_row_back(size_t n, const real *u, const real *y, const Dropout *drop, \
                                uint64_t index, real *dy)                                    \
    {                                                                                        \
        real keep[TILE];                                                                     \
        (void)y;                                                                             \
        keep_fill(drop, index, n, keep);                                                     \
        _Pragma("omp simd") for (size_t i = 0; i < n; i++) dy[i] *= keep[i] * slope(u[i]);   \
    }
ACT_ROWS(gelu, gelu, gelu_slope)
ACT_ROWS(tanh, tanh_of, tanh_slope)
ACT_ROWS(erf, erf_gelu, erf_gelu_slope)

static inline real silu(real u)
{
    return u / (1 + fast_exp(-u));
}

static inline real silu_slope(real u)
{
    real s = 1 / (1 + fast_exp(-u));
    return s + u * s * (1 - s);
}

/* Makes the rows of a gated activation: b and c are the biases of u and v. du and dv may be u and v. */
#define GATED_ROWS(name, value, slope)                                                       \
    static void name##_row(size_t n, real *u, real *v, const real *b, const real *c,         \
                           const real *keep, real *y)                                        \
    {                                                                                        \
        _Pragma("omp simd") for (size_t i = 0; i < n; i++)                                   \
        {                                                                                    \
            u[i] += b[i], v[i] += c[i];                                                      \
            y[i] = value(u[i]) * v[i] * keep[i];                                             \
        }                                                                                    \
    }                                                                                        \
    static void name##_row_back(size_t n, const real *u, const real *v, const Dropout *drop, \
                                uint64_t index, const real *dy, real *du, real *dv)          \
    {                                                                                        \
        real keep[TILE];                                                                     \
        keep_fill(drop, index, n, keep);                                                     \
        _Pragma("omp simd") for (size_t i = 0; i < n; i++)                                   \
        {                                                                                    \
            real d = dy[i] * keep[i], x = u[i], other = v[i];                                \
            du[i] = d * other * slope(x);                                                    \
            dv[i] = d * value(x);                                                            \
        }                                                                                    \
    }
GATED_ROWS(swiglu, silu, silu_slope)
GATED_ROWS(geglu, gelu, gelu_slope)

typedef void GatedRow(size_t n, real *u, real *v, const real *b, const real *c, const real *keep,
                      real *y);
typedef void GatedBack(size_t n, const real *u, const real *v, const Dropout *drop, uint64_t index,
                       const real *dy, real *du, real *dv);

/* Computes dy *= keep, for no activation. */
static void drop_row_back(size_t n, const real *u, const real *y, const Dropout *drop,
                          uint64_t index, real *dy)
{
    (void)u, (void)y;
    real keep[TILE];
    keep_fill(drop, index, n, keep);
#pragma omp simd
    for (size_t i = 0; i < n; i++) dy[i] *= keep[i];
}

/* Rows of at most TILE numbers; u, y may be NULL where they are not read. */
typedef void RowBack(size_t n, const real *u, const real *y, const Dropout *drop, uint64_t index,
                     real *dy);

static const struct {
    void (*row)(size_t n, real *u, const real *b, const real *keep, real *y);
    RowBack *row_back;
    GatedRow *gated; /* of gated ones, which have no others */
    GatedBack *gated_back;
} act_table[] = {[ACT_RELU] = {relu_row, relu_row_back},
                 [ACT_GELU] = {gelu_row, gelu_row_back},
                 [ACT_TANH] = {tanh_row, tanh_row_back},
                 [ACT_ERF] = {erf_row, erf_row_back},
                 [ACT_SWIGLU] = {.gated = swiglu_row, .gated_back = swiglu_row_back},
                 [ACT_GEGLU] = {.gated = geglu_row, .gated_back = geglu_row_back}};

static void bias_drop_row(size_t D, size_t r, real *x, const real *b, const Dropout *drop)
{
    for (size_t c = 0; c < D; c += TILE) {
        real keep[TILE], *xr = x + r * D + c;
        size_t n = least(TILE, D - c);
        keep_fill(drop, r * D + c, n, keep);
#pragma omp simd
        for (size_t i = 0; i < n; i++) xr[i] = (xr[i] + b[c + i]) * keep[i];
    }
}

static void cpu_bias_drop(size_t N, size_t D, void *x, const void *b, Dropout drop)
{
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < N; r++) bias_drop_row(D, r, x, b, &drop);
}

/* Works row by row, while a row is in the cache. */
static void cpu_residual(size_t N, size_t D, void *k, const void *b, Dropout drop, int kept,
                         size_t n, const LinTerm *term, void *r, NormKind kind, const void *w,
                         const void *c, void *y, void *stats)
{
    (void)kept;
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < N; row++) {
        real *sum = (real *)r + row * D;
        bias_drop_row(D, row, k, b, &drop);
        lin_row(D, 0, D, n, term, row, sum);
        if (w) norm_row(D, kind, sum, w, c, (real *)y + row * D, (real *)stats + 2 * row);
    }
}

static void cpu_bias_act(size_t N, size_t M, void *u_, const void *b_, int act, Dropout drop,
                         void *y_)
{
    real *u = u_, *y = y_;
    const real *b = b_;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < N; r++)
        for (size_t c = 0; c < M; c += TILE) {
            real keep[TILE], *ur = u + r * M + c;
            size_t n = least(TILE, M - c);
            keep_fill(&drop, r * M + c, n, keep);
            if (act_gated(act))
                act_table[act].gated(n, ur + r * M, ur + (r + 1) * M, b + c, b + M + c, keep,
                                     y + r * M + c);
            else
                act_table[act].row(n, ur, b + c, keep, y + r * M + c);
        }
}

/* Replaces the sum of the terms by the adjoint of the activation's input, du (N, M), which may be the x of one; db (M)
 * += its column sums. */
static void rows_back(RowBack *row_back, size_t N, size_t M, const real *u, const real *y,
                      const Dropout *drop, size_t terms, const LinTerm *term, real *du, real *db)
{
    int panels = panels_of(N);
    int there = terms == 1 && term->x == du && term->c == 1 && term->factors == 0;
    for (size_t c = 0; c < M; c += SUMS) {
        size_t n = least(SUMS, M - c);
#pragma omp parallel for ordered schedule(static, 1)
        for (int t = 0; t < panels; t++) {
            real sum[SUMS];
            memset(sum, 0, n * sizeof *sum);
            Range rows = range_of(N, t, panels);
            for (size_t r = rows.lo; r < rows.hi; r++)
                for (size_t k = 0; k < n; k += TILE) {
                    size_t at = r * M + c + k, tile = least(TILE, n - k);
                    real room[TILE], *d = there ? du + at : room;
                    if (!there) lin_row(M, c + k, tile, terms, term, r, d);
                    row_back(tile, u ? u + at : NULL, y ? y + at : NULL, drop, at, d);
                    add_scaled(tile, 1, d, sum + k);
                    if (!there) memcpy(du + at, d, tile * sizeof *d);
                }
#pragma omp ordered
            if (db) add_scaled(n, 1, sum, db + c);
        }
    }
}

static void cpu_bias_drop_back(size_t N, size_t D, size_t n, const LinTerm *term, Dropout drop,
                               void *dx, void *db)
{
    rows_back(drop_row_back, N, D, NULL, NULL, &drop, n, term, dx, db);
}

/* Goes back through a gated activation: du (N, 2M); db (2M) += its column sums. */
static void gated_back(GatedBack *row_back, size_t N, size_t M, const real *u, const Dropout *drop,
                       const real *dy, real *du, real *db)
{
    int panels = panels_of(N);
    for (size_t c = 0; c < M; c += SUMS) {
        size_t n = least(SUMS, M - c);
#pragma omp parallel for ordered schedule(static, 1)
        for (int t = 0; t < panels; t++) {
            real sum[2][SUMS] = {{0}};
            Range rows = range_of(N, t, panels);
            for (size_t r = rows.lo; r < rows.hi; r++)
                for (size_t k = 0; k < n; k += TILE) {
                    size_t at = r * M + c + k, to = at + r * M, tile = least(TILE, n - k);
                    row_back(tile, u + to, u + to + M, drop, at, dy + at, du + to, du + to + M);
                    add_scaled(tile, 1, du + to, sum[0] + k);
                    add_scaled(tile, 1, du + to + M, sum[1] + k);
                }
#pragma omp ordered
            for (size_t k = 0; db && k < 2; k++) add_scaled(n, 1, sum[k], db + k * M + c);
        }
    }
}

static void cpu_bias_act_back(size_t N, size_t M, const void *u, const void *y, int act,
                              Dropout drop, const void *dy, void *du, void *db)
{
    const LinTerm all = {.c = 1, .x = dy};
    if (act_gated(act))
        gated_back(act_table[act].gated_back, N, M, u, &drop, dy, du, db);
    else
        rows_back(act_table[act].row_back, N, M, u, y, &drop, 1, &all, du, db);
}

#endif
