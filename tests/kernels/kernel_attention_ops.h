/* kernel_attention_ops.h: an op of kernel_ops.h, and those of attention. */
#ifndef TROTTER_TESTS_KERNEL_ATTENTION_OPS_H
#define TROTTER_TESTS_KERNEL_ATTENTION_OPS_H

#include "kernels/backend.h"
#include "kernels/base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 6, SEQUENCES = 4, LISTED = 150 /* beyond two tiles */ };

/* Errors in the reference of attention, which the checks must see: rows see a key more (causal) or less, or the keys
 * of the next sequence of another text, or later keys get the row of `relative` of the key at the same position. */
enum { SPOIL_MASK = 1, SPOIL_SEQUENCE, SPOIL_SIDES, SPOILS };

/* Sizes of one trial. */
typedef struct {
    size_t S, length[SEQUENCES];
    size_t D, H, V, longest;
    size_t start[SEQUENCES + 1], N;
    size_t memory[SEQUENCES + 1], M; /* rows of another text, for attention to it */
    Dropout drop;
    int32_t *token, *position, *target; /* (N) */
    const size_t *begins, *remembers;   /* start, memory, where `run` and `back` read them */
    int32_t *count, *key; /* (N), (N, LISTED): rows of the other text, for listed rows */
    double *grad;         /* (1) factor of a loss's adjoint, in the backend's memory alone */
    int spoil;
    int act; /* of the op that is tried */
} Trial;

typedef struct {
    const char *name;
    int act;
    unsigned written, fixed; /* bits: din written, not accumulated; input without an adjoint */
    int uniform;             /* dout must be one number */
    /* Counts of numbers in input i (0: there is none), in the output, and in what forward keeps. */
    size_t (*inputs)(const Trial *t, int i);
    size_t (*output)(const Trial *t);
    size_t (*kept)(const Trial *t);
    /* Largest number of roundings in one number of the output. */
    size_t (*count)(const Trial *t);
    void (*ref)(const Trial *t, const double *const *in, double *out);
    /* These work on the trial's arrays in the backend's memory. */
    void (*run)(const Backend *b, const Trial *t, void *const *in, void *out, void *kept);
    void (*back)(const Backend *b, const Trial *t, void *const *in, void *out, void *kept,
                 const void *dout, void *const *din);
    unsigned needed; /* bits: din accumulated that may not be left out */
} Op;                /* back NULL: the kernel has no backward pass, and every input is fixed */

/* REF, RUN and BACK begin these functions, whose parameters have the names below. SIZE and INPUT_SIZES are counts of
 * numbers, of all inputs in their order. */
#define UNUSED __attribute__((unused))
#define REF(name) \
    static void name##_ref(UNUSED const Trial *t, UNUSED const double *const *in, double *out)
#define RUN(name)                                                                        \
    static void name##_run(const Backend *b, const Trial *t, void *const *in, void *out, \
                           UNUSED void *kept)
#define BACK(name)                                                                     \
    static void name##_dback(const Backend *b, const Trial *t, UNUSED void *const *in, \
                             UNUSED void *out, UNUSED void *kept, const void *dout,    \
                             void *const *din)
#define SIZE(name, n)                         \
    static size_t name(UNUSED const Trial *t) \
    {                                         \
        return n;                             \
    }
#define INPUT_SIZES(name, ...)                   \
    static size_t name(const Trial *t, int i)    \
    {                                            \
        return (size_t[INPUTS]){__VA_ARGS__}[i]; \
    }

static double ref_keep(const Dropout *d, uint64_t i)
{
    uint32_t w[4];
    if (d->rate <= 0) return 1;
    i += d->first;
    random_words(d->seed, d->stream, i / 4, w);
    return (double)w[i % 4] >= d->rate * 4294967296.0 ? 1 / (1 - d->rate) : 0;
}

SIZE(size_ND, t->N * t->D)
SIZE(size_N, t->N)
SIZE(size_none, 0)
SIZE(size_2N, 2 * t->N)
SIZE(size_NH, t->N * t->H)
SIZE(size_NV, t->N * t->V)

/* ---- attention: qkv, relative (act: CLIP or 0); q and k v apart: q, relative, kv ----------------- */

