/* plain.c: the definitions of a language model, an encoder alone, and an encoder with its decoder, a layer each, in plain
 * loops (plain.h). Sources: Vaswani et al. 2017, section 3; Shaw, Uszkoreit, Vaswani 2018, eq. 4, for the relative rows,
 * in self-attention alone. */
#include "tests/lib/plain.h"

#include <math.h>
#include <string.h>

#include "kernels/memory.h"

enum {
    T = TINY_ROWS + 3,
    D = TINY_WIDTH,
    V = TINY_VOCAB,
    M = TINY_INNER,
    H = TINY_HEADS,
    E = D / H
};

void plain_norm(const double *w, const double *b, const double *x, double *y)
{
    double mean = 0, var = 0;
    for (int c = 0; c < D; c++) mean += x[c] / D;
    for (int c = 0; c < D; c++) var += (x[c] - mean) * (x[c] - mean) / D;
    for (int c = 0; c < D; c++) y[c] = (x[c] - mean) / sqrt(var + 1e-5) * w[c] + b[c];
}

void plain_affine(int rows, int cols, const double *W, const double *b, const double *x, double *y)
{
    for (int r = 0; r < rows; r++) {
        y[r] = b ? b[r] : 0;
        for (int c = 0; c < cols; c++) y[r] += W[r * cols + c] * x[c];
    }
}

double plain_gelu(double u)
{
    return 0.5 * u * (1 + tanh(sqrt(2 / M_PI) * (u + 0.044715 * u * u * u)));
}

static double plain_position(int i, int c)
{
    int half = D / 2;
    double angle = i * pow(10000, -(double)(c % half) / (half - 1));
    return c < half ? sin(angle) : cos(angle);
}

void plain_embed(const double *emb, int n, const int32_t *token, double (*y)[TINY_WIDTH])
{
    for (int i = 0; i < n; i++)
        for (int c = 0; c < D; c++)
            y[i][c] = sqrt(D) * emb[token[i] * D + c] + plain_position(i, c);
}

/* Tensors of a sublayer. Those that it does not have are NULL. */
enum {
    NORM_W,
    NORM_B,
    QKV_W,
    QKV_B,
    Q_W,
    Q_B,
    KV_W,
    KV_B,
    RELATIVE,
    UP_W,
    UP_B,
    OUT_W,
    OUT_B,
    DOWN_W,
    DOWN_B,
    TENSORS
};
typedef struct {
    double *t[TENSORS];
} Sublayer;

static Sublayer sublayer(Model *m, const char *name)
{
    static const char *const end[TENSORS] = {
        "norm.weight", "norm.bias",  "qkv.weight", "qkv.bias",        "q.weight",
        "q.bias",      "kv.weight",  "kv.bias",    "relative.weight", "up.weight",
        "up.bias",     "out.weight", "out.bias",   "down.weight",     "down.bias"};
    Sublayer s;
    char whole[64];
    for (int i = 0; i < TENSORS; i++) {
        snprintf(whole, sizeof whole, "%s.%s", name, end[i]);
        s.t[i] = tiny_tensor(m, whole);
    }
    return s;
}

static void sublayer_free(Sublayer *s)
{
    for (int i = 0; i < TENSORS; i++) memory_free(s->t[i]);
}
#define OWN_SUBLAYER SCOPED(sublayer_free) Sublayer

/* Computes y (n, D), the norm of rows x (n, D) with the sublayer's weights. */
static void normed(const Sublayer *s, int n, double (*x)[D], double (*y)[D])
{
    for (int i = 0; i < n; i++) plain_norm(s->t[NORM_W], s->t[NORM_B], x[i], y[i]);
}

/* The keys that a row sees, j <= i + ahead, and the relative rows that it meets. */
typedef struct {
    const double *relative; /* (2 clip + 1, E) or NULL */
    int clip, right;        /* j - i from -clip to right */
    int ahead;
} Sight;

static Sight sight_of(const Model *m, int ahead)
{
    const ModelConfig *c = model_config(m);
    return (Sight){.clip = (int)c->clip, .right = (int)c->clip, .ahead = ahead};
}

static double score(const double *q, const double *k, const Sight *s, int apart)
{
    int row = apart < -s->clip ? -s->clip : apart > s->right ? s->right : apart;
    double sum = 0;
    for (int e = 0; e < E; e++)
        sum += q[e] * (k[e] + (s->relative ? s->relative[(s->clip + row) * E + e] : 0));
    return sum / sqrt(E);
}

