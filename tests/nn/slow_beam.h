/* slow_beam.h: a beam search without caches, by whole passes over every hypothesis. It also makes mistakes that others
 * made. */
#ifndef TROTTER_TESTS_SLOW_BEAM_H
#define TROTTER_TESTS_SLOW_BEAM_H

#include "nn/decode/search.h"
#include "tests/lib/models.h"

enum { EOS = 0, LONGEST = 9, SOURCES = 64, SOURCE_LONGEST = 7, MOST = 700 };

/* ---- results ------------------------------------------------------------------------------------------ */

typedef struct {
    size_t length;
    int32_t token[LONGEST + 1];
    double log_p[LONGEST + 1], sum, score;
} Found;

typedef struct {
    size_t count, times;
    Found best[MOST];
} Outputs;

/* ---- a whole pass over a hypothesis ------------------------------------------------------------------- */

/* Computes log p (n, V) of the next token for a text of n tokens that begins with <eos>. Its source is sentence s of
 * x. */
static inline void whole(Model *m, const Batch *x, size_t s, size_t n, int32_t *input,
                         double *log_p)
{
    size_t start[2 * SIDES], words = model_config(m)->vocab;
    int32_t place[LONGEST + 1];
    for (size_t i = 0; i < n; i++) place[i] = (int32_t)i;
    Batch of = *x;
    if (model_plan(m)->sides == 1) of.source.N = 0;
    Batch one = tiny_one(&of, s, start);
    one.N = one.longest = start[1] = n;
    one.input = one.target = input;
    one.position = place;
    if (model_logits(m, &one, log_p) != 0) fail_msg("%s", error_text());
    for (size_t i = 0; i < n; i++) {
        double *z = log_p + i * words, top = z[0], sum = 0;
        for (size_t v = 0; v < words; v++) top = fmax(top, z[v]);
        for (size_t v = 0; v < words; v++) sum += exp(z[v] - top);
        for (size_t v = 0; v < words; v++) z[v] -= top + log(sum);
    }
}

/* Computes the same of the mean of the probabilities of m and the search's other models. */
static inline void whole_mean(Model *m, const BeamConfig *c, const Batch *x, size_t s, size_t n,
                              int32_t *input, double *log_p)
{
    double *one = calloc(n * model_config(m)->vocab, sizeof *one);
    size_t numbers = n * model_config(m)->vocab;
    assert_non_null(one);
    whole(m, x, s, n, input, log_p);
    for (size_t i = 0; i < numbers && c->others; i++) log_p[i] = exp(log_p[i]);
    for (size_t k = 0; k < c->others; k++) {
        whole(c->other[k], x, s, n, input, one);
        for (size_t i = 0; i < numbers; i++) log_p[i] += exp(one[i]);
    }
    for (size_t i = 0; i < numbers && c->others; i++)
        log_p[i] = log(log_p[i] / (double)(1 + c->others));
    free(one);
}

/* ---- a second search -------------------------------------------------------------------------------------- */

static inline double penalised(const BeamConfig *c, double sum, size_t length)
{
    double l = (double)length;
    return sum / (c->penalty == PENALTY_NONE    ? 1
                  : c->penalty == PENALTY_POWER ? exp(c->alpha * log(l))
                                                : exp(c->alpha * (log(5 + l) - log(6))));
}

static inline int repeats(const Found *o, size_t n)
{
    for (size_t i = 0; n && i + n <= o->length; i++)
        for (size_t j = 0; j < i; j++)
            if (memcmp(o->token + i, o->token + j, n * sizeof *o->token) == 0) return 1;
    return 0;
}

static inline int same_text(const Found *x, const Found *y)
{
    return x->length == y->length && memcmp(x->token, y->token, x->length * sizeof *x->token) == 0;
}

/* Tells whether two lists are equal, sums and scores up to tol. */
static inline int same_outputs(const Outputs *a, const Outputs *b, double tol)
{
    if (a->count != b->count) return 0;
    for (size_t i = 0; i < a->count; i++) {
        const Found *x = &a->best[i], *y = &b->best[i];
        if (!same_text(x, y) || !(fabs(x->score - y->score) <= tol && fabs(x->sum - y->sum) <= tol))
            return 0;
    }
    return 1;
}

