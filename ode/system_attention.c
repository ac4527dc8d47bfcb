/* system_attention.c: the Transformer's own dynamics, with fixed seeded matrices.
 *
 *   F: y_i' = sum_j p_ij V y_j,  p_i = softmax_j(<Q y_i, K y_j> / sqrt(d))     no closed flow
 *   G: y_i' = W2 tanh(W1 y_i + b), W1 (m, d), W2 (d, m), m = 2 d               no closed flow
 *
 * Smooth, nonlinear in both parts, not commuting, without a symmetry or invariant: the default of
 * order studies. Entries N(0, g^2 / columns) with g near 1 keep the solution O(1) for t of order 1.
 * Source: Vaswani et al. 2017, eq. 1; Lu et al. 2019 (the layer as convection-diffusion).
 */
#include "ode/system.h"

#include <gsl/gsl_cblas.h>
#include <math.h>

typedef struct {
    double *Q, *K, *V;   /* (d, d) */
    double *W1, *b, *W2; /* (m, d), (m), (d, m) */
    double *q, *k, *v;   /* (n, d) scratch */
    double *p;           /* (n, max(n, m)) scratch: scores, then inner values */
} Weights;

static size_t inner(size_t d)
{
    return 2 * d;
}

static size_t params(size_t n, size_t d)
{
    size_t m = inner(d);
    return 3 * d * d + 2 * m * d + m + 3 * n * d + n * (n > m ? n : m);
}

static Weights weights(const System *s)
{
    size_t n = s->n, d = s->d, m = inner(d);
    Weights w = {.Q = s->param};
    w.K = w.Q + d * d;
    w.V = w.K + d * d;
    w.W1 = w.V + d * d;
    w.b = w.W1 + m * d;
    w.W2 = w.b + m;
    w.q = w.W2 + d * m;
    w.k = w.q + n * d;
    w.v = w.k + n * d;
    w.p = w.v + n * d;
    return w;
}

/* C (r, c) = alpha A (r, k) B^T, B (c, k). */
static void times_transposed(size_t r, size_t c, size_t k, double alpha, const double *A,
                             const double *B, double *C)
{
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)r, (int)c, (int)k, alpha, A, (int)k,
                B, (int)k, 0, C, (int)c);
}

/* Each row of p (n, n) becomes its softmax. */
static void softmax_rows(size_t n, double *p)
{
#pragma omp parallel for if (n >= 256)
    for (size_t i = 0; i < n; i++) {
        double *row = p + i * n, top = row[0], sum = 0;
        for (size_t j = 1; j < n; j++) top = row[j] > top ? row[j] : top;
        for (size_t j = 0; j < n; j++) sum += row[j] = exp(row[j] - top);
        for (size_t j = 0; j < n; j++) row[j] /= sum;
    }
}

static void attend(const System *s, int set, double t, const double *y, double *dy)
{
    size_t n = s->n, d = s->d;
    Weights w = weights(s);
    (void)set, (void)t;
    times_transposed(n, d, d, 1, y, w.Q, w.q);
    times_transposed(n, d, d, 1, y, w.K, w.k);
    times_transposed(n, d, d, 1, y, w.V, w.v);
    times_transposed(n, n, d, 1 / sqrt((double)d), w.q, w.k, w.p);
    softmax_rows(n, w.p);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)d, (int)n, 1, w.p, (int)n,
                w.v, (int)d, 0, dy, (int)d);
}

static void drift(const System *s, int set, double t, const double *y, double *dy)
{
    size_t n = s->n, d = s->d, m = inner(d);
    Weights w = weights(s);
    (void)set, (void)t;
    times_transposed(n, m, d, 1, y, w.W1, w.p);
#pragma omp parallel for if (n >= 256)
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < m; c++) w.p[i * m + c] = tanh(w.p[i * m + c] + w.b[c]);
    times_transposed(n, d, m, 1, w.p, w.W2, dy);
}

static void init(System *s, uint64_t seed)
{
    size_t n = s->n, d = s->d, m = inner(d);
    Weights w = weights(s);
    double by_d = 1 / sqrt((double)d), by_m = 1 / sqrt((double)m);
    system_normal(s->initial, n * d, 1, seed, STREAM_INITIAL);
    system_normal(w.Q, d * d, by_d, seed, STREAM_PARAM);
    system_normal(w.K, d * d, by_d, seed, STREAM_PARAM + 1);
    system_normal(w.V, d * d, by_d, seed, STREAM_PARAM + 2);
    system_normal(w.W1, m * d, by_d, seed, STREAM_PARAM + 3);
    system_normal(w.b, m, 0.5, seed, STREAM_PARAM + 4);
    system_normal(w.W2, d * m, by_m, seed, STREAM_PARAM + 5);
}

const SystemKind system_attention = {
    .base = {.name = "attention",
             .title = "softmax interaction with a nonlinear drift",
             .source = "Vaswani et al. 2017, eq. 1; Lu et al. 2019",
             .n = 8,
             .d = 4,
             .t_end = 1,
             .h0 = 0.25,
             .field = {attend, drift}},
    .n_min = 2,
    .d_min = 1,
    .size_max = 1 << 12,
    .params = params,
    .init = init};
