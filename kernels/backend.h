/* backend.h: the interface to the hardware. Precision and device are one choice, a backend: a const table of functions.
 * nn/ knows no other way to touch a number of a model.
 *
 * Buffers live where the backend computes. Those of `alloc` hold its element type (double for cpu-f64, else float); to
 * callers they are `void *`, and backend_at(b, p, i) steps over i elements. Those of `factors`, which a backend may have
 * besides, hold elements of factor_size bytes, and backend_factor_at steps over them. Matrices are row-major. Shapes are
 * checked when a plan or model is built; kernels assume them. Unless a line says otherwise, outputs do not overlap inputs.
 * In backward functions dx is the adjoint of x, which is d loss / d x, and *accumulates* (+=); a NULL adjoint is skipped.
 *
 * A function that returns int returns 0 or a code ERR_*; the codes, and error_text, which has a failure's words, are in
 * kernels/base/error.h.
 *
 * Sizes: N = rows (tokens) of a batch, D width, M inner width, V vocabulary, H heads, E = D / H.
 * Tokens of a batch are packed: S sequences one after another, sequence s has the rows
 * start[s] .. start[s+1]-1 (start (S+1), start[S] = N). There is no padding. Tokens, positions, targets and starts live
 * where the backend computes too.
 *
 * On a device calls return before their work is done; the work is done in order. `get` and `receive` wait. Values that
 * change from step to step of a training (Step) are in backend memory, so that the calls of a step are the same each
 * time and can be recorded and replayed.
 *
 * Dropout with rate p keeps an element where a random word >= p * 2^32 and divides it by 1 - p. The
 * word is a pure function of (seed, stream and step, element index), so the mask of a forward pass is
 * drawn again, not stored, by its backward pass, and is the same on every backend.
 */
#ifndef TROTTER_BACKEND_H
#define TROTTER_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Losses whose adjoints each have a factor: words, labels of sequences. */
enum { GRAD_WORDS, GRAD_LABELS, GRADS };

/* Values that change from step to step of a training, and results of a step, in backend memory. */
typedef struct {
    uint64_t step;      /* in: from 1; numbers Adam's corrections */
    double rate;        /* in: Adam's rate */
    double grad[GRADS]; /* in: factors of the adjoints of losses (cross_entropy) */
    double loss;        /* out: sums of nll accumulate */
    double norm;        /* out: norm of the gradient */
    /* out: FAULT_LOSS or FAULT_NORM once one was not finite; then Adam does nothing. */
    uint64_t fault;
    uint64_t fault_step; /* out: the first step where that happened */
} Step;
enum { FAULT_LOSS = 1, FAULT_NORM };

enum { DROPOUT_STEP = 24 }; /* streams of a step: 2^24 */

typedef struct {
    double rate;   /* p in [0, 1); 0: no dropout, nothing is drawn */
    uint64_t seed; /* seed of the run */
    /* Number of the place in the network whose mask this is. With `step` it is below 2^24, and the stream of the
     * random words is *step 2^24 + stream, so that each step of a training draws anew; with step NULL it is the stream
     * itself and may be any number. */
    uint64_t stream;
    const uint64_t *step; /* (1), in backend memory; or NULL */
    /* Index of element 0. It is 0 except where other ranks have the first rows of the batch; there it is the number of
     * those rows times the number of columns. */
    uint64_t first;
} Dropout;

/* GELU (Hendrycks, Gimpel 2016): the tanh form, and ACT_ERF u Phi(u), Phi the normal distribution's. Gated ones have two
 * inputs, act(u) v: SwiGLU u sigmoid(u) v, GEGLU GELU(u) v (Shazeer 2020, eq. 6). */
enum { ACT_RELU, ACT_GELU, ACT_SIGMOID, ACT_TANH, ACT_ERF, ACT_SWIGLU, ACT_GEGLU };
static inline int act_gated(int act)
{
    return act == ACT_SWIGLU || act == ACT_GEGLU;
}

/* A norm of rows. NORM_LAYER: y = (x - mean) / sqrt(variance + eps) w + b, biased variance (Ba, Kiros, Hinton 2016, eq.
 * 4); NORM_RMS: y = x / sqrt(mean x^2 + eps) w, without b (Zhang, Sennrich 2019, eq. 4). */
