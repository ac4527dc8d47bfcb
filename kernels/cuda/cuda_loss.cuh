/* cuda_loss.cuh: the two ends of a language model, embedding and cross-entropy; the adjoint of the embedding is in
 * cuda_embed.cuh. Part of cuda.cu. Formulas: cpu_loss.h. */
#ifndef TROTTER_CUDA_LOSS_CUH
#define TROTTER_CUDA_LOSS_CUH

#include "kernels/cuda/cuda_factor.cuh"

/* h = (scale E[token] + P[position]) keep */
struct Embed {
    size_t D;
    const int32_t *token, *position;
    const float *E, *P;
    float scale, *h;
    Keep keep;
    __device__ void begin()
    {
        keep_begin(&keep);
    }
    template <int W> __device__ void at(size_t r, size_t c) const
    {
        Pack<W> v, k = keep_pack<W>(&keep, r * D + c), p;
        for (int i = 0; i < W; i++) v.x[i] = p.x[i] = 0;
        if (token[r] >= 0) v = load<W>(E + (size_t)token[r] * D + c);
        if (P) p = load<W>(P + (size_t)position[r] * D + c);
        for (int i = 0; i < W; i++) v.x[i] = (scale * v.x[i] + p.x[i]) * k.x[i];
        store(h + r * D + c, v);
    }
};

static void cuda_embed(size_t N, size_t D, const int32_t *token, const int32_t *position,
                       const void *E, double scale, const void *P, Dropout drop, void *h)
{
    if (!NUMBERS(E, P, h)) return;
    each_row(N, D, wide(D, E, P, h),
             Embed{D, token, position, (const float *)E, (const float *)P, (float)scale, (float *)h,
                   keep_of(&drop)});
}

/* ---- cross-entropy ------------------------------------------------------------------------------ */

/* Computes the largest number of a row and the sum of e^(z - largest), over this thread's part of it, in one pass, and
 * copies that part to `row` where there is one. Source: Milakov, Gimelshein 2018, algorithm 3, W numbers at a time. A NaN
 * ends in the sum. */
template <int W, class T>
static __device__ inline void online_sum(size_t V, const T *z, T *row, float *top, float *sum)
{
    for (size_t c = (size_t)threadIdx.x * W; c < V; c += (size_t)blockDim.x * W) {
        Pack<W> v = load<W>(z + c);
        if (row) store(row + c, v);
        float most = *top, part = 0;
        for (int i = 0; i < W; i++) most = fmaxf(most, v.x[i]);
        for (int i = 0; i < W; i++) part += expf(v.x[i] - most);
        *sum = (*sum != 0 ? *sum * expf(*top - most) : 0) + part;
        *top = most;
    }
}

static __device__ inline float block_max(float x, float *room)
{
    x = warp_max(x);
    __syncthreads(); /* room may still be read */
    if (threadIdx.x % WARP == 0) room[threadIdx.x / WARP] = x;
    __syncthreads();
    for (int w = 0; w < (int)blockDim.x / WARP; w++) x = fmaxf(x, room[w]);
    return x;
}

/* Returns the sum of z - top over a row; all threads call it and get it. */
template <int W, class T>
static __device__ inline double sum_below(size_t V, const T *z, float top, double *room)
{
    double sum = 0;
    for (size_t c = (size_t)threadIdx.x * W; c < V; c += (size_t)blockDim.x * W) {
        Pack<W> v = load<W>(z + c);
        for (int i = 0; i < W; i++) sum += (double)(v.x[i] - top);
    }
    return block_sum(sum, room);
}

/* Computes cross-entropy; a block has a row: nll = Q log sum e^(z - top) - sum q (z - top); dz = grad (Q softmax -
 * q). rest: Q without a target. kept: 1: the row is read once and waits in shared memory, where a thread reads only what
 * it wrote. */
