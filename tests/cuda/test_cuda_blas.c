/* test_cuda_blas.c: the stand-in for cuBLAS against plain loops, and its refusals. */
#include "tests/cuda/check.h"

#include <math.h>
#include <string.h>

#include "kernels/base/random.h"
#include "tests/cuda/cublas_v2.h"
#include "tests/cuda/vector.h"

enum { M_ = 5, N_ = 7, K_ = 9, LD = 11, ROOM = LD * LD };

/* Returns an element of op(a), column-major. */
static double element(const float *a, int transposed, int r, int c)
{
    return (double)a[transposed ? c + LD * r : r + LD * c];
}

/* Checks |C - alpha op(A) op(B) - beta C0| <= (K + 3) 2^-24 times the sum of moduli. */
static void check_product(const float *a, const float *b, const float *before, const float *c,
                          int ta, int tb, float alpha, float beta)
{
    for (int i = 0; i < M_; i++)
        for (int j = 0; j < N_; j++) {
            double sum = 0, moduli = 0;
            for (int k = 0; k <= K_; k++) {
                double t = k < K_      ? (double)alpha * element(a, ta, i, k) * element(b, tb, k, j)
                           : beta != 0 ? (double)beta * element(before, 0, i, j)
                                       : 0;
                sum += t;
                moduli += fabs(t);
            }
            assert_true(fabs(element(c, 0, i, j) - sum) <= (K_ + 3) * 0x1p-24 * moduli);
        }
}

/* Puts a factor on the device; as bf16 it is rounded in x too, to what the product is given. */
static void *factor(float *x, int narrow)
{
    unsigned short half[ROOM];
    if (!narrow) return device_copy(x, ROOM * sizeof *x);
    for (size_t i = 0; i < ROOM; i++) {
        half[i] = cuda_host_bf16(x[i]);
        x[i] = cuda_host_f32(half[i]);
    }
    return device_copy(half, sizeof half);
}

/* Numbers are rounded to nearest, ties to even; NaN stays NaN. */
CHECKED(numbers_are_rounded)
{
    static const struct {
        float x;
        unsigned bits;
    } row[] = {{1, 0x3f80},           {1 + 0x1p-8f, 0x3f80},     {1 + 0x1.02p-8f, 0x3f81},
               {1 + 0x3p-8f, 0x3f82}, {0x1.fffffep127f, 0x7f80}, {NAN, 0x7fff},
               {-INFINITY, 0xff80},   {0x1p-133f, 0x0001},       {-0.0f, 0x8000}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_int_equal(cuda_host_bf16(row[i].x), row[i].bits);
}

/* Returns the status of C = alpha op(A) op(B) + beta C in f32. */
static cublasStatus_t multiply(cublasHandle_t h, int ta, int tb, const int size[3], float alpha,
                               const void *a, const void *b, cudaDataType type, int ld, float beta,
                               void *c, int ldc, cublasComputeType_t compute)
{
    return cublasGemmEx(h, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, size[0],
                        size[1], size[2], &alpha, a, type, ld, b, type, ld, &beta, c, CUDA_R_32F,
                        ldc, compute, CUBLAS_GEMM_DEFAULT);
}

static void run_product(cublasHandle_t h, int narrow, int ta, int tb, float alpha, float beta)
{
    static const int size[] = {M_, N_, K_};
    float a[ROOM], b[ROOM], before[ROOM], c[ROOM];
    for (size_t i = 0; i < ROOM; i++) {
        a[i] = (float)random_normal(1, 1, i);
        b[i] = (float)random_normal(1, 2, i);
        before[i] = beta != 0 ? (float)random_normal(1, 3, i) : NAN;
    }
    void *da = factor(a, narrow), *db = factor(b, narrow), *dc = factor(before, 0);
    assert_int_equal(multiply(h, ta, tb, size, alpha, da, db, narrow ? CUDA_R_16BF : CUDA_R_32F, LD,
                              beta, dc, LD, CUBLAS_COMPUTE_32F),
                     CUBLAS_STATUS_SUCCESS);
    device_get(c, dc, sizeof c);
    check_product(a, b, before, c, ta, tb, alpha, beta);
    if (beta == 0) assert_true(isnan(c[M_])); /* between rows nothing is written */
}

CHECKED(products_agree_with_loops)
{
    cublasHandle_t h;
    assert_int_equal(cublasCreate_v2(&h), CUBLAS_STATUS_SUCCESS);
    for (int way = 0; way < 16; way++)
        run_product(h, way & 8, way & 1, way & 2, way & 4 ? 0.5f : 1.0f, way & 4 ? 1.0f : 0.0f);
    cublasDestroy_v2(h);
}

/* Returns the largest relative error of products of K positive numbers, whose bits below tf32 are `low` units of the
 * last that is kept. */
static double tf32_error(cublasHandle_t h, CudaHostTf32 how, double low)
{
    enum { N = 4, K = 9 };
    static const int size[] = {N, N, K};
    float a[N * K], b[K * N], c[N * N];
    double most = 0;
    for (int i = 0; i < N * K; i++) {
        a[i] = (float)(1 + 0x1p-10 * (i % 5) + 0x1p-10 * low);
        b[i] = (float)(1 + 0x1p-10 * (i % 7) + 0x1p-10 * low);
    }
    float *da = device_copy(a, sizeof a), *db = device_copy(b, sizeof b),
          *dc = device_copy(c, sizeof c);
    cuda_host_tf32 = how;
    assert_int_equal(
        multiply(h, 1, 0, size, 1, da, db, CUDA_R_32F, K, 0, dc, N, CUBLAS_COMPUTE_32F_FAST_TF32),
        CUBLAS_STATUS_SUCCESS);
    device_get(c, dc, sizeof c);
    cuda_host_tf32 = CUDA_HOST_TF32_CUT;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < K; k++) sum += (double)a[i * K + k] * (double)b[j * K + k];
            most = fmax(most, fabs((double)c[j * N + i] / sum - 1));
        }
    return most;
}

