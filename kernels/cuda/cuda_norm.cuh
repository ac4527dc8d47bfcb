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

/* Most numbers of a row that a warp has alone, so that its sums need no barrier. */
enum { NORM_ALONE = 512 };

/* Rows of a block: a warp each, or one for all threads. */
typedef struct {
    unsigned threads, rows;
} Shape;

static Shape shape_of(size_t D, int W)
{
    return D <= NORM_ALONE ? Shape{BLOCK_THREADS, SLOTS} : Shape{lanes_for(D, W), 1};
}

/* Where a thread is: its row's number in the block, and its place among the lanes that share the row. */
typedef struct {
    unsigned slot, lane, lanes;
} Place;

static __device__ inline Place place_of(size_t D)
{
    Place p = {0, threadIdx.x, blockDim.x};
    if (D <= NORM_ALONE) p = {threadIdx.x / WARP, threadIdx.x % WARP, WARP};
    return p;
}

static __device__ inline float row_total(size_t D, float x, float *room)
{
    return D <= NORM_ALONE ? warp_sum(x) : block_sum(x, room);
}

/* Computes y of row r from its sum, of which each lane gives its part. */
template <int W>
static __device__ inline void norm_row(size_t D, size_t r, Place at, const float *x, float sum,
                                       Norm n, float *room)
{
    size_t c0 = (size_t)at.lane * W, step = (size_t)at.lanes * W;
    float mean = n.centred ? row_total(D, sum, room) / (float)D : 0, square = 0;
    for (size_t c = c0; c < D; c += step) {
        Pack<W> v = load<W>(x + c);
        for (int i = 0; i < W; i++) square += (v.x[i] - mean) * (v.x[i] - mean);
    }
    float rstd = 1 / sqrtf(row_total(D, square, room) / (float)D + n.eps);
    for (size_t c = c0; c < D; c += step) {
        Pack<W> v = load<W>(x + c), scale = load<W>(n.w + c), shift = {};
        if (n.centred) shift = load<W>(n.b + c);
        for (int i = 0; i < W; i++) v.x[i] = (v.x[i] - mean) * rstd * scale.x[i] + shift.x[i];
        store(n.y, r * D + c, v);
    }
    if (at.lane == 0) n.stats[2 * r] = mean, n.stats[2 * r + 1] = rstd;
}

template <int W> static __global__ void norm_kernel(size_t N, size_t D, const float *x, Norm n)
{
    CUDA_BEGIN();
    __shared__ float room[SLOTS];
    Place at = place_of(D);
    size_t r = blockIdx.x * (size_t)(blockDim.x / at.lanes) + at.slot;
    float sum = 0;
    if (r >= N) return; /* a warp alone */
    const float *xr = x + r * D;
    for (size_t c = (size_t)at.lane * W; c < D; c += (size_t)at.lanes * W) {
        Pack<W> v = load<W>(xr + c);
        for (int i = 0; i < W; i++) sum += v.x[i];
    }
    norm_row<W>(D, r, at, xr, sum, n, room);
}

