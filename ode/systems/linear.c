/* linear.c: y' = A y + B y, y of N = n d coordinates. Sub-flows and solution are closed.
 *
 *   linear            A dense, B one dense (d, d) block a particle: they do not commute; for a decoder + C y,
 *                     C blocks like those of B, as cross-attention to a memory at rest sees each particle alone
 *   linear:commuting  A = M, B = (M^2 + M)/2 of one dense M: every splitting error vanishes
 *   nilpotent         A = E12, B = E23: 3x3, commutators of depth 2 and more vanish
 *   nilpotent:4       A = E12 + E34, B = E23: 4x4, commutators of depth 3 and more vanish
 *
 * Flows are exp(h A) y (exponential.c); on nilpotent matrices its series ends and is exact in floating point for
 * dyadic h (start values are whole numbers; y4 is a multiple of 12, so that division by 3! and 12 is exact).
 * linear:commuting is there to show what a bad test problem hides; its B mixes particles.
 *
 * Source: nilpotent oracles: design, section 5.
 */
#include "ode/systems/system_kind.h"

#include <gsl/gsl_cblas.h>
#include <math.h>
#include <string.h>

#include "kernels/base/random.h"

enum { LINEAR_MAX = 2048 }; /* N: four dense matrices of 32 MiB */
enum { MATRIX_A, MATRIX_B, MATRIX_SUM, MATRIX_C, MATRICES };

static size_t size(const System *s)
{
    return s->n * s->d;
}

static size_t params(size_t n, size_t d)
{
    return MATRICES * n * d * n * d + 3 * n * d;
}

/* Returns matrix `which` (N, N) of the system; MATRICES gives the scratch (3, N) behind them. */
static double *matrix(const System *s, int which)
{
    return s->param + (size_t)which * size(s) * size(s);
}

static void multiply(size_t N, const double *A, const double *x, double *y)
{
    int n = (int)N;
    cblas_dgemv(CblasRowMajor, CblasNoTrans, n, n, 1, A, n, x, 1, 0, y, 1);
}

static double norm_inf(size_t N, const double *A)
{
    double norm = 0;
    for (size_t i = 0; i < N; i++) norm = fmax(norm, cblas_dasum((int)N, A + i * N, 1));
    return norm;
}

typedef struct {
    size_t N;
    const double *A;
} Matrix;

static void act(const void *matrix, const double *x, double *ax)
{
    const Matrix *m = matrix;
    multiply(m->N, m->A, x, ax);
}

/* Computes y (N) = exp(t M) y. */
static void exp_apply(const System *s, int which, double t, double *y)
{
    Matrix m = {size(s), matrix(s, which)};
    exponential_phi(m.N, act, &m, (Spectrum){norm_inf(m.N, m.A)}, t, 0, y, y, matrix(s, MATRICES));
}

/* Defines the field of a matrix and its flow. */
#define PART(X)                                          \
    SYSTEM_FIELD(field_##X)                              \
    {                                                    \
        multiply(size(s), matrix(s, MATRIX_##X), y, dy); \
    }                                                    \
    SYSTEM_FLOW(flow_##X)                                \
    {                                                    \
        exp_apply(s, MATRIX_##X, h, y);                  \
    }
PART(A)
PART(B)
PART(C)

static void solution(const System *s, double t, double *y)
{
    memcpy(y, s->initial, size(s) * sizeof *y);
    exp_apply(s, MATRIX_SUM, t, y);
}

static void add_matrices(System *s)
{
    size_t count = size(s) * size(s);
    const double *A = matrix(s, MATRIX_A), *B = matrix(s, MATRIX_B);
    double *sum = matrix(s, MATRIX_SUM);
    for (size_t i = 0; i < count; i++) sum[i] = A[i] + B[i];
}

/* Entries N(0, a^2/N) give a spectral radius near a (Girko's circular law) and a norm near 2 a. */
static void init_linear(System *s, uint64_t seed)
{
    size_t N = size(s), d = s->d;
    double *B = matrix(s, MATRIX_B), *C = matrix(s, MATRIX_C), a = 0.75 / sqrt((double)d);
    system_normal(s->initial, N, 1, seed, STREAM_INITIAL);
    system_normal(matrix(s, MATRIX_A), N * N, 0.75 / sqrt((double)N), seed, STREAM_PARAM);
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < d; c++) {
            B[i * N + i / d * d + c] = a * random_normal(seed, STREAM_PARAM + 1, i * d + c);
            C[i * N + i / d * d + c] = a * random_normal(seed, STREAM_PARAM + 2, i * d + c);
        }
    add_matrices(s);
}

static void init_commuting(System *s, uint64_t seed)
{
    size_t N = size(s);
    double *A = matrix(s, MATRIX_A), *B = matrix(s, MATRIX_B);
    int n = (int)N;
    system_normal(s->initial, N, 1, seed, STREAM_INITIAL);
    system_normal(A, N * N, 0.75 / sqrt((double)N), seed, STREAM_PARAM);
    memcpy(B, A, N * N * sizeof *B);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 0.5, A, n, A, n, 0.5, B, n);
    add_matrices(s);
}

static void init_nilpotent(System *s, uint64_t seed)
{
    static const double start[4] = {1, -2, 3, 12};
    size_t N = size(s);
    (void)seed;
    memcpy(s->initial, start, N * sizeof *start);
    for (size_t i = 0; i + 1 < N; i++) /* E12, E34 to A; E23 to B */
        matrix(s, i == 1 ? MATRIX_B : MATRIX_A)[i * N + i + 1] = 1;
    add_matrices(s);
}

const SystemKind system_linear = {
    .base = {.name = "linear",
             .title = "random linear maps, dense F, particle-wise G, not commuting",
             .source = "Jahnke, Lubich 2000, the linear setting of splitting errors",
             .n = 8,
             .d = 4,
             .field = {field_A, field_B, field_C},
             .flow = {flow_A, flow_B, flow_C},
             .solution = solution,
             .special = 1 << OP_F | 1 << OP_G | 1 << OP_C},
    .n_min = 2,
    .size_max = LINEAR_MAX,
    .params = params,
    .init = init_linear};

/* A kind of two matrices and their sum. */
#define KIND(NAME, TITLE, N, D, ...)                \
    {                                               \
        .base = {.name = NAME,                      \
                 .title = TITLE,                    \
                 .source = "design, section 5",     \
                 .n = N,                            \
                 .d = D,                            \
                 .field = {field_A, field_B},       \
                 .flow = {flow_A, flow_B},          \
                 .solution = solution,              \
                 .special = 1 << OP_F | 1 << OP_G}, \
        .params = params, __VA_ARGS__               \
    }

const SystemKind system_commuting =
    KIND("linear:commuting", "linear maps that commute: hides every splitting error, a bad control",
         8, 4, .n_min = 2, .size_max = LINEAR_MAX, .init = init_commuting);

const SystemKind system_nilpotent3 =
    KIND("nilpotent", "F = E12 y, G = E23 y: splitting errors exact in floating point", 1, 3,
         .d_only = 3, .size_max = 3, .init = init_nilpotent);

const SystemKind system_nilpotent4 =
    KIND("nilpotent:4", "F = (E12 + E34) y, G = E23 y: double brackets exact in floating point", 1,
         4, .d_only = 4, .size_max = 4, .init = init_nilpotent);
