/* cuda_attention.cuh: attention of packed sequences without a (T, T) matrix in memory. Part of
 * cuda.cu. kernels/cpu/cpu_attention.h has the formulas, also those of backward. cuda-bf16 uses tensor cores where they
 * serve: cuda_matrix.cuh.
 *
 * A block works on SIDE x SIDE tiles of one head of one sequence (cuda_tile.cuh). Widths of q, k, v beyond SIDE are
 * taken chunk by chunk; results of a row of tiles stay in registers while E <= SIDE (KEPT), else in their final memory.
 * Registers are scarce: dk and dv that accumulate over calls are not KEPT.
 *
 * Forward: a block takes SIDE rows and walks over the columns with a running maximum and denominator
 * (Milakov, Gimelshein 2018; Dao et al. 2022, algorithm 1). Backward: first delta_i = dout_i . out_i, which waits in
 * dq_i's first number; then a block takes SIDE columns, walks down the rows and sums dk and dv; then a block takes SIDE
 * rows, reads its delta and sums dq. Where one tile holds queries and keys of every sequence, the first of the two
 * kernels does all. Each block sums dr in a slice of scratch, and the
 * slices are added in order (cuda_scores.cuh). No two blocks add to the same number, so the bits are the same each
 * time.
 */
#ifndef TROTTER_CUDA_ATTENTION_CUH
#define TROTTER_CUDA_ATTENTION_CUH

#include <float.h>

#include "kernels/cuda/cuda_rows.cuh"
#include "kernels/cuda/cuda_scores.cuh"

enum {
    TILES_MOST = 256, /* most tiles of a sequence that have separate blocks */
    BLOCKS_MOST = 0x7fffffff,
    SLICES_MOST = 1 << 23 /* most numbers in all slices */
};

/* Further arguments of backward. */
typedef struct {
    const float *out, *lse, *dout;
    float *dq, *dk, *dv;
    int more;      /* dk, dv accumulate */
    float *slices; /* (blocks, rows, E) or NULL: shares of dr */
    float *delta;  /* (N, H) where dq is of bf16 */
} HeadsBack;

/* Memory of attention is of T: float, or on tensor cores uint16_t (bf16), which Heads and HeadsBack then point to. */
template <class T> static __device__ inline const T *q_of(const Heads *p, const OneHead *h, int i)
{
    return (const T *)p->q + (h->first + (size_t)i) * p->ldq + h->head * (size_t)p->E;
}

/* Returns x's row j, x: p->k or p->v. */
template <class T>
static __device__ inline const T *key_of(const Heads *p, const OneHead *h, const float *x, int j)
{
    return (const T *)x + (h->key + (size_t)j) * p->ldk + h->kv * (size_t)p->E;
}

/* ---- forward ------------------------------------------------------------------------------------- */

/* Return the maximum and the sum over the threads that share a row. */
static __device__ inline float row_max(float x)
{
    for (int d = LANES / 2; d > 0; d /= 2) x = fmaxf(x, __shfl_xor_sync((unsigned)ALL_LANES, x, d));
    return x;
}

static __device__ inline float row_sum(float x)
{
    for (int d = LANES / 2; d > 0; d /= 2) x += __shfl_xor_sync((unsigned)ALL_LANES, x, d);
    return x;
}

/* Replaces scores of tile (i0, j0) by dropped exp(s - max), and updates max and this thread's share of sum (of the
 * undropped); shrink: the factors for earlier sums. */
static __device__ inline void softmax_tile(float (*s)[COLS], const Heads *p, const OneHead *h,
                                           int i0, int j0, float *max, float *sum, float *shrink)
{
    uint32_t kept = keep_tile(p, h, i0, j0);
    for (int r = 0; r < ROWS; r++) {
        float top = max[r], add = 0;
        for (int c = 0; c < COLS; c++) {
            int sees = row_sees(h, i0 + my_row() + r, j0 + my_column() + c);
            s[r][c] = sees ? s[r][c] * p->scale : -INFINITY;
            top = fmaxf(top, s[r][c]);
        }
        top = row_max(top);
        for (int c = 0; c < COLS; c++) {
            float e = expf(s[r][c] - top);
            add += e;
            s[r][c] = e * keep_factor(p, kept, r, c);
        }
        shrink[r] = expf(max[r] - top);
        sum[r] = sum[r] * shrink[r] + add;
        max[r] = top;
    }
}

