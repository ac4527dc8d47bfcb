/* counts.c: counts what a training step asks of a device (counts.h). Each kernel of backend.h has one function here. It
 * counts the kernels that the CUDA backends launch (tests/cuda/test_counts.c compares with the calls to the stand-in
 * for a device), and the bytes that must be read and written at least once, without caches. */
#include "kernels/counts.h"

#include <math.h>
#include <string.h>

/* A count needs few of a kernel's arguments. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

const char *const count_names[COUNTS] = {
    "products", "rounding",  "attention", "norms", "linear combinations",
    "bias",     "embedding", "loss",      "Adam",  "fill and copy"};

enum { F32 = 4, BF16 = 2 }; /* bytes */
/* The same as in cuda_linear.cuh, cuda_gate.cuh, cuda_embed.cuh, cuda_loss.cuh, cuda_epilogue.cuh, cuda.cu. */
enum {
    LIN_TERMS = 16,
    GATE_INPUTS = 64,
    PLACES = 32,
    LOSS_ROW = 47 << 10,
    ROW_SIZES = 2,
    SIGNS = 128
};
static const size_t CACHE = (size_t)50 << 20; /* L2 of an H100 */

static struct {
    Backend backend;
    const Speeds *speeds;
    Count *count;
    size_t *sends;
    CountedList *list; /* NULL: calls are not listed */
    int packs;         /* 1: sends wait, to go together */
    char *next,
        *next_factor; /* addresses of the next buffers: of numbers, and of factors, which begin at FACTORS */
    const char *weights;
    size_t weight_bytes;
    int bf16;
} all;

/* A product, and attention on tensor cores, run at the rate of products. */
enum { VECTOR, TENSOR };

double counts_seconds(const CountedCall *c, const Speeds *s)
{
    double rate = c->tensor ? s->products : s->vector;
    return s->launch * (double)(c->kernels + c->products) +
           fmax(c->bytes / s->bandwidth, c->flops / rate);
}

static void note(const CountedCall *call)
{
    if (!all.count) return;
    Count *c = &all.count[call->kind];
    c->calls++;
    c->kernels += call->kernels;
    c->products += call->products;
    c->bytes += call->bytes;
    c->flops += call->flops;
    c->seconds += counts_seconds(call, all.speeds);
    if (all.list && all.list->count < COUNTED_MOST) all.list->call[all.list->count] = *call;
    if (all.list) all.list->count++;
}

static void add_for(const char *name, int kind, size_t kernels, double bytes, double flops,
                    int tensor)
{
    note(&(CountedCall){name, kind, tensor, kernels, .bytes = bytes, .flops = flops});
}
#define add(...) add_for(__func__, __VA_ARGS__)

static void add_set(const char *name, size_t kernels, size_t copies, double bytes, double numbers)
{
    note(&(CountedCall){name, COUNT_SET, 0, kernels, 0, copies, .bytes = bytes, .flops = numbers});
}

/* Count a pass of this many f32 numbers, or of bytes. */
#define add_numbers(kind, kernels, numbers) add(kind, kernels, F32 *(numbers), numbers, VECTOR)
#define add_bytes(kind, kernels, bytes, numbers) add(kind, kernels, bytes, numbers, VECTOR)

static size_t pieces(size_t n, size_t most)
{
    return n > most ? (n + most - 1) / most : 1;
}

/* ---- memory ------------------------------------------------------------------------------------- */

static int nothing(void)
{
    return 0;
}

static void *take(size_t n)
{
    void *p = all.next;
    all.next += (n * F32 + 255) / 256 * 256 + 256;
    return p;
}

static const size_t FACTORS = (size_t)1 << 46;

static void *take_factors(size_t n)
{
    void *p = all.next_factor;
    all.next_factor += (n * BF16 + 255) / 256 * 256 + 256;
    return p;
}

static int is_factor(const void *x)
{
    return (uintptr_t)x >= FACTORS;
}

static double size_of(const void *x)
{
    return is_factor(x) ? BF16 : F32;
}

static void drop(void *p) {}

static void put(void *x, const double *host, size_t n) {}

static void get(double *host, const void *x, size_t n)
{
    memset(host, 0, n * sizeof *host);
}

