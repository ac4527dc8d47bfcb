/* cublas_v2.h: the part of cuBLAS that this program uses, on a processor: found in place of NVIDIA's
 * header in host tests. Column-major; A, B f32 or bf16, sums f32, C f32 or, where A and B are, bf16; bf16 inputs are
 * converted exactly. alpha and beta lie on the host. */
#ifndef TROTTER_CUDA_HOST_CUBLAS_H
#define TROTTER_CUDA_HOST_CUBLAS_H

#include "tests/cuda/cuda_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUBLAS_VER_MAJOR 13

/* X(name, value, text) */
#define CUBLAS_HOST_STATUS(X)                                                       \
    X(CUBLAS_STATUS_SUCCESS, 0, "success")                                          \
    X(CUBLAS_STATUS_NOT_INITIALIZED, 1, "cuBLAS is not initialized")                \
    X(CUBLAS_STATUS_ALLOC_FAILED, 3, "a resource could not be allocated")           \
    X(CUBLAS_STATUS_INVALID_VALUE, 7, "an argument is invalid")                     \
    X(CUBLAS_STATUS_ARCH_MISMATCH, 8, "the device lacks a needed feature")          \
    X(CUBLAS_STATUS_MAPPING_ERROR, 11, "device memory could not be mapped")         \
    X(CUBLAS_STATUS_EXECUTION_FAILED, 13, "the device failed to run the operation") \
    X(CUBLAS_STATUS_INTERNAL_ERROR, 14, "an internal operation failed")             \
    X(CUBLAS_STATUS_NOT_SUPPORTED, 15, "the operation is not supported")

typedef enum {
#define X(name, value, text) name = value,
    CUBLAS_HOST_STATUS(X)
#undef X
} cublasStatus_t;

typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 } cublasOperation_t;
typedef enum { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_FAST_TF32 = 77 } cublasComputeType_t;
typedef enum { CUBLAS_GEMM_DEFAULT = -1 } cublasGemmAlgo_t;
typedef enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16BF = 14 } cudaDataType;

typedef struct CublasHost *cublasHandle_t;

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle);
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
typedef enum {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
} cublasMath_t;
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes);
const char *cublasGetStatusString(cublasStatus_t status);
const char *cublasGetStatusName(cublasStatus_t status);

/* Computes C (m, n) = alpha op(A) op(B) + beta C; op(A) (m, k), op(B) (k, n). beta = 0: C is not
 * read. */
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                            cublasOperation_t transb, int m, int n, int k, const void *alpha,
                            const void *A, cudaDataType Atype, int lda, const void *B,
                            cudaDataType Btype, int ldb, const void *beta, void *C,
                            cudaDataType Ctype, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algo);

#ifdef __cplusplus
}
#endif
#endif
