/* cuda_rows.cuh: matrices by rows, 4 numbers at a time where they are aligned: element by element, and
 * sums over columns. Part of cuda.cu.
 *
 * The operation is a plain struct F with
 *     void begin()                         once a thread
 *     template <int W> void at(r, c)       columns c .. c + W - 1 of row r; W is 4 or 1
 * so that one source serves both widths. c is a multiple of W.
 *
 * Sums over rows are made of panels: a block leaves the partial sums of one, and the last block to end adds them to the
 * result. Both have a fixed order, so the bits do not depend on other work.
 */
#ifndef TROTTER_CUDA_ROWS_CUH
#define TROTTER_CUDA_ROWS_CUH

#include "kernels/cuda/cuda_device.cuh"

/* Returns n counters of this branch for last_block. cuda_memory.cuh. */
static unsigned *cuda_tickets(size_t n);

template <int W> struct Pack {
    float x[W];
};

template <int W> static __device__ inline Pack<W> load(const float *p)
{
    Pack<W> v;
    if constexpr (W == 4) {
        float4 q = *(const float4 *)p;
        v.x[0] = q.x, v.x[1] = q.y, v.x[2] = q.z, v.x[3] = q.w;
    } else {
        v.x[0] = *p;
    }
    return v;
}

template <int W> static __device__ inline void store(float *p, Pack<W> v)
{
    if constexpr (W == 4)
        *(float4 *)p = make_float4(v.x[0], v.x[1], v.x[2], v.x[3]);
    else
        *p = v.x[0];
}

