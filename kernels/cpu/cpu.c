/* cpu.c: the backend of the processor. The Makefile compiles this file for each precision and instruction
 * set of processor.h; each object exports one table, as cpu_f32_v2, and backend.c chooses. Those of bf16
 * are f32 in all but their matrix product.
 *
 * OpenMP threads get rows, heads or panels of a matrix in a fixed way and every sum has a fixed order, so
 * a result is a function of the input and the number of threads. No kernel allocates: each thread has a
 * tile on its stack.
 *
 * In reading order: cpu_math.h (type, exponential, sums), cpu_product.h and cpu_bf16.h (matrix products),
 * cpu_drop.h (Philox, dropout, activations), cpu_norm.h, cpu_linear.h (combinations, gates),
 * cpu_attention.h, cpu_loss.h (embedding, cross-entropy), cpu_decode.h, and here memory, Adam.
 */
#include "kernels/cpu/cpu_attention.h"
#include "kernels/cpu/cpu_decode.h"
#include "kernels/cpu/cpu_drop.h"
#include "kernels/cpu/cpu_linear.h"
#include "kernels/cpu/cpu_loss.h"
#include "kernels/cpu/cpu_math.h"
#include "kernels/cpu/cpu_norm.h"
#include "kernels/cpu/cpu_product.h"
#include "kernels/base/memory.h"
#include "kernels/base/plain_text.h"
#include "kernels/processor.h"
#ifdef PRECISION_bf16
#include "kernels/cpu/cpu_bf16.h"
#define GEMM_OF_TABLE bf16_gemm
#define GEMM_EPS 0x1p-8 /* two factors, each exact to 2^-9 */
#else
#define GEMM_OF_TABLE cpu_gemm
#define GEMM_EPS (sizeof(real) == 4 ? 0x1p-24 : 0x1p-53)
#endif

static void *cpu_alloc(size_t n)
{
    return memory_new(n, sizeof(real));
}

static void cpu_release(void *p)
{
    memory_free(p);
}

static void cpu_put(void *x, const double *host, size_t n)
{
    for (size_t i = 0; i < n; i++) ((real *)x)[i] = (real)host[i];
}

static void cpu_get(double *host, const void *x, size_t n)
{
    for (size_t i = 0; i < n; i++) host[i] = (double)((const real *)x)[i];
}

static void cpu_send(void *x, const void *host, size_t bytes)
{
    if (bytes) memcpy(x, host, bytes);
}

static int cpu_wait(void)
{
    return 0;
}

static void cpu_fill(void *x, double value, size_t n)
{
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++) ((real *)x)[i] = (real)value;
}

static void cpu_clear(void *x, size_t count, const size_t *window, size_t total)
{
    (void)total;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++)
        memset((real *)x + window[2 * i], 0, (window[2 * i + 1] - window[2 * i]) * sizeof(real));
}

static void cpu_copy(void *y, const void *x, size_t n)
{
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++) ((real *)y)[i] = ((const real *)x)[i];
}

/* A step of Adam: m, v running means of g, g^2, unbiased when divided by 1 - beta^step. */
static void cpu_adam(size_t n, void *p_, const void *g_, void *m_, void *v_, double beta1,
                     double beta2, double eps, double clip, double decay, const Step *s)
{
    if (s->fault) return;
    real *restrict p = p_, *restrict m = m_, *restrict v = v_;
    const real *restrict g = g_;
    real b1 = (real)beta1, b2 = (real)beta2, a1 = (real)(1 - beta1), a2 = (real)(1 - beta2);
    real move = (real)(s->rate / (1 - pow(beta1, (double)s->step)));
    real unbias = (real)(1 / (1 - pow(beta2, (double)s->step)));
    real shrink = (real)(s->rate * decay);
    real e = (real)eps, scale = (real)(clip > 0 && s->norm > clip ? clip / s->norm : 1);
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++) {
        real gi = scale * g[i];
        m[i] = b1 * m[i] + a1 * gi;
        v[i] = b2 * v[i] + a2 * gi * gi;
        p[i] -= move * m[i] / (SQRT(v[i] * unbias) + e) + shrink * p[i];
    }
}

static void cpu_norm2(size_t n, const void *g, Step *s)
{
    const real *x = g;
    int panels = panels_of(n);
    double total = 0;
#pragma omp parallel for ordered schedule(static, 1)
    for (int t = 0; t < panels; t++) {
        Range r = range_of(n, t, panels);
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t i = r.lo; i < r.hi; i++) sum += (double)x[i] * (double)x[i];
#pragma omp ordered
        total += sum;
    }
    s->norm = sqrt(total);
    if (!isfinite(s->norm)) not_finite(s, FAULT_NORM);
}

static size_t cpu_logit_rows(size_t V, size_t D, size_t bytes)
{
    (void)D, (void)bytes;
    size_t rows = (1 << 23) / V;
    return rows < LOGIT_LEAST ? LOGIT_LEAST : least(512, rows);
}

static void cpu_linear(size_t m, size_t n, size_t k, const void *A, const void *W, const void *b,
                       void *C)
{
    static const Dropout none = {0};
    GEMM_OF_TABLE(0, 1, m, n, k, 1, A, k, W, k, 0, C, n);
    cpu_bias_drop(m, n, C, b, none);
}

/* The Makefile's PRECISION: f32, f64 or bf16. */
#define JOIN_(a, b, c) a##_##b##_##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define TABLE JOIN(cpu, PRECISION, KERNEL)

extern const Backend TABLE;
const Backend TABLE = {
    .name = "cpu-" TEXT(PRECISION),
    .kernel = PROCESSOR TEXT(KERNEL),
    .size = sizeof(real),
    .eps = GEMM_EPS,
    .logit_rows = cpu_logit_rows,
    .wait = cpu_wait,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .put = cpu_put,
    .get = cpu_get,
    .send = cpu_send,
    .receive = cpu_send,
    BACKEND_KERNELS(cpu_, GEMM_OF_TABLE, cpu_linear, cpu_attention, cpu_attention_back),
};
