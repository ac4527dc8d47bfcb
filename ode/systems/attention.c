/* attention.c: the Transformer's own dynamics, with fixed seeded matrices.
 *
 *   F: y_i' = sum_j p_ij V y_j,  p_i = softmax_j(<Q y_i, K y_j> / sqrt(d))     no closed flow
 *   G: y_i' = W2 tanh(W1 y_i + b), W1 (m, d), W2 (d, m), m = 2 d               no closed flow
 *   C: y_i' = sum_j p_ij V' z_j, p_i = softmax_j(<Q' y_i, K' z_j> / sqrt(d))   no closed flow
 *
 * z are n more particles, which do not move: the memory that a decoder's cross-attention reads. Its keys K' z and
 * values V' z are made once.
 * The system is smooth, nonlinear in both parts, not commuting, and without a symmetry or invariant, so it is the
 * default of order studies. All parts go in tiles of rows, from SHARED particles on shared among threads: a tile's
 * scores stay in the second cache between the two products, and exponentials are vectorised. A result does not depend
 * on the number of threads. Entries N(0, g^2 / columns) with g near 1 keep the solution O(1) for t of order 1.
 * Source: Vaswani et al. 2017, eq. 1; Lu et al. 2019 (the layer as convection-diffusion).
 */
#include "ode/systems/system_kind.h"

#include <gsl/gsl_cblas.h>
#include <math.h>
#include <omp.h>

#include "kernels/base/simd.h"

enum { SHARED = 256, TILE = 128, THREADS = 16 }; /* TILE * THREADS rows of scratch at most */

typedef struct {
    double *Q, *K, *V;   /* (d, d) */
    double *W1, *b, *W2; /* (m, d), (m), (d, m) */
    double *q, *k, *v;   /* (n, d) scratch, in tiles (n, 3, d) */
    double *p;           /* (rows, max(n, m)) scratch: scores, then inner values */
    double *memory_Q;    /* (d, d), and K', V' behind it */
    double *keys;        /* (n, d), and the values behind them */
    size_t ld;           /* from one row of q, k, v to the next */
} Weights;

static size_t inner(size_t d)
{
    return 2 * d;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t longer(size_t n, size_t d)
{
    return n > inner(d) ? n : inner(d);
}

static size_t params(size_t n, size_t d)
{
    size_t m = inner(d), rows = least(n, TILE * THREADS);
    return 3 * d * d + 2 * m * d + m + 3 * n * d + rows * longer(n, d) + 3 * d * d + 2 * n * d;
}

static Weights weights(const System *s)
{
    size_t n = s->n, d = s->d, m = inner(d);
    Weights w = {.Q = s->param};
    w.K = w.Q + d * d;
    w.V = w.K + d * d;
    w.W1 = w.V + d * d;
    w.b = w.W1 + m * d;
    w.W2 = w.b + m;
    w.q = w.W2 + d * m;
    w.k = w.q + n * d;
    w.v = w.k + n * d;
    w.p = w.v + n * d;
    w.memory_Q = w.p + least(n, TILE * THREADS) * longer(n, d);
    w.keys = w.memory_Q + 3 * d * d;
    w.ld = d;
    return w;
}

static Weights of_memory(const System *s)
{
    Weights w = weights(s);
    w.k = w.keys;
    w.v = w.keys + s->n * s->d;
    return w;
}

/* Computes C (r, c) = A (r, k) B^T, B (c, k). */
static void times_transposed(size_t r, size_t c, size_t k, const double *A, const double *B,
                             double *C)
{
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)r, (int)c, (int)k, 1, A, (int)k, B,
                (int)k, 0, C, (int)c);
}

/* Computes C (r, c) = A (r, k) B (k, c), B's rows ldb apart. */
static void times(size_t r, size_t c, size_t k, const double *A, const double *B, size_t ldb,
                  double *C)
{
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)r, (int)c, (int)k, 1, A, (int)k, B,
                (int)ldb, 0, C, (int)c);
}

/* ---- tiles ----------------------------------------------------------------------------------------- */

/* Computes rows first .. first + rows - 1; p (TILE, max(n, m)): the thread's own. */
typedef void Tile(size_t n, size_t d, const Weights *w, size_t first, size_t rows, const double *y,
                  double *p, double *dy);

/* Runs all tiles, many ones with one BLAS thread in each: OpenBLAS is built with OpenMP and does not nest. A parallel
 * region costs more than few particles do. */
static void in_tiles(size_t n, size_t d, const Weights *w, Tile *tile, const double *y, double *dy)
{
    for (size_t first = 0; n < SHARED && first < n; first += TILE)
        tile(n, d, w, first, least(TILE, n - first), y, w->p, dy);
    if (n < SHARED) return;
    size_t threads = least(least((size_t)omp_get_max_threads(), n / TILE), THREADS);
#pragma omp parallel for schedule(dynamic) num_threads((int)threads)
    for (size_t first = 0; first < n; first += TILE)
        tile(n, d, w, first, least(TILE, n - first), y,
             w->p + (size_t)omp_get_thread_num() * TILE * longer(n, d), dy);
}