/* Computes rows i0 .. of a head. */
template <int KEPT>
static __device__ inline void attend_rows(const Heads *p, const OneHead *h, const Room *m, int i0,
                                          float *out, float *lse)
{
    float acc[ROWS][COLS], s[ROWS][COLS], max[ROWS], sum[ROWS], shrink[ROWS];
    int held = -1, left = h->T - i0;
    Rows y = {out + (h->first + (size_t)i0) * p->D + h->head * (size_t)p->E, p->D, left};
    for (int r = 0; r < ROWS; r++)
        max[r] = -FLT_MAX, sum[r] = 0; /* a row may see nothing of a tile */
    for (int j0 = 0; j0 <= last_column(h, i0); j0 += SIDE) {
        scores(s, p, h, m, i0, j0, &held);
        softmax_tile(s, p, h, i0, j0, max, sum, shrink);
        tile_write_turned(m, s);
        combine<KEPT>(acc, m, h->v + (size_t)j0 * p->ldk, p->ldk, min(SIDE, h->M - j0), p->E,
                      p->wide, j0 > 0, shrink, y);
    }
    for (int r = 0; r < ROWS; r++) {
        sum[r] = row_sum(sum[r]);
        shrink[r] = 1 / sum[r];
        if (my_column() == 0 && my_row() + r < left)
            lse[(h->first + (size_t)(i0 + my_row() + r)) * p->H + h->head] = max[r] + logf(sum[r]);
    }
    for (int e = 0; e < p->E; e += SIDE) {
        if (!KEPT) read_rows(acc, y.at, y.ld, y.rows, e, p->E, p->wide);
        scale_rows(acc, shrink);
        write_rows(acc, y.at, y.ld, y.rows, e, p->E, p->wide);
    }
}

/* Runs over all heads, the longest rows first. */
template <int KEPT>
static __global__ void __launch_bounds__(TILE_THREADS, 4) attend(Heads p, float *out, float *lse)
{
    CUDA_BEGIN();
    CUDA_DYNAMIC(float4, attention_shared);
    Room m = room_of(attention_shared);
    int tile = p.tiles - 1 - (int)(blockIdx.x / p.lanes);
    for (size_t item = blockIdx.x % p.lanes; item < p.heads; item += p.lanes) {
        OneHead h = head_of(&p, item);
        for (int i0 = tile * SIDE; i0 < h.T; i0 += p.tiles * SIDE)
            attend_rows<KEPT>(&p, &h, &m, i0, out, lse);
    }
}

/* ---- backward ------------------------------------------------------------------------------------ */

template <class T = float>
static __device__ inline T *dq_of(const Heads *p, const HeadsBack *b, const OneHead *h, int i)
{
    return (T *)b->dq + (h->first + (size_t)i) * p->ldq + h->head * (size_t)p->E;
}

/* Returns x's row i, x: b->dout or b->out. */
template <class T = float>
static __device__ inline const T *row_of(const Heads *p, const OneHead *h, const float *x, int i)
{
    return (const T *)x + (h->first + (size_t)i) * p->D + h->head * (size_t)p->E;
}

/* Gives dout to the products of backward unchanged. */
struct AsItIs {
    static __device__ float of(float x)
    {
        return x;
    }
};

/* Returns delta_i = dout_i . out_i, by a warp. */
template <class Taken, class T>
static __device__ inline float delta_of(const Heads *p, const HeadsBack *b, const OneHead *h, int i)
{
    const T *y = row_of<T>(p, h, b->dout, i), *x = row_of<T>(p, h, b->out, i);
    float sum = 0;
    for (int e = (int)(threadIdx.x % WARP); e < p->E; e += WARP)
        sum += load<1>(x + e).x[0] * Taken::of(load<1>(y + e).x[0]);
    return warp_sum(sum);
}