static int weights(const void *x, size_t n, void *twin)
{
    all.weights = x;
    all.weight_bytes = n * F32;
    return 0;
}

static void send(void *x, const void *host, size_t bytes)
{
    if (all.sends && !all.packs) ++*all.sends;
}

static void pack(int on)
{
    all.packs = on;
    if (on || !all.sends) return;
    ++*all.sends;
    add_set(__func__, 1, 1, 0, 0);
}

static void aside(int on) {}
static void meet(int whole) {}

static void receive(void *host, const void *x, size_t bytes)
{
    memset(host, 0, bytes);
}

static int is_weight(const void *x)
{
    return all.bf16 && (const char *)x >= all.weights &&
           (const char *)x < all.weights + all.weight_bytes;
}

static void fill(void *x, double value, size_t n)
{
    size_t kernels = (value != 0) + (size_t)is_weight(x);
    if (n) add_set(__func__, kernels, value == 0, F32 * (double)n, (double)n);
}

static void clear(void *x, size_t count, const size_t *window, size_t total)
{
    if (count) add_set(__func__, 1, 0, F32 * (double)total, (double)total);
}

static void copy(void *y, const void *x, size_t n)
{
    size_t kernels = is_factor(x) || is_factor(y) || is_weight(y);
    double bytes = (size_of(x) + size_of(y)) * (double)n;
    if (n) add_set(__func__, kernels, !(is_factor(x) || is_factor(y)), bytes, (double)n);
}

/* ---- products ----------------------------------------------------------------------------------- */

/* Returns a factor's bytes; it is rounded first if plain without a twin, or with rows not aligned. */
static double factor(size_t rows, size_t columns, const void *x, size_t ld)
{
    double n = (double)rows * (double)columns;
    if (!all.bf16) return F32 * n;
    size_t at = is_factor(x)   ? (uintptr_t)x
                : is_weight(x) ? (size_t)((const char *)x - all.weights) / 2
                               : 1;
    if (ld % 8 || at % 16) add_bytes(COUNT_ROUND, 1, (size_of(x) + BF16) * n, n);
    return BF16 * n;
}

static void gemm(int ta, int tb, size_t m, size_t n, size_t k, double alpha, const void *A,
                 size_t lda, const void *B, size_t ldb, double beta, void *C, size_t ldc)
{
    double bytes = factor(ta ? k : m, ta ? m : k, A, lda) + factor(tb ? n : k, tb ? k : n, B, ldb);
    if (m == 0 || n == 0) return;
    bytes += size_of(C) * (beta != 0 ? 2 : 1) * (double)m * (double)n;
    double flops = 2 * (double)m * (double)n * (double)k;
    note(&(CountedCall){__func__, COUNT_PRODUCT, TENSOR, 0, 1, 0, m, n, k, bytes, flops});
}

/* ---- rows --------------------------------------------------------------------------------------- */

static void norm(size_t N, size_t D, NormKind kind, const void *x, const void *w, const void *b,
                 void *y, void *stats)
{
    add_bytes(COUNT_NORM, 1, (F32 + size_of(y)) * (double)(N * D), (double)(N * D));
}

static void norm_back(size_t N, size_t D, NormKind kind, const void *x, const void *w,
                      const void *stats, const void *dy, size_t n, const LinTerm *term, void *dx,
                      void *dw, void *db)
{
    size_t more = dx ? 1 + (term ? n : 1) : 0;
    add_numbers(COUNT_NORM, 1, (double)(2 + more) * (double)(N * D));
}

static void residual(size_t N, size_t D, void *k, const void *b, Dropout d, int kept, size_t n,
                     const LinTerm *term, void *r, NormKind kind, const void *w, const void *c,
                     void *y, void *stats)
{
    size_t others = 0;
    for (size_t i = 0; i < n; i++) others += term[i].x != k;
    double bytes = F32 * (double)(2 + others + (kept != 0)) + (w ? size_of(y) : 0);
    add_bytes(COUNT_LINEAR, 1, bytes * (double)(N * D), (double)(N * D) * (double)(n + 2));
}

/* Returns the number of keys that are seen, over all rows. */
static double seen(const Attention *a)
{
    double T = (double)attention_keys(a);
    return (double)a->S * T * (a->causal ? (T + 1) / 2 : T);
}