/* Mistakes that others made. */
enum {
    PEER_RIGHT,
    PEER_PARENT,     /* a child has the text of the hypothesis with its rank */
    PEER_LENGTH,     /* the penalty's length without <eos> */
    PEER_ANY_EOS,    /* <eos> is finished among all 2 beam candidates */
    PEER_FIRST,      /* a sentence ends with its first finished one */
    PEER_SHORTEST,   /* the shortest finished one is the best */
    PEER_CANDIDATES, /* `beam` candidates, with <eos> or not */
    PEER_LONGER,     /* outputs are a token longer than the longest */
    PEER_REPEATS,    /* tokens repeat */
    PEERS
};

typedef struct {
    Found o;
    size_t rank;
} Grown;

static inline int by_sum(const void *x, const void *y)
{
    const Grown *a = x, *b = y;
    if (a->o.sum != b->o.sum) return a->o.sum < b->o.sum ? 1 : -1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return a->o.token[a->o.length - 1] - b->o.token[b->o.length - 1];
}

/* Adds a finished output. Equal scores keep the order in which they finished. */
static inline void add_finished(Outputs *to, Found o, int shortest)
{
    size_t i = to->count++;
    for (; i > 0 && to->best[i - 1].score < o.score && !shortest; i--)
        to->best[i] = to->best[i - 1];
    to->best[i] = o;
}

/* Searches for a sentence by whole passes over every hypothesis; *rows counts these. */
static inline void peer(Model *m, const Batch *x, size_t s, const BeamConfig *c, size_t longest,
                        int wrong, Outputs *best, size_t *rows)
{
    size_t words = model_config(m)->vocab, n = 1, most = c->beam * words;
    Found *live = calloc(c->beam, sizeof *live);
    Grown *grown = calloc(most, sizeof *grown);
    double *log_p = calloc((LONGEST + 2) * words, sizeof *log_p);
    assert_true(live && grown && log_p);
    best->count = 0;
    if (wrong == PEER_LONGER && longest < LONGEST) longest++;
    for (size_t t = 0; n > 0; t++) {
        size_t count = 0, next = 0;
        for (size_t r = 0; r < n; r++, ++*rows) {
            int32_t input[LONGEST + 2] = {EOS};
            memcpy(input + 1, live[r].token, t * sizeof *input);
            whole_mean(m, c, x, s, t + 1, input, log_p);
            for (size_t v = 0; v < words; v++) {
                Grown g = {live[r], r};
                g.o.token[t] = (int32_t)v;
                g.o.length = t + 1;
                g.o.sum += g.o.log_p[t] = log_p[t * words + v];
                int begins = t < longest && c->prefix && t < c->prefix[s].length;
                if (begins && (int32_t)v == c->prefix[s].token[t]) grown[count++] = g;
                if (begins) continue;
                if (t == longest ? v != EOS : v == EOS && t < c->min_length) continue;
                int banned = wrong != PEER_REPEATS && repeats(&g.o, c->no_repeat);
                for (size_t k = 0; k < c->banned_count; k++) banned |= c->banned[k] == (int32_t)v;
                if (!banned) grown[count++] = g;
            }
        }
        qsort(grown, count, sizeof *grown, by_sum);
        size_t take = wrong == PEER_CANDIDATES ? c->beam : 2 * c->beam;
        for (size_t i = 0; i < count && i < take; i++) {
            Found o = grown[i].o;
            if (o.token[t] != EOS) {
                if (next == c->beam) continue;
                if (wrong == PEER_PARENT && next < n) /* live[next] may be a child already */
                    memcpy(o.token, live[next].token, t * sizeof *o.token);
                grown[next++].o = o;
            } else if (i < c->beam || wrong == PEER_ANY_EOS) {
                o.score = penalised(c, o.sum, t + 1 - (wrong == PEER_LENGTH && t > 0));
                add_finished(best, o, wrong == PEER_SHORTEST);
            }
        }
        for (size_t i = 0; i < next; i++) live[i] = grown[i].o;
        n = best->count >= (wrong == PEER_FIRST ? 1 : c->beam) ? 0 : next;
    }
    if (best->count > c->nbest) best->count = c->nbest;
    free(live);
    free(grown);
    free(log_p);
}

#endif
