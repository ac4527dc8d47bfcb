/* markov.c: a first-order Markov source, a text whose best reachable perplexity is known exactly.
 *
 * State 0 is <eos>. The successors of state i are
 *     <eos>               with probability 1/16 (not from <eos>: no line is blank),
 *     min(i + 1, V - 1)   and up to four words drawn at random,
 * the latter sharing the rest in proportion to weights 1/10 - ln u, u uniform. So 0 -> 1 -> ... -> V-1
 * reaches every state and every state reaches 0: the chain is irreducible. V - 1 -> V - 1 is a cycle
 * of length 1, so the chain is aperiodic. Hence it has one stationary distribution pi, the limit of
 * power iteration, and the entropy rate (Shannon 1948, theorem 5; Cover, Thomas 2006, theorem 4.2.4)
 *     H = -sum_i pi_i sum_j p_ij ln p_ij.
 * A line depends on the lines before it only through <eos>, so H is also the rate of a model that sees
 * single sentences. Ids are state numbers, not by count: no word can be missing by chance. */
#include "nn/text/corpus.h"

#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/random.h"

enum { STATES = 256, STATES_MAX = 1 << 20, SWEEPS = 100000 };

static const uint64_t STREAM_CHAIN = UINT64_C(0x4d61726b6f760000); /* + 1 + split: samples */
static const double P_EOS = 1.0 / 16;
static const size_t SIZE[SPLITS] = {200000, 20000, 20000}; /* least tokens of a split */

/* Draws e (MARKOV_DEGREE), the successors of state i. */
static void draw_row(size_t V, uint64_t seed, size_t i, MarkovEdge *e)
{
    double sum = 0;
    e[0] = (MarkovEdge){0, i ? P_EOS : 0};
    for (size_t k = 1; k < MARKOV_DEGREE; k++) {
        uint64_t index = 2 * (i * MARKOV_DEGREE + k);
        uint64_t j = k > 1 ? 1 + random_below(seed, STREAM_CHAIN, index, V - 1)
                           : (i + 1 < V ? i + 1 : V - 1);
        int drawn = 0;
        for (size_t l = 1; l < k; l++) drawn |= e[l].to == j;
        e[k].to = (uint32_t)j;
        e[k].p = drawn ? 0 : 0.1 - log(random_uniform(seed, STREAM_CHAIN, index + 1));
        sum += e[k].p;
    }
    for (size_t k = 1; k < MARKOV_DEGREE; k++) e[k].p *= (1 - e[0].p) / sum;
}

/* Computes next = pi P; returns the L1 distance of the two. */
static double sweep(const Markov *m, const double *pi, double *next)
{
    double change = 0;
    memset(next, 0, m->V * sizeof *next);
    for (size_t i = 0; i < m->V; i++)
        for (const MarkovEdge *e = m->edge + i * MARKOV_DEGREE, *end = e + MARKOV_DEGREE; e < end;
             e++)
            next[e->to] += pi[i] * e->p;
    for (size_t i = 0; i < m->V; i++) change += fabs(next[i] - pi[i]);
    return change;
}

/* Computes pi by power iteration from <eos>, normalised at the end. In two steps every state reaches
 * <eos> with probability at least 15/256 (0 -> word -> 0: 1/16; word -> word -> 0: 15/16 * 1/16). So
 * distances shrink by 1 - 15/256 (Doeblin), and a change of 1e-14 leaves an error of at most 1e-14 * 2
 * * 256/15 < 1e-12 in L1. Roundings are relative to terms that sum to 1: they stay below 1e-14. */
static int find_stationary(Markov *m, double *next)
{
    double change = 1, sum = 0;
    m->pi[0] = 1;
    for (int n = 0; n < SWEEPS && !(change <= 1e-14); n++) {
        change = sweep(m, m->pi, next);
        memcpy(m->pi, next, m->V * sizeof *next);
    }
    for (size_t i = 0; i < m->V; i++) sum += m->pi[i];
    for (size_t i = 0; i < m->V; i++) m->pi[i] /= sum;
    return change <= 1e-14 ? 0
                           : error_set(ERR_ACCURACY, "markov: power iteration stays at %g", change);
}

static double entropy_rate(const Markov *m)
{
    double rate = 0;
    for (size_t i = 0; i < m->V; i++) {
        const MarkovEdge *e = m->edge + i * MARKOV_DEGREE;
        double h = 0;
        for (size_t k = 0; k < MARKOV_DEGREE; k++)
            if (e[k].p > 0) h -= e[k].p * log(e[k].p);
        rate += m->pi[i] * h;
    }
    return rate;
}

int markov_new(size_t V, uint64_t seed, Markov *m)
{
    *m = (Markov){.V = V};
    if (V < 2 || V > STATES_MAX)
        return error_set(ERR_INPUT, "markov: %zu states; 2 to %d are possible", V, STATES_MAX);
    m->edge = memory_new(V * MARKOV_DEGREE, sizeof *m->edge);
    m->pi = memory_new(V, sizeof *m->pi);
    SCOPED(memory_drop) double *next = memory_new(V, sizeof *next);
    if (!m->edge || !m->pi || !next) return ERR_MEMORY;
    for (size_t i = 0; i < V; i++) draw_row(V, seed, i, m->edge + i * MARKOV_DEGREE);
    TRY(find_stationary(m, next));
    m->rate = entropy_rate(m);
    return 0;
}

void markov_free(Markov *m)
{
    memory_free(m->edge);
    memory_free(m->pi);
    *m = (Markov){0};
}

/* Returns the state after i where u in (0, 1) falls; rounding's rest goes to the last edge. */
static uint32_t next_state(const Markov *m, uint32_t i, double u)
{
    const MarkovEdge *e = m->edge + i * MARKOV_DEGREE;
    uint32_t last = e[1].to;
    for (size_t k = 0; k < MARKOV_DEGREE; k++) {
        if (!(e[k].p > 0)) continue;
        last = e[k].to;
        if (u < e[k].p) break;
        u -= e[k].p;
    }
    return last;
}

/* Draws a text of whole lines, up to the first <eos> at or past the wanted size. */
static int sample(const Markov *m, uint64_t seed, int split, size_t size, Text *t)
{
    static const char *const file[SPLITS] = {"markov train", "markov valid", "markov test"};
    t->file = memory_string(file[split]);
    if (!t->file) return ERR_MEMORY;
    for (uint32_t i = 0; i != 0 || t->tokens < size; t->lines += i == 0) {
        uint64_t stream = STREAM_CHAIN + 1 + (uint64_t)split;
        i = next_state(m, i, random_uniform(seed, stream, t->tokens));
        TRY(memory_add(t->id, t->tokens, (int32_t)i));
    }
    return 0;
}

int markov_corpus(const char *name, uint64_t seed, int splits, size_t most, Corpus *c)
{
    size_t V;
    SCOPED(markov_free) Markov m = {0};
    TRY(vocab_number(name, STATES, STATES_MAX, &V));
    TRY(markov_new(V, seed, &m));
    TRY(vocab_numbered("w", V, &c->vocab));
    for (int i = 0; i < splits; i++) {
        size_t size = i != SPLIT_TRAIN && most < SIZE[i] ? most : SIZE[i];
        TRY(sample(&m, seed, i, size, &c->text[i]));
    }
    c->entropy_rate = m.rate;
    return 0;
}
