/* cuda_device.cuh: shared by the CUDA kernels: the stream and its failures, launches, sums within a warp
 * and a block, dropout. Part of cuda.cu.
 *
 * Blocks are one-dimensional, of a multiple of 32 threads. Every sum has a fixed order: no two blocks of
 * a kernel add to the same memory, but for the last one (last_block), so the same input gives the same bits. The sources
 * compile with nvcc, and for the host (tests/cuda) where threads are fibres.
 */
#ifndef TROTTER_CUDA_DEVICE_CUH
#define TROTTER_CUDA_DEVICE_CUH

#include "kernels/backend.h"
#include "kernels/cuda/cuda.h"

enum { WARP = 32, BLOCK_THREADS = 256, BRANCHES = 2 };
#define ALL_LANES 0xffffffffu
/* The first compute capability with bf16 and tf32, 10 major + minor. Source: CUDA C++ Programming Guide, "Compute
 * Capabilities", table of features. */
enum { FIRST_TENSOR = 80 };

/* ---- the device as this process uses it ----------------------------------------------------------- */

/* One device. `stream`: that of the branch where calls go now (cuda_branch.cuh). `failed` keeps the first failure until
 * it is reported (cuda_memory.cuh); nothing is launched meanwhile. `blas`: status of cuBLAS where it failed.
 * `processors`: multiprocessors of the device; `cache`: bytes of its L2; `capability`: 90 is 9.0; `timing`: 1 while launches are timed
 * (cuda_timed.cuh). */
static struct {
    cudaStream_t stream;
    int branch;
    int chosen, device, devices; /* device: the chosen number modulo the count of devices */
    Ranks *ranks;                /* ranks that have joined (cuda_ranks.cuh), or NULL */
    cudaError_t failed;
    int blas;
    const char *where; /* function that failed: cuda_norm */
    int mistyped;      /* 1: it was given factors where it takes numbers */
    int ready, recording, timing, capability;
    size_t processors, cache, wanted; /* wanted: bytes of an allocation that failed */
    /* early: kernels may be launched early; behind[k]: the last call of branch k was a kernel, behind which one is */
    int early, behind[BRANCHES];
    int tells; /* 1: choices of cuBLASLt and the memory of graphs are told on stderr (studies/scripts/gpu.sh) */
} cuda;

/* Makes the device this thread's: each thread has a device of its own, 0 at first (CUDA C++ Programming Guide, "Device
 * Selection"). All that calls the runtime or a library on it comes through here. */
static inline void device_here(void)
{
    static thread_local int here = -1;
    if (here == cuda.device) return;
    if (cudaSetDevice(cuda.device) == cudaSuccess) here = cuda.device;
}

/* Returns the stream for what is no kernel. */
static inline cudaStream_t cuda_stream(void)
{
    device_here();
    cuda.behind[cuda.branch] = 0;
    return cuda.stream;
}

static inline void cuda_check(cudaError_t code, const char *where)
{
    if (code == cudaSuccess || cuda.failed != cudaSuccess) return;
    cuda.failed = code;
    cuda.where = where;
}

/* Ends the time of a launch, while they are timed. cuda_timed.cuh. */
static void cuda_lap(const char *where);

/* Launches kernel<<<blocks, threads, bytes>>>(...) on the stream, early behind another; blocks = 0: does nothing. A
 * template's name stands in parentheses. `where`: the call that a failure names. */
#define RUN_FOR(where, kernel, blocks, threads, bytes, ...)                                        \
    do {                                                                                           \
        if ((blocks) == 0 || cuda.failed != cudaSuccess) break;                                    \
        device_here();                                                                             \
        CUDA_LAUNCH_EARLY(cuda.early &&cuda.behind[cuda.branch], kernel, dim3((unsigned)(blocks)), \
                          dim3((unsigned)(threads)), bytes, cuda.stream, __VA_ARGS__);             \
        cuda_check(cudaGetLastError(), where);                                                     \
        cuda.behind[cuda.branch] = 1;                                                              \
        cuda_lap(where);                                                                           \
    } while (0)