enum { NORM_LAYER, NORM_RMS };
typedef struct {
    int kind;   /* NORM_* */
    double eps; /* > 0 */
} NormKind;

/* Marks in lists of rows or targets: no row; a row that only fills a matrix up and has no loss at all. */
enum { NO_ROW = -1, FILLER = -2 };

/* Labels q that cross_entropy compares a row's softmax with: q_v = all + hit (v is the row's target). Each of the V columns
 * has `all`, and on the target `hit` is added to it. q need not sum to 1. */
typedef struct {
    double hit, all;
} Labels;

/* Most learned factors of a term; most terms of a combination made by another kernel on its way. */
enum { LIN_FACTORS = 4, LIN_FUSED = 16 };

/* One term of r = sum_i c_i f_i1 f_i2 ... x_i: x (N, D); each factor is one scalar (stride 0) or one
 * number per row (stride 1). dx (N, D) and dfactor, like their primals, accumulate in lin_back. */
typedef struct {
    double c;
    const void *x;
    void *dx;
    int factors;
    struct {
        const void *p;
        void *dp;
        size_t stride;
    } factor[LIN_FACTORS];
} LinTerm;

/* Multi-head attention of packed sequences. Row i of a sequence attends to the keys j that it sees:
 * those of its own sequence with j <= i where causal, else all keys of its own sequence or, with
 * `memory`, of the sequence of the same number of another text.
 *     s_ij = q_i . (k_j + r_{clip + clamp(j-i, -clip, clip)}) / sqrt(E)
 *     a_ij = exp(s_ij) / sum_k exp(s_ik),   out_i = sum_j drop(a_ij) v_j
 * Vaswani et al. 2017, eq. 1; relative term on keys: Shaw, Uszkoreit, Vaswani 2018, eq. 4 (causal rows
 * meet rows 0 .. clip of it alone). Dropout index of a_ij of head h: ((row i of the batch) * H + h) * Tmax + j, Tmax = longest.
 *
 * Grouped heads (Ainslie et al. 2023): k and v have K heads of E numbers, and the queries of head h read the one of number
 * h / (H / K).
 *
 * There are N = start[S] queries and M keys, memory[S] or N. q, k, v in one matrix (N, 3D): ldq = ldk = 3D,
 * k = q + D, v = q + 2D. Every length is at least 1. Models must refuse what is not defined: causal or relative with
 * memory. The results for a sequence, except drelative, do not depend on the other sequences in its batch, to the bit. */
typedef struct {
    size_t S;             /* sequences */
    const size_t *start;  /* (S+1) rows of queries */
    const size_t *memory; /* (S+1) rows of keys and values; NULL: start */
    int causal;           /* row i sees only j <= i */
    /* W: of these keys the last W alone, j > i - W (Beltagy et al. 2020, arXiv:2004.05150, section 3.1); 0: all. */
    size_t window;
    size_t longest; /* Tmax >= every length of keys */
    /* No sequence of this batch has more queries, or more keys, than this; 0: Tmax. Tmax is the same for all batches,
     * since it numbers the elements of dropout. These may be smaller, and a device makes its blocks no larger than they
     * need. Kernels read them by attention_rows and attention_keys. */
    size_t rows, keys;
    size_t D, H;       /* width, heads; H divides D */
    size_t kv;         /* K, which divides H; 0: H */
    const void *q;     /* (N, D), row stride ldq: head h at columns h*E */
    const void *k, *v; /* (M, K E), row stride ldk */
    size_t ldq, ldk;
    const void *relative; /* (2*clip+1, E) or NULL; row clip + clamp(j-i, -clip, clip) */
    size_t clip;          /* 0 with NULL */
    Dropout drop;         /* dropout of the weights a_ij */
} Attention;

/* Attention of single queries to listed rows, for decoding a token at a time: query n sees the rows key[n * ld + j], j <
 * count[n], of k and v, in this order. The query is at the last place, so that key j is count[n] - 1 - j places before
 * it:
 *     s_j = q_n . (k_j + r_{clip - min(count-1-j, clip)}) / sqrt(E),  out_n = sum_j exp(s_j) v_j / sum_k exp(s_k)
 * with r as above. Lists may share rows. A query's output does not depend on other queries, to the bit. */