static int attends_factors(size_t H, size_t E, size_t kv)
{
    return E % 16 == 0 && E <= 128 && (E <= 64 || attention_each(H, kv) == 1);
}

/* Tells whether attention runs on tensor cores (cuda_matrix.cuh). */
static int by_matrix(const Attention *a)
{
    size_t E = a->D / a->H;
    return all.bf16 && attends_factors(a->H, E, a->kv) && !a->relative;
}

static void attention(const Attention *a, void *out, void *lse)
{
    double rows = (double)a->S * (double)attention_keys(a) * (double)a->D;
    add(COUNT_ATTENTION, 1, (3 * size_of(a->q) + size_of(out)) * rows, 4 * (double)a->D * seen(a),
        by_matrix(a));
}

/* Counts backward of attention. Sequences longer than a tile have one kernel for keys and one for queries. */
static void attention_back(const Attention *a, const void *out, const void *lse, const void *dout,
                           void *dq, void *dk, void *dv, int more, void *drelative)
{
    enum { SIDE = 64 };
    double rows = (double)a->S * (double)attention_keys(a) * (double)a->D;
    int matrix = by_matrix(a), apart = a->memory || more || attention_each(a->H, a->kv) > 1;
    size_t tile = matrix && a->D / a->H > 64 ? SIDE / 2 : SIDE;
    size_t kernels = attention_keys(a) > tile || (!matrix && apart) ? 3 : matrix ? 1 : 2;
    if (a->relative && drelative) kernels++;
    double bytes = 3 * size_of(a->q) + size_of(out) + size_of(dout) + 3 * size_of(dq);
    add(COUNT_ATTENTION, kernels, bytes * rows, 10 * (double)a->D * seen(a), by_matrix(a));
}

static void rotate(size_t N, size_t H, size_t E, void *x, size_t ld, const int32_t *position,
                   const void *table, int back)
{
    add_numbers(COUNT_ATTENTION, 1, 3 * (double)(N * H * E));
}

/* Decoding is not counted. */
static void attend(const Listed *a, void *out) {}
static void best(size_t N, size_t V, size_t K, const void *z, int32_t *index, void *value) {}

static void bias_drop(size_t N, size_t D, void *x, const void *b, Dropout d)
{
    add_numbers(COUNT_BIAS, 1, 2 * (double)(N * D));
}

static void bias_drop_back(size_t N, size_t D, size_t n, const LinTerm *term, Dropout d, void *dx,
                           void *db)
{
    double bytes = F32 * (double)n + size_of(dx);
    add_bytes(COUNT_BIAS, 1, bytes * (double)(N * D), (double)(N * D) * (double)(n + 1));
}

/* Tells whether a product of these arrays may have an epilogue (cuda_epilogue.cuh). A rounded factor is aligned, and
 * where C is in bf16 the bias is its twin. */
static int fits(const void *A, const void *B, const void *C, const void *bias)
{
    size_t b = is_factor(C) && bias ? (size_t)((const char *)bias - all.weights) / 2 : (size_t)bias;
    return ((all.bf16 ? 0 : (size_t)A | (size_t)B) | (size_t)C | b) % 16 == 0;
}

/* Counts a product that adds a bias, or two calls where it cannot. */
static void linear(size_t m, size_t n, size_t k, const void *A, const void *W, const void *b,
                   void *C)
{
    gemm(0, 1, m, n, k, 1, A, k, W, k, 0, C, n);
    if (m && n && !fits(A, W, C, b)) bias_drop(m, n, C, b, (Dropout){0});
}

static void weigh(size_t N, size_t O, size_t D, const void *dy, const void *x, int more, void *dW,
                  void *db)
{
    gemm(1, 0, O, D, N, 1, dy, O, x, D, more, dW, D);
    if (db && (more || !fits(dy, x, dW, db)))
        add_bytes(COUNT_BIAS, 1, size_of(dy) * (double)(N * O), (double)(N * O));
}

static void bias_act(size_t N, size_t M, void *u, const void *b, int act, Dropout d, void *y)
{
    double bytes = size_of(u) * (act == ACT_RELU ? 1 : act_gated(act) ? 4 : 2) + size_of(y);
    add_bytes(COUNT_BIAS, 1, bytes * (double)(N * M), (double)(N * M));
}

