/* blas.c: cuBLAS on OpenBLAS. Both are column-major, so arguments map one to one. A call checks shapes
 * as cuBLAS does, then submits one closure to the handle's stream; when that runs, every matrix
 * must lie whole inside a device allocation. */
#include <cblas.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/cublasLt.h"
#include "tests/cuda/vector.h"
#include "tests/cuda/runtime.h"

struct CublasHost {
    cudaStream_t stream;
    cublasMath_t math;
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
    int split;    /* its parts along k, of which there are two, may be added in C's type */
    float alpha, beta;
    Matrix a, b, c;
    int epilogue;
    const void *bias; /* (m), added to every column; of BGRADB (n): the sums of B; in c's type */
    Matrix aux;       /* numbers in c's type; bits are bytes, with their distance in bytes as ld */
} Product;

CudaHostTf32 cuda_host_tf32;

/* ---- handles --------------------------------------------------------------------------------- */

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    *handle = NULL;
    if (cuda_host.fail_blas) return (cublasStatus_t)cuda_host.fail_blas;
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

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->math = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (bytes && !heap_holds(workspace, bytes)) return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

static const struct {
    const char *name, *text;
} words[] = {
#define X(name, value, text) [value] = {#name, text},
    CUBLAS_HOST_STATUS(X)
#undef X
};

const char *cublasGetStatusString(cublasStatus_t status)
{
    return words[status].text;
}

const char *cublasGetStatusName(cublasStatus_t status)
{
    return words[status].name;
}

/* ---- products -------------------------------------------------------------------------------- */

static const cudaDataType bits = (cudaDataType)-1;

