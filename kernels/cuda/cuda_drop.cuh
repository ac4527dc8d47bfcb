/* cuda_drop.cuh: the elementwise kernels around a linear layer: bias, activation, dropout. Part of
 * cuda.cu. Formulas: cpu_drop.h. */
#ifndef TROTTER_CUDA_DROP_CUH
#define TROTTER_CUDA_DROP_CUH

#include "kernels/cuda/cuda_linear.cuh"
#include "kernels/cuda/cuda_factor.cuh"

/* x = (x + b) keep */
struct BiasDrop {
    size_t D;
    float *x;
    const float *b;
    Keep keep;
    __device__ void begin()
    {
        keep_begin(&keep);
    }
    template <int W> __device__ void at(size_t r, size_t c) const
    {
        Pack<W> v = load<W>(x + r * D + c), bias = load<W>(b + c),
                k = keep_pack<W>(&keep, r * D + c);
        for (int i = 0; i < W; i++) v.x[i] = (v.x[i] + bias.x[i]) * k.x[i];
        store(x + r * D + c, v);
    }
};

static void cuda_bias_drop(size_t N, size_t D, void *x, const void *b, Dropout drop)
{
    each_row(N, D, wide(D, x, b), BiasDrop{D, (float *)x, (const float *)b, keep_of(&drop)});
}

/* dx = keep times the sum of terms, and its column sums. Without `written` dx holds the result already. */
struct DropBack {
    enum { SUMS = 1 };
    size_t D;
    Keep keep;
    Out dx;
    size_t written;
    /* Last member: g++ clears the wrong padding behind a list, and the stand-in checks it. */
    Terms terms;
    __device__ void begin() {} /* writing to a member would copy all terms to local memory */
    template <int W> __device__ void at(size_t r, size_t c, Pack<W> *sum) const
    {
        Keep here = keep;
        keep_begin(&here);
        Pack<W> v = terms_at<W>(&terms, r, r * D + c), k = keep_pack<W>(&here, r * D + c);
        for (int i = 0; i < W; i++) {
            v.x[i] *= k.x[i];
            sum->x[i] += v.x[i];
        }
        if (written) store(dx, r * D + c, v);
    }
};

static void cuda_bias_drop_back(size_t N, size_t D, size_t n, const LinTerm *term, Dropout drop,
                                void *dx, void *db)
{
    Terms t = terms_of(n, term);
    Keep keep = keep_of(&drop);
    int same = n == 1 && t.term[0].x == dx && t.term[0].c == 1 && t.term[0].factors == 0;
    sum_columns(N, D, wide(D, dx) && terms_wide(&t),
                DropBack{D, keep, out_of(dx), (size_t)(keep.on || !same), t},
                Targets<1>{{(float *)db}});
}

/* ---- activations -------------------------------------------------------------------------------- */

static __device__ inline float gelu_sigmoid(float u)
{
    return 1 / (1 + expf(-1.59576912160573071176f * (u + 0.044715f * u * u * u)));
}

static __device__ inline float gelu_slope(float u)
{
    float s = gelu_sigmoid(u);
    return s + u * s * (1 - s) * 1.59576912160573071176f * (1 + 3 * 0.044715f * u * u);
}

/* Returns Phi(u), the normal distribution's. */
static __device__ inline float normal_below(float u)
{
    return 0.5f * (1 + erff(u * 0.70710678118654752440f));
}

static __device__ inline float act_value(int act, float z)
{
    return act == ACT_GELU   ? z * gelu_sigmoid(z)
           : act == ACT_ERF  ? z * normal_below(z)
           : act == ACT_TANH ? tanhf(z)
           : z < 0           ? 0
                             : z;
}

/* y = act(u + b) keep; all but ReLU leave u + b in u. */
struct BiasAct {
    size_t M;
    int act;
    float *u;
    Out y;
    const float *b;
    Keep keep;
    __device__ void begin()
    {
        keep_begin(&keep);
    }
    template <int W> __device__ void at(size_t r, size_t c) const
    {
        Pack<W> v = load<W>(u + r * M + c), bias = load<W>(b + c),
                k = keep_pack<W>(&keep, r * M + c);
        for (int i = 0; i < W; i++) v.x[i] += bias.x[i];
        if (act != ACT_RELU) store(u + r * M + c, v);
        for (int i = 0; i < W; i++) v.x[i] = act_value(act, v.x[i]) * k.x[i];
        store(y, r * M + c, v);
    }
};

static void cuda_bias_act(size_t N, size_t M, void *u, const void *b, int act, Dropout drop,
                          void *y)
{
    each_row(N, M, wide(M, u, b, y),
             BiasAct{M, act, (float *)u, out_of(y), (const float *)b, keep_of(&drop)});
}

/* Returns the slope at u + b; for ReLU, from y, whether it is above 0. */
static __device__ inline float act_slope(int act, float x)
{
    if (act == ACT_RELU) return x > 0;
    if (act == ACT_GELU) return gelu_slope(x);
    if (act == ACT_ERF) return normal_below(x) + x * expf(-0.5f * x * x) * 0.39894228040143267794f;
    float t = tanhf(x);
    return 1 - t * t;
}

/* du = dy keep act'(u), and its column sums; x is y of ReLU, u of the others. ReLU draws no mask: y > 0 exactly where u
 * + b was > 0 and was kept; its `scale` is the factor of what was kept. */
struct ActBack {
    enum { SUMS = 1 };
    size_t M;
    int act;
    float scale;
    In x;
    const float *dy;
    Out du;
    Keep keep;
    __device__ void begin()
    {
        keep_begin(&keep);
    }
    template <int W> __device__ void at(size_t r, size_t c, Pack<W> *sum) const
    {
        Pack<W> v = load<W>(dy + r * M + c), a = load<W>(x, r * M + c);
        Pack<W> k = keep_pack<W>(&keep, r * M + c);
        for (int i = 0; i < W; i++) {
            v.x[i] *= scale * k.x[i] * act_slope(act, a.x[i]);
            sum->x[i] += v.x[i];
        }
        store(du, r * M + c, v);
    }
};

static void cuda_bias_act_back(size_t N, size_t M, const void *u, const void *y, int act,
                               Dropout drop, const void *dy, void *du, void *db)
{
    int relu = act == ACT_RELU;
    const void *x = relu ? y : u;
    float scale = relu ? (float)(1 / (1 - drop.rate)) : 1;
    if (relu) drop.rate = 0;
    sum_columns(N, M, wide(M, x, dy, du),
                ActBack{M, act, scale, in_of(x), (const float *)dy, out_of(du), keep_of(&drop)},
                Targets<1>{{(float *)db}});
}

#endif