static void cuda_norm(size_t N, size_t D, NormKind kind, const void *x, const void *w,
                      const void *b, void *y, void *stats)
{
    if (!NUMBERS(x, w, b, stats)) return;
    int four = wide(D, x, w, b, y);
    Shape s = shape_of(D, four ? 4 : 1);
    RUN_WIDE(four, norm_kernel, blocks_for(N, s.rows), s.threads, 0, N, D, (const float *)x,
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

/* Computes k = (k + b) keep, r = the sum of terms, k among them, and the norm of r. A thread reads back only its own
 * writes. */
template <int W>
static __global__ void residual_kernel(size_t N, size_t D, Behind s, Terms t, float *r, Norm n)
{
    CUDA_BEGIN();
    __shared__ float room[SLOTS], factors[SLOTS][LIN_TERMS];
    Place at = place_of(D);
    size_t line = blockIdx.x * (size_t)(blockDim.x / at.lanes) + at.slot, row = line * D;
    float sum = 0, *factor = factors[at.slot];
    keep_begin(&s.keep);
    if (line < N && at.lane < (unsigned)t.n)
        factor[at.lane] = coefficient(&t, (int)at.lane, line, -1);
    __syncthreads();
    if (line >= N) return; /* a warp alone */
    for (size_t c = (size_t)at.lane * W; c < D; c += (size_t)at.lanes * W) {
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
    if (n.w) norm_row<W>(D, line, at, r + row, sum, n, room);
}

static void cuda_residual(size_t N, size_t D, void *k, const void *b, Dropout drop, int kept,
                          size_t n, const LinTerm *term, void *r, NormKind kind, const void *w,
                          const void *c, void *y, void *stats)
{
    if (!NUMBERS(k, b, r, w, c, stats)) return;
    Behind s = {(float *)k, (const float *)b, keep_of(&drop), kept};
    Terms t = terms_of(n, term);
    int four = wide(D, k, b, r) && wide(D, w, c, y) && terms_wide(&t);
    Shape shape = shape_of(D, four ? 4 : 1);
    RUN_WIDE(four, residual_kernel, blocks_for(N, shape.rows), shape.threads, 0, N, D, s, t,
             (float *)r, norm_of(kind, w, c, y, stats));
}

/* ---- backward ------------------------------------------------------------------------------------- */

/* Inputs of a norm's adjoint. dx begins as the sum of terms or, with `more`, as it is; NULL: dx is not computed. */
typedef struct {
    const float *x, *w, *stats, *dy;
    float *dx;
    int more, centred;
    Terms terms; /* last, as in DropBack */
} NormBack;

/* Goes back through row r; sums (2, D), or NULL: dw and db of the row are added, each lane to its columns. */
template <int W>
static __device__ inline void norm_row_back(size_t D, size_t r, Place at, const NormBack *b,
                                            float *sums, float *room)
{
    size_t row = r * D, c0 = (size_t)at.lane * W, step = (size_t)at.lanes * W;
    float mean = b->stats[2 * r], rstd = b->stats[2 * r + 1], s = 0, sx = 0;
    for (size_t c = c0; b->dx && c < D; c += step) {
        Pack<W> v = load<W>(b->x + row + c), scale = load<W>(b->w + c),
                d = load<W>(b->dy + row + c);
        for (int i = 0; i < W; i++) {
            s += d.x[i] * scale.x[i];
            sx += d.x[i] * scale.x[i] * (v.x[i] - mean);
        }
    }
    if (b->dx) {
        s = b->centred ? row_total(D, s, room) / (float)D : 0;
        sx = row_total(D, sx, room) * (rstd * rstd / (float)D);
    }
    for (size_t c = c0; c < D; c += step) {
        Pack<W> v = load<W>(b->x + row + c), d = load<W>(b->dy + row + c);
        for (int i = 0; sums && i < W; i++) {
            sums[c + (size_t)i] += d.x[i] * (v.x[i] - mean) * rstd;
            sums[D + c + (size_t)i] += d.x[i];
        }
        if (!b->dx) continue;
        Pack<W> g = b->more ? load<W>(b->dx + row + c) : terms_at<W>(&b->terms, r, row + c);
        Pack<W> scale = load<W>(b->w + c);
        for (int i = 0; i < W; i++)
            g.x[i] += rstd * (d.x[i] * scale.x[i] - s - (v.x[i] - mean) * sx);
        store(b->dx + row + c, g);
    }
}

/* Sums of gain and bias. partial (blocks, 2, D); blocks form groups, of which the last block adds the sums of its
 * group, in order, and the last of these those of all groups. */
typedef struct {
    float *partial, *dw, *db;
    unsigned *ticket; /* one for all, then one for each group */
    size_t group;     /* blocks of a group */
} NormSums;

/* Returns columns c .. of the sum of n blocks' sums, `step` numbers apart. */
template <int W>
static __device__ inline Pack<W> panels_sum(size_t n, size_t step, const float *partial)
{
    Pack<W> sum = {};
    for (size_t p = 0; p < n; p++) {
        Pack<W> v = load<W>(partial + p * step);
        for (int i = 0; i < W; i++) sum.x[i] += v.x[i];
    }
    return sum;
}

template <int W> static __device__ inline void norm_sums_end(size_t D, const NormSums *s)
{
    size_t blocks = gridDim.x, group = blockIdx.x / s->group, first = group * s->group;
    size_t groups = (blocks + s->group - 1) / s->group, step = (size_t)blockDim.x * W;
    size_t n = blocks - first < s->group ? blocks - first : s->group;
    float *mine = s->partial + first * 2 * D;
    if (!last_block(s->ticket + 1 + group, n)) return;
    for (size_t c = (size_t)threadIdx.x * W; c < 2 * D; c += step)
        store(mine + c, panels_sum<W>(n, 2 * D, mine + c));
    if (!last_block(s->ticket, groups)) return;
    for (size_t c = (size_t)threadIdx.x * W; c < 2 * D; c += step) {
        Pack<W> sum = panels_sum<W>(groups, s->group * 2 * D, s->partial + c);
        float *to = c < D ? s->dw : s->db;
        for (size_t i = 0; to && i < (size_t)W; i++) to[c % D + i] += sum.x[i];
    }
}

/* Goes back through `rows` rows, one after another, in each warp or block. Sums wait in shared memory where they fit:
 * (rows of the block, 2, D). */
template <int W>
static __global__ void norm_back_kernel(size_t N, size_t D, size_t rows, NormBack b, size_t shared,
                                        NormSums s)
{
    CUDA_BEGIN();
    __shared__ float room[SLOTS];
    CUDA_DYNAMIC(float, norm_shared);
    Place at = place_of(D);
    size_t lines = blockDim.x / at.lanes, begin = (blockIdx.x * lines + at.slot) * rows;
    size_t end = begin + rows < N ? begin + rows : N;
    float *mine = s.partial + blockIdx.x * 2 * D, *sums = NULL;
    if (s.partial) sums = shared ? norm_shared + at.slot * 2 * D : mine;
    for (size_t c = (size_t)at.lane * W; sums && c < D; c += (size_t)at.lanes * W)
        for (size_t i = 0; i < (size_t)W; i++) sums[c + i] = sums[D + c + i] = 0;
    for (size_t r = begin; r < end; r++) norm_row_back<W>(D, r, at, &b, sums, room);
    if (!s.partial) return;
    __syncthreads();
    for (size_t c = (size_t)threadIdx.x * W; shared && c < 2 * D; c += (size_t)blockDim.x * W)
        store(mine + c, panels_sum<W>(lines, 2 * D, norm_shared + c));
    norm_sums_end<W>(D, &s);
}

enum { NORM_ROWS = 2, NORM_BLOCKS = 1024, NORM_SHARED = 32 << 10 };

static void cuda_norm_back(size_t N, size_t D, NormKind kind, const void *x, const void *w,
                           const void *stats, const void *dy, size_t n, const LinTerm *term,
                           void *dx, void *dw, void *db)
{
    if (!NUMBERS(x, w, stats, dy, dx, dw, db)) return;
    NormBack b = {(const float *)x, (const float *)w, (const float *)stats,    (const float *)dy,
                  (float *)dx,      term == NULL,     kind.kind == NORM_LAYER, terms_of(n, term)};
    int four = wide(D, x, w, dy, dx) && terms_wide(&b.terms);
    Shape shape = shape_of(D, four ? 4 : 1);
    size_t rows = NORM_ROWS, sums = dw || db;
    while (blocks_for(N, rows * shape.rows) > NORM_BLOCKS) rows *= 2;
    size_t blocks = blocks_for(N, rows * shape.rows), group = 1;
    size_t bytes = shape.rows * 2 * D * sizeof(float),
           shared = bytes <= NORM_SHARED && sums ? bytes : 0;
    while (group * group < blocks) group++;
    NormSums s = {NULL, (float *)dw, (float *)db, NULL, group};
    if (sums) {
        s.partial = (float *)cuda_scratch(blocks * 2 * D * sizeof *s.partial);
        s.ticket = cuda_tickets(1 + blocks_for(blocks, group));
    }
    RUN_WIDE(four, norm_back_kernel, blocks, shape.threads, shared, N, D, rows, b, shared, s);
}

#endif
