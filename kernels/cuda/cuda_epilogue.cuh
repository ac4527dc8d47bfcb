/* cuda_epilogue.cuh: products that do more before they write, by cuBLASLt: a bias, an activation or its adjoint, sums of
 * columns (Backend.linear, .activate, .activate_back, .weigh). Part of cuda.cu.
 *
 * cuBLASLt comes with cuBLAS and is found like it. Its choice of a kernel is asked for once for each shape and kept, so
 * that a shape always has the same bits. Where it is missing, has no kernel, or an array is not aligned to 16 bytes, cuBLAS
 * and kernels of our own do the same. By columns (cuda_product.cuh) a bias of our columns is one of its rows, as its
 * epilogues want it. The workspace is cuBLAS's of the same branch.
 *
 * Where C is in bf16, cuBLASLt wants the bias so too: the twin. Its GELU is the tanh form, as ACT_GELU; ACT_ERF has none.
 * Its ReLU makes 0 of a NaN. A mask of dropout between activation and product is in no epilogue. But backward of ReLU
 * needs only the bits y > 0, which have the mask in them, and the factor of what is kept, which is alpha; so forward
 * leaves bits, as CUBLASLT_EPILOGUE_DRELU reads them: bit c % 8 (1 << c % 8) of byte (r M + c) / 8. Source of the layout:
 * NVIDIA, nvmath-python, tests of RELU_AUX and DRELU.
 */
#ifndef TROTTER_CUDA_EPILOGUE_CUH
#define TROTTER_CUDA_EPILOGUE_CUH

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
    X(config, cublasLtMatmulAlgoConfigGetAttribute)   \
    X(multiply, cublasLtMatmul)

/* All that a kernel is chosen by: Backend.gemm's, and cudaDataType of the factors and of C, cublasComputeType_t,
 * cublasLtEpilogue_t. C has no gaps. */
typedef struct {
    size_t ta, tb, m, n, k, lda, ldb, more; /* more: C is added to */
    size_t type, out, compute, epilogue;
    size_t beside; /* alignment of bias and aux, at most LT_ALIGNED_MOST */
} LtShape;

/* bias: added, or sums that are written. aux: (m, n) bits or numbers that an epilogue writes or reads. */
typedef struct {
    const void *A, *B, *bias, *aux;
    void *C;
    float alpha;
} LtArrays;

typedef struct {
    LtShape shape;
    int serves; /* 0: there is no kernel for it */
    cublasLtMatmulAlgo_t algorithm;
} LtChoice;

enum {
    LT_CHOICES = 1024,
    LT_ALIGNED = 16,
    LT_ALIGNED_MOST = 256,
    SIGNS = 128 /* cuBLASLt: rows of bits */
};

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
    uint32_t aligned = LT_ALIGNED, sums = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    if (lt.handle || !lt_find() || lt.create(&lt.handle) != CUBLAS_STATUS_SUCCESS) return;
    if (lt.wish_create(&lt.wish) == CUBLAS_STATUS_SUCCESS &&
        lt_wish(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof room) &&
        lt_wish(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &sums, sizeof sums) &&
        lt_wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &aligned, sizeof aligned) &&
        lt_wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &aligned, sizeof aligned) &&
        lt_wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &aligned, sizeof aligned) &&
        lt_wish(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &aligned, sizeof aligned))
        return;
    lt.handle = NULL;
}

/* ---- a product ---------------------------------------------------------------------------------- */

/* Descriptions of a product for the library: op(B) and op(A) as it sees them by columns, C. */
typedef struct {
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t b, a, c;
} LtCall;

static int lt_open(LtCall *x, const LtShape *s, const LtArrays *y)
{
    cublasOperation_t tb = s->tb ? CUBLAS_OP_T : CUBLAS_OP_N,
                      ta = s->ta ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtEpilogue_t epilogue = (cublasLtEpilogue_t)s->epilogue;
    cudaDataType type = (cudaDataType)s->type;
    int64_t ld = (int64_t)s->n;
    const struct {
        cublasLtMatmulDescAttributes_t what;
        const void *value;
        size_t bytes;
    } set[] = {{CUBLASLT_MATMUL_DESC_TRANSA, &tb, sizeof tb},
               {CUBLASLT_MATMUL_DESC_TRANSB, &ta, sizeof ta},
               {CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue},
               {CUBLASLT_MATMUL_DESC_BIAS_POINTER, &y->bias, sizeof y->bias},
               {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &y->aux, sizeof y->aux},
               {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &ld, sizeof ld}};
    size_t count = sizeof set / sizeof *set - (y->aux ? 0 : 2);
    *x = LtCall{};
    if (lt.operation_create(&x->operation, (cublasComputeType_t)s->compute, CUDA_R_32F) !=
        CUBLAS_STATUS_SUCCESS)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (lt.operation_set(x->operation, set[i].what, set[i].value, set[i].bytes) !=
            CUBLAS_STATUS_SUCCESS)
            return 0;
    return lt.layout_create(&x->b, type, s->tb ? s->k : s->n, s->tb ? s->n : s->k,
                            (int64_t)s->ldb) == CUBLAS_STATUS_SUCCESS &&
           lt.layout_create(&x->a, type, s->ta ? s->m : s->k, s->ta ? s->k : s->m,
                            (int64_t)s->lda) == CUBLAS_STATUS_SUCCESS &&
           lt.layout_create(&x->c, (cudaDataType)s->out, s->n, s->m, ld) == CUBLAS_STATUS_SUCCESS;
}