static void bias_act_back(size_t N, size_t M, const void *u, const void *y, int act, Dropout d,
                          const void *dy, void *du, void *db)
{
    double bytes = size_of(act == ACT_RELU ? y : u) + size_of(dy) + size_of(du);
    if (act_gated(act)) bytes += size_of(u) + size_of(du);
    add_bytes(COUNT_BIAS, 1, bytes * (double)(N * M), (double)(N * M));
}

static int signs(size_t M, int act, const void *u, const void *y)
{
    return act == ACT_RELU && u != y && M % SIGNS == 0;
}

/* Adds what an epilogue reads or writes beside its product: bits, or numbers. */
static void beside(size_t N, size_t M, int act, const void *u)
{
    double bytes = act == ACT_RELU ? 1.0 / 8 : size_of(u);
    note(&(CountedCall){__func__, COUNT_PRODUCT, TENSOR, .bytes = bytes * (double)(N * M)});
}

static void activate(size_t N, size_t M, size_t D, const void *x, const void *W, const void *b,
                     int act, Dropout d, void *u, void *y)
{
    int gated = act_gated(act), relu = act == ACT_RELU, kept = relu || act == ACT_GELU;
    int done = d.rate == 0 && kept && fits(x, W, y, b) && (relu ? 1 : (size_t)u % 16 == 0);
    size_t wide = gated ? 2 * M : M;
    gemm(0, 1, N, wide, D, 1, x, D, W, D, 0, relu || done ? y : u, wide);
    if (relu ? signs(M, act, u, y) : done) beside(N, M, act, u);
    if (!done) bias_act(N, M, relu ? y : u, b, act, d, y);
}

static void activate_back(size_t N, size_t M, size_t D, const void *dz, const void *W,
                          const void *u, const void *y, int act, Dropout d, void *dcore, void *du)
{
    int bits = signs(M, act, u, y);
    int done =
        (bits || (act == ACT_GELU && d.rate == 0)) && fits(dz, W, du, NULL) && (size_t)u % 16 == 0;
    gemm(0, 0, N, M, D, 1, dz, D, W, M, 0, done ? du : dcore, M);
    if (done)
        beside(N, M, act, u);
    else
        bias_act_back(N, M, u, y, act, d, dcore, du, NULL);
}

static void lin(size_t N, size_t D, size_t n, const LinTerm *term, void *r)
{
    size_t launches = pieces(n, LIN_TERMS);
    if (N && D)
        add_numbers(COUNT_LINEAR, launches, (double)(N * D) * (double)(n + 2 * launches - 1));
}

/* Counts the adjoints of terms i .. end-1 and of their factors; one more kernel sums those of scalars. */
static void lin_back_piece(size_t N, size_t D, size_t i, size_t end, const LinTerm *term)
{
    size_t wanted = 0, dots = 0, scalars = 0;
    for (; i < end; i++) {
        size_t factors = 0;
        wanted += term[i].dx != NULL;
        for (int k = 0; k < term[i].factors; k++) {
            factors += term[i].factor[k].dp != NULL;
            scalars += term[i].factor[k].dp && !term[i].factor[k].stride;
        }
        dots += factors > 0;
    }
    if (wanted) add_numbers(COUNT_LINEAR, 1, (double)(N * D) * (double)(1 + 2 * wanted));
    if (dots) add_numbers(COUNT_LINEAR, 1 + (scalars > 0), (double)(N * D) * (double)(2 * dots));
}

static void lin_back(size_t N, size_t D, size_t n, const LinTerm *term, const void *dr)
{
    for (size_t i = 0; N && D && i < n; i += LIN_TERMS)
        lin_back_piece(N, D, i, n - i < LIN_TERMS ? n : i + LIN_TERMS, term);
}

static void gate(size_t N, size_t D, size_t n, const void *const *x, const void *w, const void *b,
                 int act, void *g)
{
    add_numbers(COUNT_LINEAR, pieces(n, GATE_INPUTS), (double)(N * D) * (double)n);
}