/* Replaces row (n) by exp(row - max); returns the sum. */
SIMD_CLONES static double softmax_row(size_t n, double *row)
{
    double top = row[0], sum = 0;
#pragma omp simd reduction(max : top)
    for (size_t j = 0; j < n; j++) top = row[j] > top ? row[j] : top;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < n; j++) sum += row[j] = simd_exp(row[j] - top);
    return sum;
}

/* The softmax's denominator divides the result's d columns, not the weights' n. */
static void attend_tile(size_t n, size_t d, const Weights *w, size_t first, size_t rows,
                        const double *y, double *p, double *dy)
{
    int ld = (int)w->ld;
    double *out = dy + first * d, sum[TILE];
    (void)y;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)n, (int)d,
                1 / sqrt((double)d), w->q + w->ld * first, ld, w->k, ld, 0, p, (int)n);
    for (size_t i = 0; i < rows; i++) sum[i] = softmax_row(n, p + i * n);
    times(rows, d, n, p, w->v, w->ld, out);
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < d; c++) out[i * d + c] /= sum[i];
}

/* Replaces row (m) by tanh(row + b) = 1 - 2 / (e^{2 x} + 1). */
SIMD_CLONES static void bend(size_t m, const double *b, double *row)
{
#pragma omp simd
    for (size_t c = 0; c < m; c++) row[c] = 1 - 2 / (simd_exp(2 * (row[c] + b[c])) + 1);
}

static void drift_tile(size_t n, size_t d, const Weights *w, size_t first, size_t rows,
                       const double *y, double *p, double *dy)
{
    size_t m = inner(d);
    (void)n;
    times_transposed(rows, m, d, y + first * d, w->W1, p);
    for (size_t i = 0; i < rows; i++) bend(m, w->b, p + i * m);
    times_transposed(rows, d, m, p, w->W2, dy + first * d);
}

/* ---- the three fields ------------------------------------------------------------------------------ */

SYSTEM_FIELD(attend)
{
    size_t n = s->n, d = s->d;
    Weights w = weights(s);
    times_transposed(n, 3 * d, d, y, w.Q, w.q); /* Q, K, V lie one behind the other */
    w.k = w.q + d, w.v = w.q + 2 * d, w.ld = 3 * d;
    in_tiles(n, d, &w, attend_tile, y, dy);
}

SYSTEM_FIELD(remember)
{
    Weights w = of_memory(s);
    times_transposed(s->n, s->d, s->d, y, w.memory_Q, w.q);
    in_tiles(s->n, s->d, &w, attend_tile, y, dy);
}

SYSTEM_FIELD(drift)
{
    Weights w = weights(s);
    in_tiles(s->n, s->d, &w, drift_tile, y, dy);
}

static void init(System *s, uint64_t seed)
{
    size_t n = s->n, d = s->d, m = inner(d);
    Weights w = weights(s);
    double by_d = 1 / sqrt((double)d), by_m = 1 / sqrt((double)m);
    system_normal(s->initial, n * d, 1, seed, STREAM_INITIAL);
    system_normal(w.Q, d * d, by_d, seed, STREAM_PARAM);
    system_normal(w.K, d * d, by_d, seed, STREAM_PARAM + 1);
    system_normal(w.V, d * d, by_d, seed, STREAM_PARAM + 2);
    system_normal(w.W1, m * d, by_d, seed, STREAM_PARAM + 3);
    system_normal(w.b, m, 0.5, seed, STREAM_PARAM + 4);
    system_normal(w.W2, d * m, by_m, seed, STREAM_PARAM + 5);
    Weights c = of_memory(s);
    double *z = w.q; /* where queries will be */
    for (size_t k = 0; k < 3; k++)
        system_normal(c.memory_Q + k * d * d, d * d, by_d, seed, STREAM_PARAM + 6 + k);
    system_normal(z, n * d, 1, seed, STREAM_PARAM + 9);
    times_transposed(n, d, d, z, c.memory_Q + d * d, c.k);
    times_transposed(n, d, d, z, c.memory_Q + 2 * d * d, c.v);
}

const SystemKind system_attention = {
    .base = {.name = "attention",
             .title = "softmax interaction with a nonlinear drift",
             .source = "Vaswani et al. 2017, eq. 1; Lu et al. 2019",
             .n = 8,
             .d = 4,
             .field = {attend, drift, remember}},
    .n_min = 2,
    .size_max = 1 << 16,
    .params = params,
    .init = init};