static void lt_close(LtCall *x)
{
    if (x->operation) (void)lt.operation_destroy(x->operation);
    if (x->b) (void)lt.layout_destroy(x->b);
    if (x->a) (void)lt.layout_destroy(x->a);
    if (x->c) (void)lt.layout_destroy(x->c);
}

/* Returns a number of a kernel that was chosen; -1 where the library does not tell it. */
static long lt_number(const LtChoice *c, cublasLtMatmulAlgoConfigAttributes_t what)
{
    int32_t value = -1;
    size_t written = 0;
    return c->serves && lt.config(&c->algorithm, what, &value, sizeof value, &written) ==
                            CUBLAS_STATUS_SUCCESS
               ? value
               : -1;
}

/* Tells a choice as a line of CSV: the shape, whether a kernel serves it, its number, its tile, the parts along k and how they
 * are added (cublasLtReductionScheme_t). */
static void lt_tell(const LtChoice *c)
{
    const LtShape *s = &c->shape;
    if (!cuda.tells) return;
    fprintf(stderr, "cublaslt,%zu,%zu,%zu,%zu,%zu,%zu,%zu,%zu,%zu,%zu,%d,%ld,%ld,%ld,%ld\n", s->ta,
            s->tb, s->m, s->n, s->k, s->more, s->type, s->out, s->epilogue, s->beside, c->serves,
            lt_number(c, CUBLASLT_ALGO_CONFIG_ID), lt_number(c, CUBLASLT_ALGO_CONFIG_TILE_ID),
            lt_number(c, CUBLASLT_ALGO_CONFIG_SPLITK_NUM),
            lt_number(c, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME));
}

static LtChoice lt_ask(const LtShape *s, const LtCall *x)
{
    LtChoice c = {};
    c.shape = *s;
    cublasLtMatmulHeuristicResult_t found;
    int count = 0;
    c.serves = lt.heuristic(lt.handle, x->operation, x->b, x->a, x->c, x->c, lt.wish, 1, &found,
                            &count) == CUBLAS_STATUS_SUCCESS &&
               count > 0;
    if (c.serves) c.algorithm = found.algo;
    lt_tell(&c);
    return c;
}

/* Returns the choice for a shape, good until the next call. */
static LtChoice *lt_choose(const LtShape *s, const LtCall *x)
{
    static LtChoice last;
    for (size_t i = 0; i < lt.choices; i++)
        if (memcmp(&lt.choice[i].shape, s, sizeof *s) == 0) return &lt.choice[i];
    LtChoice *c = lt.choices < LT_CHOICES ? &lt.choice[lt.choices++] : &last;
    *c = lt_ask(s, x);
    return c;
}

/* Tells whether the library refuses a call before it does anything. */
static int lt_refuses(cublasStatus_t code)
{
    return code == CUBLAS_STATUS_NOT_SUPPORTED || code == CUBLAS_STATUS_INVALID_VALUE ||
           code == CUBLAS_STATUS_ARCH_MISMATCH;
}

/* Runs the kernel that was chosen; where it is refused after all, it is not tried again. */
static void lt_run(LtChoice *c, const LtCall *x, const LtArrays *y, float beta, const char *where)
{
    int behind = cuda.behind[cuda.branch];
    cuda.behind[cuda.branch] = 0;
    device_here();
    cublasStatus_t code =
        lt.multiply(lt.handle, x->operation, &y->alpha, y->B, x->b, y->A, x->a, &beta, y->C, x->c,
                    y->C, x->c, &c->algorithm, blas.workspace[cuda.branch],
                    blas.workspace[cuda.branch] ? BLAS_WORKSPACE : 0, cuda.stream);
    c->serves = !lt_refuses(code);
    if (c->serves) {
        product_check(code, where);
        cuda_lap(LAUNCH_PRODUCT);
    } else {
        cuda.behind[cuda.branch] = behind;
    }
}

