/* attention_problem.h: attention of a case, forward and backward: its numbers, runs of it on a backend and by the twin, and
 * the distance of results. */
#ifndef TROTTER_TESTS_ATTENTION_PROBLEM_H
#define TROTTER_TESTS_ATTENTION_PROBLEM_H

#include "tests/lib/attention_twin.h"
#include "tests/lib/kernel_buffers.h"

enum { SEQUENCES = 3 };

typedef struct {
    size_t length[SEQUENCES];
    size_t D, H, clip, longest; /* longest 0: as it is */
    int shift;                  /* numbers from an aligned address to each array */
    size_t keys[SEQUENCES];     /* lengths of another text, whose k and v are apart from q */
    int known;                  /* the device knows how long the rows and keys of this batch are */
    size_t kv;                  /* heads of keys and values; 0: H */
} Case;

/* DQ holds dk and dv too where they are packed; DKV holds those of another text. */
enum { OUT, LSE, DQ, DKV, DRELATIVE, RESULTS };

/* Kinds of attention: causal, or to every key of the own or of another text. */
enum { CAUSAL, ALL, KINDS };

static const char *const result_names[] = {"out", "lse", "dq", "dkv", "drelative"};

/* A case with its numbers. */
typedef struct {
    const Case *c;
    size_t S, N, M, rows, start[SEQUENCES + 1], memory[SEQUENCES + 1], size[RESULTS];
    Attention a; /* without the arrays of backend memory */
    int more;    /* dk, dv accumulate */
    double *q, *kv, *relative, *dout;
} Problem;

/* Start of the results that accumulate. */
static const double BEFORE = 0.5;
static inline int accumulates(const Problem *p, int k)
{
    return k >= DRELATIVE || (k == DKV && p->more);
}

/* Returns the numbers of a row of keys. */
static inline size_t key_numbers(const Case *c)
{
    return c->kv ? c->kv * (c->D / c->H) : c->D;
}

/* Returns k or (v = 1) v, or their adjoints, where a number has `bytes`. */
static inline void *keys_at(const Problem *p, void *q, void *kv, size_t v, size_t bytes)
{
    return (char *)(p->M ? kv : q) + ((p->M ? 0 : p->c->D) + v * key_numbers(p->c)) * bytes;
}

/* Inputs, results and dout in backend memory. */
typedef struct {
    size_t *start, *memory;
    void *q, *kv, *relative, *dout, *y[RESULTS];
} Arrays;

static inline Attention with(const Problem *p, const Arrays *x, size_t bytes)
{
    Attention a = p->a;
    a.start = x->start, a.memory = p->M ? x->memory : NULL;
    a.q = x->q, a.k = keys_at(p, x->q, x->kv, 0, bytes), a.v = keys_at(p, x->q, x->kv, 1, bytes);
    a.ldk = (p->M ? 0 : a.D) + 2 * key_numbers(p->c), a.ldq = p->M ? a.D : a.ldk;
    a.relative = a.clip ? x->relative : NULL;
    return a;
}

/* Makes a case's numbers. */
static inline Problem problem_new(const Case *c, double rate, int kind)
{
    Problem p = {.c = c, .more = rate > 0 && c->keys[0]};
    size_t longest = 0, rows = 0;
    for (; p.S < SEQUENCES && c->length[p.S]; p.S++) {
        size_t keys = c->keys[p.S] ? c->keys[p.S] : c->length[p.S];
        p.start[p.S + 1] = p.N += c->length[p.S];
        p.memory[p.S + 1] = p.M += c->keys[p.S];
        longest = longest < keys ? keys : longest;
        rows = rows < c->length[p.S] ? c->length[p.S] : rows;
    }
    p.rows = 2 * c->clip + 1;
    p.a = (Attention){
        .S = p.S, .longest = c->longest ? c->longest : longest, .D = c->D, .H = c->H, .kv = c->kv};
    p.a.clip = c->clip, p.a.causal = kind != ALL;
    if (c->known) p.a.rows = rows, p.a.keys = longest;
    p.a.drop = (Dropout){rate, 0x123456789abcdefu, 0xfedcba9876543210u, NULL, 0};
    memcpy(p.size,
           (size_t[RESULTS]){p.N * c->D, p.N * c->H, p.N * (c->D + (p.M ? 0 : 2 * key_numbers(c))),
                             2 * p.M * key_numbers(c), p.rows * c->D / c->H},
           sizeof p.size);
    p.q = host_random(p.size[DQ], 1);
    p.relative = host_random(p.size[DRELATIVE], 2);
    p.dout = host_random(p.size[OUT], 3);
    p.kv = host_random(p.size[DKV], 4);
    return p;
}

