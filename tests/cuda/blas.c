/* blas.c: cuBLAS on OpenBLAS. Both are column-major, so arguments map one to one. A call checks shapes
 * as cuBLAS does, then submits one closure to the handle's stream; when that runs, every matrix
 * must lie whole inside a device allocation. */
#include <cblas.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/cublasLt.h"
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
    const float *bias; /* (m), added to every column; NULL: none */
} Product;

static size_t products, asked;
static int without_kernels;
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
    without_kernels = 0;
}

void cuda_host_fail_lt(int on)
{
    without_kernels = on;
}

size_t cuda_host_asked(void)
{
    return asked;
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
    if (!inside(&p->a) || !inside(&p->b) || !inside(&p->c) ||
        (p->bias && !heap_holds(p->bias, (size_t)p->m * sizeof *p->bias)))
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
    if (p->bias) heap_open(p->bias);
    for (int j = 0; p->bias && j < p->n; j++)
        for (int i = 0; i < p->m; i++) C[(size_t)j * (size_t)p->c.ld + (size_t)i] += p->bias[i];
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

static cublasStatus_t submit(cudaStream_t stream, const Product *p, cublasComputeType_t compute)
{
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
    return stream_submit(stream, run_product, NULL, kept) == cudaSuccess
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
    return handle ? submit(handle->stream, &p, compute) : CUBLAS_STATUS_NOT_INITIALIZED;
}

/* ---- cuBLASLt ---------------------------------------------------------------------------------- */

struct CublasLtHost {
    int unused;
};
enum { LT_WORKSPACE = 256 };

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    *handle = NULL;
    if (refused != CUBLAS_STATUS_SUCCESS) return refused;
    *handle = host_new(sizeof **handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *x, cublasComputeType_t compute,
                                        cudaDataType scale)
{
    if (scale != CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
    *x = host_new(sizeof **x);
    **x = (struct CublasLtOperation){compute, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, NULL};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t x,
                                              cublasLtMatmulDescAttributes_t what,
                                              const void *value, size_t bytes)
{
    void *to = what == CUBLASLT_MATMUL_DESC_TRANSA     ? (void *)&x->transa
               : what == CUBLASLT_MATMUL_DESC_EPILOGUE ? (void *)&x->epilogue
                                                       : (void *)&x->bias;
    size_t size = to == (void *)&x->bias ? sizeof x->bias : 4;
    if (bytes != size) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t x)
{
    free(x);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *x, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld)
{
    *x = host_new(sizeof **x);
    **x = (struct CublasLtLayout){type, rows, cols, ld};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t x)
{
    free(x);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *x)
{
    *x = host_new(sizeof **x);
    **x = (struct CublasLtWish){0, 256}; /* the library's default */
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t x,
                                                    cublasLtMatmulPreferenceAttributes_t what,
                                                    const void *value, size_t bytes)
{
    int room = what == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
    if (bytes != (room ? sizeof x->workspace : sizeof x->aligned))
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(room ? (void *)&x->workspace : (void *)&x->aligned, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

/* Returns the shape and the alignment that an algorithm is for. */
static cublasLtMatmulAlgo_t lt_shape(const struct CublasLtOperation *x,
                                     const struct CublasLtLayout *a, const struct CublasLtLayout *b,
                                     const struct CublasLtLayout *d, uint64_t aligned)
{
    return (cublasLtMatmulAlgo_t){{(uint64_t)x->compute, (uint64_t)a->type, d->rows, d->cols,
                                   a->rows, (uint64_t)a->ld, (uint64_t)b->ld, aligned}};
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t x,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t wish, int most,
                                              cublasLtMatmulHeuristicResult_t *found, int *count)
{
    (void)c;
    *count = 0;
    asked++;
    if (!handle || most < 1) return CUBLAS_STATUS_INVALID_VALUE;
    if (without_kernels || wish->workspace < LT_WORKSPACE) return CUBLAS_STATUS_NOT_SUPPORTED;
    *found = (cublasLtMatmulHeuristicResult_t){.workspaceSize = LT_WORKSPACE};
    found->algo = lt_shape(x, a, b, d, wish->aligned);
    *count = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t x, const void *alpha,
                              const void *A, cublasLtMatrixLayout_t a, const void *B,
                              cublasLtMatrixLayout_t b, const void *beta, const void *C,
                              cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t *algo, void *workspace, size_t bytes,
                              cudaStream_t stream)
{
    cublasLtMatmulAlgo_t shape = lt_shape(x, a, b, d, algo->data[7]);
    size_t low = (size_t)A | (size_t)B | (size_t)D;
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (memcmp(&shape, algo, sizeof shape) != 0 || low % algo->data[7] != 0)
        return CUBLAS_STATUS_INVALID_VALUE; /* an algorithm of another shape */
    if (bytes < LT_WORKSPACE || !heap_holds(workspace, bytes) || C != D || c != d)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (x->epilogue != CUBLASLT_EPILOGUE_BIAS || !x->bias) return CUBLAS_STATUS_NOT_SUPPORTED;
    Product p = {.transa = x->transa,
                 .transb = CUBLAS_OP_N,
                 .m = (int)d->rows,
                 .n = (int)d->cols,
                 .k = (int)b->rows,
                 .truncate = x->compute == CUBLAS_COMPUTE_32F_FAST_TF32 && a->type == CUDA_R_32F,
                 .alpha = *(const float *)alpha,
                 .beta = *(const float *)beta,
                 .a = {A, a->type, (int)a->rows, (int)a->cols, (int)a->ld},
                 .b = {B, b->type, (int)b->rows, (int)b->cols, (int)b->ld},
                 .c = {D, d->type, (int)d->rows, (int)d->cols, (int)d->ld},
                 .bias = x->bias};
    return submit(stream, &p, x->compute);
}
