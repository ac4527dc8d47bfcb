/* cuda_embed.cuh: the adjoint of the embedding, dE[token] += rows of dh. Part of cuda.cu.
 *
 * One block sorts the rows by token and keeps the order of equal ones: a radix sort by digits of 4 bits, least first
 * (Knuth, The Art of Computer Programming 3, 5.2.5, algorithm R). Then blocks sum runs of equal tokens, PLACES places
 * of the sorted list each. A run that passes a block's end leaves partial sums, which the last launch adds in order.
 * The work is linear in the rows, many blocks share a frequent word, and every sum has a fixed order. Rows of NO_ROW,
 * whose digits are all ones, come last and are left out. Behind it: rotary positions.
 */
#ifndef TROTTER_CUDA_EMBED_CUH
#define TROTTER_CUDA_EMBED_CUH

#include "kernels/cuda/cuda_rows.cuh"

/* ---- rows by token ------------------------------------------------------------------------------ */

enum { SORT_THREADS = 512, DIGIT_BITS = 4, DIGITS = 1 << DIGIT_BITS, PLACES = 32 };

/* Replaces each count (DIGITS, SORT_THREADS) by the sum of all before it; sums (SORT_THREADS). All threads call it. */
static __device__ inline void sums_before(unsigned *count, unsigned *sums)
{
    unsigned t = threadIdx.x, own = 0, *mine = count + t * DIGITS;
    for (int k = 0; k < DIGITS; k++) own += mine[k];
    sums[t] = own;
    __syncthreads();
    for (unsigned step = 1; step < SORT_THREADS; step *= 2) {
        unsigned more = t >= step ? sums[t - step] : 0;
        __syncthreads();
        sums[t] += more;
        __syncthreads();
    }
    unsigned before = sums[t] - own;
    for (int k = 0; k < DIGITS; k++) {
        unsigned n = mine[k];
        mine[k] = before;
        before += n;
    }
    __syncthreads();
}

/* Sorts in one block: order (N) = the rows by token; `passes` digits; an odd number of passes leaves the result in
 * other (N). A thread has neighbouring places, so that equal tokens keep their order. */
static __global__ void sort_kernel(size_t N, const int32_t *token, int passes, int32_t *order,
                                   int32_t *other)
{
    CUDA_BEGIN();
    __shared__ unsigned count[DIGITS * SORT_THREADS], sums[SORT_THREADS];
    size_t each = (N + SORT_THREADS - 1) / SORT_THREADS, begin = threadIdx.x * each;
    size_t end = begin + each < N ? begin + each : N;
    for (int pass = 0; pass < passes; pass++) {
        unsigned *mine = count + threadIdx.x;
        int shift = pass * DIGIT_BITS;
        for (int d = 0; d < DIGITS; d++) mine[d * SORT_THREADS] = 0;
        for (size_t i = begin; i < end; i++) {
            int32_t row = pass ? order[i] : (int32_t)i;
            mine[(token[row] >> shift & (DIGITS - 1)) * SORT_THREADS]++;
        }
        __syncthreads();
        sums_before(count, sums);
        for (size_t i = begin; i < end; i++) {
            int32_t row = pass ? order[i] : (int32_t)i;
            other[mine[(token[row] >> shift & (DIGITS - 1)) * SORT_THREADS]++] = row;
        }
        __syncthreads();
        int32_t *swap = order;
        order = other;
        other = swap;
    }
}

/* ---- sums of runs ------------------------------------------------------------------------------- */

/* Returns the token at place i of the sorted list; -1 outside of it. */
static __device__ inline int32_t token_at(size_t N, const int32_t *token, const int32_t *order,
                                          size_t i)
{
    return i < N ? token[order[i]] : -1;
}

/* Sums runs; a block has PLACES places. partial (blocks, 2, D): the sum of the run that goes on behind them, if it
 * begins here, and of the one that began before. */