static size_t width(cudaDataType type)
{
    return type == bits ? 1 : type == CUDA_R_16BF ? 2 : 4;
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
    if (cuda_host_tf32 == CUDA_HOST_TF32_NEAREST) u += 0xfff + (u >> 13 & 1);
    u &= ~below[cuda_host_tf32];
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

static float number_at(const void *x, cudaDataType type, size_t i)
{
    return type == CUDA_R_32F ? ((const float *)x)[i]
                              : cuda_host_f32(((const unsigned short *)x)[i]);
}

static void put_number(const void *x, cudaDataType type, size_t i, float value)
{
    if (type == CUDA_R_32F)
        ((float *)(uintptr_t)x)[i] = value;
    else
        ((unsigned short *)(uintptr_t)x)[i] = cuda_host_bf16(value);
}

/* GELU in its tanh form, and its slope. */
static float gelu(float u, int slope)
{
    const double c = 0.79788456080286535588, v = (double)u;
    double t = tanh(c * (v + 0.044715 * v * v * v));
    double d = 0.5 * (1 + t) + 0.5 * v * (1 - t * t) * c * (1 + 3 * 0.044715 * v * v);
    return (float)(slope ? d : 0.5 * v * (1 + t));
}

/* Applies an epilogue to one number of D, and reads or writes its bit or number of aux. A ReLU makes 0 of a NaN, and bits
 * are those of numbers above 0. */
static float finish(const Product *p, size_t i, size_t j, float x)
{
    const int relu = 2, drelu = 8, dgelu = 64, aux = 128;
    size_t at = j * (size_t)p->aux.ld + (p->aux.type == bits ? i / 8 : i);
    unsigned char *byte = (unsigned char *)(uintptr_t)p->aux.p;
    if (p->epilogue & CUBLASLT_EPILOGUE_BIAS) x += number_at(p->bias, p->c.type, i);
    if (p->epilogue & relu) {
        x = x > 0 ? x : 0;
        if (p->epilogue & aux && i % 8 == 0) byte[at] = 0;
        if (p->epilogue & aux) byte[at] |= (unsigned char)((x > 0) << i % 8);
    }
    if ((p->epilogue & CUBLASLT_EPILOGUE_GELU_AUX_BIAS) == CUBLASLT_EPILOGUE_GELU_AUX_BIAS) {
        put_number(p->aux.p, p->aux.type, at, x);
        x = gelu(x, 0);
    }
    if (p->epilogue & drelu) x *= (float)(byte[at] >> i % 8 & 1);
    if (p->epilogue & dgelu) x *= gelu(number_at(p->aux.p, p->aux.type, at), 1);
    return x;
}

/* Runs the epilogue over C (m, n) in f32; B has its factors as stored. */
static void run_epilogue(const Product *p, const float *B, float *C)
{
    if (p->bias) heap_open(p->bias);
    if (p->aux.p) heap_open(p->aux.p);
    if (p->epilogue == CUBLASLT_EPILOGUE_BGRADB) {
        for (int j = 0; j < p->n; j++) {
            double sum = 0;
            for (int k = 0; k < p->k; k++)
                sum += (double)B[p->transb == CUBLAS_OP_N ? k + j * p->b.ld : j + k * p->b.ld];
            put_number(p->bias, p->c.type, (size_t)j, (float)sum);
        }
        return;
    }
    for (int j = 0; j < p->n; j++)
        for (int i = 0; i < p->m; i++) {
            float *x = &C[(size_t)j * (size_t)p->c.ld + (size_t)i];
            *x = finish(p, (size_t)i, (size_t)j, *x);
        }
}

/* Tells whether what an epilogue reads and writes lies inside device allocations. */
static int beside_inside(const Product *p)
{
    size_t n = (size_t)(p->epilogue == CUBLASLT_EPILOGUE_BGRADB ? p->n : p->m);
    return (!p->bias || heap_holds(p->bias, n * width(p->c.type))) &&
           (!p->aux.p || inside(&p->aux));
}

/* C = alpha op(A) op(B) + beta C, of the `count` places along k from `from` on. */
static void multiply(const Product *p, int from, int count, float beta, const float *A,
                     const float *B, float *C)
{
    int na = p->transa == CUBLAS_OP_N, nb = p->transb == CUBLAS_OP_N;
    A += (size_t)from * (size_t)(na ? p->a.ld : 1);
    B += (size_t)from * (size_t)(nb ? 1 : p->b.ld);
    cblas_sgemm(CblasColMajor, na ? CblasNoTrans : CblasTrans, nb ? CblasNoTrans : CblasTrans, p->m,
                p->n, count, p->alpha, A, p->a.ld, B, p->b.ld, beta, C, p->c.ld);
}

static cudaError_t run_product(const void *data)
{
    const Product *p = data;
    float *a, *b, *C = (float *)(uintptr_t)p->c.p;
    if (p->m == 0 || p->n == 0) return cudaSuccess;
    if (!inside(&p->a) || !inside(&p->b) || !inside(&p->c) || !beside_inside(p))
        return host_fault(
            cudaErrorIllegalAddress,
            "cuBLAS product (%d, %d, %d): a matrix reaches outside its device allocation", p->m,
            p->n, p->k);
    cuda_seen.products++;
    float *c = NULL;
    const Matrix *all[] = {&p->a, &p->b, &p->c};
    for (int i = 0; i < 3; i++) heap_open(all[i]->p);
    const float *A = widen(&p->a, p->truncate, &a), *B = widen(&p->b, p->truncate, &b);
    if (p->c.type == CUDA_R_16BF) C = (float *)(uintptr_t)widen(&p->c, 0, &c);
    multiply(p, 0, p->split ? p->k / 2 : p->k, p->beta, A, B, C);
    if (p->split) {
        for (size_t i = 0; i < extent(&p->c); i++) C[i] = cuda_host_f32(cuda_host_bf16(C[i]));
        multiply(p, p->k / 2, p->k - p->k / 2, 1, A, B, C);
    }
    if (p->epilogue) run_epilogue(p, B, C);
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
    if (cuda_host.fail_blas) return (cublasStatus_t)cuda_host.fail_blas;
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
                 .split = Ctype == CUDA_R_16BF && handle &&
                          !(handle->math & CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION),
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
    if (cuda_host.fail_blas) return (cublasStatus_t)cuda_host.fail_blas;
    *handle = host_new(sizeof **handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *x, cublasComputeType_t compute,
                                        cudaDataType scale)
{
    if (scale != CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
    *x = host_new(sizeof **x);
    **x = (struct CublasLtOperation){.compute = compute,
                                     .transa = CUBLAS_OP_N,
                                     .transb = CUBLAS_OP_N,
                                     .epilogue = CUBLASLT_EPILOGUE_DEFAULT};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t x,
                                              cublasLtMatmulDescAttributes_t what,
                                              const void *value, size_t bytes)
{
    const struct {
        cublasLtMatmulDescAttributes_t what;
        void *to;
        size_t size;
    } all[] = {{CUBLASLT_MATMUL_DESC_TRANSA, &x->transa, 4},
               {CUBLASLT_MATMUL_DESC_TRANSB, &x->transb, 4},
               {CUBLASLT_MATMUL_DESC_EPILOGUE, &x->epilogue, 4},
               {CUBLASLT_MATMUL_DESC_BIAS_POINTER, &x->bias, sizeof x->bias},
               {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &x->aux, sizeof x->aux},
               {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &x->aux_ld, sizeof x->aux_ld}};
    size_t i = 0;
    while (i < sizeof all / sizeof *all && all[i].what != what) i++;
    if (i == sizeof all / sizeof *all || bytes != all[i].size) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(all[i].to, value, bytes);
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
    **x =
        (struct CublasLtWish){0, 256, CUBLASLT_REDUCTION_SCHEME_MASK}; /* the library's defaults */
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t x,
                                                    cublasLtMatmulPreferenceAttributes_t what,
                                                    const void *value, size_t bytes)
{
    int room = what == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
    if (bytes != (room ? sizeof x->workspace : sizeof x->aligned))
        return CUBLAS_STATUS_INVALID_VALUE;
    int sums = what == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK;
    memcpy(room ? (void *)&x->workspace : (void *)(sums ? &x->sums : &x->aligned), value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

static int lt_aux(cublasLtEpilogue_t e)
{
    return e & 128;
}

static int lt_bits(cublasLtEpilogue_t e)
{
    return lt_aux(e) && e & (2 | 8);
}

static int lt_bias(cublasLtEpilogue_t e)
{
    return e & CUBLASLT_EPILOGUE_BIAS || e == CUBLASLT_EPILOGUE_BGRADB;
}

/* Refuses what cuBLASLt's documentation forbids: no bias or aux where one is needed, distances of columns of bits (128) and
 * of numbers (8). */
static int lt_serves(const struct CublasLtOperation *x, const struct CublasLtLayout *d)
{
    int64_t unit = lt_bits(x->epilogue) ? 128 : 8;
    if (lt_bias(x->epilogue) && !x->bias) return 0;
    return !lt_aux(x->epilogue) ||
           (x->aux && x->aux_ld % unit == 0 && (uint64_t)x->aux_ld >= d->rows);
}

/* Returns the shape and the alignment that an algorithm is for. */
static cublasLtMatmulAlgo_t lt_shape(const struct CublasLtOperation *x,
                                     const struct CublasLtLayout *a, const struct CublasLtLayout *b,
                                     const struct CublasLtLayout *d, uint64_t aligned)
{
    return (cublasLtMatmulAlgo_t){
        {(uint64_t)x->compute, (uint64_t)a->type, d->rows, d->cols, a->rows, (uint64_t)a->ld,
         (uint64_t)b->ld, (uint64_t)x->epilogue << 32 | aligned,
         (uint64_t)x->transa << 40 | (uint64_t)x->transb << 32 | (uint64_t)d->type}};
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t x,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t wish, int most,
                                              cublasLtMatmulHeuristicResult_t *found, int *count)
{
    (void)c;
    *count = 0;
    cuda_seen.asked++;
    if (!handle || most < 1) return CUBLAS_STATUS_INVALID_VALUE;
    if (cuda_host.fail_lt || wish->workspace < LT_WORKSPACE || !lt_serves(x, d))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *found = (cublasLtMatmulHeuristicResult_t){.workspaceSize = LT_WORKSPACE};
    found->algo = lt_shape(x, a, b, d, wish->aligned);
    found->algo.data[8] |= (uint64_t)wish->sums << 48;
    *count = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t what,
                                                    void *value, size_t bytes, size_t *written)
{
    uint64_t sums = algo->data[8] >> 48;
    int32_t number = what == CUBLASLT_ALGO_CONFIG_SPLITK_NUM         ? 2
                     : what != CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME ? 0
                     : sums > CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE ? 4
                                                                     : (int32_t)sums;
    if (bytes != sizeof number) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(value, &number, sizeof number);
    *written = sizeof number;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t x, const void *alpha,
                              const void *A, cublasLtMatrixLayout_t a, const void *B,
                              cublasLtMatrixLayout_t b, const void *beta, const void *C,
                              cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t *algo, void *workspace, size_t bytes,
                              cudaStream_t stream)
{
    uint32_t aligned = (uint32_t)algo->data[7];
    cublasLtMatmulAlgo_t shape = lt_shape(x, a, b, d, aligned);
    uint64_t sums = algo->data[8] >> 48;
    shape.data[8] |= sums << 48;
    size_t low = (size_t)A | (size_t)B | (size_t)D;
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (cuda_host.refuse_lt) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (memcmp(&shape, algo, sizeof shape) != 0 || low % aligned != 0)
        return CUBLAS_STATUS_INVALID_VALUE; /* an algorithm of another shape */
    if (bytes < LT_WORKSPACE || !heap_holds(workspace, bytes) || C != D || c != d)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!lt_serves(x, d)) return CUBLAS_STATUS_NOT_SUPPORTED;
    int signs = lt_bits(x->epilogue);
    Product p = {.transa = x->transa,
                 .transb = x->transb,
                 .m = (int)d->rows,
                 .n = (int)d->cols,
                 .k = (int)(x->transb == CUBLAS_OP_N ? b->rows : b->cols),
                 .truncate = x->compute == CUBLAS_COMPUTE_32F_FAST_TF32 && a->type == CUDA_R_32F,
                 .split =
                     d->type == CUDA_R_16BF && (sums | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) !=
                                                   CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE,
                 .alpha = *(const float *)alpha,
                 .beta = *(const float *)beta,
                 .a = {A, a->type, (int)a->rows, (int)a->cols, (int)a->ld},
                 .b = {B, b->type, (int)b->rows, (int)b->cols, (int)b->ld},
                 .c = {D, d->type, (int)d->rows, (int)d->cols, (int)d->ld},
                 .epilogue = (int)x->epilogue,
                 .bias = lt_bias(x->epilogue) ? x->bias : NULL,
                 .aux = {lt_aux(x->epilogue) ? x->aux : NULL, signs ? bits : d->type,
                         (int)(signs ? d->rows / 8 : d->rows), (int)d->cols,
                         (int)(signs ? x->aux_ld / 8 : x->aux_ld)}};
    return submit(stream, &p, x->compute);
}
