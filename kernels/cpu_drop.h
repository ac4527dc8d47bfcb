/* cpu_drop.h: dropout masks and the elementwise kernels around a linear layer. Part of cpu.c.
 *
 * Element i is kept where word i % 4 of random_words(seed, stream, i / 4) >= p * 2^32. The ten rounds
 * of Philox4x32 (Salmon, Moraes, Dror, Shaw 2011, section 3.3 and table 2) are written over lanes
 * here because Random123's own function does not vectorise; the tests hold them equal.
 */
#ifndef TROTTER_CPU_DROP_H
#define TROTTER_CPU_DROP_H

#include "kernels/cpu_math.h"

enum { LANES = 16 };

/* out (4 * LANES): the words of blocks `block` .. `block` + LANES - 1, in order. */
static void philox_lanes(uint64_t seed, uint64_t stream, uint64_t block, uint32_t *restrict out)
{
#pragma omp simd
    for (uint64_t lane = 0; lane < LANES; lane++) {
        uint32_t c0 = (uint32_t)(block + lane), c1 = (uint32_t)((block + lane) >> 32);
        uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
        uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
        for (int round = 0; round < 10; round++) {
            uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
            uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
            c0 = n0, c1 = (uint32_t)p1, c2 = n2, c3 = (uint32_t)p0;
            k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
        }
        out[4 * lane] = c0, out[4 * lane + 1] = c1, out[4 * lane + 2] = c2, out[4 * lane + 3] = c3;
    }
}

/* keep (n <= TILE), out: the factor of elements index .. index + n - 1, 0 or 1 / (1 - p); all 1
 * without dropout. Multiplying by it leaves a NaN visible. */
static void keep_fill(const Dropout *drop, uint64_t index, size_t n, real *restrict keep)
{
    if (!(drop->rate > 0)) {
        for (size_t i = 0; i < n; i++) keep[i] = 1;
        return;
    }
    uint32_t word[TILE + 8 * LANES];
    size_t skip = index % 4;
    for (size_t i = 0; i < skip + n; i += 4 * LANES)
        philox_lanes(drop->seed, drop->stream, (index - skip + i) / 4, word + i);
    uint32_t limit = (uint32_t)(ceil(drop->rate * 0x1p32) - 1); /* kept: word > limit */
    real scale = (real)(1 / (1 - drop->rate));
#pragma omp simd
    for (size_t i = 0; i < n; i++) keep[i] = word[skip + i] > limit ? scale : 0;
}

/* y = act(u) keep and dy *= keep act'(u), n numbers. GELU's tanh form (Hendrycks, Gimpel 2016) is
 * u s with s = sigmoid(2 a (u + b u^3)), a = sqrt(2/pi), b = 0.044715; its derivative is
 * s + u s (1 - s) 2 a (1 + 3 b u^2). */
#define GELU_2A REAL(1.59576912160573071176)
#define GELU_B REAL(0.044715)

static void relu_row(size_t n, const real *u, const real *keep, real *y)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = (u[i] < 0 ? 0 : u[i]) * keep[i];
}

static void relu_row_back(size_t n, const real *u, const real *keep, real *dy)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) dy[i] *= u[i] > 0 ? keep[i] : 0;
}

static inline real gelu_sigmoid(real u)
{
    return 1 / (1 + fast_exp(-GELU_2A * (u + GELU_B * u * u * u)));
}

static void gelu_row(size_t n, const real *u, const real *keep, real *y)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = u[i] * gelu_sigmoid(u[i]) * keep[i];
}

static void gelu_row_back(size_t n, const real *u, const real *keep, real *dy)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        real s = gelu_sigmoid(u[i]);
        real slope = s + u[i] * s * (1 - s) * GELU_2A * (1 + 3 * GELU_B * u[i] * u[i]);
        dy[i] *= keep[i] * slope;
    }
}

static const struct {
    void (*row)(size_t n, const real *u, const real *keep, real *y);
    void (*row_back)(size_t n, const real *u, const real *keep, real *dy);
} act_table[] = {[ACT_RELU] = {relu_row, relu_row_back}, [ACT_GELU] = {gelu_row, gelu_row_back}};

static void add_row(size_t n, const real *restrict x, real *restrict y)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] += x[i];
}

static void cpu_bias_drop(size_t N, size_t D, void *x_, const void *b_, Dropout drop)
{
    real *x = x_;
    const real *b = b_;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < N; r++)
        for (size_t c = 0; c < D; c += TILE) {
            real keep[TILE], *xr = x + r * D + c;
            size_t n = least(TILE, D - c);
            keep_fill(&drop, r * D + c, n, keep);
#pragma omp simd
            for (size_t i = 0; i < n; i++) xr[i] = (xr[i] + b[c + i]) * keep[i];
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
            add_row(n, b + c, ur);
            act_table[act].row(n, ur, keep, y + r * M + c);
        }
}

/* dy *= keep act'(u) (u NULL: no activation), db += column sums of the new dy. */
static void drop_back(size_t N, size_t M, const real *u, int act, const Dropout *drop, real *dy,
                      real *db)
{
    int panels = panels_of(N);
    for (size_t c = 0; c < M; c += TILE) {
        size_t n = least(TILE, M - c);
#pragma omp parallel for ordered schedule(static, 1)
        for (int t = 0; t < panels; t++) {
            real keep[TILE], sum[TILE] = {0};
            Range rows = range_of(N, t, panels);
            for (size_t r = rows.lo; r < rows.hi; r++) {
                real *d = dy + r * M + c;
                keep_fill(drop, r * M + c, n, keep);
                if (u)
                    act_table[act].row_back(n, u + r * M + c, keep, d);
                else
                    for (size_t i = 0; i < n; i++) d[i] *= keep[i];
                add_row(n, d, sum);
            }
#pragma omp ordered
            if (db) add_row(n, sum, db + c);
        }
    }
}

static void cpu_bias_drop_back(size_t N, size_t D, void *dy, void *db, Dropout drop)
{
    drop_back(N, D, NULL, 0, &drop, dy, db);
}

static void cpu_bias_act_back(size_t N, size_t M, const void *u, int act, Dropout drop, void *dy,
                              void *db)
{
    drop_back(N, M, u, act, &drop, dy, db);
}

#endif