enum {
    CLIP = 3,
    ALL = 16 /* not causal */,
    MEMORY = 32 /* another text, apart */,
    MORE = 64 /* apart */,
    GROUPED = 128 /* fewer heads of keys and values */,
    WINDOW = 256 /* on the processor alone */
};
/* Returns the heads of keys and values, and their numbers in a row. */
SIZE(kv_heads, !(t->act & GROUPED) ? t->H : t->H % 2 ? 1 : t->H / 2)
SIZE(rows_seen, t->act &WINDOW ? 1 + t->longest / 3 : 0)
SIZE(kv_width, kv_heads(t) * (t->D / t->H))
INPUT_SIZES(attention_inputs, (t->D + 2 * kv_width(t)) * t->N)
INPUT_SIZES(relative_inputs, attention_inputs(t, 0), (2 * CLIP + 1) * t->D / t->H)
INPUT_SIZES(memory_inputs, t->N * t->D, 0, 2 * t->M * kv_width(t))
INPUT_SIZES(more_inputs, t->N * t->D, relative_inputs(t, 1), 2 * t->N * kv_width(t))
static size_t attention_count(const Trial *t)
{
    size_t longest = 0;
    for (size_t s = 0; s < t->S; s++) {
        size_t n = t->memory[s + 1] - t->memory[s];
        longest = longest < t->length[s] ? t->length[s] : longest;
        longest = longest < n ? n : longest;
    }
    return 2 * (t->D / t->H + longest + 16);
}
/* These return row r of q, and of k, which v follows. */
static const double *ref_query(const Trial *t, const double *const *in, size_t r)
{
    return in[0] + r * (t->D + (t->act & (MEMORY | MORE) ? 0 : 2 * kv_width(t)));
}
static const double *ref_keys(const Trial *t, const double *const *in, size_t r)
{
    size_t W = kv_width(t);
    return t->act & (MEMORY | MORE) ? in[2] + r * 2 * W : in[0] + r * (t->D + 2 * W) + t->D;
}
/* Returns exp(s) of rows i and j of a sequence. q and k are these rows, of which it takes head h. */
static double attention_weight(const Trial *t, const double *const *in, size_t h, size_t i,
                               size_t j, const double *q, const double *k)
{
    size_t E = t->D / t->H, kv = h * kv_heads(t) / t->H;
    int clip = t->act & CLIP, x = (int)j - (int)i,
        row = clip + (x < -clip  ? -clip
                      : x > clip ? clip
                                 : x);
    double s = 0;
    if (t->spoil == SPOIL_SIDES && row > clip) row = clip;
    for (size_t e = 0; e < E; e++)
        s += q[h * E + e] * (k[kv * E + e] + (clip ? in[1][(size_t)row * E + e] : 0));
    return exp(s / sqrt((double)E));
}
/* Returns how many keys row i of a sequence sees, the first so many of `keys`. */
static size_t attention_sees(const Trial *t, size_t i, size_t keys)
{
    size_t n = t->act & ALL ? keys : i + 1;
    if (t->spoil == SPOIL_MASK && t->act & ALL) return n > 1 ? n - 1 : n;
    if (t->spoil == SPOIL_MASK) return n < keys ? n + 1 : n;
    return n;
}
static void attention_row(const Trial *t, const double *const *in, size_t h, size_t s, size_t r,
                          double *out)
{
    const size_t *start = t->act & MEMORY ? t->memory : t->start;
    size_t E = t->D / t->H, i = r - t->start[s];
    if (t->spoil == SPOIL_SEQUENCE && t->act & MEMORY) s = (s + 1) % t->S;
    size_t n = attention_sees(t, i, start[s + 1] - start[s]), W = rows_seen(t);
    size_t first = W && n > W ? n - W : 0;
    const double *q = ref_query(t, in, r), *k = ref_keys(t, in, start[s]);
    size_t ld = (size_t)(ref_keys(t, in, 1) - ref_keys(t, in, 0));
    double sum = 0;
    for (size_t j = first; j < n; j++) sum += attention_weight(t, in, h, i, j, q, k + j * ld);
    for (size_t e = 0; e < E; e++) out[r * t->D + h * E + e] = 0;
    for (size_t j = first; j < n; j++) {
        double a = attention_weight(t, in, h, i, j, q, k + j * ld) / sum;
        a *= ref_keep(&t->drop, (r * t->H + h) * t->longest + j);
        for (size_t e = 0; e < E; e++)
            out[r * t->D + h * E + e] +=
                a * k[j * ld + kv_width(t) + h * kv_heads(t) / t->H * E + e];
    }
}
REF(attention)
{
    for (size_t s = 0; s < t->S; s++)
        for (size_t r = t->start[s]; r < t->start[s + 1]; r++)
            for (size_t h = 0; h < t->H; h++) attention_row(t, in, h, s, r, out);
}
/* Returns k, or v where v is 1, in the backend's memory: packed with q or apart. It does the same for their
 * adjoints. */
