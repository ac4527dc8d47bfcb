/* bytes.c: counts the bytes of device memory that kernels and products read and write. The kernels are compiled as for
 * ThreadSanitizer, which calls a function before every access; these functions add up the sizes of accesses to device
 * memory. So a number that two threads read counts twice, as it does for a device without caches. A product counts each
 * of its matrices once. Source of the names: the interface of ThreadSanitizer's run-time library, tsan_interface.h. */
#include <stddef.h>

#include "tests/cuda/cublasLt.h"
#include "tests/cuda/runtime.h"
#include "tests/cuda/host.h"

static inline void count(const void *p, size_t bytes)
{
    if (heap_owns(p)) cuda_seen.bytes += bytes;
}

/* Defines a function of this name, as no header declares them. */
#define HOOK(name, counts, ...) \
    void name(__VA_ARGS__);     \
    void name(__VA_ARGS__)      \
    {                           \
        counts;                 \
    }
#define ACCESS(n)                                        \
    HOOK(__tsan_read##n, count(p, n), void *p)           \
    HOOK(__tsan_write##n, count(p, n), void *p)          \
    HOOK(__tsan_unaligned_read##n, count(p, n), void *p) \
    HOOK(__tsan_unaligned_write##n, count(p, n), void *p)
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
HOOK(__tsan_read_range, count(p, n), void *p, size_t n)
HOOK(__tsan_write_range, count(p, n), void *p, size_t n)
HOOK(__tsan_init, , void)
HOOK(__tsan_func_entry, (void)p, void *p)
HOOK(__tsan_func_exit, (void)p, void *p)

static size_t matrix(int rows, int columns, cudaDataType type)
{
    return (size_t)rows * (size_t)columns * (type == CUDA_R_16BF ? 2 : 4);
}

/* The linker replaces cublasGemmEx and cublasLtMatmul by these (--wrap). */
#define GEMM_PARAMETERS                                                                     \
    cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, \
        const void *alpha, const void *A, cudaDataType of_a, int lda, const void *B,        \
        cudaDataType of_b, int ldb, const void *beta, void *C, cudaDataType of_c, int ldc,  \
        cublasComputeType_t compute, cublasGemmAlgo_t algorithm
cublasStatus_t __real_cublasGemmEx(GEMM_PARAMETERS);
cublasStatus_t __wrap_cublasGemmEx(GEMM_PARAMETERS);
cublasStatus_t __wrap_cublasGemmEx(GEMM_PARAMETERS)
{
    int adds = *(const float *)beta != 0;
    cuda_seen.bytes +=
        matrix(m, k, of_a) + matrix(k, n, of_b) + (size_t)(1 + adds) * matrix(m, n, of_c);
    return __real_cublasGemmEx(handle, ta, tb, m, n, k, alpha, A, of_a, lda, B, of_b, ldb, beta, C,
                               of_c, ldc, compute, algorithm);
}

#define LT_PARAMETERS                                                                        \
    cublasLtHandle_t handle, cublasLtMatmulDesc_t x, const void *alpha, const void *A,       \
        cublasLtMatrixLayout_t a, const void *B, cublasLtMatrixLayout_t b, const void *beta, \
        const void *C, cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t d,          \
        const cublasLtMatmulAlgo_t *algo, void *workspace, size_t bytes, cudaStream_t stream
cublasStatus_t __real_cublasLtMatmul(LT_PARAMETERS);
cublasStatus_t __wrap_cublasLtMatmul(LT_PARAMETERS);
cublasStatus_t __wrap_cublasLtMatmul(LT_PARAMETERS)
{
    cuda_seen.bytes += matrix((int)a->rows, (int)a->cols, a->type) +
                       matrix((int)b->rows, (int)b->cols, b->type) +
                       matrix((int)d->rows, (int)d->cols, d->type) + d->rows * sizeof(float);
    return __real_cublasLtMatmul(handle, x, alpha, A, a, B, b, beta, C, c, D, d, algo, workspace,
                                 bytes, stream);
}