/* Computes a (n), sum 1: the weights of head h of a query (D) of row i on n keys and values (n, 2D). */
static void weigh(const double *q, int i, int n, double (*kv)[2 * D], const Sight *s, int h,
                  double *a)
{
    double sum = 0;
    for (int j = 0; j < n; j++) {
        sum += a[j] = j <= i + s->ahead ? exp(score(q + h * E, kv[j] + h * E, s, j - i)) : 0;
    }
    for (int j = 0; j < n; j++) a[j] /= sum;
}

/* Computes out (D) of one query (D) of row i and n keys and values (n, 2D). */
static void look(const double *q, int i, int n, double (*kv)[2 * D], const Sight *s, double *out)
{
    memset(out, 0, D * sizeof *out);
    for (int h = 0; h < H; h++) {
        double a[T];
        weigh(q, i, n, kv, s, h, a);
        for (int j = 0; j < n; j++)
            for (int e = 0; e < E; e++) out[h * E + e] += a[j] * kv[j][D + h * E + e];
    }
}

/* Computes the queries q (n, D), and the keys and values kv (n, 2D), of the self-attention of x (n, D) as it comes. */
static void project(const Sublayer *s, int n, double (*x)[D], double (*q)[D], double (*kv)[2 * D])
{
    for (int i = 0; i < n; i++) {
        plain_affine(D, D, s->t[QKV_W], s->t[QKV_B], x[i], q[i]);
        plain_affine(2 * D, D, s->t[QKV_W] + D * D, s->t[QKV_B] + D, x[i], kv[i]);
    }
}

/* Computes k (n, D), the self-attention of x (n, D) as it comes. */
static void self(const Sublayer *s, int n, double (*x)[D], const Sight *sight, double (*k)[D])
{
    double q[T][D], kv[T][2 * D], mixed[D];
    project(s, n, x, q, kv);
    for (int i = 0; i < n; i++) {
        look(q[i], i, n, kv, sight, mixed);
        plain_affine(D, D, s->t[OUT_W], s->t[OUT_B], mixed, k[i]);
    }
}

/* Computes k (n, D), the attention of x (n, D) to a memory (c, D). */
static void cross(const Sublayer *s, int n, double (*x)[D], int c, double (*memory)[D],
                  double (*k)[D])
{
    double kv[T][2 * D], q[D], mixed[D];
    const Sight all = {.ahead = T};
    for (int j = 0; j < c; j++) plain_affine(2 * D, D, s->t[KV_W], s->t[KV_B], memory[j], kv[j]);
    for (int i = 0; i < n; i++) {
        plain_affine(D, D, s->t[Q_W], s->t[Q_B], x[i], q);
        look(q, i, c, kv, &all, mixed);
        plain_affine(D, D, s->t[OUT_W], s->t[OUT_B], mixed, k[i]);
    }
}

static void feed_forward(const Model *m, const Sublayer *s, int n, double (*x)[D], double (*k)[D])
{
    for (int i = 0; i < n; i++) {
        double u[M];
        plain_affine(M, D, s->t[UP_W], s->t[UP_B], x[i], u);
        for (int c = 0; c < M; c++)
            u[c] = model_config(m)->act == ACT_GELU ? plain_gelu(u[c]) : fmax(u[c], 0);
        plain_affine(D, M, s->t[DOWN_W], s->t[DOWN_B], u, k[i]);
    }
}

/* Adds k to y; a post plan then applies the sublayer's norm. */
static void add(const Model *m, const Sublayer *s, int n, double (*k)[D], double (*y)[D])
{
    for (int i = 0; i < n; i++) {
        double sum[D];
        for (int c = 0; c < D; c++) sum[c] = y[i][c] + k[i][c];
        if (model_plan(m)->post)
            plain_norm(s->t[NORM_W], s->t[NORM_B], sum, y[i]);
        else
            memcpy(y[i], sum, sizeof sum);
    }
}

