/* test_cuda_blas.c: the stand-in for cuBLAS against plain loops, and its refusals. */
#include "tests/cuda/check.h"

#include <math.h>
#include <string.h>

#include "kernels/random.h"
#include "tests/cuda/cublas_v2.h"
#include "tests/cuda/cuda_bf16.h"

enum { M_ = 5, N_ = 7, K_ = 9, LD = 11, BATCH = 3, ROOM = LD * LD * BATCH };

/* Returns an element of op(a), column-major. */
static double element(const float *a, int transposed, int r, int c)
{
    return (double)a[transposed ? c + LD * r : r + LD * c];
}

/* Checks |C - alpha op(A) op(B) - beta C0| <= (K + 3) 2^-24 times the sum of moduli; a bf16 result adds half a unit of
 * its 8 bits, 2^-8 relative. */
static void check_product(const float *a, const float *b, const float *before, const float *c,
                          int ta, int tb, float alpha, float beta, double half_unit)
{
    for (int i = 0; i < M_; i++)
        for (int j = 0; j < N_; j++) {
            double sum = 0, moduli = 0;
            for (int k = 0; k < K_; k++) {
                double t = (double)alpha * element(a, ta, i, k) * element(b, tb, k, j);
                sum += t;
                moduli += fabs(t);
            }
            if (beta != 0) sum += (double)beta * element(before, 0, i, j);
            if (beta != 0) moduli += fabs((double)beta * element(before, 0, i, j));
            double bound = (K_ + 3) * 0x1p-24 * moduli + half_unit * fabs(sum);
            assert_true(fabs(element(c, 0, i, j) - sum) <= bound);
        }
}

static void as_bf16(unsigned short *to, float *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = cuda_host_bf16(from[i]);
        from[i] = cuda_host_f32(to[i]); /* what the product is given */
    }
}

typedef struct {
    cudaDataType in, out;
    int ta, tb;
    float alpha, beta;
} Case;