/* ---- runs --------------------------------------------------------------------------------------- */

/* Returns n numbers, from x or all `fill`, so far from an aligned address as the case asks. */
static inline void *array_on(const Backend *b, const Problem *p, size_t n, const double *x,
                             double fill)
{
    void *at = backend_at(b, buffer_new(b, n + (size_t)p->c->shift, NULL), (size_t)p->c->shift);
    if (x)
        b->put(at, x, n);
    else
        b->fill(at, fill, n);
    return at;
}

static inline Arrays arrays_on(const Backend *b, const Problem *p)
{
    Arrays x = {.q = array_on(b, p, p->size[DQ], p->q, 0),
                .kv = array_on(b, p, p->size[DKV], p->kv, 0),
                .relative = array_on(b, p, p->size[DRELATIVE], p->relative, 0),
                .dout = array_on(b, p, p->size[OUT], p->dout, 0),
                .start = sent(b, p->start, sizeof p->start),
                .memory = sent(b, p->memory, sizeof p->memory)};
    for (int k = 0; k < RESULTS; k++)
        x.y[k] = array_on(b, p, p->size[k], NULL, accumulates(p, k) ? BEFORE : NAN);
    return x;
}

static inline void run_on(const Backend *b, const Problem *p, double *y[RESULTS])
{
    Arrays x = arrays_on(b, p);
    Attention a = with(p, &x, b->size);
    b->attention(&a, x.y[OUT], x.y[LSE]);
    b->attention_back(
        &a, x.y[OUT], x.y[LSE], x.dout, x.y[DQ], keys_at(p, x.y[DQ], x.y[DKV], 0, b->size),
        keys_at(p, x.y[DQ], x.y[DKV], 1, b->size), p->more, a.clip ? x.y[DRELATIVE] : NULL);
    for (int k = 0; k < RESULTS; k++) y[k] = fetch(b, x.y[k], p->size[k]);
}

/* Runs the twin; relative positions have none. */
static inline void run_twin(const Problem *p, int rounds, double *y[RESULTS])
{
    for (int k = 0; k < RESULTS; k++) {
        y[k] = host_new(p->size[k]);
        for (size_t i = 0; i < p->size[k]; i++) y[k][i] = accumulates(p, k) ? BEFORE : 0;
    }
    Arrays x = {.start = (size_t *)p->start, .memory = (size_t *)p->memory, .q = p->q, .kv = p->kv};
    Attention a = with(p, &x, sizeof(double));
    twin_attention(&a, rounds, y[OUT], y[LSE]);
    twin_attention_back(&a, rounds, y[OUT], y[LSE], p->dout, y[DQ],
                        keys_at(p, y[DQ], y[DKV], 0, sizeof(double)),
                        keys_at(p, y[DQ], y[DKV], 1, sizeof(double)), p->more);
}

/* Returns the distance of result k as a share of its norm: the largest of dq, dk and dv, where they are packed. The
 * start of accumulated results is in neither. */
static inline double far_of(const Problem *p, int k, const double *y, const double *want)
{
    size_t D = k == DKV ? 0 : p->c->D, W = key_numbers(p->c),
           parts = k == DKV           ? 2
                   : k == DQ && !p->M ? 3
                                      : 1;
    size_t ld = D + (k == DKV || parts == 3 ? 2 * W : 0);
    double most = 0, before = accumulates(p, k) ? BEFORE : 0;
    for (size_t part = 0; part < parts; part++) {
        double norm = 0, off = 0;
        for (size_t i = 0; i < p->size[k]; i++) {
            size_t c = i % ld;
            if (parts > 1 && (c < D ? 0 : (D > 0) + (c - D) / W) != part) continue;
            norm += (want[i] - before) * (want[i] - before);
            off += (y[i] - want[i]) * (y[i] - want[i]);
        }
        double far = off == 0 ? 0 : sqrt(off / norm);
        if (isnan(far)) return far;
        most = most < far ? far : most;
    }
    return most;
}

#endif