#define RUN(...) RUN_FOR(__func__, __VA_ARGS__)
/* Launches kernel<4>, which takes four numbers at a time, where w, else kernel<1>. */
#define RUN_WIDE(w, kernel, ...)           \
    do {                                   \
        if (w)                             \
            RUN((kernel<4>), __VA_ARGS__); \
        else                               \
            RUN((kernel<1>), __VA_ARGS__); \
    } while (0)
#define CALLER \
    const char *where = __builtin_FUNCTION() /* last parameter of functions that launch */

static inline size_t blocks_for(size_t n, size_t per_block)
{
    return (n + per_block - 1) / per_block;
}

static __host__ __device__ inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns device memory for results that pass from one launch of a call to the next: at least `bytes`,
 * aligned to 256, until the next cuda_scratch of the same branch. NULL after a failure. cuda_memory.cuh. */
static void *cuda_scratch(size_t bytes);

/* Tells all threads of a block whether it is the last one of `blocks` to come here; then it sees what the others wrote
 * before. *ticket is 0 before and after. Source: CUDA C++ Programming Guide, "Memory Fence Functions". */
static __device__ inline int last_block(unsigned *ticket, size_t blocks)
{
    __shared__ int last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = blocks == 1 || atomicAdd(ticket, 1u) == (unsigned)blocks - 1;
        if (last && blocks > 1) *ticket = 0;
        __threadfence();
    }
    __syncthreads();
    return last;
}

/* ---- sums --------------------------------------------------------------------------------------- */

/* Return the sum (the largest) of a warp to every lane. */
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

/* Dropout as an argument of kernels. The mask: kernels/backend.h. */
typedef struct {
    int on;
    uint32_t limit; /* kept: word > limit */
    float scale;    /* 1 / (1 - p) */
    uint64_t seed, stream;
    const uint64_t *step;
    uint64_t first; /* a multiple of 4 where elements are taken 4 at a time */
} Keep;

static inline Keep keep_of(const Dropout *d)
{
    Keep k = {d->rate > 0, 0, 1, d->seed, d->stream, d->step, d->first};
    if (!k.on) return k;
    k.limit = (uint32_t)(ceil(d->rate * 4294967296.0) - 1);
    k.scale = (float)(1 / (1 - d->rate));
    return k;
}

/* Returns the stream of this step; a kernel calls it once a thread, here or by keep_begin. */
static __device__ inline uint64_t keep_stream(const Keep *k)
{
    return k->stream + (k->step ? *k->step << DROPOUT_STEP : 0);
}

static __device__ inline void keep_begin(Keep *k)
{
    k->stream = keep_stream(k);
    k->step = NULL;
}

typedef struct {
    uint32_t v[4];
} Words;

/* Returns the words of elements 4 block .. 4 block + 3: ten rounds of Philox4x32. Source: Salmon,
 * Moraes, Dror, Shaw 2011, section 3.3 and table 2. */
static __device__ inline Words keep_words(const Keep *k, uint64_t stream, uint64_t block)
{
    uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32);
    uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
    uint32_t k0 = (uint32_t)k->seed, k1 = (uint32_t)(k->seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)c0 * 0xD2511F53u, q = (uint64_t)c2 * 0xCD9E8D57u;
        c0 = (uint32_t)(q >> 32) ^ c1 ^ k0, c1 = (uint32_t)q;
        c2 = (uint32_t)(p >> 32) ^ c3 ^ k1, c3 = (uint32_t)p;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    Words w = {{c0, c1, c2, c3}};
    return w;
}

/* Returns the factor of element i: 0 or 1 / (1 - p). */
static __device__ inline float keep_at(const Keep *k, uint64_t stream, uint64_t i)
{
    if (!k->on) return 1;
    Words w = keep_words(k, stream, i / 4);
    return w.v[i % 4] > k->limit ? k->scale : 0;
}

/* Returns the factors of elements 4 block .. 4 block + 3. */
static __device__ inline float4 keep_four(const Keep *k, uint64_t stream, uint64_t block)
{
    if (!k->on) return make_float4(1, 1, 1, 1);
    Words w = keep_words(k, stream, block);
    return make_float4(w.v[0] > k->limit ? k->scale : 0, w.v[1] > k->limit ? k->scale : 0,
                       w.v[2] > k->limit ? k->scale : 0, w.v[3] > k->limit ? k->scale : 0);
}

#endif
