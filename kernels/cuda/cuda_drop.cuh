/* cuda_drop.cuh: the elementwise kernels around a linear layer: bias, activation, dropout. Part of
 * cuda.cu. Formulas: cpu_drop.h. */
#ifndef TROTTER_CUDA_DROP_CUH
#define TROTTER_CUDA_DROP_CUH

#include "kernels/cuda/cuda_linear.cuh"
#include "kernels/cuda/cuda_factor.cuh"

/* x = (x + b) keep */
struct BiasDrop {
    size_t D;
    Out x;
    const float *b;
    Keep keep;
    __device__ void begin()
    {
        keep_begin(&keep);
    }
    template <int W> __device__ void at(size_t r, size_t c) const
    {
        Pack<W> v = load<W>(x, r * D + c), bias = load<W>(b + c),
                k = keep_pack<W>(&keep, r * D + c);
        for (int i = 0; i < W; i++) v.x[i] = (v.x[i] + bias.x[i]) * k.x[i];
        store(x, r * D + c, v);
    }
};

static void cuda_bias_drop(size_t N, size_t D, void *x, const void *b, Dropout drop)
{
    if (!NUMBERS(b)) return;
    each_row(N, D, wide(D, x, b), BiasDrop{D, out_of(x), (const float *)b, keep_of(&drop)});
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
    if (!NUMBERS(db)) return;
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
    return act == ACT_GELU || act == ACT_GEGLU ? z * gelu_sigmoid(z)
           : act == ACT_SWIGLU                 ? z / (1 + expf(-z))
           : act == ACT_ERF                    ? z * normal_below(z)
           : act == ACT_TANH                   ? tanhf(z)
           : z < 0                             ? 0
                                               : z;
}

/* y = act(u + b) keep; all but ReLU leave u + b in u. */
struct BiasAct {
    size_t M;
    int act;
    Out u, y;
    const float *b;
    Keep keep;
    __device__ void begin()
    {
        keep_begin(&keep);
    }
    template <int W> __device__ void at(size_t r, size_t c) const
    {
        Pack<W> v = load<W>(u, r * M + c), bias = load<W>(b + c),
                k = keep_pack<W>(&keep, r * M + c);
        for (int i = 0; i < W; i++) v.x[i] += bias.x[i];
        if (act != ACT_RELU) store(u, r * M + c, v);
        for (int i = 0; i < W; i++) v.x[i] = act_value(act, v.x[i]) * k.x[i];
        store(y, r * M + c, v);
    }
};

/* y = act(u + b) (v + c) keep, of a gated activation: u and v stand in a row, and so do b and c. */
struct GatedAct {
    size_t M;
    int act;
    Out u, y;
    const float *b;
    Keep keep;
    __device__ void begin()
    {
        keep_begin(&keep);
    }
    template <int W> __device__ void at(size_t r, size_t c) const
    {
        size_t at = 2 * r * M + c;
        Pack<W> x = load<W>(u, at), v = load<W>(u, at + M), bias = load<W>(b + c),
                more = load<W>(b + M + c), k = keep_pack<W>(&keep, r * M + c);
        for (int i = 0; i < W; i++) x.x[i] += bias.x[i], v.x[i] += more.x[i];
        store(u, at, x);
        store(u, at + M, v);
        for (int i = 0; i < W; i++) v.x[i] *= act_value(act, x.x[i]) * k.x[i];
        store(y, r * M + c, v);
    }
};

static void cuda_bias_act(size_t N, size_t M, void *u, const void *b, int act, Dropout drop,
                          void *y)
{
    if (!NUMBERS(b)) return;
    if (act_gated(act)) {
        each_row(N, M, wide(M, u, b, y),
                 GatedAct{M, act, out_of(u), out_of(y), (const float *)b, keep_of(&drop)});
        return;
    }
    each_row(N, M, wide(M, u, b, y),
             BiasAct{M, act, out_of(u), out_of(y), (const float *)b, keep_of(&drop)});
}

/* Returns the slope at u + b; for ReLU, from y, whether it is above 0. */
static __device__ inline float act_slope(int act, float x)
{
    if (act == ACT_RELU) return x > 0;
    if (act == ACT_GELU || act == ACT_GEGLU) return gelu_slope(x);
    if (act == ACT_SWIGLU) {
        float s = 1 / (1 + expf(-x));
        return s + x * s * (1 - s);
    }
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
    In x, dy;
    Out du;
    Keep keep;
    __device__ void begin()
    {
        keep_begin(&keep);
    }
    template <int W> __device__ void at(size_t r, size_t c, Pack<W> *sum) const
    {
        Pack<W> v = load<W>(dy, r * M + c), a = load<W>(x, r * M + c);
        Pack<W> k = keep_pack<W>(&keep, r * M + c);
        for (int i = 0; i < W; i++) {
            v.x[i] *= scale * k.x[i] * act_slope(act, a.x[i]);
            sum->x[i] += v.x[i];
        }
        store(du, r * M + c, v);
    }
};

/* The adjoints of u and v of a gated activation, in a row, and their column sums. du may be u. */
struct GatedBack {
    enum { SUMS = 2 };
    size_t M;
    int act;
    In u, dy;
    Out du;
    Keep keep;
    __device__ void begin()
    {
        keep_begin(&keep);
    }
    template <int W> __device__ void at(size_t r, size_t c, Pack<W> *sum) const
    {
        size_t to = 2 * r * M + c;
        Pack<W> x = load<W>(u, to), v = load<W>(u, to + M), d = load<W>(dy, r * M + c);
        Pack<W> k = keep_pack<W>(&keep, r * M + c);
        for (int i = 0; i < W; i++) {
            float g = d.x[i] * k.x[i], value = act_value(act, x.x[i]);
            x.x[i] = g * v.x[i] * act_slope(act, x.x[i]);
            v.x[i] = g * value;
            sum[0].x[i] += x.x[i];
            sum[1].x[i] += v.x[i];
        }
        store(du, to, x);
        store(du, to + M, v);
    }
};

static void cuda_bias_act_back(size_t N, size_t M, const void *u, const void *y, int act,
                               Dropout drop, const void *dy, void *du, void *db)
{
    if (!NUMBERS(db)) return;
    if (act_gated(act)) {
        float *sums = (float *)db;
        sum_columns(N, M, wide(M, u, dy, du),
                    GatedBack{M, act, in_of(u), in_of(dy), out_of(du), keep_of(&drop)},
                    Targets<2>{{sums, sums ? sums + M : NULL}});
        return;
    }
    int relu = act == ACT_RELU;
    const void *x = relu ? y : u;
    float scale = relu ? (float)(1 / (1 - drop.rate)) : 1;
    if (relu) drop.rate = 0;
    sum_columns(N, M, wide(M, x, dy, du),
                ActBack{M, act, scale, in_of(x), in_of(dy), out_of(du), keep_of(&drop)},
                Targets<1>{{(float *)db}});
}

#endif