/* Returns where delta_i waits. */
template <class T>
static __device__ inline float *delta_at(const Heads *p, const HeadsBack *b, const OneHead *h,
                                         int i)
{
    if constexpr (sizeof(T) == sizeof(float))
        return dq_of(p, b, h, i);
    else
        return b->delta + (h->first + (size_t)i) * p->H + h->head;
}

/* Leaves delta_i in dq_i's first number, or apart: a warp a row. */
template <class Taken, class T> static __global__ void attend_delta(Heads p, HeadsBack b)
{
    CUDA_BEGIN();
    int lane = (int)(threadIdx.x % WARP), warp = (int)(threadIdx.x / WARP);
    for (size_t item = blockIdx.x % p.lanes; item < p.heads; item += p.lanes) {
        OneHead h = head_of(&p, item);
        for (int i0 = (int)(blockIdx.x / p.lanes) * SIDE; i0 < h.T; i0 += p.tiles * SIDE)
            for (int i = i0 + warp; i < min(i0 + SIDE, h.T); i += (int)blockDim.x / WARP) {
                float delta = delta_of<Taken, T>(&p, &b, &h, i);
                if (lane == 0) *delta_at<T>(&p, &b, &h, i) = delta;
            }
    }
}

/* Reads lse and delta of this thread's rows of a tile; 0 past the end. */
static __device__ inline void row_numbers(const Heads *p, const HeadsBack *b, const OneHead *h,
                                          int i0, float *lse, float *delta)
{
    for (int r = 0; r < ROWS; r++) {
        int i = i0 + my_row() + r, in = i < h->T;
        lse[r] = in ? b->lse[(h->first + (size_t)i) * p->H + h->head] : 0;
        delta[r] = in ? *dq_of(p, b, h, i) : 0;
    }
}

/* Replaces scores s of tile (i0, j0) by P = exp(s - lse), 0 where a row may not see or is past the end. */
static __device__ inline void weights(float (*s)[COLS], const Heads *p, const OneHead *h, int i0,
                                      int j0, const float *lse)
{
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLS; c++) {
            int i = i0 + my_row() + r, j = j0 + my_column() + c;
            int sees = row_sees(h, i, j) && i < h->T;
            s[r][c] = sees ? expf(s[r][c] * p->scale - lse[r]) : 0;
        }
}

/* Replaces P in s by scale dS = scale P (m g - delta). It computes g = dout v^T; m: dropout's factors. */
static __device__ inline void score_adjoints(float (*s)[COLS], const Heads *p, const HeadsBack *b,
                                             const OneHead *h, const Room *m, int i0, int j0,
                                             uint32_t kept, const float *delta)
{
    float g[ROWS][COLS];
    products_of_rows(g, m, row_of(p, h, b->dout, i0), p->D, h->T - i0, h->v + (size_t)j0 * p->ldk,
                     p->ldk, h->M - j0, p->E, p->wide);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLS; c++)
            s[r][c] *= p->scale * (keep_factor(p, kept, r, c) * g[r][c] - delta[r]);
}

/* Returns a block's slice, cleared. */
static __device__ inline float *slice_of(const Heads *p, const HeadsBack *b)
{
    if (!b->slices) return NULL;
    size_t n = (size_t)p->rows * (size_t)p->E;
    float *slice = b->slices + blockIdx.x * n;
    for (size_t x = threadIdx.x; x < n; x += TILE_THREADS) slice[x] = 0;
    return slice;
}