typedef struct {
    size_t N;             /* queries */
    const int32_t *count; /* (N) each at least 1 */
    const int32_t *key;   /* (N, ld) */
    size_t ld;            /* >= every count */
    size_t D, H;          /* width, heads; H divides D */
    size_t kv;            /* K, as in Attention */
    size_t window;        /* the last so many of its rows alone; 0: all */
    const void *q;        /* (N, D), row stride ldq */
    const void *k, *v;    /* (rows, K E), row stride ldk */
    size_t ldq, ldk;
    const void *relative; /* (2*clip+1, E) or NULL; rows 0 .. clip are read */
    size_t clip;          /* 0 with NULL */
} Listed;

enum { LOGIT_LEAST = 64 }; /* rows of a block of logits that a backend asks for */

/* A kernel, product or copy on a device: the function that asked for it, or LAUNCH_PRODUCT, and its time in seconds. */
#define LAUNCH_PRODUCT "product"
typedef struct {
    const char *where;
    double seconds;
} Launch;

typedef struct Recording Recording; /* calls that can be run again */
typedef struct Ranks Ranks;         /* ranks.h */
typedef struct Backend Backend;
struct Backend {
    const char *name;   /* cpu-f32 */
    const char *kernel; /* instruction set or device the kernels were compiled for */
    size_t size;        /* bytes of an element: 4 or 8 */
    double eps;         /* gemm's relative error of a product that enters a sum; 2^-8 in bf16 */
    /* Returns the most rows of a block of logits of V columns, `bytes` each, that a matrix (V, D) makes: the block should
     * stay in a cache from the product that makes it to those that read its adjoint. */
    size_t (*logit_rows)(size_t V, size_t D, size_t bytes);
    /* 1: a device with memory of its own. Its calls return before their work is done, and can be recorded and timed.
     * 0: the processor. A call's work is done when it returns, and memory is the processor's. */
    int device;
    /* 1: calls aside (`aside`) may run beside later calls, so that what they read must stay until `meet`. 0: they are
     * done before later calls begin, and that memory is free again at once. */
    int branches;
    /* How many sizes there are from a power of 2 up to the next one, that excluded: 2 gives 64, 96, 128, 192, 256, ...
     * Where the words of a batch decide how many rows a product has, rows are filled up to the next of these sizes
     * (nn/model/filled.c), so that few shapes are recorded. 0: rows are as many as the words. */
    size_t row_sizes;

    /* Waits for all calls. ERR_SYSTEM with words where one failed since the last wait. */
    int (*wait)(void);
    /* Between record and recorded, calls are noted and not run; replay runs them all. Only a device records; elsewhere
     * these return ERR_MISUSE. alloc, release, put, get, send, receive, wait cannot be recorded. */
    int (*record)(void);
    int (*recorded)(Recording **out); /* caller: recording_free */
    int (*replay)(Recording *r);
    void (*recording_free)(Recording *r); /* NULL allowed */

    /* From `time` on every kernel, product and copy is timed by itself, until `timed` waits for them and gives their
     * times in order, from out[1] on. out[0] is the time of nothing: what a measurement costs, which each of the others
     * has in it too. Calls cannot be recorded meanwhile. Keep the device busy before, so that it does not wait for the
     * host. Only a device is timed; elsewhere these return ERR_MISUSE. */
    int (*time)(void);
    int (*timed)(Launch **out, size_t *count); /* caller: memory_free, also after a failure */

    /* Makes r sum memory of this backend from now on (ranks_join); each rank has a separate device. Collective, with
     * one outcome: ERR_INPUT where this build or machine cannot. A failure of a device then ends all ranks. Memory of
     * the processor is summed by all engines, and there it does nothing. */
    int (*join)(Ranks *r);

