/* cuda_norm.cuh: norms of rows, forward and backward, alone and fused with its neighbours in a network. Part of
 * cuda.cu. Formulas: cpu_norm.h. */
#ifndef TROTTER_CUDA_NORM_CUH
#define TROTTER_CUDA_NORM_CUH

#include "kernels/cuda/cuda_drop.cuh"

/* Inputs and outputs of a norm except x; w NULL: there is no norm. */
typedef struct {
    const float *w, *b;
    Out y;
    float *stats;
    float eps;
    int centred; /* 0: NORM_RMS, without mean and b */
} Norm;

static Norm norm_of(NormKind kind, const void *w, const void *b, void *y, void *stats)
{
    return (Norm){(const float *)w, (const float *)b, out_of(y),
                  (float *)stats,   (float)kind.eps,  kind.kind == NORM_LAYER};
}

/* Computes y of row x from its sum, of which each thread of the block gives its part. */
template <int W>
static __device__ inline void norm_row(size_t D, const float *x, float sum, Norm n, float *room)
{
    size_t c0 = (size_t)threadIdx.x * W, step = (size_t)blockDim.x * W;
    float mean = n.centred ? block_sum(sum, room) / (float)D : 0, square = 0;
    for (size_t c = c0; c < D; c += step) {
        Pack<W> v = load<W>(x + c);
        for (int i = 0; i < W; i++) square += (v.x[i] - mean) * (v.x[i] - mean);
    }
    float rstd = 1 / sqrtf(block_sum(square, room) / (float)D + n.eps);
    for (size_t c = c0; c < D; c += step) {
        Pack<W> v = load<W>(x + c), scale = load<W>(n.w + c), shift = {};
        if (n.centred) shift = load<W>(n.b + c);
        for (int i = 0; i < W; i++) v.x[i] = (v.x[i] - mean) * rstd * scale.x[i] + shift.x[i];
        store(n.y, blockIdx.x * D + c, v);
    }
    if (threadIdx.x == 0) n.stats[2 * blockIdx.x] = mean, n.stats[2 * blockIdx.x + 1] = rstd;
}

/* Norms a row; a block, as wide as the row needs, has one row. */
template <int W> static __global__ void norm_kernel(size_t D, const float *x, Norm n)
{
    CUDA_BEGIN();
    __shared__ float room[SLOTS];
    const float *xr = x + blockIdx.x * D;
    size_t c0 = (size_t)threadIdx.x * W, step = (size_t)blockDim.x * W;
    float sum = 0;
    for (size_t c = c0; c < D; c += step) {
        Pack<W> v = load<W>(xr + c);
        for (int i = 0; i < W; i++) sum += v.x[i];
    }
    norm_row<W>(D, xr, sum, n, room);
}

static void cuda_norm(size_t N, size_t D, NormKind kind, const void *x, const void *w,
                      const void *b, void *y, void *stats)
{
    int four = wide(D, x, w, b, y);
    RUN_WIDE(four, norm_kernel, N, lanes_for(D, four ? 4 : 1), 0, D, (const float *)x,
             norm_of(kind, w, b, y, stats));
}

/* ---- behind a sublayer ---------------------------------------------------------------------------- */

/* A sublayer's output k, its bias and dropout. */
typedef struct {
    float *k;
    const float *b;
    Keep keep;
    int kept;
} Behind;

/* Computes k = (k + b) keep, r = the sum of terms, k among them, and the norm of r; a block has one row. A thread reads
 * back only its own writes. */
template <int W>
static __global__ void residual_kernel(size_t D, Behind s, Terms t, float *r, Norm n)
{
    CUDA_BEGIN();
    __shared__ float room[SLOTS], factor[LIN_TERMS];
    size_t row = blockIdx.x * D, c0 = (size_t)threadIdx.x * W, step = (size_t)blockDim.x * W;
    float sum = 0;
    keep_begin(&s.keep);
    if ((int)threadIdx.x < t.n)
        factor[threadIdx.x] = coefficient(&t, (int)threadIdx.x, blockIdx.x, -1);
    __syncthreads();
    for (size_t c = c0; c < D; c += step) {
        Pack<W> k = load<W>(s.k + row + c), bias = load<W>(s.b + c), all;
        Pack<W> keep = keep_pack<W>(&s.keep, row + c);
        for (int i = 0; i < W; i++) k.x[i] = (k.x[i] + bias.x[i]) * keep.x[i], all.x[i] = 0;
        if (s.kept) store(s.k + row + c, k);
        for (int j = 0; j < t.n; j++) {
            Pack<W> x = k;
            if (t.term[j].x != s.k) x = load<W>(t.term[j].x + row + c);
            for (int i = 0; i < W; i++) all.x[i] += factor[j] * x.x[i];
        }
        store(r + row + c, all);
        for (int i = 0; i < W; i++) sum += all.x[i];
    }
    if (n.w) norm_row<W>(D, r + row, sum, n, room);
}

static void cuda_residual(size_t N, size_t D, void *k, const void *b, Dropout drop, int kept,
                          size_t n, const LinTerm *term, void *r, NormKind kind, const void *w,
                          const void *c, void *y, void *stats)
{
    Behind s = {(float *)k, (const float *)b, keep_of(&drop), kept};
    Terms t = terms_of(n, term);
    int four = wide(D, k, b, r) && wide(D, w, c, y) && terms_wide(&t);
    RUN_WIDE(four, residual_kernel, N, lanes_for(D, four ? 4 : 1), 0, D, s, t, (float *)r,
             norm_of(kind, w, c, y, stats));
}