/* Computes C = epilogue(alpha op(A) op(B) + more C); returns 0 where it cannot, and does nothing. */
static int lt_product(LtShape s, const LtArrays *y, const char *where)
{
    const float beta = s.more != 0;
    LtCall x;
    LtChoice *c = NULL;
    size_t beside = (size_t)y->bias | (size_t)y->aux | LT_ALIGNED_MOST;
    if (!lt.handle || ((size_t)y->A | (size_t)y->B | (size_t)y->C | beside) % LT_ALIGNED) return 0;
    s.beside = beside & -beside;
    if (lt_open(&x, &s, y)) c = lt_choose(&s, &x);
    if (c && c->serves) lt_run(c, &x, y, beta, where);
    lt_close(&x);
    return c && c->serves;
}

/* The same product by cuBLAS, without an epilogue. */
static void lt_plain(const LtShape *s, const LtArrays *y, const char *where)
{
    blas_product((int)s->ta, (int)s->tb, s->m, s->n, s->k, 1, y->A, s->lda, y->B, s->ldb,
                 (cudaDataType)s->type, s->more, y->C, s->n, (cublasComputeType_t)s->compute,
                 where);
}

static LtShape lt_sized(size_t ta, size_t tb, size_t m, size_t n, size_t k)
{
    LtShape s = {};
    s.ta = ta, s.tb = tb, s.m = m, s.n = n, s.k = k;
    return s;
}

/* Sets the factors of a product, A and B as stored; returns 0 where there is nothing to do or memory is short. */
template <int bf16, cublasComputeType_t compute>
static int lt_factors(LtShape *s, LtArrays *y, const void *A, const void *B)
{
    size_t lda = s->ta ? s->m : s->k, ldb = s->tb ? s->k : s->n;
    Factor f[2];
    if (s->m == 0 || s->n == 0 || cuda.failed != cudaSuccess) return 0;
    int old = compute == CUBLAS_COMPUTE_32F_FAST_TF32 && cuda.capability < FIRST_TENSOR;
    s->compute = (size_t)(old ? CUBLAS_COMPUTE_32F : compute);
    s->type = (size_t)(bf16 ? CUDA_R_16BF : CUDA_R_32F);
    s->lda = lda, s->ldb = ldb;
    y->A = A, y->B = B, y->alpha = 1;
    if (!bf16) return 1;
    if (!bf16_pair(s->ta ? s->k : s->m, lda, A, lda, s->tb ? s->n : s->k, ldb, B, ldb, f)) return 0;
    s->lda = f[0].ld, s->ldb = f[1].ld;
    y->A = f[0].x, y->B = f[1].x;
    return 1;
}

/* Sets where a product goes, with what it does before. */
static void lt_goes(LtShape *s, LtArrays *y, cublasLtEpilogue_t epilogue, void *C, const void *bias,
                    const void *aux)
{
    s->epilogue = (size_t)epilogue;
    s->out = (size_t)(is_factor(C) ? CUDA_R_16BF : CUDA_R_32F);
    y->C = C, y->bias = bias, y->aux = aux;
}

/* ---- linear layers ------------------------------------------------------------------------------ */

template <int bf16, cublasComputeType_t compute>
static void cuda_linear(size_t m, size_t n, size_t k, const void *A, const void *W, const void *b,
                        void *C)
{
    if (!NUMBERS(b)) return;
    static const Dropout none = {};
    LtShape s = lt_sized(0, 1, m, n, k);
    LtArrays y = {};
    if (!lt_factors<bf16, compute>(&s, &y, A, W)) return;
    lt_goes(&s, &y, CUBLASLT_EPILOGUE_BIAS, C, is_factor(C) ? twin_of(b) : b, NULL);
    if (y.bias && lt_product(s, &y, __func__)) return;
    lt_plain(&s, &y, __func__);
    cuda_bias_drop(m, n, C, b, none);
}

/* db += the sums of the columns of dy. */
struct ColumnSum {
    enum { SUMS = 1 };
    size_t D;
    In dy;
    __device__ void begin() {}
    template <int W> __device__ void at(size_t r, size_t c, Pack<W> *sum) const
    {
        Pack<W> v = load<W>(dy, r * D + c);
        for (int i = 0; i < W; i++) sum->x[i] += v.x[i];
    }
};

template <int bf16, cublasComputeType_t compute>
static void cuda_weigh(const Backend *, size_t N, size_t O, size_t D, const void *dy, const void *x,
                       int more, void *dW, void *db)
{
    if (!NUMBERS(dW, db)) return;
    LtShape s = lt_sized(1, 0, O, D, N);
    LtArrays y = {};
    s.more = (size_t)more;
    if (!lt_factors<bf16, compute>(&s, &y, dy, x)) return;
    lt_goes(&s, &y, CUBLASLT_EPILOGUE_BGRADB, dW, db, NULL);
    if (db && !more && lt_product(s, &y, __func__)) return;
    lt_plain(&s, &y, __func__);
    if (db) sum_columns(N, O, wide(O, dy), ColumnSum{O, in_of(dy)}, Targets<1>{{(float *)db}});
}