    /* alloc returns zeroed memory; NULL with error_set when memory is short. */
    void *(*alloc)(size_t n);
    void (*release)(void *p); /* NULL allowed */
    /* Copy host doubles to the element type and back; exact for what the type can hold. */
    void (*put)(void *x, const double *host, size_t n);
    void (*get)(double *host, const void *x, size_t n);
    /* Registers x (n) as weights, which many products read, and which only put, send, fill, copy and adam write.
     * The backend keeps them also in `twin` (n * twin_size bytes), in the form its products want, until either is
     * released. ERR_MEMORY. Where there is no other form, twin_size is 0 and it does nothing. */
    int (*weights)(const void *x, size_t n, void *twin);
    size_t twin_size;
    /* Allocates memory for n factors: numbers that only products read, kept in the form they want (cuda-bf16: bf16), in
     * factor_size bytes each. It is zeroed; NULL with error_set when memory is short.
     *
     * An argument of which a line below says "factors" may lie in such memory or in that of `alloc`; the backend sees by
     * the address which it is. gemm's A and B may be factors, and so may its C, rounded once, where beta is 0; copy's y
     * and x; get's x. All other arguments have to be plain numbers: given factors, a call does nothing, and the next
     * `wait` fails. Where products take plain numbers, this is alloc, and factor_size is size. */
    void *(*factors)(size_t n);
    size_t factor_size;
    /* Copies bytes unchanged; host may be used again on return. */
    void (*send)(void *x, const void *host, size_t bytes);
    /* Between pack(1) and pack(0) only send is called, never on weights; a device gets all of it in one copy. */
    void (*pack)(int on);
    /* Calls between aside(1) and aside(0) are aside: they come after all earlier calls, in order, but later calls need
     * not wait for them. meet(1) makes later calls wait for all calls aside; so does all that waits or sums over ranks.
     * meet(0) makes them wait only for those that were aside before the meet(0) ahead of it, so that what is aside has
     * until the meeting after the next to end:
     *
     *     aside(1); a; aside(0);  meet(0);  p    may run beside a
     *     aside(1); b; aside(0);  meet(0);  q    comes after a, and may run beside b
     *                             meet(1);  r    comes after a and b
     *
     * alloc, put, get, send and receive may not be aside. */
    void (*aside)(int on);
    void (*meet)(int all);
    void (*receive)(void *host, const void *x, size_t bytes);
    /* The functions up to `weigh` join a product with what is done before it or behind it. A backend whose products do
     * more before they write has its own; elsewhere plain_ways.c makes them of gemm, bias_act, bias_act_back and
     * bias_drop_back of `self`, the table that they are called from.
     *
     * The gradient db of a bias is the sum of an adjoint's rows. It can be summed where the adjoint is made (bias_back,
     * activate_back) or with the product for the weights' gradient that reads the adjoint (weigh). The caller gives db
     * to both, and each backend adds to it in exactly one of the two.
     *
     * u, y as bias_act makes them of u = x W^T: x (N, D) factors, W (M, D), gated (2M, D). However, with ReLU the product
     * is not left in u: where u is another array than y, and signs(M) is not 0, u gets the N M bits y > 0, all that
     * activate_back needs; else u is not written, unless it is y. */
    void (*activate)(const Backend *self, size_t N, size_t M, size_t D, const void *x,
                     const void *W, const void *b, int act, Dropout drop, void *u, void *y);
    /* bias_act_back of dy = dz W: dz (N, D) factors, W (D, M); u, y as `activate` left them. dcore (N, M): room for dy,
     * may be du. db (M), gated (2M): see above. */
    void (*activate_back)(const Backend *self, size_t N, size_t M, size_t D, const void *dz,
                          const void *W, const void *u, const void *y, int act, Dropout drop,
                          void *dcore, void *du, void *db);
    /* Returns the bytes that `activate` leaves in each row of u for ReLU of M columns; 0: it needs no u beside y. */
    size_t (*signs)(size_t M);
    /* Hands the adjoint dy (N, O) of a linear layer's output to the products that read it: dx (N, O), factors, = dy,
     * which may be dx. db (O): see above. */
    void (*bias_back)(const Backend *self, size_t N, size_t O, const void *dy, void *dx, void *db);
    /* dW (O, D) = dy^T x, with `more` added to dW; dy (N, O), x (N, D) factors. db (O), or NULL: see above; without
     * `more` it is 0 before. */
    void (*weigh)(const Backend *self, size_t N, size_t O, size_t D, const void *dy, const void *x,
                  int more, void *dW, void *db);
    /* Tells whether attention of H heads of E numbers, with K of keys (0: H), may have factors as q, k, v, out, dout, dq, dk,
     * dv; those of a call are all factors, or all plain. */
    int (*attends_factors)(size_t H, size_t E, size_t kv);
    void (*fill)(void *x, double value, size_t n);
    void (*copy)(void *y, const void *x, size_t n);