/* ---- backward ------------------------------------------------------------------------------------- */

/* Inputs of a norm's adjoint. dx begins as the sum of terms or, with `more`, as it is; NULL: dx is not computed. */
typedef struct {
    const float *x, *w, *stats, *dy;
    float *dx;
    int more, centred;
    Terms terms; /* last, as in DropBack */
} NormBack;

template <int W>
static __device__ inline void norm_row_back(size_t D, size_t r, const NormBack *b, float *room)
{
    size_t row = r * D, c0 = (size_t)threadIdx.x * W, step = (size_t)blockDim.x * W;
    float mean = b->stats[2 * r], rstd = b->stats[2 * r + 1], s = 0, sx = 0;
    for (size_t c = c0; c < D; c += step) {
        Pack<W> v = load<W>(b->x + row + c), scale = load<W>(b->w + c),
                d = load<W>(b->dy + row + c);
        for (int i = 0; i < W; i++) {
            s += d.x[i] * scale.x[i];
            sx += d.x[i] * scale.x[i] * (v.x[i] - mean);
        }
    }
    s = b->centred ? block_sum(s, room) / (float)D : 0;
    sx = block_sum(sx, room) * (rstd * rstd / (float)D);
    for (size_t c = c0; c < D; c += step) {
        Pack<W> v = load<W>(b->x + row + c), scale = load<W>(b->w + c),
                d = load<W>(b->dy + row + c);
        Pack<W> g = b->more ? load<W>(b->dx + row + c) : terms_at<W>(&b->terms, r, row + c);
        for (int i = 0; i < W; i++)
            g.x[i] += rstd * (d.x[i] * scale.x[i] - s - (v.x[i] - mean) * sx);
        store(b->dx + row + c, g);
    }
}

/* Adds dw and db of a row, each thread to the sums of its columns: (2, D). */
template <int W>
static __device__ inline void norm_row_sums(size_t D, size_t r, const NormBack *b, float *sums)
{
    float mean = b->stats[2 * r], rstd = b->stats[2 * r + 1];
    for (size_t c = (size_t)threadIdx.x * W; c < D; c += (size_t)blockDim.x * W) {
        Pack<W> v = load<W>(b->x + r * D + c), d = load<W>(b->dy + r * D + c);
        for (int i = 0; i < W; i++) {
            sums[c + (size_t)i] += d.x[i] * (v.x[i] - mean) * rstd;
            sums[D + c + (size_t)i] += d.x[i];
        }
    }
}

/* Goes back through a panel of rows, one after another, in each block; partial (panels, 2, D) or NULL. Sums wait in
 * shared memory where they fit. */
template <int W>
static __global__ void norm_back_kernel(size_t N, size_t D, size_t rows, NormBack b, size_t shared,
                                        float *partial)
{
    CUDA_BEGIN();
    __shared__ float room[SLOTS];
    CUDA_DYNAMIC(float, norm_shared);
    size_t end = (blockIdx.x + 1) * rows < N ? (blockIdx.x + 1) * rows : N;
    size_t c0 = (size_t)threadIdx.x * W, step = (size_t)blockDim.x * W;
    float *mine = partial ? partial + blockIdx.x * 2 * D : NULL,
          *sums = shared ? norm_shared : mine;
    for (size_t c = c0; partial && c < D; c += step)
        for (size_t i = 0; i < (size_t)W; i++) sums[c + i] = sums[D + c + i] = 0;
    for (size_t r = blockIdx.x * rows; r < end; r++) {
        if (b.dx) norm_row_back<W>(D, r, &b, room);
        if (partial) norm_row_sums<W>(D, r, &b, sums);
    }
    for (size_t c = c0; partial && shared && c < D; c += step)
        for (size_t i = 0; i < (size_t)W; i++)
            mine[c + i] = sums[c + i], mine[D + c + i] = sums[D + c + i];
}

enum { NORM_ROWS = 4, NORM_PANELS = 1024, NORM_SHARED = 32 << 10 };

static void cuda_norm_back(size_t N, size_t D, NormKind kind, const void *x, const void *w,
                           const void *stats, const void *dy, size_t n, const LinTerm *term,
                           void *dx, void *dw, void *db)
{
    NormBack b = {(const float *)x,        (const float *)w, (const float *)stats,
                  (const float *)dy,       (float *)dx,      !term,
                  kind.kind == NORM_LAYER, terms_of(n, term)};
    size_t panels = least(blocks_for(N, NORM_ROWS), NORM_PANELS),
           rows = N ? blocks_for(N, panels) : 1;
    size_t bytes = 2 * D * sizeof(float), shared = bytes <= NORM_SHARED && (dw || db) ? bytes : 0;
    float *partial = NULL;
    panels = blocks_for(N, rows);
    if (dw || db) partial = (float *)cuda_scratch(panels * bytes);
    int four = wide(D, x, w, dy, dx) && terms_wide(&b.terms);
    RUN_WIDE(four, norm_back_kernel, panels, lanes_for(D, four ? 4 : 1), shared, N, D, rows, b,
             shared, partial);
    size_t tiles = blocks_for(D, WARP);
    if (partial)
        RUN((columns_end_kernel<2>), N ? tiles * 2 : 0, BLOCK_THREADS, 0, panels, D, tiles, partial,
            Targets<2>{{(float *)dw, (float *)db}});
}

#endif