static __global__ void attend_slices_sum(size_t n, size_t size, const float *slices, float *d)
{
    CUDA_BEGIN();
    CUDA_DYNAMIC(float4, attention_shared);
    float *room = (float *)attention_shared;
    size_t x = blockIdx.x * (size_t)WARP + threadIdx.x % WARP, parts = blockDim.x / WARP;
    float sum = 0;
    for (size_t s = threadIdx.x / WARP; s < n && x < size; s += parts) sum += slices[s * size + x];
    room[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x >= WARP || x >= size) return;
    for (size_t w = 1; w < parts; w++) sum += room[w * WARP + threadIdx.x];
    d[x] += sum;
}

/* ---- backward: columns and rows ------------------------------------------------------------------ */

/* Computes dq where one tile is all rows and columns; dS is in s. */
static __device__ inline void rows_alone(float (*s)[COLS], const Heads *p, const HeadsBack *b,
                                         const OneHead *h, const Room *m, float *slice)
{
    float dq[ROWS][COLS];
    int held = -1;
    Rows y = {dq_of(p, b, h, 0), p->ldq, h->T};
    __syncthreads(); /* the tile may still be read */
    tile_write_turned(m, s);
    combine<0>(dq, m, h->k, p->ldk, h->M, p->E, p->wide, 0, NULL, y);
    if (!p->relative) return;
    relative_back<0>(dq, p, h, m, 0, 0, slice, y, &held);
    far_spread<0>(dq, p, h, m, 0, held, slice, y);
}

/* Computes dk and dv of columns j0 .. of a head, `more` only where not KEPT. ALONE: no sequence is longer than a tile;
 * then it computes dq too, and nothing is KEPT because nothing is added to. */
template <int KEPT, int ALONE>
static __device__ inline void columns_back(const Heads *p, const HeadsBack *b, const OneHead *h,
                                           const Room *m, int j0, float *slice)
{
    float dk[ROWS][COLS], dv[ROWS][COLS], s[ROWS][COLS], lse[ROWS], delta[ROWS];
    size_t at = (h->key + (size_t)j0) * p->ldk + h->kv * (size_t)p->E;
    int begin = first_row(h, j0);
    Rows yk = {b->dk + at, p->ldk, h->M - j0}, yv = {b->dv + at, p->ldk, h->M - j0};
    for (int i0 = begin; i0 < h->T; i0 += SIDE) {
        int held = -1, n = min(SIDE, h->T - i0);
        int begun = !ALONE && (i0 > begin || (!KEPT && b->more));
        row_numbers(p, b, h, i0, lse, delta);
        scores(s, p, h, m, i0, j0, &held);
        weights(s, p, h, i0, j0, lse);
        uint32_t kept = keep_tile(p, h, i0, j0);
        float a[ROWS][COLS];
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLS; c++) a[r][c] = s[r][c] * keep_factor(p, kept, r, c);
        tile_write(m, a);
        combine<KEPT>(dv, m, row_of(p, h, b->dout, i0), p->D, n, p->E, p->wide, begun, NULL, yv);
        score_adjoints(s, p, b, h, m, i0, j0, kept, delta);
        tile_write(m, s);
        combine<KEPT>(dk, m, h->q + (size_t)i0 * p->ldq, p->ldq, n, p->E, p->wide, begun, NULL, yk);
        if (ALONE) rows_alone(s, p, b, h, m, slice);
    }
    if (!KEPT) return;
    write_rows(dk, yk.at, yk.ld, yk.rows, 0, p->E, p->wide);
    write_rows(dv, yv.at, yv.ld, yv.rows, 0, p->E, p->wide);
}

/* Runs over all heads, the longest columns first. Where heads share keys, `heads` counts those of keys, and a block adds
 * the shares of the heads that read one. */
