/* cuda_decode.cuh: kernels for decoding a token at a time, beside those of training: attention of single queries to
 * listed rows, and the best of a row of logits. Part of cuda.cu. Formulas: backend.h. */
#ifndef TROTTER_CUDA_DECODE_CUH
#define TROTTER_CUDA_DECODE_CUH

#include "kernels/cuda/cuda_loss.cuh"

/* ---- attention to listed rows ------------------------------------------------------------------- */

/* Computes attention of single queries. A warp has a head of a query, and takes WARP keys at a time: first a lane a
 * key, for the scores and their exponentials; then a lane a column, for the sum of values, which waits in `out` for the
 * next keys. */
static __global__ void attend_listed_kernel(Listed a, size_t each, float scale, float *out)
{
    CUDA_BEGIN();
    size_t item = blockIdx.x * (size_t)(BLOCK_THREADS / WARP) + threadIdx.x / WARP;
    if (item >= a.N * a.H) return; /* this holds for the whole warp */
    size_t n = item / a.H, h = item % a.H, E = a.D / a.H, lane = threadIdx.x % WARP;
    size_t count = (size_t)a.count[n];
    const int32_t *key = a.key + n * a.ld;
    const float *q = (const float *)a.q + n * a.ldq + h * E;
    size_t at = h / each * E;
    const float *k = (const float *)a.k + at, *v = (const float *)a.v + at;
    const float *relative = (const float *)a.relative;
    float *y = out + n * a.D + h * E, top = -INFINITY, sum = 0;
    for (size_t j0 = 0; j0 < count; j0 += WARP) {
        size_t j = j0 + lane, m = least(WARP, count - j0);
        float s = -INFINITY;
        if (j < count) {
            size_t x = count - 1 - j;
            const float *row = k + (size_t)key[j] * a.ldk;
            const float *r = relative ? relative + (a.clip - least(x, a.clip)) * E : NULL;
            s = 0;
            for (size_t e = 0; e < E; e++) s += q[e] * (row[e] + (r ? r[e] : 0));
            s *= scale;
        }
        float now = fmaxf(top, warp_max(s)), shrink = expf(top - now), w = expf(s - now);
        sum = sum * shrink + warp_sum(w);
        top = now;
        for (size_t e0 = 0; e0 < E; e0 += WARP) {
            size_t e = e0 + lane;
            float add = j0 > 0 && e < E ? y[e] * shrink : 0;
            for (size_t i = 0; i < m; i++) {
                float weight = __shfl_sync(ALL_LANES, w, (int)i);
                if (e < E) add += weight * v[(size_t)key[j0 + i] * a.ldk + e];
            }
            if (e < E) y[e] = add;
        }
    }
    for (size_t e = lane; e < E; e += WARP) y[e] /= sum;
}

static void cuda_attend(const Listed *a, void *out)
{
    if (!NUMBERS(a->q, a->k, a->v, a->relative, out)) return;
    float scale = (float)(1 / sqrt((double)(a->D / a->H)));
    RUN(attend_listed_kernel, blocks_for(a->N * a->H, BLOCK_THREADS / WARP), BLOCK_THREADS, 0, *a,
        attention_each(a->H, a->kv), scale, (float *)out);
}

/* ---- the best of a row --------------------------------------------------------------------------- */

/* A number of a row and its column; -1: none. */
typedef struct {
    float z;
    int32_t i;
} Found;

static __device__ inline Found better(Found a, Found b)
{
    int second = b.i >= 0 && (a.i < 0 || b.z > a.z || (b.z == a.z && b.i < a.i));
    return second ? b : a;
}

/* Returns the best of the block to every thread. All threads call it; room: one a warp, shared. */
static __device__ inline Found block_best(Found x, Found *room)
{
    for (int d = WARP / 2; d > 0; d /= 2) {
        Found y;
        y.z = __shfl_xor_sync(ALL_LANES, x.z, d);
        y.i = __shfl_xor_sync(ALL_LANES, x.i, d);
        x = better(x, y);
    }
    __syncthreads(); /* room may still be read */
    if (threadIdx.x % WARP == 0) room[threadIdx.x / WARP] = x;
    __syncthreads();
    for (int w = 0; w < (int)blockDim.x / WARP; w++) x = better(x, room[w]);
    return x;
}

/* Finds a row's best, a block a row: K passes, each for the best behind the one before. */
static __global__ void best_kernel(size_t V, size_t K, const float *z_, int32_t *index,
                                   float *value)
{
    CUDA_BEGIN();
    __shared__ double sums[SLOTS];
    __shared__ float tops[SLOTS];
    __shared__ Found room[SLOTS];
    const float *z = z_ + blockIdx.x * V;
    float top = -INFINITY, part = 0;
    online_sum<1>(V, z, (float *)NULL, &top, &part);
    float all = block_max(top, tops);
    double sum = block_sum(part != 0 ? (double)part * (double)expf(top - all) : 0, sums);
    Found last = {INFINITY, -1};
    for (size_t k = 0; k < K; k++) {
        Found mine = {0, -1};
        for (size_t i = threadIdx.x; i < V; i += blockDim.x) {
            Found x = {z[i], (int32_t)i};
            if (x.z < last.z || (x.z == last.z && x.i > last.i)) mine = better(mine, x);
        }
        last = block_best(mine, room);
        if (threadIdx.x > 0) continue;
        index[blockIdx.x * K + k] = last.i < 0 ? 0 : last.i; /* fewer than K entries are numbers */
        value[blockIdx.x * K + k] = (float)-(log(sum) - ((double)last.z - (double)all));
    }
}

static void cuda_best(size_t N, size_t V, size_t K, const void *z, int32_t *index, void *value)
{
    if (!NUMBERS(z, value)) return;
    RUN(best_kernel, N, lanes_for(V, 1), 0, V, K, (const float *)z, index, (float *)value);
}

#endif
