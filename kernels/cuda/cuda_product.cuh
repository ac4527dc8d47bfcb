/* cuda_product.cuh: matrix products by cuBLAS. The program finds cuBLAS when it runs, so it also starts where cuBLAS is
 * missing. Part of cuda.cu.
 *
 * cuBLAS stores matrices by columns; ours by rows are their transposes, and C^T = op(B)^T op(A)^T is the same call with
 * the factors exchanged. f32: products and sums in f32. tf32: the same with factors rounded, or cut, to 11 bits of
 * significand by the hardware. bf16: both factors are rounded to 8 bits (nearest even) into scratch memory, sums are
 * f32, also those of the parts that a product is split into along k (left alone, cuBLAS may add them in the type of C).
 */
#ifndef TROTTER_CUDA_PRODUCT_CUH
#define TROTTER_CUDA_PRODUCT_CUH

#include <cublas_v2.h>
#ifndef TROTTER_CUDA_HOST
#include <dlfcn.h>
#endif

#include "kernels/cuda/cuda_factor.cuh"
#include "kernels/base/error.h"
#include "kernels/installed.h"

/* cublasGemmEx has two forms in C++; the library has only this one. */
typedef cublasStatus_t BlasGemm(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n,
                                int k, const void *alpha, const void *A, cudaDataType, int lda,
                                const void *B, cudaDataType, int ldb, const void *beta, void *C,
                                cudaDataType, int ldc, cublasComputeType_t, cublasGemmAlgo_t);

/* X(member, type, function): functions of the library that are called. */
#define BLAS_LIST(X)                                                          \
    X(create, decltype(&cublasCreate_v2), cublasCreate_v2)                    \
    X(set_stream, decltype(&cublasSetStream_v2), cublasSetStream_v2)          \
    X(set_workspace, decltype(&cublasSetWorkspace_v2), cublasSetWorkspace_v2) \
    X(set_math, decltype(&cublasSetMathMode), cublasSetMathMode)              \
    X(gemm, BlasGemm *, cublasGemmEx)                                         \
    X(name, decltype(&cublasGetStatusName), cublasGetStatusName)              \
    X(words, decltype(&cublasGetStatusString), cublasGetStatusString)

static struct {
#define X(member, type, function) type member;
    BLAS_LIST(X)
#undef X
    cublasHandle_t handle[BRANCHES]; /* each with a stream and a workspace */
    void *workspace[BRANCHES];       /* NULL: cuBLAS has its own */
} blas;

/* The library's name, with the toolkit version of this build. */
#define BLAS_TEXT_(x) #x
#define BLAS_TEXT(x) BLAS_TEXT_(x)
#define BLAS_MAJOR BLAS_TEXT(CUBLAS_VER_MAJOR)
#define BLAS_NAME "libcublas.so." BLAS_MAJOR

/* cuBLAS's workspace: nothing is allocated in a recording; NVIDIA advises 32 MiB on Hopper. */
#ifdef TROTTER_CUDA_HOST
enum { BLAS_WORKSPACE = 1 << 12 };

static int blas_find(void)
{
#define X(member, type, function) blas.member = function;
    BLAS_LIST(X)
#undef X
    return 0;
}
#else
enum { BLAS_WORKSPACE = 32 << 20 };

