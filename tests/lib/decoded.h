/* decoded.h: makes a batch's logits a token at a time and compares them with those of a whole pass. */
#ifndef TROTTER_TESTS_DECODED_H
#define TROTTER_TESTS_DECODED_H

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "nn/decode/decode.h"
#include "tests/lib/distance.h"
#include "tests/lib/test.h"

DROP(Decoding, decoding)
#define OWN_DECODING SCOPED(decoding_drop) Decoding

/* Returns the limit. Some 200 sums and products follow one another, each of numbers up to 10: 1e4 roundings are enough.
 * Where factors of products are rounded coarsely, a number that is nearly between two may become either: 160 of
 * these. */
static inline double decoded_limit(const Backend *b)
{
    if (b->eps > 0x1p-20) return 160 * b->eps;
    return b->size == 8 ? 1e-12 : 1e-5;
}

/* Makes a Decoding in which the batch's sequences are hypotheses after their sources. It has room for `more`
 * hypotheses. */
static inline Decoding *decoded_begin(Model *m, const Batch *x, size_t more)
{
    Decoding *d;
    if (decoding_new(m, x->S + more, x->longest, 3, &d) != 0 ||
        decoding_begin(d, model_plan(m)->sides > 1 ? x : NULL) != 0)
        fail_msg("%s", error_text());
    return d;
}

/* Computes the logits z (N, V) of every row of x. Step t has the sequences that are longer than t, in an order that
 * changes from step to step. `wrong`, where it is not NULL, spoils something before a step. */
static inline void decoded_rows(Decoding *d, const Batch *x, void (*wrong)(Decoding *d, size_t t),
                                double *z)
{
    enum { MOST = 64 };
    size_t V = model_config(d->m)->vocab, S = x->S;
    int32_t token[MOST], parent[MOST], sentence[MOST], at[MOST];
    assert_true(S <= MOST);
    for (size_t s = 0; s < S; s++) at[s] = -1;
    double *row = memory_new(S, V * sizeof *row);
    assert_non_null(row);
    for (size_t t = 0; t < x->longest; t++) {
        size_t n = 0;
        for (size_t k = 0; k < S; k++) {
            size_t s = (k + t) % S;
            if (x->start[s + 1] - x->start[s] <= t) continue;
            token[n] = x->input[x->start[s] + t];
            parent[n] = at[s];
            sentence[n++] = (int32_t)s;
        }
        if (wrong) wrong(d, t);
        if (decoding_step(d, n, token, parent, sentence) != 0 ||
            pass_logits(d->m, &d->pass, row) != 0)
            fail_msg("%s", error_text());
        for (size_t k = 0; k < n; k++) {
            size_t s = (size_t)sentence[k];
            at[s] = (int32_t)k;
            memcpy(z + (x->start[s] + t) * V, row + k * V, V * sizeof *z);
        }
    }
    memory_free(row);
}

/* Returns the largest relative distance of these logits from those of model_logits. */
static inline double decoded_distance(Model *m, const Batch *x,
                                      void (*wrong)(Decoding *d, size_t t))
{
    size_t V = model_config(m)->vocab;
    SCOPED(memory_drop)
    double *z = memory_new(x->N, V * sizeof *z), *whole = memory_new(x->N, V * sizeof *whole);
    OWN_DECODING *d = decoded_begin(m, x, 0);
    assert_true(z && whole);
    decoded_rows(d, x, wrong, z);
    if (model_logits(m, x, whole) != 0) fail_msg("%s", error_text());
    return relative_distance(z, whole, x->N * V);
}

#endif