/* ---- activations -------------------------------------------------------------------------------- */

/* y = ReLU(y + b) keep, with the bits y > 0. */
struct ReluSigns {
    size_t M;
    Out y;
    const float *b;
    uint32_t *sign;
    Keep keep;
    __device__ void begin()
    {
        keep_begin(&keep);
    }
    template <int W> __device__ void at(size_t r, size_t c) const
    {
        constexpr unsigned LANES = 32 / W; /* they make a word; M is a multiple of 128 */
        Pack<W> v = load<W>(y, r * M + c), bias = load<W>(b + c),
                k = keep_pack<W>(&keep, r * M + c);
        uint32_t bits = 0;
        for (int i = 0; i < W; i++) {
            v.x[i] = act_value(ACT_RELU, v.x[i] + bias.x[i]) * k.x[i];
            bits |= (uint32_t)(v.x[i] > 0) << i;
        }
        store(y, r * M + c, v);
        bits <<= threadIdx.x % LANES * W;
        for (unsigned d = 1; d < LANES; d *= 2) bits |= __shfl_xor_sync(ALL_LANES, bits, (int)d);
        if (threadIdx.x % LANES == 0) sign[(r * M + c) / 32] = bits;
    }
};

static size_t cuda_signs(size_t M)
{
    return M % SIGNS ? 0 : M / 8;
}

static int leaves_signs(size_t M, int act, const void *u, const void *y)
{
    return act == ACT_RELU && u != y && cuda_signs(M);
}

/* Finds the epilogue that makes an activation, where nothing is dropped behind it; 0: there is none. */
static cublasLtEpilogue_t act_epilogue(int act, int signs, double rate)
{
    const cublasLtEpilogue_t none = (cublasLtEpilogue_t)0;
    if (rate > 0) return none;
    return act == ACT_RELU ? (signs ? CUBLASLT_EPILOGUE_RELU_AUX_BIAS : CUBLASLT_EPILOGUE_RELU_BIAS)
           : act == ACT_GELU ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS
                             : none;
}

template <int bf16, cublasComputeType_t compute>
static void cuda_activate(const Backend *, size_t N, size_t M, size_t D, const void *x,
                          const void *W, const void *b, int act, Dropout drop, void *u, void *y)
{
    if (!NUMBERS(b)) return;
    int signs = leaves_signs(M, act, u, y), relu = act == ACT_RELU;
    LtShape s = lt_sized(0, 1, N, act_gated(act) ? 2 * M : M, D);
    LtArrays p = {};
    if (!lt_factors<bf16, compute>(&s, &p, x, W)) return;
    cublasLtEpilogue_t epilogue = act_epilogue(act, signs, drop.rate);
    lt_goes(&s, &p, epilogue, y, is_factor(y) ? twin_of(b) : b, signs || !relu ? u : NULL);
    if (epilogue && p.bias && lt_product(s, &p, __func__)) return;
    p.C = relu ? y : u;
    lt_plain(&s, &p, __func__);
    if (signs)
        each_row(N, M, wide(M, y, b),
                 ReluSigns{M, out_of(y), (const float *)b, (uint32_t *)u, keep_of(&drop)});
    else
        cuda_bias_act(N, M, p.C, b, act, drop, y);
}

template <int bf16, cublasComputeType_t compute>
static void cuda_activate_back(const Backend *, size_t N, size_t M, size_t D, const void *dy,
                               const void *W, const void *u, const void *y, int act, Dropout drop,
                               void *dcore, void *du, void *)
{
    int signs = leaves_signs(M, act, u, y);
    LtShape s = lt_sized(0, 0, N, M, D);
    LtArrays p = {};
    if (!lt_factors<bf16, compute>(&s, &p, dy, W)) return;
    lt_goes(&s, &p, signs ? CUBLASLT_EPILOGUE_DRELU : CUBLASLT_EPILOGUE_DGELU, du, NULL, u);
    if (signs) p.alpha = (float)(1 / (1 - drop.rate));
    if ((signs || (act == ACT_GELU && drop.rate == 0)) && lt_product(s, &p, __func__)) return;
    lt_goes(&s, &p, CUBLASLT_EPILOGUE_DEFAULT, dcore, NULL, NULL);
    lt_plain(&s, &p, __func__);
    cuda_bias_act_back(N, M, u, y, act, drop, dcore, du, NULL);
}

#endif