template <int KEPT, int ALONE>
static __global__ void __launch_bounds__(TILE_THREADS, 3) attend_columns_back(Heads p, HeadsBack b)
{
    CUDA_BEGIN();
    CUDA_DYNAMIC(float4, attention_shared);
    Room m = room_of(attention_shared);
    float *slice = ALONE ? slice_of(&p, &b) : NULL;
    const size_t each = KEPT || ALONE ? 1 : p.each;
    const int more = b.more;
    for (size_t item = blockIdx.x % p.lanes * each; item < p.heads * each; item += p.lanes * each)
        for (size_t i = 0; i < each; i++) {
            OneHead h = head_of(&p, item + i);
            b.more = more || i > 0;
            for (int j0 = (int)(blockIdx.x / p.lanes) * SIDE; j0 < h.M; j0 += p.tiles * SIDE)
                columns_back<KEPT, ALONE>(&p, &b, &h, &m, j0, slice);
        }
}

/* Computes dq of rows i0 .. of a head. */
template <int KEPT>
static __device__ inline void rows_back(const Heads *p, const HeadsBack *b, const OneHead *h,
                                        const Room *m, int i0, float *slice)
{
    float dq[ROWS][COLS], s[ROWS][COLS], lse[ROWS], delta[ROWS];
    int near = -1, far = -1;
    Rows y = {dq_of(p, b, h, i0), p->ldq, h->T - i0};
    row_numbers(p, b, h, i0, lse, delta); /* before dq is written, a barrier later */
    for (int j0 = 0; j0 <= last_column(h, i0); j0 += SIDE) {
        scores(s, p, h, m, i0, j0, &near);
        weights(s, p, h, i0, j0, lse);
        score_adjoints(s, p, b, h, m, i0, j0, keep_tile(p, h, i0, j0), delta);
        tile_write_turned(m, s);
        combine<KEPT>(dq, m, h->k + (size_t)j0 * p->ldk, p->ldk, min(SIDE, h->M - j0), p->E,
                      p->wide, j0 > 0, NULL, y);
        if (p->relative) relative_back<KEPT>(dq, p, h, m, i0, j0, slice, y, &far);
    }
    if (p->relative) far_spread<KEPT>(dq, p, h, m, i0, far, slice, y);
    if (KEPT) write_rows(dq, y.at, y.ld, y.rows, 0, p->E, p->wide);
}

template <int KEPT>
static __global__ void __launch_bounds__(TILE_THREADS, 3) attend_rows_back(Heads p, HeadsBack b)
{
    CUDA_BEGIN();
    CUDA_DYNAMIC(float4, attention_shared);
    Room m = room_of(attention_shared);
    float *slice = slice_of(&p, &b);
    int tile = p.tiles - 1 - (int)(blockIdx.x / p.lanes);
    for (size_t item = blockIdx.x % p.lanes; item < p.heads; item += p.lanes) {
        OneHead h = head_of(&p, item);
        for (int i0 = tile * SIDE; i0 < h.T; i0 += p.tiles * SIDE)
            rows_back<KEPT>(&p, &b, &h, &m, i0, slice);
    }
}

/* ---- the host's side ----------------------------------------------------------------------------- */

static inline int aligned(const void *p)
{
    return (uintptr_t)p % sizeof(float4) == 0;
}

/* Returns the rows of `relative` that are read: causal rows see nothing behind them. */
static size_t rows_met(const Attention *a)
{
    return (a->causal ? 1 : 2) * a->clip + 1;
}

static Heads heads_of(const Attention *a, size_t most, size_t length, size_t side)
{
    Heads p = {a->start,
               a->memory ? a->memory : a->start,
               (const float *)a->q,
               (const float *)a->k,
               (const float *)a->v,
               (const float *)a->relative,
               a->ldq,
               a->ldk,
               a->H,
               a->D,
               a->longest,
               a->S * a->H,
               attention_each(a->H, a->kv),
               0,
               0,
               (int)(a->D / a->H),
               (int)a->clip,
               (int)rows_met(a),
               a->causal,
               0,
               0,
               keep_of(&a->drop)};
    p.tiles = (int)least(least(blocks_for(length, side), TILES_MOST), most);
    p.lanes = p.tiles ? least(p.heads, most / (size_t)p.tiles) : 0;
    p.wide = p.E % 4 == 0 && p.ldq % 4 == 0 && p.ldk % 4 == 0 && aligned(a->q) && aligned(a->k) &&
             aligned(a->v);
    p.scale = (float)(1 / sqrt((double)p.E));
    return p;
}

