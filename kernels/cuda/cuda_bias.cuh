/* cuda_bias.cuh: products that add a bias before they write, by cuBLASLt (Backend.linear). Part of cuda.cu.
 *
 * cuBLASLt comes with cuBLAS and is found like it. Its choice of a kernel is asked for once for each shape and kept, so
 * that a shape always has the same bits. Where it is missing, has no kernel, or an array is not aligned to 16 bytes, cuBLAS
 * and a kernel of our own do the same. By columns (cuda_product.cuh) a bias of our columns is one of its rows, as
 * CUBLASLT_EPILOGUE_BIAS wants it. The workspace is cuBLAS's of the same branch.
 */
#ifndef TROTTER_CUDA_BIAS_CUH
#define TROTTER_CUDA_BIAS_CUH

#include <cublasLt.h>

#include "kernels/cuda/cuda_drop.cuh"
#include "kernels/cuda/cuda_product.cuh"

/* X(member, function): functions of the library that are called. */
#define LT_LIST(X)                                    \
    X(create, cublasLtCreate)                         \
    X(operation_create, cublasLtMatmulDescCreate)     \
    X(operation_set, cublasLtMatmulDescSetAttribute)  \
    X(operation_destroy, cublasLtMatmulDescDestroy)   \
    X(layout_create, cublasLtMatrixLayoutCreate)      \
    X(layout_destroy, cublasLtMatrixLayoutDestroy)    \
    X(wish_create, cublasLtMatmulPreferenceCreate)    \
    X(wish_set, cublasLtMatmulPreferenceSetAttribute) \
    X(heuristic, cublasLtMatmulAlgoGetHeuristic)      \
    X(multiply, cublasLtMatmul)

/* All that a kernel is chosen by. */
typedef struct {
    size_t m, n, k, lda, ldb;
    size_t type, compute; /* cudaDataType, cublasComputeType_t */
} LtShape;

typedef struct {
    LtShape shape;
    int serves; /* 0: there is no kernel for it */
    cublasLtMatmulAlgo_t algorithm;
} LtChoice;

enum { LT_CHOICES = 1024, LT_ALIGNED = 16 };

static struct {
#define X(member, function) decltype(&function) member;
    LT_LIST(X)
#undef X
    cublasLtHandle_t handle; /* NULL: it is not there */
    cublasLtMatmulPreference_t wish;
    size_t choices;
    LtChoice choice[LT_CHOICES]; /* when it is full, later shapes are asked for each time */
} lt;

#ifdef TROTTER_CUDA_HOST
static int lt_find(void)
{
#define X(member, function) lt.member = function;
    LT_LIST(X)
#undef X
    return 1;
}
#else
static int lt_find(void)
{
    static const char *const names[] = {"libcublasLt.so." BLAS_TEXT(CUBLAS_VER_MAJOR),
                                        "libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
                                        NULL};
    void *library = installed_open(names);
    if (!library) return 0;
#define X(member, function)                                     \
    lt.member = (decltype(&function))dlsym(library, #function); \
    if (!lt.member) return 0;
    LT_LIST(X)
#undef X
    return 1;
}
#endif

static int lt_wish(cublasLtMatmulPreferenceAttributes_t what, const void *value, size_t bytes)
{
    return lt.wish_set(lt.wish, what, value, bytes) == CUBLAS_STATUS_SUCCESS;
}

/* Finds the library; without it lt.handle stays NULL. */
static void lt_ready(void)
{
    uint64_t room = blas.workspace[0] ? BLAS_WORKSPACE : 0;
    uint32_t aligned = LT_ALIGNED;
    if (lt.handle || !lt_find() || lt.create(&lt.handle) != CUBLAS_STATUS_SUCCESS) return;
    if (lt.wish_create(&lt.wish) == CUBLAS_STATUS_SUCCESS &&
        lt_wish(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof room) &&
        lt_wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &aligned, sizeof aligned) &&
        lt_wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &aligned, sizeof aligned) &&
        lt_wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &aligned, sizeof aligned) &&
        lt_wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &aligned, sizeof aligned))
        return;
    lt.handle = NULL;
}

/* ---- a product ---------------------------------------------------------------------------------- */

/* Descriptions of a product for the library: op(W) and A as it sees them by columns, C. */
typedef struct {
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t w, a, c;
} LtCall;

