/* cuda_device.cuh: what the CUDA kernels share: the stream and its failures, launches, sums within a
 * warp and a block, dropout. Part of cuda.cu.
 *
 * Blocks are one-dimensional, of a multiple of 32 threads. Every sum has a fixed order: no kernel adds
 * to memory that another block adds to, so the same input gives the same bits. The sources compile
 * with nvcc, and for the host (tests/cuda) where threads are fibres.
 */
#ifndef TROTTER_CUDA_DEVICE_CUH
#define TROTTER_CUDA_DEVICE_CUH

#include <Random123/philox.h>

#include "kernels/backend.h"
#include "kernels/cuda.h"

enum { WARP = 32, BLOCK_THREADS = 256, ALL_LANES = -1 };

/* ---- the device as this process uses it ----------------------------------------------------------- */

/* One device, one stream. `failed` keeps the first failure until wait (cuda.cu) tells it. */
static struct {
    cudaStream_t stream;
    cudaError_t failed;
    const char *where;
    int ready, recording;
} cuda;

static inline void cuda_check(cudaError_t code, const char *where)
{
    if (code == cudaSuccess || cuda.failed != cudaSuccess) return;
    cuda.failed = code;
    cuda.where = where;
}

/* kernel<<<blocks, threads, bytes>>>(...) on the stream; nothing to do: blocks = 0. */
#define RUN(kernel, blocks, threads, bytes, ...)                                                  \
    do {                                                                                          \
        if ((blocks) == 0) break;                                                                 \
        CUDA_LAUNCH(kernel, dim3((unsigned)(blocks)), dim3((unsigned)(threads)), bytes,           \
                    cuda.stream, __VA_ARGS__);                                                    \
        cuda_check(cudaGetLastError(), #kernel);                                                  \
    } while (0)

static inline size_t blocks_for(size_t n, size_t per_block)
{
    return (n + per_block - 1) / per_block;
}

/* ---- sums --------------------------------------------------------------------------------------- */

/* Every lane gets the sum (the largest) of its warp. */
template <typename T> static __device__ inline T warp_sum(T x)
{
    for (int d = WARP / 2; d > 0; d /= 2) x += __shfl_xor_sync(ALL_LANES, x, d);
    return x;
}

static __device__ inline float warp_max(float x)
{
    for (int d = WARP / 2; d > 0; d /= 2) x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, d));
    return x;
}

/* Every thread gets the sum over the block. All threads call it; room: one number a warp, shared. */
template <typename T> static __device__ inline T block_sum(T x, T *room)
{
    int warps = (int)blockDim.x / WARP, warp = (int)threadIdx.x / WARP;
    x = warp_sum(x);
    __syncthreads(); /* room may still be read */
    if (threadIdx.x % WARP == 0) room[warp] = x;
    __syncthreads();
    T sum = 0;
    for (int w = 0; w < warps; w++) sum += room[w];
    return sum;
}

/* ---- dropout ------------------------------------------------------------------------------------ */

/* Dropout as a kernel takes it. The mask: kernels/backend.h. */
typedef struct {
    int on;
    uint32_t limit; /* kept: word > limit */
    float scale;    /* 1 / (1 - p) */
    uint64_t seed, stream;
    const uint64_t *step;
} Keep;

static inline Keep keep_of(const Dropout *d)
{
    Keep k = {d->rate > 0, 0, 1, d->seed, d->stream, d->step};
    if (!k.on) return k;
    k.limit = (uint32_t)(ceil(d->rate * 4294967296.0) - 1);
    k.scale = (float)(1 / (1 - d->rate));
    return k;
}

/* The stream of this step; a kernel asks once a thread. */
static __device__ inline uint64_t keep_stream(const Keep *k)
{
    return k->stream + (k->step ? *k->step << DROPOUT_STEP : 0);
}

/* The words of elements 4 block .. 4 block + 3. Source: Salmon, Moraes, Dror, Shaw 2011. */
static __device__ inline philox4x32_ctr_t keep_words(const Keep *k, uint64_t stream,
                                                     uint64_t block)
{
    philox4x32_ctr_t c = {{(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream,
                           (uint32_t)(stream >> 32)}};
    philox4x32_key_t key = {{(uint32_t)k->seed, (uint32_t)(k->seed >> 32)}};
    return philox4x32_R(10, c, key);
}

/* The factor of element i: 0 or 1 / (1 - p). */
static __device__ inline float keep_at(const Keep *k, uint64_t stream, uint64_t i)
{
    if (!k->on) return 1;
    philox4x32_ctr_t w = keep_words(k, stream, i / 4);
    return w.v[i % 4] > k->limit ? k->scale : 0;
}

/* The factors of elements 4 block .. 4 block + 3. */
static __device__ inline float4 keep_four(const Keep *k, uint64_t stream, uint64_t block)
{
    if (!k->on) return make_float4(1, 1, 1, 1);
    philox4x32_ctr_t w = keep_words(k, stream, block);
    return make_float4(w.v[0] > k->limit ? k->scale : 0, w.v[1] > k->limit ? k->scale : 0,
                       w.v[2] > k->limit ? k->scale : 0, w.v[3] > k->limit ? k->scale : 0);
}

#endif
