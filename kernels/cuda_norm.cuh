/* cuda_norm.cuh: layer norm by rows, forward and backward. Part of cuda.cu. Formulas: cpu_norm.h. A
 * block, as wide as the row asks for, has one row. */
#ifndef TROTTER_CUDA_NORM_CUH
#define TROTTER_CUDA_NORM_CUH

#include "kernels/cuda_rows.cuh"

#define NORM_EPS 1e-5f

template <int W>
static __global__ void norm_kernel(size_t D, const float *x, const float *w, const float *b,
                                   float *y, float *stats)
{
    __shared__ float room[SLOTS];
    const float *xr = x + blockIdx.x * D;
    size_t c0 = (size_t)threadIdx.x * W, step = (size_t)blockDim.x * W;
    float sum = 0, square = 0;
    for (size_t c = c0; c < D; c += step) {
        Pack<W> v = load<W>(xr + c);
        for (int i = 0; i < W; i++) sum += v.x[i];
    }
    float mean = block_sum(sum, room) / (float)D;
    for (size_t c = c0; c < D; c += step) {
        Pack<W> v = load<W>(xr + c);
        for (int i = 0; i < W; i++) square += (v.x[i] - mean) * (v.x[i] - mean);
    }
    float rstd = 1 / sqrtf(block_sum(square, room) / (float)D + NORM_EPS);
    for (size_t c = c0; c < D; c += step) {
        Pack<W> v = load<W>(xr + c), scale = load<W>(w + c), shift = load<W>(b + c);
        for (int i = 0; i < W; i++) v.x[i] = (v.x[i] - mean) * rstd * scale.x[i] + shift.x[i];
        store(y + blockIdx.x * D + c, v);
    }
    if (threadIdx.x == 0) stats[2 * blockIdx.x] = mean, stats[2 * blockIdx.x + 1] = rstd;
}

static void cuda_norm(size_t N, size_t D, const void *x, const void *w, const void *b, void *y,
                      void *stats)
{
    if (wide(D, x, w, b, y))
        RUN((norm_kernel<4>), N, lanes_for(D, 4), 0, D, (const float *)x, (const float *)w,
            (const float *)b, (float *)y, (float *)stats);
    else
        RUN((norm_kernel<1>), N, lanes_for(D, 1), 0, D, (const float *)x, (const float *)w,
            (const float *)b, (float *)y, (float *)stats);
}

template <int W>
static __global__ void norm_back_kernel(size_t D, const float *x, const float *w,
                                        const float *stats, const float *dy, float *dx)
{
    __shared__ float room[SLOTS];
    size_t row = blockIdx.x * D;
    size_t c0 = (size_t)threadIdx.x * W, step = (size_t)blockDim.x * W;
    float mean = stats[2 * blockIdx.x], rstd = stats[2 * blockIdx.x + 1], s = 0, sx = 0;
    for (size_t c = c0; c < D; c += step) {
        Pack<W> v = load<W>(x + row + c), scale = load<W>(w + c), d = load<W>(dy + row + c);
        for (int i = 0; i < W; i++) {
            s += d.x[i] * scale.x[i];
            sx += d.x[i] * scale.x[i] * (v.x[i] - mean);
        }
    }
    s = block_sum(s, room) / (float)D;
    sx = block_sum(sx, room) * (rstd * rstd / (float)D);
    for (size_t c = c0; c < D; c += step) {
        Pack<W> v = load<W>(x + row + c), scale = load<W>(w + c), d = load<W>(dy + row + c);
        Pack<W> g = load<W>(dx + row + c);
        for (int i = 0; i < W; i++)
            g.x[i] += rstd * (d.x[i] * scale.x[i] - s - (v.x[i] - mean) * sx);
        store(dx + row + c, g);
    }
}

/* dw, db */
struct NormSums {
    enum { SUMS = 2 };
    size_t D;
    const float *x, *stats, *dy;
    __device__ void begin() {}
    template <int W> __device__ void at(size_t r, size_t c, Pack<W> *sum) const
    {
        Pack<W> v = load<W>(x + r * D + c), d = load<W>(dy + r * D + c);
        float mean = stats[2 * r], rstd = stats[2 * r + 1];
        for (int i = 0; i < W; i++) {
            sum[0].x[i] += d.x[i] * (v.x[i] - mean) * rstd;
            sum[1].x[i] += d.x[i];
        }
    }
};

static void cuda_norm_back(size_t N, size_t D, const void *x_, const void *w_, const void *stats_,
                           const void *dy_, void *dx_, void *dw, void *db)
{
    const float *x = (const float *)x_, *w = (const float *)w_, *stats = (const float *)stats_;
    const float *dy = (const float *)dy_;
    float *dx = (float *)dx_;
    if (dx && wide(D, x, w, dy, dx))
        RUN((norm_back_kernel<4>), N, lanes_for(D, 4), 0, D, x, w, stats, dy, dx);
    else if (dx)
        RUN((norm_back_kernel<1>), N, lanes_for(D, 1), 0, D, x, w, stats, dy, dx);
    if (dw || db)
        sum_columns(N, D, wide(D, x, dy), NormSums{D, x, stats, dy},
                    Targets<2>{{(float *)dw, (float *)db}});
}

#endif