static int lt_open(LtCall *x, const LtShape *s, const void *bias)
{
    cublasOperation_t turned = CUBLAS_OP_T;
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    cudaDataType type = (cudaDataType)s->type;
    *x = LtCall{};
    return lt.operation_create(&x->operation, (cublasComputeType_t)s->compute, CUDA_R_32F) ==
               CUBLAS_STATUS_SUCCESS &&
           lt.operation_set(x->operation, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned) ==
               CUBLAS_STATUS_SUCCESS &&
           lt.operation_set(x->operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                            sizeof epilogue) == CUBLAS_STATUS_SUCCESS &&
           lt.operation_set(x->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias) ==
               CUBLAS_STATUS_SUCCESS &&
           lt.layout_create(&x->w, type, s->k, s->n, (int64_t)s->ldb) == CUBLAS_STATUS_SUCCESS &&
           lt.layout_create(&x->a, type, s->k, s->m, (int64_t)s->lda) == CUBLAS_STATUS_SUCCESS &&
           lt.layout_create(&x->c, CUDA_R_32F, s->n, s->m, (int64_t)s->n) == CUBLAS_STATUS_SUCCESS;
}

static void lt_close(LtCall *x)
{
    if (x->operation) (void)lt.operation_destroy(x->operation);
    if (x->w) (void)lt.layout_destroy(x->w);
    if (x->a) (void)lt.layout_destroy(x->a);
    if (x->c) (void)lt.layout_destroy(x->c);
}

static LtChoice lt_ask(const LtShape *s, const LtCall *x)
{
    LtChoice c = {};
    c.shape = *s;
    cublasLtMatmulHeuristicResult_t found;
    int count = 0;
    c.serves = lt.heuristic(lt.handle, x->operation, x->w, x->a, x->c, x->c, lt.wish, 1, &found,
                            &count) == CUBLAS_STATUS_SUCCESS &&
               count > 0;
    if (c.serves) c.algorithm = found.algo;
    return c;
}

static LtChoice lt_choose(const LtShape *s, const LtCall *x)
{
    for (size_t i = 0; i < lt.choices; i++)
        if (memcmp(&lt.choice[i].shape, s, sizeof *s) == 0) return lt.choice[i];
    LtChoice c = lt_ask(s, x);
    if (lt.choices < LT_CHOICES) lt.choice[lt.choices++] = c;
    return c;
}

/* Computes C = A W^T + bias; returns 0 where it cannot, and does nothing. */
static int lt_product(const LtShape *s, const void *A, const void *W, const void *bias, void *C,
                      const char *where)
{
    const float one = 1, zero = 0;
    LtCall x;
    LtChoice c = {};
    if (!lt.handle || ((size_t)A | (size_t)W | (size_t)bias | (size_t)C) % LT_ALIGNED) return 0;
    if (lt_open(&x, s, bias)) c = lt_choose(s, &x);
    if (c.serves) {
        cuda.behind[cuda.branch] = 0;
        product_check(lt.multiply(lt.handle, x.operation, &one, W, x.w, A, x.a, &zero, C, x.c, C,
                                  x.c, &c.algorithm, blas.workspace[cuda.branch],
                                  blas.workspace[cuda.branch] ? BLAS_WORKSPACE : 0, cuda.stream),
                      where);
        cuda_lap(LAUNCH_PRODUCT);
    }
    lt_close(&x);
    return c.serves;
}

/* ---- linear layers ------------------------------------------------------------------------------ */

static void linear_of(size_t m, size_t n, size_t k, const void *A, size_t lda, const void *W,
                      size_t ldb, cudaDataType type, const void *bias, void *C,
                      cublasComputeType_t compute, CALLER)
{
    static const Dropout none = {};
    const LtShape s = {m, n, k, lda, ldb, (size_t)type, (size_t)compute};
    if (m == 0 || n == 0 || cuda.failed != cudaSuccess) return;
    if (lt_product(&s, A, W, bias, C, where)) return;
    blas_product(0, 1, m, n, k, 1, A, lda, W, ldb, type, 0, C, n, compute, where);
    cuda_bias_drop(m, n, C, bias, none);
}

static void cuda_linear(size_t m, size_t n, size_t k, const void *A, const void *W, const void *b,
                        void *C)
{
    linear_of(m, n, k, A, k, W, k, CUDA_R_32F, b, C, CUBLAS_COMPUTE_32F);
}

static void cuda_linear_tf32(size_t m, size_t n, size_t k, const void *A, const void *W,
                             const void *b, void *C)
{
    linear_of(m, n, k, A, k, W, k, CUDA_R_32F, b, C, CUBLAS_COMPUTE_32F_FAST_TF32);
}

static void cuda_linear_bf16(size_t m, size_t n, size_t k, const void *A, const void *W,
                             const void *b, void *C)
{
    Factor f[2];
    if (bf16_pair(m, k, A, k, n, k, W, k, f))
        linear_of(m, n, k, f[0].x, f[0].ld, f[1].x, f[1].ld, CUDA_R_16BF, b, C, CUBLAS_COMPUTE_32F);
}

#endif