    /* C (m, n) = alpha op(A) op(B) + beta C; op(A) (m, k), op(B) (k, n); ta, tb: 1 = transposed.
     * lda, ldb, ldc: row strides as stored. beta = 0 never reads C. */
    void (*gemm)(int ta, int tb, size_t m, size_t n, size_t k, double alpha, const void *A,
                 size_t lda, const void *B, size_t ldb, double beta, void *C, size_t ldc);

    /* C (m, n) = A W^T + b: A (m, k) factors, W (n, k), b (n), rows without gaps. */
    void (*linear)(size_t m, size_t n, size_t k, const void *A, const void *W, const void *b,
                   void *C);

    /* Sets x to 0 in `count` windows, which have `total` numbers together. Window i is x[window[2 i]] ..
     * x[window[2 i + 1] - 1]; window (2 count) is in backend memory. */
    void (*clear)(void *x, size_t count, const size_t *window, size_t total);

    /* y = (x - mean) rstd w + b by rows. x, y (N, D), y: factors; w, b (D), b NULL for NORM_RMS; stats (N, 2) out: mean
     * (0 for NORM_RMS), rstd. */
    void (*norm)(size_t N, size_t D, NormKind kind, const void *x, const void *w, const void *b,
                 void *y, void *stats);
    /* dy (N, D) in; dx (N, D), dw (D), db (D) accumulate; with `term` dx is written: first the sum of n <= LIN_FUSED terms
     * as by lin, none of which is dx. */
    void (*norm_back)(size_t N, size_t D, NormKind kind, const void *x, const void *w,
                      const void *stats, const void *dy, size_t n, const LinTerm *term, void *dx,
                      void *dw, void *db);

    /* out (N, D); lse (N, H) out: log of the softmax denominator, all that backward needs. */
    void (*attention)(const Attention *a, void *out, void *lse);
    /* out, lse as forward left them; dout (N, D) in. dq (N, D), row stride ldq, is *written*; dk and dv
     * (M, D), row stride ldk, are written too (more = 0) or accumulate (1: others read the same keys
     * and values); none of the three is NULL. drelative as `relative` accumulates (NULL with it). */
    void (*attention_back)(const Attention *a, const void *out, const void *lse, const void *dout,
                           void *dq, void *dk, void *dv, int more, void *drelative);

    /* Rotary positions (Su et al. 2021, section 3.2.2), in place, of H heads of E numbers, E even, in x (N, H E), row
     * stride ld. In row r with i = position[r], the pair (x_e, x_(e + E/2)), e < E/2, of each head turns by the angle
     * whose cosine is table (., E) at (i, e) and whose sine is at (i, E/2 + e); back = 1: by its opposite. These pairs
     * are those of GPT-NeoX and of Llama as Hugging Face writes it; the paper pairs neighbours. */
    void (*rotate)(size_t N, size_t H, size_t E, void *x, size_t ld, const int32_t *position,
                   const void *table, int back);

    /* out (N, D). */
    void (*attend)(const Listed *a, void *out);

    /* x (N, D) += b (D) by rows; then dropout. In place. Index of an element: row * D + column. */
    void (*bias_drop)(size_t N, size_t D, void *x, const void *b, Dropout drop);
    /* Turns dy (N, D), the sum of n <= LIN_FUSED terms as by lin, into the adjoint before dropout: dx (N, D) out,
     * factors, which may be the x of a term; db (D) accumulates its column sums. */
    void (*bias_drop_back)(size_t N, size_t D, size_t n, const LinTerm *term, Dropout drop,
                           void *dx, void *db);
    /* Fuses, in one pass over memory, bias_drop of k (N, D); r (N, D) = the sum of n <= LIN_FUSED terms as by lin, k
     * being the x of some; and with w the norm of r, with w, c, y (N, D) and stats as for norm; y: factors. k need not
     * be left unless `kept`. */
    void (*residual)(size_t N, size_t D, void *k, const void *b, Dropout drop, int kept, size_t n,
                     const LinTerm *term, void *r, NormKind kind, const void *w, const void *c,
                     void *y, void *stats);
    /* y (N, M) = dropout(act(u + b)); u and y: factors. act: any but ACT_SIGMOID. ReLU leaves u alone, and y may be u; the
     * others leave u + b in u for backward. A gated one has u (N, 2M), b (2M): a row's M numbers u, then its M numbers v. */
    void (*bias_act)(size_t N, size_t M, void *u, const void *b, int act, Dropout drop, void *y);
    /* u, y as forward left them; ReLU reads only y, the others only u. dy (N, M) in, factors, du (N, M) out, factors,
     * which may be dy; db (M) accumulates. Gated: du (N, 2M), which may be u, and db (2M). */
    void (*bias_act_back)(size_t N, size_t M, const void *u, const void *y, int act, Dropout drop,
                          const void *dy, void *du, void *db);