static void *keys_or_values(const Backend *b, const Trial *t, void *const *in, size_t v)
{
    int apart = t->act & (MEMORY | MORE);
    return backend_at(b, in[apart ? 2 : 0], (apart ? 0 : t->D) + v * kv_width(t));
}
static Attention attention_of(const Backend *b, const Trial *t, void *const *in)
{
    int apart = t->act & (MEMORY | MORE);
    return (Attention){.S = t->S,
                       .start = t->begins,
                       .memory = t->act & MEMORY ? t->remembers : NULL,
                       .causal = !(t->act & ALL),
                       .window = rows_seen(t),
                       .longest = t->longest,
                       .D = t->D,
                       .H = t->H,
                       .kv = t->act & GROUPED ? kv_heads(t) : 0,
                       .q = in[0],
                       .k = keys_or_values(b, t, in, 0),
                       .v = keys_or_values(b, t, in, 1),
                       .ldq = t->D + (apart ? 0 : 2 * kv_width(t)),
                       .ldk = (apart ? 0 : t->D) + 2 * kv_width(t),
                       .relative = t->act & CLIP ? in[1] : NULL,
                       .clip = (size_t)(t->act & CLIP),
                       .drop = t->drop};
}
RUN(attention)
{
    Attention a = attention_of(b, t, in);
    b->attention(&a, out, kept);
}
BACK(attention)
{
    Attention a = attention_of(b, t, in);
    b->attention_back(&a, out, kept, dout, din[0], keys_or_values(b, t, din, 0),
                      keys_or_values(b, t, din, 1), (t->act & MORE) != 0,
                      t->act & CLIP ? din[1] : NULL);
}

/* ---- attention to listed rows: q, relative, kv (M, 2 D); act: CLIP or 0 ------------------------- */

INPUT_SIZES(listed_inputs, t->N * t->D, relative_inputs(t, 1), 2 * t->M * kv_width(t))
SIZE(listed_count, 2 * (t->D / t->H + LISTED + 16))
/* A spoiled row does not see the first key, or near keys get the relative row of keys a token farther. */
static void listed_row(const Trial *t, const double *const *in, size_t h, size_t n, double *out)
{
    size_t E = t->D / t->H, count = (size_t)t->count[n], clip = (size_t)(t->act & CLIP);
    size_t W = kv_width(t), kv = h * kv_heads(t) / t->H * E;
    size_t before = t->act & WINDOW && count > LISTED / 3 ? count - LISTED / 3 : 0,
           first = before + (t->spoil == SPOIL_MASK && count > 1);
    const double *q = in[0] + n * t->D + h * E;
    double sum = 0, w[LISTED];
    for (size_t j = first; j < count; j++) {
        const double *k = in[2] + (size_t)t->key[n * LISTED + j] * 2 * W + kv;
        size_t x = count - 1 - j + (t->spoil == SPOIL_SIDES), row = x < clip ? clip - x : 0;
        double s = 0;
        for (size_t e = 0; e < E; e++) s += q[e] * (k[e] + (clip ? in[1][row * E + e] : 0));
        w[j] = exp(s / sqrt((double)E));
        sum += w[j];
    }
    for (size_t e = 0; e < E; e++) {
        out[n * t->D + h * E + e] = 0;
        for (size_t j = first; j < count; j++)
            out[n * t->D + h * E + e] +=
                w[j] / sum * in[2][((size_t)t->key[n * LISTED + j] * 2 + 1) * W + kv + e];
    }
}
REF(listed)
{
    for (size_t n = 0; n < t->N; n++)
        for (size_t h = 0; h < t->H; h++) listed_row(t, in, h, n, out);
}
RUN(listed)
{
    Listed a = {.N = t->N,
                .count = t->count,
                .key = t->key,
                .ld = LISTED,
                .D = t->D,
                .H = t->H,
                .kv = t->act & GROUPED ? kv_heads(t) : 0,
                .window = t->act & WINDOW ? LISTED / 3 : 0,
                .q = in[0],
                .k = in[2],
                .v = backend_at(b, in[2], kv_width(t)),
                .ldq = t->D,
                .ldk = 2 * kv_width(t),
                .relative = t->act & CLIP ? in[1] : NULL,
                .clip = (size_t)(t->act & CLIP)};
    b->attend(&a, out);
}

#endif