/* Adds a sublayer of y (n, D) to y: F, G, or C of a memory (c, D). */
enum { F, G, C };
static void advance(Model *m, const char *name, int op, int n, double (*y)[D], const Sight *sight,
                    int c, double (*memory)[D])
{
    OWN_SUBLAYER s = sublayer(m, name);
    Sight own = sight ? *sight : (Sight){0};
    double x[T][D], k[T][D];
    own.relative = s.t[RELATIVE];
    memcpy(x, y, (size_t)n * sizeof *x);
    if (!model_plan(m)->post) normed(&s, n, y, x);
    if (op == F) self(&s, n, x, &own, k);
    if (op == C) cross(&s, n, x, c, memory, k);
    if (op == G) feed_forward(m, &s, n, x, k);
    add(m, &s, n, k, y);
}

/* Computes memory (n, D) from the words of a source. */
static void encode(Model *m, const double *emb, int n, const int32_t *token, int wrong,
                   double (*memory)[D])
{
    Sight sight = sight_of(m, wrong == PAIR_CAUSAL_ENCODER ? 0 : T);
    if (wrong == PAIR_ONE_SIDED) sight.right = 0;
    double y[T][D];
    plain_embed(emb, n, token, y);
    if (wrong != PAIR_KEYS_OF_INPUT) {
        advance(m, "encoder.layers.0.attn.1", F, n, y, &sight, 0, NULL);
        advance(m, "encoder.layers.0.ffn.1", G, n, y, NULL, 0, NULL);
    }
    OWN_NUMBERS *w = tiny_tensor(m, "encoder.norm.weight"),
                *b = tiny_tensor(m, "encoder.norm.bias");
    for (int i = 0; i < n; i++)
        if (w && wrong != PAIR_BARE_MEMORY)
            plain_norm(w, b, y[i], memory[i]);
        else
            memcpy(memory[i], y[i], sizeof *y);
    if (wrong != PAIR_KEYS_NORMED) return;
    OWN_SUBLAYER c = sublayer(m, "decoder.layers.0.cross.1");
    memcpy(y, memory, (size_t)n * sizeof *y);
    normed(&c, n, y, memory);
}

static void decode(Model *m, int n, double (*y)[D], int c, double (*memory)[D], int wrong)
{
    const Sight sight = sight_of(m, wrong == PAIR_SEES_NEXT);
    if (wrong == PAIR_CROSS_FIRST) advance(m, "decoder.layers.0.cross.1", C, n, y, NULL, c, memory);
    advance(m, "decoder.layers.0.attn.1", F, n, y, &sight, 0, NULL);
    if (wrong != PAIR_CROSS_FIRST) advance(m, "decoder.layers.0.cross.1", C, n, y, NULL, c, memory);
    advance(m, "decoder.layers.0.ffn.1", G, n, y, NULL, 0, NULL);
}

/* Computes the rows (n, D) of an encoder alone, its output under its norm. */
static void encode_alone(Model *m, const Batch *b, size_t first, int n, int wrong, double (*y)[D])
{
    const Sight sight = sight_of(m, wrong == HEADS_CAUSAL ? 0 : T);
    OWN_NUMBERS *emb = tiny_tensor(m, "embed.weight"), *segment = tiny_tensor(m, "segment.weight");
    OWN_NUMBERS *fw = tiny_tensor(m, "final_norm.weight"), *fb = tiny_tensor(m, "final_norm.bias");
    double x[D];
    plain_embed(emb, n, b->input + first, y);
    for (int i = 0; i < n && segment && wrong != HEADS_NO_SEGMENT; i++) {
        int s = b->asked.segment ? b->asked.segment[first + (size_t)i] : 0;
        for (int k = 0; k < D; k++) y[i][k] += sqrt(D) * segment[s * D + k];
    }
    advance(m, "layers.0.attn.1", F, n, y, &sight, 0, NULL);
    advance(m, "layers.0.ffn.1", G, n, y, NULL, 0, NULL);
    for (int i = 0; i < n && fw; i++) {
        memcpy(x, y[i], sizeof x);
        plain_norm(fw, fb, x, y[i]);
    }
}

void plain_weights(Model *m, size_t n, const int32_t *token, double *a)
{
    OWN_NUMBERS *emb = tiny_tensor(m, "embed.weight");
    double y[T][D], x[T][D], q[T][D], kv[T][2 * D];
    OWN_SUBLAYER s = sublayer(m, "layers.0.attn.1");
    Sight sight = sight_of(m, model_plan(m)->bidirectional ? T : 0);
    sight.relative = s.t[RELATIVE];
    plain_embed(emb, (int)n, token, y);
    normed(&s, (int)n, y, x);
    project(&s, (int)n, x, q, kv);
    for (int h = 0; h < H; h++)
        for (int i = 0; i < (int)n; i++)
            weigh(q[i], i, (int)n, kv, &sight, h, a + (h * (int)n + i) * (int)n);
}