/* A factor of 11 bits has a relative error of at most 2^-10 where it is cut and 2^-11 where it is rounded. A product of
 * two has twice that (and its square, which is less than the rounding of sums of K numbers in f32, (K + 1) 2^-24):
 * 2^-9, the eps that cuda-tf32 claims, or 2^-10, which would be wrong of a device that cuts. */
CHECKED(tf32_cut_or_rounded_is_within_its_bound)
{
    const double sums = 10 * 0x1p-24, cut = 0x1p-9 + sums, rounded = 0x1p-10 + sums;
    const double worst = 1 - 0x1p-13,
                 half = 0.5 - 0x1p-13; /* the bits below, in units of the last that is kept */
    cublasHandle_t h;
    assert_int_equal(cublasCreate_v2(&h), CUBLAS_STATUS_SUCCESS);
    for (int i = 0; i < 2; i++) {
        assert_true(tf32_error(h, CUDA_HOST_TF32_CUT, i ? worst : half) <= cut);
        assert_true(tf32_error(h, CUDA_HOST_TF32_NEAREST, i ? worst : half) <= rounded);
    }
    assert_true(tf32_error(h, CUDA_HOST_TF32_CUT, worst) > rounded);
    assert_true(tf32_error(h, CUDA_HOST_TF32_NEAREST, half) > 0.4 * rounded);
    assert_true(tf32_error(h, CUDA_HOST_TF32_COARSE, worst) > cut); /* control */
    cublasDestroy_v2(h);
}

CHECKED(bad_products_are_refused)
{
    static const int size[] = {3, 3, 3};
    cublasHandle_t h;
    float x[9] = {0}, *p = device_copy(x, sizeof x);
    assert_int_equal(cublasCreate_v2(&h), CUBLAS_STATUS_SUCCESS);
    const struct {
        cublasHandle_t h;
        cudaDataType type;
        int ld, ldc;
        cublasStatus_t status;
    } bad[] = {{h, CUDA_R_32F, 2, 3, CUBLAS_STATUS_INVALID_VALUE},
               {h, CUDA_R_32F, 3, 2, CUBLAS_STATUS_INVALID_VALUE},
               {NULL, CUDA_R_32F, 3, 3, CUBLAS_STATUS_NOT_INITIALIZED},
               {h, CUDA_R_64F, 3, 3, CUBLAS_STATUS_NOT_SUPPORTED},
               {h, CUDA_R_32F, 4, 3, CUBLAS_STATUS_EXECUTION_FAILED}}; /* a column lies outside */
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(multiply(bad[i].h, 0, 0, size, 1, p, p, bad[i].type, bad[i].ld, 1, p,
                                  bad[i].ldc, CUBLAS_COMPUTE_32F),
                         bad[i].status);
    assert_non_null(strstr(cuda_host_fault(), "outside its device allocation"));
    FAILS(cudaErrorIllegalAddress, cudaStreamSynchronize(NULL));
    cuda_host_reset();
    cublasDestroy_v2(h);
}

TEST_MAIN(NULL, NULL)