    /* r (N, D) = sum of terms in one pass; r overlaps no term. n >= 0 terms (0: r = 0). */
    void (*lin)(size_t N, size_t D, size_t n, const LinTerm *term, void *r);
    /* dr (N, D) in: every term's dx and dfactor accumulate. dx of two terms may be the same. */
    void (*lin_back)(size_t N, size_t D, size_t n, const LinTerm *term, const void *dr);

    /* g (N) = act(sum_i w_i . x_i + b): x_i (N, D), i < n; w (n, D); b (1); act sigmoid or tanh. */
    void (*gate)(size_t N, size_t D, size_t n, const void *const *x, const void *w, const void *b,
                 int act, void *g);
    /* g as forward left it, dg (N) in; dx_i (n pointers), dw, db accumulate. */
    void (*gate_back)(size_t N, size_t D, size_t n, const void *const *x, const void *w, int act,
                      const void *g, const void *dg, void *const *dx, void *dw, void *db);

    /* h (N, D) = dropout(scale E[token] + P[position]); token, position (N), token < V, NO_ROW: E[token] is 0;
     * E (V, D); P (longest, D) or NULL. */
    void (*embed)(size_t N, size_t D, const int32_t *token, const int32_t *position, const void *E,
                  double scale, const void *P, Dropout drop, void *h);
    /* dE (V, D) accumulates, in a fixed order of rows, without those of NO_ROW; dh (N, D) in. */
    void (*embed_back)(size_t N, size_t D, size_t V, const int32_t *token, double scale,
                       Dropout drop, const void *dh, void *dE);

    /* nll (N) out: -sum_v q_v log softmax(z)_v, with the labels q: {1} gives -log softmax(z)_target, {1 - E, E / V}
     * smooths by E (Szegedy et al. 2016, section 7). With grad, which is in backend memory, dz = *grad * (Q softmax(z)
     * - q), Q the row's sum of q. For a FILLER nll and dz are 0, whatever z is. z, dz (N, V), target (N); dz may
     * be z, and both may be factors. */
    void (*cross_entropy)(size_t N, size_t V, const void *z, const int32_t *target, Labels q,
                          const double *grad, void *dz, void *nll);
    /* The K <= V largest numbers of every row of z (N, V): index (N, K) their columns, value (N, K) = log softmax(z)
     * there, falling; among equals the least column first. A row with NaN or infinity has no finite value, and its
     * columns are arbitrary. */
    void (*best)(size_t N, size_t V, size_t K, const void *z, int32_t *index, void *value);
    /* s->loss += the sum of nll (N), in double. */
    void (*loss)(size_t N, const void *nll, Step *s);
    /* s->norm = sqrt(the sum of squares), in double, in a fixed order for a given number of threads. */
    void (*norm2)(size_t n, const void *g, Step *s);

    /* Adam with bias correction (Kingma, Ba 2015, algorithm 1), eps outside the corrected root, and decoupled decay >=
     * 0: p -= rate (m^ / (sqrt v^ + eps) + decay p) (Loshchilov, Hutter 2019, algorithm 2: our rate is their schedule
     * times their alpha, and alpha times our decay is their lambda); decay 0: the bits of Adam. s has rate and step. p,
     * m, v (n) in/out; g (n) in, scaled to the norm clip where s->norm is above it (clip 0: not scaled). With s->fault
     * nothing changes. */
    void (*adam)(size_t n, void *p, const void *g, void *m, void *v, double beta1, double beta2,
                 double eps, double clip, double decay, const Step *s);
};

/* The members of a table from `fill` on, which every backend has: the functions of these names behind a prefix, except for
 * the four given. The members before `fill` are set in each table by name; those that a backend lacks are NULL. */