template <int W, class T>
static __global__ void cross_entropy_kernel(size_t V, const T *z_, const int32_t *target, Labels q,
                                            double rest, const double *factor, T *dz_, float *nll,
                                            int kept)
{
    CUDA_BEGIN();
    __shared__ double sums[SLOTS];
    __shared__ float tops[SLOTS];
    CUDA_DYNAMIC(float4, loss_row);
    const T *z = z_ + blockIdx.x * V;
    T *dz = dz_ + blockIdx.x * V, *row = kept ? (T *)loss_row : NULL;
    float top = -INFINITY, part = 0;
    int32_t t = target[blockIdx.x];
    if (t == FILLER) { /* true for all threads of the block */
        Pack<W> none;
        for (int i = 0; i < W; i++) none.x[i] = 0;
        if (threadIdx.x == 0) nll[blockIdx.x] = 0;
        for (size_t k = (size_t)threadIdx.x * W; factor && k < V; k += (size_t)blockDim.x * W)
            store(dz + k, none);
        return;
    }
    online_sum<W>(V, z, row, &top, &part);
    if (!row) row = (T *)z;
    float all = block_max(top, tops);
    double at = q.hit * ((double)load<1>(z + t).x[0] - (double)all);
    if (q.all != 0) at += q.all * sum_below<W>(V, row, all, sums);
    double mine = part != 0 ? (double)part * (double)expf(top - all) : 0;
    double sum = block_sum(mine, sums), weight = rest + q.hit;
    if (threadIdx.x == 0) nll[blockIdx.x] = (float)(weight * log(sum) - at);
    if (!factor) return;
    double grad = *factor;
    /* block_sum was a barrier: every thread has read what it needs of z */
    float c = (float)(grad * weight / sum), each = (float)(grad * q.all);
    float hit = (float)(grad * q.hit);
    for (size_t k = (size_t)threadIdx.x * W; k < V; k += (size_t)blockDim.x * W) {
        Pack<W> v = load<W>(row + k);
        for (int i = 0; i < W; i++) {
            size_t column = k + (size_t)i;
            v.x[i] = c * expf(v.x[i] - all) - each;
            if (column == (size_t)t) v.x[i] -= hit;
        }
        store(dz + k, v);
    }
}

/* Launches the kernel for numbers of type T. */
template <class T>
static void cross_entropy_of(size_t N, size_t V, const void *z_, const int32_t *target, Labels q,
                             const double *grad, void *dz_, void *nll, CALLER)
{
    enum { MOST = 47 << 10 }; /* bytes of shared memory that a block may have, less the sums */
    const T *z = (const T *)z_;
    T *dz = (T *)dz_;
    size_t bytes = grad || q.all != 0 ? V * sizeof(T) : 0;
    if (bytes > MOST) bytes = 0;
    double rest = q.all * (double)V;
    if (wide(V, z, dz))
        RUN_FOR(where, (cross_entropy_kernel<4, T>), N, lanes_for(V, 4), bytes, V, z, target, q,
                rest, grad, dz, (float *)nll, bytes > 0);
    else
        RUN_FOR(where, (cross_entropy_kernel<1, T>), N, lanes_for(V, 1), bytes, V, z, target, q,
                rest, grad, dz, (float *)nll, bytes > 0);
}

static void cuda_cross_entropy(size_t N, size_t V, const void *z, const int32_t *target, Labels q,
                               const double *grad, void *dz, void *nll)
{
    if (!NUMBERS(nll) || !same_form(__func__, z, dz)) return;
    if (is_factor(z))
        cross_entropy_of<uint16_t>(N, V, z, target, q, grad, dz, nll);
    else
        cross_entropy_of<float>(N, V, z, target, q, grad, dz, nll);
}

/* ---- results of a step -------------------------------------------------------------------------- */

static __device__ inline void not_finite(Step *s, uint64_t fault)
{
    if (s->fault) return;
    s->fault_step = s->step;
    s->fault = fault;
}

struct LossSum {
    const float *nll;
    Step *s;
    __device__ double at(size_t i) const
    {
        return (double)nll[i];
    }
    __device__ void end(double sum) const
    {
        s->loss += sum;
        if (!isfinite(sum)) not_finite(s, FAULT_LOSS);
    }
};

static void cuda_loss(size_t N, const void *nll, Step *s)
{
    if (!NUMBERS(nll)) return;
    sum_all(N, LossSum{(const float *)nll, s});
}

struct SquareSum {
    const float *g;
    Step *s;
    __device__ double at(size_t i) const
    {
        return (double)g[i] * (double)g[i];
    }
    __device__ void end(double sum) const
    {
        s->norm = sqrt(sum);
        if (!isfinite(s->norm)) not_finite(s, FAULT_NORM);
    }
};

static void cuda_norm2(size_t n, const void *g, Step *s)
{
    if (!NUMBERS(g)) return;
    sum_all(n, SquareSum{(const float *)g, s});
}

#endif