static void run_product(cublasHandle_t h, Case t)
{
    float a[ROOM], b[ROOM], before[ROOM], c[ROOM];
    unsigned short half[ROOM];
    for (size_t i = 0; i < ROOM; i++) {
        a[i] = (float)random_normal(1, 1, i);
        b[i] = (float)random_normal(1, 2, i);
        before[i] = t.beta != 0 ? (float)random_normal(1, 3, i) : NAN;
    }
    int narrow = t.in == CUDA_R_16BF, out = t.out == CUDA_R_16BF;
    if (narrow) as_bf16(half, a, ROOM);
    void *da = device_copy(narrow ? (void *)half : a, ROOM * (narrow ? 2 : 4));
    if (narrow) as_bf16(half, b, ROOM);
    void *db = device_copy(narrow ? (void *)half : b, ROOM * (narrow ? 2 : 4));
    if (out) as_bf16(half, before, ROOM);
    void *dc = device_copy(out ? (void *)half : before, ROOM * (out ? 2 : 4));
    assert_int_equal(cublasGemmStridedBatchedEx(
                         h, t.ta ? CUBLAS_OP_T : CUBLAS_OP_N, t.tb ? CUBLAS_OP_T : CUBLAS_OP_N, M_,
                         N_, K_, &t.alpha, da, t.in, LD, LD * LD, db, t.in, LD, LD * LD, &t.beta,
                         dc, t.out, LD, LD * LD, BATCH, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                     CUBLAS_STATUS_SUCCESS);
    device_get(out ? (void *)half : c, dc, ROOM * (out ? 2 : 4));
    for (size_t i = 0; out && i < ROOM; i++) c[i] = cuda_host_f32(half[i]);
    for (int i = 0; i < BATCH; i++) {
        size_t at = (size_t)i * LD * LD;
        check_product(a + at, b + at, before + at, c + at, t.ta, t.tb, t.alpha, t.beta,
                      out ? 0x1p-8 : 0);
        if (t.beta == 0) assert_true(isnan(c[at + M_])); /* between rows nothing is written */
    }
    OK(cudaFree(da));
    OK(cudaFree(db));
    OK(cudaFree(dc));
}

CHECKED(products_agree_with_loops)
{
    cublasHandle_t h;
    assert_int_equal(cublasCreate(&h), CUBLAS_STATUS_SUCCESS);
    for (int type = 0; type < 3; type++)
        for (int t = 0; t < 4; t++)
            for (int beta = 0; beta < 2; beta++)
                run_product(h, (Case){type ? CUDA_R_16BF : CUDA_R_32F,
                                      type == 2 ? CUDA_R_16BF : CUDA_R_32F, t % 2, t / 2,
                                      beta ? 0.5f : 1.0f, (float)beta});
    cublasDestroy(h);
}

/* Returns the largest relative error of products of K positive numbers, whose bits below tf32 are `low` units of the
 * last that is kept. */
static double tf32_error(cublasHandle_t h, CudaHostTf32 how, double low)
{
    enum { N = 4, K = 9 };
    float a[N * K], b[K * N], c[N * N], one = 1, zero = 0;
    double most = 0;
    for (int i = 0; i < N * K; i++) {
        a[i] = (float)(1 + 0x1p-10 * (i % 5) + 0x1p-10 * low);
        b[i] = (float)(1 + 0x1p-10 * (i % 7) + 0x1p-10 * low);
    }
    float *da = device_copy(a, sizeof a), *db = device_copy(b, sizeof b),
          *dc = device_copy(c, sizeof c);
    cuda_host_tf32(how);
    assert_int_equal(cublasGemmEx(h, CUBLAS_OP_T, CUBLAS_OP_N, N, N, K, &one, da, CUDA_R_32F, K, db,
                                  CUDA_R_32F, K, &zero, dc, CUDA_R_32F, N,
                                  CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT),
                     CUBLAS_STATUS_SUCCESS);
    device_get(c, dc, sizeof c);
    cuda_host_tf32(CUDA_HOST_TF32_CUT);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < K; k++) sum += (double)a[i * K + k] * (double)b[j * K + k];
            most = fmax(most, fabs((double)c[j * N + i] / sum - 1));
        }
    OK(cudaFree(da));
    OK(cudaFree(db));
    OK(cudaFree(dc));
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
    assert_int_equal(cublasCreate(&h), CUBLAS_STATUS_SUCCESS);
    for (int i = 0; i < 2; i++) {
        assert_true(tf32_error(h, CUDA_HOST_TF32_CUT, i ? worst : half) <= cut);
        assert_true(tf32_error(h, CUDA_HOST_TF32_NEAREST, i ? worst : half) <= rounded);
    }
    assert_true(tf32_error(h, CUDA_HOST_TF32_CUT, worst) > rounded);
    assert_true(tf32_error(h, CUDA_HOST_TF32_NEAREST, half) > 0.4 * rounded);
    assert_true(tf32_error(h, CUDA_HOST_TF32_COARSE, worst) > cut); /* control */
    cublasDestroy(h);
}

CHECKED(bad_products_are_refused)
{
    cublasHandle_t h;
    float one = 1, x[9] = {0};
    float *p = device_copy(x, sizeof x);
    assert_int_equal(cublasCreate(&h), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(
        cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 3, 3, 3, &one, p, 2, p, 3, &one, p, 3),
        CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(
        cublasSgemm(NULL, CUBLAS_OP_N, CUBLAS_OP_N, 3, 3, 3, &one, p, 3, p, 3, &one, p, 3),
        CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 3, 3, 3, &one, p, CUDA_R_32F, 3, p,
                                  CUDA_R_16BF, 3, &one, p, CUDA_R_32F, 3, CUBLAS_COMPUTE_32F,
                                  CUBLAS_GEMM_DEFAULT),
                     CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(
        cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 3, 3, 3, &one, p, 4, p, 3, &one, p, 3),
        CUBLAS_STATUS_EXECUTION_FAILED); /* the last column lies outside */
    assert_non_null(strstr(cuda_host_fault(), "outside its device allocation"));
    FAILS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    cuda_host_reset();
    cublasDestroy(h);
    OK(cudaFree(p));
}

TEST_MAIN(NULL, NULL)