static int blas_find(void)
{
    static const char *const names[] = {BLAS_NAME, "libcublas.so.13", "libcublas.so.12",
                                        "libcublas.so", NULL};
    void *library = installed_open(names);
    if (!library)
        return error_set(ERR_INPUT, BLAS_NAME
                         " is missing (in " INSTALLED_PLACES "): install libcublas" BLAS_MAJOR
                         " (Debian, Ubuntu), NVIDIA's libcublas-" BLAS_MAJOR
                         "-* or Python's nvidia-cublas, or add its folder to LD_LIBRARY_PATH");
#define X(member, type, function)                  \
    blas.member = (type)dlsym(library, #function); \
    if (!blas.member) return error_set(ERR_INPUT, "libcublas has no " #function);
    BLAS_LIST(X)
#undef X
    return 0;
}
#endif

static cublasStatus_t blas_handle(int i)
{
    cublasStatus_t code = blas.create(&blas.handle[i]);
    if (code == CUBLAS_STATUS_SUCCESS) code = blas.set_stream(blas.handle[i], branch.stream[i]);
    if (code == CUBLAS_STATUS_SUCCESS)
        code = blas.set_math(
            blas.handle[i],
            (cublasMath_t)(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
    if (code == CUBLAS_STATUS_SUCCESS &&
        cudaMalloc(&blas.workspace[i], BLAS_WORKSPACE) == cudaSuccess)
        code = blas.set_workspace(blas.handle[i], blas.workspace[i], BLAS_WORKSPACE);
    (void)cudaGetLastError(); /* without room for it cuBLAS keeps the default workspace */
    return code;
}

static int blas_ready(void)
{
    if (blas.handle[0]) return 0;
    TRY(blas_find());
    cublasStatus_t code = CUBLAS_STATUS_SUCCESS;
    for (int i = BRANCHES - 1; i >= 0 && code == CUBLAS_STATUS_SUCCESS; i--) code = blas_handle(i);
    if (code == CUBLAS_STATUS_SUCCESS) return 0;
    blas.handle[0] = NULL;
    return error_set(ERR_INPUT, "cuBLAS does not start (%s: %s)", blas.name(code),
                     blas.words(code));
}

static const char *blas_status_name(void)
{
    return blas.name((cublasStatus_t)cuda.blas);
}

static const char *blas_status_words(void)
{
    return blas.words((cublasStatus_t)cuda.blas);
}

static int blas_short(void)
{
    return cuda.blas == CUBLAS_STATUS_ALLOC_FAILED;
}

/* Checks a call. cuBLAS may have met an error of CUDA, which says more where the device was lost. */
static void product_check(cublasStatus_t code, const char *where)
{
    if (code == CUBLAS_STATUS_SUCCESS) return;
    cudaError_t error = cudaGetLastError();
    cuda.blas = (int)code;
    cuda_check(error != cudaSuccess ? error : cudaErrorUnknown, where);
}

/* Multiplies op(A) (m, k) and op(B) (k, n), both of `type`, as Backend.gemm does. C may hold factors. */
static void blas_product(int ta, int tb, size_t m, size_t n, size_t k, double alpha, const void *A,
                         size_t lda, const void *B, size_t ldb, cudaDataType type, double beta,
                         void *C, size_t ldc, cublasComputeType_t compute, CALLER)
{
    float one = (float)alpha, two = (float)beta;
    if (m == 0 || n == 0 || cuda.failed != cudaSuccess) return;
    cuda.behind[cuda.branch] = 0;
    device_here();
    product_check(blas.gemm(blas.handle[cuda.branch], tb ? CUBLAS_OP_T : CUBLAS_OP_N,
                            ta ? CUBLAS_OP_T : CUBLAS_OP_N, (int)n, (int)m, (int)k, &one, B, type,
                            (int)ldb, A, type, (int)lda, &two, C,
                            is_factor(C) ? CUDA_R_16BF : CUDA_R_32F, (int)ldc, compute,
                            CUBLAS_GEMM_DEFAULT),
                  where);
    cuda_lap(LAUNCH_PRODUCT);
}

static void cuda_gemm(int ta, int tb, size_t m, size_t n, size_t k, double alpha, const void *A,
                      size_t lda, const void *B, size_t ldb, double beta, void *C, size_t ldc)
{
    blas_product(ta, tb, m, n, k, alpha, A, lda, B, ldb, CUDA_R_32F, beta, C, ldc,
                 CUBLAS_COMPUTE_32F);
}

static void cuda_gemm_tf32(int ta, int tb, size_t m, size_t n, size_t k, double alpha,
                           const void *A, size_t lda, const void *B, size_t ldb, double beta,
                           void *C, size_t ldc)
{
    blas_product(ta, tb, m, n, k, alpha, A, lda, B, ldb, CUDA_R_32F, beta, C, ldc,
                 cuda.capability < FIRST_TENSOR ? CUBLAS_COMPUTE_32F
                                                : CUBLAS_COMPUTE_32F_FAST_TF32);
}

/* ---- bf16 --------------------------------------------------------------------------------------- */

/* y (rows, ldy) = x (rows, ldx) rounded. */
struct Round {
    In x;
    size_t ldx;
    uint16_t *y;
    size_t ldy;
    __device__ void begin() {}
    template <int W> __device__ void at(size_t r, size_t c) const
    {
        bf16_store<W>(y + r * ldy + c, load<W>(x, r * ldx + c));
    }
};

static inline size_t bf16_stride(size_t columns)
{
    return (columns + 7) / 8 * 8;
}

static void bf16_round(size_t rows, size_t columns, const void *x, size_t ldx, uint16_t *y)
{
    each_row(rows, columns, wide(columns | ldx, x), Round{in_of(x), ldx, y, bf16_stride(columns)});
}

/* A factor (rows, ld) for tensor cores: x itself where it is a factor, the twin of weights, or numbers rounded into
 * `room`, which uses a part of it. A factor whose rows are not aligned for tensor cores is copied there too. */
typedef struct {
    const uint16_t *x;
    size_t ld, used;
} Factor;

static Factor bf16_factor(size_t rows, size_t columns, const void *x, size_t ldx)
{
    const uint16_t *y = ldx % 8 != 0 ? NULL : is_factor(x) ? (const uint16_t *)x : twin_of(x);
    if ((uintptr_t)y % 16 != 0) y = NULL;
    size_t ld = y ? ldx : bf16_stride(columns);
    return (Factor){y, ld, y ? 0 : rows * ld};
}

/* Makes the factors (arows, acols) and (brows, bcols) of a product; returns 0 where memory is short. */
static int bf16_pair(size_t arows, size_t acols, const void *A, size_t lda, size_t brows,
                     size_t bcols, const void *B, size_t ldb, Factor f[2])
{
    Factor a = bf16_factor(arows, acols, A, lda), b = bf16_factor(brows, bcols, B, ldb);
    uint16_t *room = NULL;
    if (a.used + b.used && !(room = (uint16_t *)cuda_scratch((a.used + b.used) * sizeof *room)))
        return 0;
    if (a.used) bf16_round(arows, acols, A, lda, room), a.x = room;
    if (b.used) bf16_round(brows, bcols, B, ldb, room + a.used), b.x = room + a.used;
    f[0] = a, f[1] = b;
    return 1;
}

static void cuda_gemm_bf16(int ta, int tb, size_t m, size_t n, size_t k, double alpha,
                           const void *A, size_t lda, const void *B, size_t ldb, double beta,
                           void *C, size_t ldc)
{
    Factor f[2];
    if (bf16_pair(ta ? k : m, ta ? m : k, A, lda, tb ? n : k, tb ? k : n, B, ldb, f))
        blas_product(ta, tb, m, n, k, alpha, f[0].x, f[0].ld, f[1].x, f[1].ld, CUDA_R_16BF, beta, C,
                     ldc, CUBLAS_COMPUTE_32F);
}

#endif