static void gate_back(size_t N, size_t D, size_t n, const void *const *x, const void *w, int act,
                      const void *g, const void *dg, void *const *dx, void *dw, void *db)
{
    if (dx) add_numbers(COUNT_LINEAR, pieces(n, GATE_INPUTS), 2 * (double)(N * D) * (double)n);
    for (size_t i = 0; dw && i < n; i++) add_numbers(COUNT_LINEAR, 1, (double)(N * D));
    if (db) add_numbers(COUNT_LINEAR, 1, (double)N);
}

/* ---- ends --------------------------------------------------------------------------------------- */

static void embed(size_t N, size_t D, const int32_t *token, const int32_t *position, const void *E,
                  double scale, const void *P, Dropout d, void *h)
{
    add_numbers(COUNT_EMBED, 1, (P ? 3 : 2) * (double)(N * D));
}

static void embed_back(size_t N, size_t D, size_t V, const int32_t *token, double scale, Dropout d,
                       const void *dh, void *dE)
{
    add_numbers(COUNT_EMBED, N > PLACES ? 3 : 2, 3 * (double)(N * D));
}

static void cross_entropy(size_t N, size_t V, const void *z, const int32_t *target, Labels q,
                          const double *grad, void *dz, void *nll)
{
    int twice = grad && size_of(z) * (double)V > LOSS_ROW; /* z is read once more */
    double bytes = size_of(z) * (twice ? 2 : 1) + (grad ? size_of(dz) : 0);
    add_bytes(COUNT_LOSS, 1, bytes * (double)(N * V), (double)(N * V));
}

static void loss(size_t N, const void *nll, Step *s)
{
    add_numbers(COUNT_LOSS, 1, (double)N);
}

static void norm2(size_t n, const void *g, Step *s)
{
    add_numbers(COUNT_ADAM, 1, (double)n);
}

static void adam(size_t n, void *p, const void *g, void *m, void *v, double beta1, double beta2,
                 double eps, double clip, double decay, const Step *s)
{
    add_numbers(COUNT_ADAM, n > 0, (all.bf16 ? 7.5 : 7) * (double)n);
}

static size_t logit_rows(size_t V, size_t D, size_t bytes)
{
    return backend_rows_in(CACHE, V, D, bytes);
}

/* ---- the table ---------------------------------------------------------------------------------- */

const Backend *counts_backend(const char *name)
{
    static const char *const names[] = {"cuda-f32", "cuda-tf32", "cuda-bf16"};
    size_t i = 0;
    while (i < 3 && strcmp(names[i], name) != 0) i++;
    if (i == 3) return NULL;
    all.bf16 = i == 2;
    all.weights = NULL;
    all.weight_bytes = 0;
    all.next = (char *)(uintptr_t)(1 << 20);
    all.next_factor = (char *)(uintptr_t)FACTORS;
    all.backend = (Backend){.name = names[i],
                            .kernel = "counted",
                            .size = F32,
                            .eps = 0x1p-24,
                            .logit_rows = logit_rows,
                            .row_sizes = ROW_SIZES,
                            .wait = nothing,
                            .alloc = take,
                            .release = drop,
                            .put = put,
                            .get = get,
                            .weights = all.bf16 ? weights : NULL,
                            .twin_size = all.bf16 ? BF16 : 0,
                            .factors = all.bf16 ? take_factors : NULL,
                            .factor_size = all.bf16 ? BF16 : 0,
                            .send = send,
                            .pack = pack,
                            .aside = aside,
                            .meet = meet,
                            .receive = receive,
                            .signs = SIGNS,
                            .activate = activate,
                            .activate_back = activate_back,
                            .weigh = weigh,
                            .attends_factors = all.bf16 ? attends_factors : NULL,
                            BACKEND_KERNELS(, gemm, linear, attention, attention_back)};
    return &all.backend;
}

void counts_begin(const Speeds *s, Count *count, size_t *sends)
{
    memset(count, 0, COUNTS * sizeof *count);
    *sends = 0;
    all.speeds = s;
    all.count = count;
    all.sends = sends;
}

void counts_list(CountedList *list)
{
    list->count = 0;
    all.list = list;
}

void counts_end(void)
{
    all.list = NULL;
    all.speeds = NULL;
    all.count = NULL;
    all.sends = NULL;
}