/* Returns the upper half of a float, rounded to nearest even; a NaN stays one. */
static __device__ inline uint16_t bf16_of(float x)
{
    uint32_t u = __float_as_uint(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(u >> 16 | 0x40u);
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

static __device__ inline float bf16_value(uint16_t x)
{
    return __uint_as_float((uint32_t)x << 16);
}

template <int W> static __device__ inline void bf16_store(uint16_t *y, Pack<W> v)
{
    if constexpr (W == 4)
        *(ushort4 *)y =
            make_ushort4(bf16_of(v.x[0]), bf16_of(v.x[1]), bf16_of(v.x[2]), bf16_of(v.x[3]));
    else
        *y = bf16_of(v.x[0]);
}

template <int W> static __device__ inline Pack<W> bf16_load(const uint16_t *p)
{
    Pack<W> v;
    if constexpr (W == 4) {
        ushort4 q = *(const ushort4 *)p;
        v.x[0] = bf16_value(q.x), v.x[1] = bf16_value(q.y);
        v.x[2] = bf16_value(q.z), v.x[3] = bf16_value(q.w);
    } else {
        v.x[0] = bf16_value(*p);
    }
    return v;
}

/* Overloads beside those of f32. */
template <int W> static __device__ inline Pack<W> load(const uint16_t *p)
{
    return bf16_load<W>(p);
}

template <int W> static __device__ inline void store(uint16_t *p, Pack<W> v)
{
    bf16_store<W>(p, v);
}

/* Returns the dropout factors of elements i .. i + W - 1; i is a multiple of W, keep_begin is done. */
template <int W> static __device__ inline Pack<W> keep_pack(const Keep *k, uint64_t i)
{
    Pack<W> v;
    i += k->first;
    if constexpr (W == 4) {
        float4 q = keep_four(k, k->stream, i / 4);
        v.x[0] = q.x, v.x[1] = q.y, v.x[2] = q.z, v.x[3] = q.w;
    } else {
        v.x[0] = keep_at(k, k->stream, i);
    }
    return v;
}

/* Returns 1 where rows of D numbers can be read 4 at a time; NULL counts as aligned. */
static inline int wide(size_t D, const void *a, const void *b = NULL, const void *c = NULL,
                       const void *d = NULL)
{
    return D % 4 == 0 && (((size_t)a | (size_t)b | (size_t)c | (size_t)d) & 15) == 0;
}

/* ---- element by element ------------------------------------------------------------------------- */

/* Returns the threads that share a row: for one pass, at most a block, which they divide. */
static inline unsigned lanes_for(size_t D, int W)
{
    unsigned lanes = WARP;
    while (lanes < BLOCK_THREADS && (size_t)lanes * (size_t)W < D) lanes *= 2;
    return lanes;
}

template <int W, class F>
static __global__ void each_kernel(size_t N, size_t D, unsigned lanes, F f)
{
    CUDA_BEGIN();
    size_t rows = blockDim.x / lanes;
    f.begin();
    for (size_t r = blockIdx.x * rows + threadIdx.x / lanes; r < N; r += gridDim.x * rows)
        for (size_t c = (size_t)(threadIdx.x % lanes) * W; c < D; c += (size_t)lanes * W)
            f.template at<W>(r, c);
}

/* Applies f to every element of (N, D); w: result of wide() for its arrays. */
template <class F> static void each_row(size_t N, size_t D, int w, F f, CALLER)
{
    unsigned lanes = lanes_for(D, w ? 4 : 1);
    size_t blocks = D ? blocks_for(N, BLOCK_THREADS / lanes) : 0;
    if (w)
        RUN_FOR(where, (each_kernel<4, F>), blocks, BLOCK_THREADS, 0, N, D, lanes, f);
    else
        RUN_FOR(where, (each_kernel<1, F>), blocks, BLOCK_THREADS, 0, N, D, lanes, f);
}

/* Applies f to a list: four neighbours at a time where w, the last n % 4 one by one. */
template <class F> static __global__ void flat_kernel(size_t n, int w, F f)
{
    CUDA_BEGIN();
    size_t threads = (size_t)gridDim.x * blockDim.x;
    size_t t = (size_t)blockIdx.x * blockDim.x + threadIdx.x, whole = w ? n / 4 * 4 : 0;
    f.begin();
    for (size_t i = 4 * t; i < whole; i += 4 * threads) f.template at<4>(0, i);
    for (size_t i = whole + t; i < n; i += threads) f.template at<1>(0, i);
}

/* Returns blocks that keep the device busy with n packs; a thread may take several. */
static inline size_t flat_blocks(size_t n)
{
    return least(blocks_for(n, BLOCK_THREADS), 16 * cuda.processors);
}

/* Applies f to every element of a list; w: result of wide(0, ...) for its arrays. */
template <class F> static void each_flat(size_t n, int w, F f, CALLER)
{
    RUN_FOR(where, (flat_kernel<F>), flat_blocks(w ? n / 4 + 1 : n), BLOCK_THREADS, 0, n, w, f);
}

/* ---- sums of columns ---------------------------------------------------------------------------- */

/* A block has 32 packs of columns, 8 rows at a time. */
enum { SLOTS = BLOCK_THREADS / WARP, PANEL_ROWS = 64, PANELS = 256 };

/* Arrays to which the sums are added; NULL: none. */
template <int S> struct Targets {
    float *x[S];
};

/* Puts a thread's sums into room (SLOTS, S, WARP W); slots_total returns sum i of all slots. */
template <int W, int S>
static __device__ inline void slots_put(float (*room)[S * WARP * W], const Pack<W> *sum)
{
    unsigned lane = threadIdx.x % WARP, slot = threadIdx.x / WARP;
    for (int s = 0; s < S; s++)
        for (int k = 0; k < W; k++)
            room[slot][(unsigned)(s * WARP * W) + lane * W + (unsigned)k] = sum[s].x[k];
    __syncthreads();
}

template <int N> static __device__ inline float slots_total(const float (*room)[N], unsigned i)
{
    float total = 0;
    for (int k = 0; k < SLOTS; k++) total += room[k][i];
    return total;
}

/* Makes F::SUMS sums for each column: f.template at<W>(r, c, sum) adds row r's share to sum[F::SUMS].
 * partial (panels, SUMS, D); the last block of a tile of columns adds the panels' sums. */
template <int W, class F>
static __global__ void columns_kernel(size_t N, size_t D, size_t tiles, size_t rows, F f,
                                      float *partial, unsigned *ticket, Targets<F::SUMS> to)
{
    CUDA_BEGIN();
    constexpr int S = F::SUMS;
    constexpr unsigned COLUMNS = WARP * W;
    __shared__ float room[SLOTS][S * COLUMNS];
    size_t panels = gridDim.x / tiles, panel = blockIdx.x / tiles, tile = blockIdx.x % tiles;
    unsigned lane = threadIdx.x % WARP, slot = threadIdx.x / WARP;
    size_t c0 = tile * COLUMNS, c = c0 + lane * W;
    size_t end = (panel + 1) * rows < N ? (panel + 1) * rows : N;
    Pack<W> sum[S] = {};
    f.begin();
    for (size_t r = panel * rows + slot; c < D && r < end; r += SLOTS) f.template at<W>(r, c, sum);
    slots_put<W, S>(room, sum);
    for (unsigned i = threadIdx.x; i < S * COLUMNS; i += BLOCK_THREADS)
        if (c0 + i % COLUMNS < D)
            partial[(panel * S + i / COLUMNS) * D + c0 + i % COLUMNS] = slots_total(room, i);
    if (!last_block(ticket + tile, panels)) return;
    for (int s = 0; s < S; s++) sum[s] = {};
    for (size_t p = slot; c < D && p < panels; p += SLOTS)
        for (int s = 0; s < S; s++) {
            Pack<W> v = load<W>(partial + (p * S + (size_t)s) * D + c);
            for (int k = 0; k < W; k++) sum[s].x[k] += v.x[k];
        }
    slots_put<W, S>(room, sum);
    for (unsigned i = threadIdx.x; i < S * COLUMNS; i += BLOCK_THREADS)
        for (unsigned s = 0; s < S; s++)
            if (i / COLUMNS == s && to.x[s] && c0 + i % COLUMNS < D)
                to.x[s][c0 + i % COLUMNS] += slots_total(room, i);
}

template <class F>
static void sum_columns(size_t N, size_t D, int w, F f, Targets<F::SUMS> to, CALLER)
{
    if (N == 0 || D == 0) return;
    size_t panels = least(blocks_for(N, PANEL_ROWS), PANELS);
    size_t rows = blocks_for(N, panels), tiles = blocks_for(D, WARP * (w ? 4 : 1));
    float *partial = (float *)cuda_scratch(panels * F::SUMS * D * sizeof *partial);
    unsigned *ticket = cuda_tickets(tiles);
    panels = blocks_for(N, rows);
    if (w)
        RUN_FOR(where, (columns_kernel<4, F>), tiles * panels, BLOCK_THREADS, 0, N, D, tiles, rows,
                f, partial, ticket, to);
    else
        RUN_FOR(where, (columns_kernel<1, F>), tiles * panels, BLOCK_THREADS, 0, N, D, tiles, rows,
                f, partial, ticket, to);
}

/* ---- sums of everything ------------------------------------------------------------------------- */

enum { SUM_BLOCKS = 1024 };

/* Sums f.at(i), i < n, in double: a block's strided share goes to partial[block], and the last block sums these in order
 * and gives the result to f.end(sum). */
template <class F>
static __global__ void total_kernel(size_t n, F f, double *partial, unsigned *ticket)
{
    CUDA_BEGIN();
    __shared__ double room[SLOTS];
    double sum = 0;
    size_t threads = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads)
        sum += f.at(i);
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
    if (!last_block(ticket, gridDim.x)) return;
    sum = 0;
    for (size_t i = threadIdx.x; i < gridDim.x; i += blockDim.x) sum += partial[i];
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) f.end(sum);
}

/* Sums all. The number of blocks depends on n alone, and so do the bits. */
template <class F> static void sum_all(size_t n, F f, CALLER)
{
    size_t blocks = n ? least(blocks_for(n, 8 * BLOCK_THREADS), SUM_BLOCKS) : 1;
    double *partial = (double *)cuda_scratch(SUM_BLOCKS * sizeof *partial);
    unsigned *ticket = cuda_tickets(1);
    RUN_FOR(where, (total_kernel<F>), blocks, BLOCK_THREADS, 0, n, f, partial, ticket);
}

#endif