static HeadsBack back_of(const void *out, const void *lse, const void *dout, void *dq, void *dk,
                         void *dv, int more)
{
    return (HeadsBack){(const float *)out,
                       (const float *)lse,
                       (const float *)dout,
                       (float *)dq,
                       (float *)dk,
                       (float *)dv,
                       more,
                       NULL,
                       NULL};
}

static size_t blocks_of(const Heads *p)
{
    return p->lanes * (size_t)p->tiles;
}

static void cuda_attention(const Attention *a, void *out, void *lse)
{
    if (!NUMBERS(a->q, a->k, a->v, a->relative, out, lse)) return;
    Heads p = heads_of(a, BLOCKS_MOST, attention_rows(a), SIDE);
    p.wide = p.wide && aligned(out);
    if (p.E <= SIDE)
        RUN((attend<1>), blocks_of(&p), TILE_THREADS, ROOM_BYTES, p, (float *)out, (float *)lse);
    else
        RUN((attend<0>), blocks_of(&p), TILE_THREADS, ROOM_BYTES, p, (float *)out, (float *)lse);
}

/* Counts heads of keys, for the kernels of columns. */
static Heads by_keys(Heads p)
{
    p.heads /= p.each;
    p.lanes = least(p.lanes, p.heads);
    return p;
}

/* Runs backward for sequences of several tiles. */
template <int KEPT>
static void attend_tiles_back(const Heads *all, const Heads *sliced, HeadsBack b)
{
    Heads columns = by_keys(*all);
    RUN((attend_columns_back<KEPT, 0>), blocks_of(&columns), TILE_THREADS, ROOM_BYTES, columns, b);
    RUN(attend_rows_back<KEPT>, blocks_of(sliced), TILE_THREADS, ROOM_BYTES, *sliced, b);
}

static void sum_slices(size_t n, size_t size, const float *slices, void *d)
{
    RUN(attend_slices_sum, blocks_for(size, WARP), BLOCK_THREADS, BLOCK_THREADS * sizeof(float), n,
        size, slices, (float *)d);
}

static void cuda_attention_back(const Attention *a, const void *out, const void *lse,
                                const void *dout, void *dq, void *dk, void *dv, int more,
                                void *drelative)
{
    if (!NUMBERS(a->q, a->k, a->v, a->relative, out, lse, dout, dq, dk, dv, drelative)) return;
    size_t size = a->relative && drelative ? rows_met(a) * (a->D / a->H) : 0;
    size_t most = size ? SLICES_MOST / size : (size_t)BLOCKS_MOST;
    size_t T = attention_rows(a) > attention_keys(a) ? attention_rows(a) : attention_keys(a);
    Heads all = heads_of(a, BLOCKS_MOST, T, SIDE), sliced = heads_of(a, most ? most : 1, T, SIDE);
    HeadsBack b = back_of(out, lse, dout, dq, dk, dv, more);
    all.wide = sliced.wide = all.wide && aligned(dout) && aligned(dq) && aligned(dk) && aligned(dv);
    size_t slices = blocks_of(&sliced);
    if (size && slices) {
        b.slices = (float *)cuda_scratch(slices * size * sizeof *b.slices);
        if (!b.slices) return;
    }
    RUN((attend_delta<AsItIs, float>), blocks_of(&all), TILE_THREADS, 0, all, b);
    if (T <= SIDE && !a->memory && !more && all.each == 1)
        RUN((attend_columns_back<0, 1>), slices, TILE_THREADS, ROOM_BYTES, sliced, b);
    else if (all.E <= SIDE && !more && all.each == 1)
        attend_tiles_back<1>(&all, &sliced, b);
    else
        attend_tiles_back<0>(&all, &sliced, b);
    if (b.slices) sum_slices(slices, size, b.slices, drelative);
}

#endif
