/* cuda_gate.cuh: gates, one learned number a row. Part of cuda.cu. Formulas: cpu_linear.h. Gates are
 * few numbers, so the activation is in double. */
#ifndef TROTTER_CUDA_GATE_CUH
#define TROTTER_CUDA_GATE_CUH

#include "kernels/cuda/cuda_rows.cuh"

enum { GATE_INPUTS = 64 };

/* Some of a gate's inputs, as an argument of kernels. */
typedef struct {
    int n;
    const float *x[GATE_INPUTS];
    float *dx[GATE_INPUTS];
} Inputs;

static Inputs inputs_of(size_t n, const void *const *x, void *const *dx, CALLER)
{
    Inputs in = {};
    in.n = (int)n;
    for (size_t i = 0; i < n; i++) {
        (void)numbers_in(where, x ? x[i] : NULL, dx ? dx[i] : NULL);
        in.x[i] = x ? (const float *)x[i] : NULL;
        in.dx[i] = dx ? (float *)dx[i] : NULL;
    }
    return in;
}

static __device__ inline double gate_value(int act, double z)
{
    return act == ACT_SIGMOID ? 1 / (1 + exp(-z)) : tanh(z);
}

/* Returns dg times the slope where the gate is g. */
static __device__ inline float gate_dz(int act, float g, float dg)
{
    double v = (double)g;
    return (float)((double)dg * (act == ACT_SIGMOID ? v * (1 - v) : 1 - v * v));
}

/* Computes a gate, a block a row. first: from b, else from g; last: ends with the activation. */
static __global__ void gate_kernel(size_t D, Inputs in, const float *w, const float *b, int act,
                                   int first, int last, float *g)
{
    CUDA_BEGIN();
    __shared__ float room[SLOTS];
    size_t row = blockIdx.x;
    double z = (double)(first ? *b : g[row]);
    for (int i = 0; i < in.n; i++) {
        float dot = 0;
        for (size_t c = threadIdx.x; c < D; c += blockDim.x)
            dot += w[(size_t)i * D + c] * in.x[i][row * D + c];
        z += (double)block_sum(dot, room);
    }
    __syncthreads(); /* all threads have read g */
    if (threadIdx.x == 0) g[row] = (float)(last ? gate_value(act, z) : z);
}

static void cuda_gate(size_t N, size_t D, size_t n, const void *const *x, const void *w_,
                      const void *b, int act, void *g)
{
    if (!NUMBERS(w_, b, g)) return;
    const float *w = (const float *)w_;
    for (size_t i = 0; i == 0 || i < n; i += GATE_INPUTS) {
        size_t count = least(n - i, GATE_INPUTS);
        Inputs in = inputs_of(count, x + i, NULL);
        RUN(gate_kernel, N, lanes_for(D, 1), 0, D, in, w + i * D, (const float *)b, act, i == 0,
            i + count == n, (float *)g);
    }
}

/* dx_i += dz w_i, in order, because two may be the same. */
struct GateBack {
    size_t D;
    Inputs in;
    const float *w;
    int act;
    const float *g, *dg;
    __device__ void begin() {}
    template <int W> __device__ void at(size_t r, size_t c) const
    {
        float dz = gate_dz(act, g[r], dg[r]);
        for (int i = 0; i < in.n; i++) {
            if (!in.dx[i]) continue;
            Pack<W> d = load<W>(in.dx[i] + r * D + c), wi = load<W>(w + (size_t)i * D + c);
            for (int k = 0; k < W; k++) d.x[k] += dz * wi.x[k];
            store(in.dx[i] + r * D + c, d);
        }
    }
};

/* dw_i = sum over rows of dz x_i; without x the bias's sum, as if x were 1. */
struct GateSums {
    enum { SUMS = 1 };
    size_t D;
    const float *x;
    int act;
    const float *g, *dg;
    __device__ void begin() {}
    template <int W> __device__ void at(size_t r, size_t c, Pack<W> *sum) const
    {
        float dz = gate_dz(act, g[r], dg[r]);
        Pack<W> v;
        for (int k = 0; k < W; k++) v.x[k] = 1;
        if (x) v = load<W>(x + r * D + c);
        for (int k = 0; k < W; k++) sum->x[k] += dz * v.x[k];
    }
};

static void cuda_gate_back(size_t N, size_t D, size_t n, const void *const *x, const void *w_,
                           int act, const void *g_, const void *dg_, void *const *dx, void *dw,
                           void *db)
{
    if (!NUMBERS(w_, g_, dg_, dw, db)) return;
    const float *w = (const float *)w_, *g = (const float *)g_, *dg = (const float *)dg_;
    for (size_t i = 0; dx && i < n; i += GATE_INPUTS) {
        size_t count = least(n - i, GATE_INPUTS);
        Inputs in = inputs_of(count, NULL, dx + i);
        int w4 = wide(D, w);
        for (int k = 0; k < in.n; k++) w4 = w4 && wide(0, in.dx[k]);
        each_row(N, D, w4, GateBack{D, in, w + i * D, act, g, dg});
    }
    for (size_t i = 0; dw && i < n; i++) {
        if (!NUMBERS(x[i])) return;
        sum_columns(N, D, wide(D, x[i]), GateSums{D, (const float *)x[i], act, g, dg},
                    Targets<1>{{(float *)dw + i * D}});
    }
    if (db) sum_columns(N, 1, 0, GateSums{1, NULL, act, g, dg}, Targets<1>{{(float *)db}});
}

#endif
