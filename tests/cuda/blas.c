/* blas.c: cuBLAS on OpenBLAS. Both are column-major, so arguments map one to one. A call checks shapes
 * as cuBLAS does, then submits one closure to the handle's stream; when that runs, every matrix
 * must lie whole inside a device allocation. */
#include <cblas.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/cublas_v2.h"
#include "tests/cuda/vector.h"
#include "tests/cuda/runtime.h"

struct CublasHost {
    cudaStream_t stream;
};

typedef struct {
    const void *p;
    cudaDataType type;
    int rows, cols, ld; /* as stored */
} Matrix;

typedef struct {
    cublasOperation_t transa, transb;
    int m, n, k;
    int truncate; /* factors to tf32 */
    float alpha, beta;
    Matrix a, b, c;
} Product;

static size_t products;
static cublasStatus_t refused; /* the status that every call returns */
static CudaHostTf32 tf32;

void cuda_host_tf32(CudaHostTf32 how)
{
    tf32 = how;
}

void cuda_host_fail_blas(int status)
{
    refused = (cublasStatus_t)status;
}

void blas_reset(void)
{
    refused = CUBLAS_STATUS_SUCCESS;
}

size_t cuda_host_products(void)
{
    return products;
}

/* ---- handles --------------------------------------------------------------------------------- */

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    *handle = NULL;
    if (refused != CUBLAS_STATUS_SUCCESS) return refused;
    if (host_ready() != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (stream_forbid() != cudaSuccess) return CUBLAS_STATUS_ALLOC_FAILED;
    *handle = host_new(sizeof **handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (bytes && !heap_holds(workspace, bytes)) return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    switch (status) {
#define X(name, value, text) \
    case name: return text;
        CUBLAS_HOST_STATUS(X)
#undef X
    }
    return "unknown status";
}

const char *cublasGetStatusName(cublasStatus_t status)
{
    switch (status) {
#define X(name, value, text) \
    case name: return #name;
        CUBLAS_HOST_STATUS(X)
#undef X
    }
    return "unknown status";
}

/* ---- products -------------------------------------------------------------------------------- */

static size_t width(cudaDataType type)
{
    return type == CUDA_R_16BF ? 2 : 4;
}

/* Returns the elements from the first to the last of a matrix. */
static size_t extent(const Matrix *m)
{
    if (m->rows == 0 || m->cols == 0) return 0;
    return (size_t)(m->cols - 1) * (size_t)m->ld + (size_t)m->rows;
}

static int inside(const Matrix *m)
{
    size_t bytes = extent(m) * width(m->type);
    return bytes == 0 || heap_holds(m->p, bytes);
}

/* Returns a factor of tf32, with 11 bits of significand: how a device treats the 13 bits below is not
 * documented. */
static float tf32_of(float x)
{
    static const uint32_t below[] = {[CUDA_HOST_TF32_CUT] = 0x1fff,
                                     [CUDA_HOST_TF32_NEAREST] = 0x1fff,
                                     [CUDA_HOST_TF32_COARSE] = 0xffff};
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    if (tf32 == CUDA_HOST_TF32_NEAREST) u += 0xfff + (u >> 13 & 1);
    u &= ~below[tf32];
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Returns a factor as f32: itself, or a copy in *kept. */
static const float *widen(const Matrix *m, int truncate, float **kept)
{
    size_t n = extent(m);
    const float *wide = m->p;
    const unsigned short *narrow = m->p;
    *kept = NULL;
    if (m->type == CUDA_R_32F && !truncate) return wide;
    *kept = host_new(n * sizeof **kept);
    for (size_t j = 0; j < n; j++)
        (*kept)[j] = m->type == CUDA_R_32F ? tf32_of(wide[j]) : cuda_host_f32(narrow[j]);
    return *kept;
}

/* Writes a matrix of bf16 from x, of the same shape, and nothing between its columns. */
static void narrow(const Matrix *m, const float *x)
{
    unsigned short *y = (unsigned short *)(uintptr_t)m->p;
    for (int j = 0; j < m->cols; j++)
        for (int i = 0; i < m->rows; i++) {
            size_t at = (size_t)j * (size_t)m->ld + (size_t)i;
            y[at] = cuda_host_bf16(x[at]);
        }
}

static cudaError_t run_product(const void *data)
{
    const Product *p = data;
    float *a, *b, *C = (float *)(uintptr_t)p->c.p;
    if (p->m == 0 || p->n == 0) return cudaSuccess;
    if (!inside(&p->a) || !inside(&p->b) || !inside(&p->c))
        return host_fault(
            cudaErrorIllegalAddress,
            "cuBLAS product (%d, %d, %d): a matrix reaches outside its device allocation", p->m,
            p->n, p->k);
    products++;
    float *c = NULL;
    const Matrix *all[] = {&p->a, &p->b, &p->c};
    for (int i = 0; i < 3; i++) heap_open(all[i]->p);
    const float *A = widen(&p->a, p->truncate, &a), *B = widen(&p->b, p->truncate, &b);
    if (p->c.type == CUDA_R_16BF) C = (float *)(uintptr_t)widen(&p->c, 0, &c);
    cblas_sgemm(CblasColMajor, p->transa == CUBLAS_OP_N ? CblasNoTrans : CblasTrans,
                p->transb == CUBLAS_OP_N ? CblasNoTrans : CblasTrans, p->m, p->n, p->k, p->alpha, A,
                p->a.ld, B, p->b.ld, p->beta, C, p->c.ld);
    if (c) narrow(&p->c, c);
    free(a);
    free(b);
    free(c);
    heap_close();
    return cudaSuccess;
}

static int valid(const Matrix *m)
{
    return m->ld >= (m->rows > 1 ? m->rows : 1);
}

static cublasStatus_t submit(cublasHandle_t h, const Product *p, cublasComputeType_t compute)
{
    if (!h) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (refused != CUBLAS_STATUS_SUCCESS) return refused;
    if (host_ready() != cudaSuccess) return CUBLAS_STATUS_EXECUTION_FAILED;
    if (p->m < 0 || p->n < 0 || p->k < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (!valid(&p->a) || !valid(&p->b) || !valid(&p->c)) return CUBLAS_STATUS_INVALID_VALUE;
    if ((p->a.type != CUDA_R_32F && p->a.type != CUDA_R_16BF) || p->a.type != p->b.type ||
        (p->c.type != CUDA_R_32F && (p->c.type != CUDA_R_16BF || p->a.type != p->c.type)))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_FAST_TF32)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    Product *kept = host_new(sizeof *kept);
    *kept = *p;
    return stream_submit(h->stream, run_product, NULL, kept) == cudaSuccess
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                            cublasOperation_t transb, int m, int n, int k, const void *alpha,
                            const void *A, cudaDataType Atype, int lda, const void *B,
                            cudaDataType Btype, int ldb, const void *beta, void *C,
                            cudaDataType Ctype, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algo)
{
    (void)algo;
    if (!alpha || !beta || heap_owns(alpha) || heap_owns(beta)) return CUBLAS_STATUS_INVALID_VALUE;
    int na = transa == CUBLAS_OP_N, nb = transb == CUBLAS_OP_N;
    Product p = {.transa = transa,
                 .transb = transb,
                 .m = m,
                 .n = n,
                 .k = k,
                 .truncate = compute == CUBLAS_COMPUTE_32F_FAST_TF32 && Atype == CUDA_R_32F,
                 .alpha = *(const float *)alpha,
                 .beta = *(const float *)beta,
                 .a = {A, Atype, na ? m : k, na ? k : m, lda},
                 .b = {B, Btype, nb ? k : n, nb ? n : k, ldb},
                 .c = {C, Ctype, m, n, ldc}};
    return submit(handle, &p, compute);
}
