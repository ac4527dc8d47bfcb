/* cuda_adam.cuh: Adam over all tensors in one launch, and their twins in bf16; copy, fill, clear. Part of cuda.cu.
 * Formulas: cpu.c. */
#ifndef TROTTER_CUDA_ADAM_CUH
#define TROTTER_CUDA_ADAM_CUH

#include "kernels/cuda/cuda_rows.cuh"

/* Numbers of a step of Adam that the host knows. */
typedef struct {
    double beta1, beta2, eps, clip, decay;
} Decay;

/* The numbers of this step. */
typedef struct {
    float b1, b2, a1, a2, move, shrink, unbias, e, scale;
} Rates;

static __device__ inline Rates rates_of(const Decay *d, const Step *s)
{
    Rates r;
    r.b1 = (float)d->beta1, r.a1 = (float)(1 - d->beta1);
    r.b2 = (float)d->beta2, r.a2 = (float)(1 - d->beta2);
    r.move = (float)(s->rate / (1 - pow(d->beta1, (double)s->step)));
    r.shrink = (float)(s->rate * d->decay);
    r.unbias = (float)(1 / (1 - pow(d->beta2, (double)s->step)));
    r.e = (float)d->eps;
    r.scale = (float)(d->clip > 0 && s->norm > d->clip ? d->clip / s->norm : 1);
    return r;
}

template <int W>
static __device__ inline void adam_at(size_t i, const Rates *r, float *p_, const float *g_,
                                      float *m_, float *v_, uint16_t *twin)
{
    Pack<W> p = load<W>(p_ + i), g = load<W>(g_ + i), m = load<W>(m_ + i), v = load<W>(v_ + i);
    for (int k = 0; k < W; k++) {
        float gk = r->scale * g.x[k];
        m.x[k] = r->b1 * m.x[k] + r->a1 * gk;
        v.x[k] = r->b2 * v.x[k] + r->a2 * gk * gk;
        p.x[k] -= r->move * m.x[k] / (sqrtf(v.x[k] * r->unbias) + r->e) + r->shrink * p.x[k];
    }
    store(p_ + i, p);
    if (twin) bf16_store<W>(twin + i, p);
    store(m_ + i, m);
    store(v_ + i, v);
}

/* Runs Adam. The powers in double are computed once a block. */
static __global__ void adam_kernel(size_t n, int w, float *p, const float *g, float *m, float *v,
                                   uint16_t *twin, Decay d, const Step *s)
{
    CUDA_BEGIN();
    __shared__ Rates rates;
    if (s->fault) return;
    if (threadIdx.x == 0) rates = rates_of(&d, s);
    __syncthreads();
    Rates r = rates;
    size_t threads = (size_t)gridDim.x * blockDim.x;
    size_t t = (size_t)blockIdx.x * blockDim.x + threadIdx.x, whole = w ? n / 4 * 4 : 0;
    for (size_t i = 4 * t; i < whole; i += 4 * threads) adam_at<4>(i, &r, p, g, m, v, twin);
    for (size_t i = whole + t; i < n; i += threads) adam_at<1>(i, &r, p, g, m, v, twin);
}

static void cuda_adam(size_t n, void *p, const void *g, void *m, void *v, double beta1,
                      double beta2, double eps, double clip, double decay, const Step *s)
{
    if (!NUMBERS(p, g, m, v)) return;
    size_t left;
    uint16_t *twin = twin_find(p, &left);
    int w = wide(0, p, g, m, v) && (uintptr_t)twin % 8 == 0;
    Decay d = {beta1, beta2, eps, clip, decay};
    RUN(adam_kernel, flat_blocks(w ? n / 4 + 1 : n), BLOCK_THREADS, 0, n, w, (float *)p,
        (const float *)g, (float *)m, (float *)v, twin, d, s);
}

struct Fill {
    float *x, value;
    __device__ void begin() {}
    template <int W> __device__ void at(size_t, size_t i) const
    {
        Pack<W> v;
        for (int k = 0; k < W; k++) v.x[k] = value;
        store(x + i, v);
    }
};

static void cuda_fill(void *x, double value, size_t n)
{
    if (!NUMBERS(x)) return;
    if (value != 0)
        each_flat(n, wide(0, x), Fill{(float *)x, (float)value});
    else if (n && cuda.failed == cudaSuccess) {
        cuda_check(cudaMemsetAsync(x, 0, n * sizeof(float), cuda_stream()), __func__);
        cuda_lap(__func__);
    }
    twin_written(x, n * sizeof(float));
}

/* A block has a window. */
static __global__ void clear_kernel(float *x, const size_t *window)
{
    CUDA_BEGIN();
    for (size_t i = window[2 * blockIdx.x] + threadIdx.x; i < window[2 * blockIdx.x + 1];
         i += blockDim.x)
        x[i] = 0;
}

static void cuda_clear(void *x, size_t count, const size_t *window, size_t)
{
    if (!NUMBERS(x)) return;
    RUN(clear_kernel, count, BLOCK_THREADS, 0, (float *)x, window);
}

static void cuda_copy(void *y, const void *x, size_t n)
{
    if (factor_copy(y, x, n)) return;
    if (n && cuda.failed == cudaSuccess) {
        cuda_check(
            cudaMemcpyAsync(y, x, n * sizeof(float), cudaMemcpyDeviceToDevice, cuda_stream()),
            __func__);
        cuda_lap(__func__);
    }
    twin_written(y, n * sizeof(float));
}

#endif