/* clang-format off */
#define BACKEND_KERNELS(prefix, gemm_, linear_, attention_, attention_back_)                                     \
    .fill = prefix##fill, .copy = prefix##copy, .gemm = gemm_, .linear = linear_, .clear = prefix##clear, \
    .norm = prefix##norm, .norm_back = prefix##norm_back, .attention = attention_,                      \
    .attention_back = attention_back_, .rotate = prefix##rotate, .attend = prefix##attend, .bias_drop = prefix##bias_drop,        \
    .bias_drop_back = prefix##bias_drop_back, .residual = prefix##residual,                             \
    .bias_act = prefix##bias_act, .bias_act_back = prefix##bias_act_back, .lin = prefix##lin,           \
    .lin_back = prefix##lin_back, .gate = prefix##gate, .gate_back = prefix##gate_back,                 \
    .embed = prefix##embed, .embed_back = prefix##embed_back, .cross_entropy = prefix##cross_entropy,   \
    .best = prefix##best, .loss = prefix##loss, .norm2 = prefix##norm2, .adam = prefix##adam
/* clang-format on */

/* Logit_rows of a device with an L2 of `cache` bytes. A block that takes two fifths of it leaves room for the matrix and
 * its gradient. Each block reads the matrix and its gradient anew, which costs about as much as D rows of logits that
 * pass through memory. So where less than D rows fit, blocks are as large as can be. Derived for bf16: a row saves 12 V
 * bytes (z, dz: written once, read once, dz twice), and a block costs 12 V D (E read twice in bf16, dE read and written
 * in f32). */
static inline size_t backend_rows_in(size_t cache, size_t V, size_t D, size_t bytes)
{
    const size_t most = 8192, numbers = (size_t)1 << 27, tile = 128;
    size_t rows = cache * 2 / 5 / (V * bytes) / tile * tile;
    if (rows < D || rows == 0) rows = numbers / V;
    if (rows < LOGIT_LEAST) rows = LOGIT_LEAST;
    return rows < most ? rows : most;
}

static inline void *backend_at(const Backend *b, const void *p, size_t i)
{
    return (char *)p + i * b->size;
}

/* Return bounds of the queries and keys of a sequence in this batch. */
static inline size_t attention_rows(const Attention *a)
{
    return a->rows ? a->rows : a->longest;
}

static inline size_t attention_keys(const Attention *a)
{
    return a->keys ? a->keys : a->longest;
}

/* Returns how many heads of queries read one head of keys and values. */
static inline size_t attention_each(size_t H, size_t kv)
{
    return kv ? H / kv : 1;
}

/* Steps over i factors. */
static inline void *backend_factor_at(const Backend *b, const void *p, size_t i)
{
    return (char *)p + i * b->factor_size;
}

/* Returns the elements that hold `bytes` bytes. */
static inline size_t backend_elements(const Backend *b, size_t bytes)
{
    return (bytes + b->size - 1) / b->size;
}

/* Gives each member of *b that is NULL or 0 its plain way (plain_ways.c), which computes the same with other members, or
 * has nothing to do. So a backend's own table names only what it does in a way of its own, and whoever has a backend may call
 * every member. backend_find has done this; do it again after members of a copy were set to NULL. */
void backend_complete(Backend *b);

/* Finds the backend of a name. cpu-f32, cpu-f64; cpu-bf16: f32, but matrix products round their factors to bf16
 * (processors with avx512_bf16, or with ARM's FEAT_BF16); cuda-f32, cuda-tf32, cuda-bf16: an NVIDIA device, f32 but for the factors of products.
 * kernel: NULL for the best that this processor runs, or a name of processor.h: "x86-64-v2", "-v3", "-v4", for bf16 also
 * "-amx"; "arm-v8", "arm-sve256". It concerns CPU backends alone. ERR_INPUT, with a line of words that says what is missing, where the backend is not available
 * here. */
int backend_find(const char *name, const char *kernel, const Backend **out);

/* Returns entry i of all names, in order, whether or not they are available here; NULL past the end. */
const char *backend_name(size_t i);

/* Chooses the device of the cuda backends: number n modulo the count of devices (0 before this). Call it before one of
 * them is found for the first time. */
void backend_device(int n);

/* Returns the number of devices for the cuda backends; 0 without. */
int backend_devices(void);

/* Gives the bytes of memory, free and total, of the cuda backends' device; 0, 0 without one. */
void backend_room(size_t *free, size_t *total);

/* Sets the threads of the CPU kernels (0: leaves them as they are); returns the number in force. */
int backend_threads(int n);

#ifdef __cplusplus
}
#endif
#endif