/* Returns the matrix of words (V, D) behind the last row; caller: memory_free. */
static double *words_of(Model *m)
{
    return tiny_tensor(m, model_config(m)->untied ? "output.weight" : "embed.weight");
}

void plain_logits(Model *m, const Batch *b, double *z)
{
    OWN_NUMBERS *out = words_of(m);
    for (size_t s = 0; s < b->S; s++) {
        double y[T][D];
        size_t first = b->start[s], n = b->start[s + 1] - first;
        encode_alone(m, b, first, (int)n, HEADS_CAUSAL, y);
        for (size_t i = 0; i < n; i++) plain_affine(V, D, out, NULL, y[i], z + (first + i) * V);
    }
}

/* Computes z (V) of a row h (D). */
static void plain_word(Model *m, const double *h, int wrong, double *z)
{
    OWN_NUMBERS *W = tiny_tensor(m, "head.dense.weight"), *b = tiny_tensor(m, "head.dense.bias");
    OWN_NUMBERS *nw = tiny_tensor(m, "head.norm.weight"), *nb = tiny_tensor(m, "head.norm.bias");
    OWN_NUMBERS *out = words_of(m), *bias = tiny_tensor(m, "output.bias");
    double u[D], a[D];
    plain_affine(D, D, W, b, h, u);
    for (int c = 0; c < D; c++) u[c] = wrong == HEADS_TANH ? tanh(u[c]) : plain_gelu(u[c]);
    if (wrong == HEADS_BARE)
        memcpy(a, u, sizeof a);
    else
        plain_norm(nw, nb, u, a);
    plain_affine(V, D, out, wrong == HEADS_NO_BIAS ? NULL : bias, a, z);
}

/* Computes z (C) of a row h (D). */
static void plain_class(Model *m, const double *h, int wrong, double *z)
{
    OWN_NUMBERS *W = tiny_tensor(m, "pool.weight"), *b = tiny_tensor(m, "pool.bias");
    OWN_NUMBERS *out = tiny_tensor(m, "classes.weight"), *bias = tiny_tensor(m, "classes.bias");
    double u[D];
    plain_affine(D, D, W, b, h, u);
    for (int c = 0; c < D; c++) u[c] = wrong == HEADS_GELU ? plain_gelu(u[c]) : tanh(u[c]);
    plain_affine((int)model_config(m)->classes, D, out, bias, u, z);
}

void plain_heads(Model *m, const Batch *b, int wrong, double *words, double *classes)
{
    size_t most = model_config(m)->classes;
    double y[T][D];
    for (size_t s = 0, k = 0; s < b->S; s++) {
        size_t first = b->start[s], end = b->start[s + 1];
        encode_alone(m, b, first, (int)(end - first), wrong, y);
        for (; k < b->asked.count && (size_t)b->asked.row[k] < end; k++)
            plain_word(m, y[(size_t)b->asked.row[k] - first], wrong, words + k * V);
        size_t pooled = wrong == HEADS_LAST ? end - first - 1 : 0;
        if (most) plain_class(m, y[pooled], wrong, classes + s * most);
    }
}

void plain_pair_logits(Model *m, const Batch *b, int wrong, double *z)
{
    OWN_NUMBERS *emb = tiny_tensor(m, "embed.weight"), *out = words_of(m);
    OWN_NUMBERS *fw = tiny_tensor(m, "final_norm.weight"), *fb = tiny_tensor(m, "final_norm.bias");
    double y[T][D], memory[T][D], x[D];
    for (size_t s = 0; s < b->S; s++) {
        size_t r = wrong == PAIR_NEXT_SOURCE ? (s + 1) % b->S : s, first = b->start[s];
        int n = (int)(b->start[s + 1] - first);
        int c = (int)(b->source.start[r + 1] - b->source.start[r]);
        encode(m, emb, c, b->source.input + b->source.start[r], wrong, memory);
        plain_embed(emb, n, b->input + first, y);
        decode(m, n, y, c, memory, wrong);
        for (int i = 0; i < n; i++) {
            if (fw) plain_norm(fw, fb, y[i], x); /* a post plan ends with a norm */
            plain_affine(V, D, out, NULL, fw ? x : y[i], z + (first + (size_t)i) * V);
        }
    }
}