template <int W>
static __global__ void runs_kernel(size_t N, size_t D, const int32_t *token, const int32_t *order,
                                   float scale, Keep keep, const float *dh, float *dE,
                                   float *partial)
{
    CUDA_BEGIN();
    __shared__ int32_t place[PLACES + 2], row[PLACES]; /* place[k]: the token at first + k - 1 */
    size_t first = (size_t)blockIdx.x * PLACES, end = first + PLACES < N ? first + PLACES : N;
    size_t n = end - first;
    for (size_t k = threadIdx.x; k < n + 2; k += blockDim.x)
        place[k] = first + k ? token_at(N, token, order, first + k - 1) : -1;
    for (size_t k = threadIdx.x; k < n; k += blockDim.x) row[k] = order[first + k];
    keep_begin(&keep);
    __syncthreads();
    for (size_t c = (size_t)threadIdx.x * W; c < D; c += (size_t)blockDim.x * W)
        for (size_t k = 0; k < n;) {
            int32_t mine = place[k + 1];
            if (mine < 0) break;
            int before = place[k] == mine;
            Pack<W> sum;
            for (int i = 0; i < W; i++) sum.x[i] = 0;
            for (; k < n && place[k + 1] == mine; k++) {
                size_t at = (size_t)row[k] * D + c;
                Pack<W> d = load<W>(dh + at), m = keep_pack<W>(&keep, at);
                for (int i = 0; i < W; i++) sum.x[i] += scale * m.x[i] * d.x[i];
            }
            float *to = partial + (2 * (size_t)blockIdx.x + (size_t)before) * D + c;
            if (!before && place[k + 1] != mine) {
                Pack<W> old = load<W>(to = dE + (size_t)mine * D + c);
                for (int i = 0; i < W; i++) sum.x[i] += old.x[i];
            }
            store(to, sum);
        }
}

/* Joins runs: a block adds the run that begins among its places and goes on behind them. */
static __global__ void join_kernel(size_t N, size_t D, const int32_t *token, const int32_t *order,
                                   const float *partial, float *dE)
{
    CUDA_BEGIN();
    size_t first = (size_t)blockIdx.x * PLACES, next = first + PLACES;
    if (next >= N) return;
    int32_t mine = token_at(N, token, order, next - 1);
    if (mine < 0 || token_at(N, token, order, next) != mine) return;
    if (first && token_at(N, token, order, first - 1) == mine) return;
    for (size_t c = threadIdx.x; c < D; c += blockDim.x) {
        float sum = dE[(size_t)mine * D + c] + partial[2 * blockIdx.x * D + c];
        for (size_t at = next; token_at(N, token, order, at) == mine; at += PLACES)
            sum += partial[(2 * (at / PLACES) + 1) * D + c];
        dE[(size_t)mine * D + c] = sum;
    }
}

static void cuda_embed_back(size_t N, size_t D, size_t V, const int32_t *token, double scale,
                            Dropout drop, const void *dh_, void *dE_)
{
    if (!NUMBERS(dh_, dE_)) return;
    const float *dh = (const float *)dh_;
    float *dE = (float *)dE_;
    size_t blocks = blocks_for(N, PLACES), sums = 2 * blocks * D;
    int passes = 1, w = wide(D, dh, dE);
    while (V >= (size_t)1 << passes * DIGIT_BITS) passes++; /* NO_ROW, all ones, is then no token */
    if (N == 0 || D == 0) return;
    float *partial = (float *)cuda_scratch(sums * sizeof *partial + 2 * N * sizeof(int32_t));
    if (!partial) return;
    int32_t *one = (int32_t *)(partial + sums), *other = one + N, *order = passes % 2 ? other : one;
    RUN(sort_kernel, 1, SORT_THREADS, 0, N, token, passes, one, other);
    RUN_WIDE(w, runs_kernel, blocks, lanes_for(D, w ? 4 : 1), 0, N, D, token, order, (float)scale,
             keep_of(&drop), dh, dE, partial);
    RUN(join_kernel, blocks > 1 ? blocks : 0, lanes_for(D, 1), 0, N, D, token, order, partial, dE);
}

/* ---- rotary positions ------------------------------------------------------------------------------ */

/* Turns pair c of row r; a row has E / 2 pairs a head. */
struct Rotate {
    size_t E, ld;
    Out x;
    const int32_t *position;
    const float *table;
    float sign;
    __device__ void begin() {}
    template <int W> __device__ void at(size_t r, size_t c) const
    {
        size_t half = E / 2, e = c % half;
        const float *turn = table + (size_t)position[r] * E + e;
        size_t at = r * ld + c / half * E + e;
        Pack<1> a = load<1>(x, at), b = load<1>(x, at + half), low, high;
        float s = sign * turn[half];
        low.x[0] = a.x[0] * turn[0] - b.x[0] * s;
        high.x[0] = b.x[0] * turn[0] + a.x[0] * s;
        store(x, at, low);
        store(x, at + half, high);
    }
};

static void cuda_rotate(size_t N, size_t H, size_t E, void *x, size_t ld, const int32_t *position,
                        const void *table, int back)
{
    if (!NUMBERS(table)) return;
    each_row(N, H * (E / 2), 0,
             Rotate{E, ld, out_of(x), position, (const float *)table, back ? -1.0f : 1.0f});
}

#endif
