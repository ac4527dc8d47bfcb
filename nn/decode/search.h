/* search.h: text out of a model, a token at a time (decode.c), drawn (sample.c), and the best texts by beam search (beam.c).
 *
 * A hypothesis is a target's beginning: <eos>, then tokens of the output. A step extends N hypotheses by one token each.
 * Only the new token's row is computed; caches hold the keys and values of older tokens. Each EVAL of self-attention
 * has a separate cache (the stages of a Runge-Kutta layer share weights, but apply them to different states); each slot
 * of cross-attention has one for the source. A cache's row is written once. A hypothesis lists the rows of its tokens,
 * so that nothing is copied when hypotheses fork.
 */
#ifndef TROTTER_SEARCH_H
#define TROTTER_SEARCH_H

#include "nn/run/train.h"

/* ---- decode.c: incremental decoding --------------------------------------------------------------- */

typedef struct Decoding Decoding;

/* Makes room for steps of at most `rows` hypotheses of at most `length` tokens, the first <eos> included, rows * length
 * tokens in all from one decoding_begin to the next, and for decoding_best of at most `best` tokens. m must be built
 * without training; it is borrowed until decoding_free and must not be used otherwise between decoding_begin and the
 * last step. rows and length are at most max_tokens and max_length of the model, best at most its vocabulary, else
 * ERR_MISUSE. Allocates decoding_bytes of the backend's memory. No later call allocates, except decoding_best of a
 * model with tails. */
int decoding_new(Model *m, size_t rows, size_t length, size_t best, Decoding **out);
size_t decoding_bytes(const Model *m, size_t rows, size_t length, size_t best);
void decoding_free(Decoding *d); /* NULL allowed */

/* Begins anew. x has the sources of x->S sentences; nothing else of it is read. It runs the source's instructions of
 * the plan, once. A language model has no source: x is NULL. A batch that does not fit the model: ERR_MISUSE. */
int decoding_begin(Decoding *d, const Batch *x);

/* Extends hypotheses. Hypothesis n of this step is hypothesis parent[n] of the step before (-1: nothing) and token[n];
 * sentence[n] is its source's number (not read in a language model; a child has its parent's). Hypotheses may differ in
 * length. N is 1 .. rows. Anything outside the model, or more tokens than there is room for: ERR_MISUSE, nothing is
 * done. */
int decoding_step(Decoding *d, size_t N, const int32_t *token, const int32_t *parent,
                  const int32_t *sentence);

/* Gives the K most probable next tokens of each of the N hypotheses of the last step: index (N, K), log p (N, K)
 * falling, among equals the least token first; K of 0 .. best. only (N) or NULL: log_p (N) out is that of the tokens
 * `only`. A row with a logit that is not finite has NaN for every log p. ERR_MEMORY with tails alone. */
int decoding_best(Decoding *d, size_t K, int32_t *index, double *value, const int32_t *only,
                  double *log_p);

/* Does the same for several models (models >= 1) that made the same steps, with log p of the mean of their
 * probabilities. The host does the work, in double. Allocates 2 N V numbers: ERR_MEMORY. */
int decoding_mean(Decoding *const *d, size_t models, size_t K, int32_t *index, double *value,
                  const int32_t *only, double *log_p);

/* ---- sample.c: draws ------------------------------------------------------------------------------ */

typedef struct {
    double temperature; /* >= 0; 0: always the likeliest token, among equals the least */
    size_t top;         /* only among the K likeliest; 0: among all */
    /* Then keep only the fewest of them that have this share of their probability, 0 .. 1; 1: all. */
    double top_p;
} Sampling;

/* Room for sorting the tokens. */
typedef struct {
    double z;
    size_t token;
} Ranked;

/* Draws a token with u in [0, 1) from the softmax of z (V) / temperature, cut as s says. z is finite. order (V):
 * room. */
size_t sample_token(const double *z, size_t V, const Sampling *s, double u, Ranked *order);

/* Makes tokens that a text has (said[v] is 1) less likely: a logit z above 0 becomes z / penalty, another z * penalty.
 * Source: Keskar, McCann, Varshney, Xiong, Socher 2019 (arXiv 1909.05858), section 4.1, which divides every logit; below
 * 0 that would make a token likelier, so transformers multiplies there, and so do we. */
void sample_penalise(double *z, size_t V, const char *said, double penalty);

/* ---- beam.c: beam search -------------------------------------------------------------------------- */

/* Divisor of the sum of log p of a finished hypothesis; its length l counts <eos>, as in fairseq.
 *   none    1
 *   power   l^alpha (fairseq, Marian, CTranslate2)
 *   gnmt    ((5 + l) / 6)^alpha (Wu et al. 2016, equation 14) */
enum { PENALTY_NONE, PENALTY_POWER, PENALTY_GNMT, PENALTIES };
#define PENALTY_NAMES "none|power|gnmt"

/* A beginning that all outputs of a sentence have; it may hold what is banned or repeats. */
typedef struct {
    const int32_t *token; /* (length) without <eos> */
    size_t length;        /* at most max_length; it may be above max_ratio and max_extra */
} BeamPrefix;

typedef struct {
    size_t beam;  /* >= 1; 1 is greedy search */
    size_t nbest; /* 1 .. beam */
    int penalty;  /* PENALTY_* */
    double alpha; /* -10 .. 10 */
    /* Tokens of an output, without <eos>; max_length >= min_length, >= 1. Where max_ratio > 0 or max_extra > 0 (both
     * finite, >= 0), a sentence's longest length is at most max_ratio * (tokens of its source without <eos>) + max_extra,
     * rounded down, even below min_length. At the longest length <eos> is all that may come. */
    size_t min_length, max_length;
    double max_ratio, max_extra;
    /* n: no n tokens stand twice in an output (Paulus, Xiong, Socher 2018, section 2.5); 0: they may. */
    size_t no_repeat;
    int32_t eos;           /* begins and ends every hypothesis */
    const int32_t *banned; /* (banned_count) never part of an output; not eos */
    size_t banned_count;
    size_t sentences;         /* most in a batch */
    const BeamPrefix *prefix; /* (sentences) of the batch of each search; NULL: none */
    /* Models beside the first, of the same words and at least its sizes; probabilities are then the mean over all. */
    Model *const *other; /* (others) */
    size_t others;
    const volatile int *stop; /* set by a signal handler: ERR_INTERRUPTED; NULL: none */
} BeamConfig;

/* A finished hypothesis. */
typedef struct {
    size_t length;        /* tokens, of which the last is <eos> */
    const int32_t *token; /* (length) */
    const double *log_p;  /* (length) natural logarithms */
    double sum, score;    /* sum of log_p; score = sum divided by the penalty */
} Hypothesis;

/* Gets the best hypotheses of a sentence as soon as it is finished, best first, 1 <= count <= nbest (fewer where fewer
 * exist). They are borrowed during the call. Sentences finish in any order. A return value other than 0 ends the search
 * with this code. */
typedef int BeamDone(void *arg, size_t sentence, size_t count, const Hypothesis *best);

typedef struct Beam Beam;

/* Makes a search. m as for decoding_new, with max_tokens >= sentences * beam and max_length >= the configuration's
 * max_length + 1. A configuration that is not possible: ERR_INPUT with words. What config points to is borrowed. */
int beam_new(Model *m, const BeamConfig *config, Beam **out);
void beam_free(Beam *b); /* NULL allowed */
/* beam_check: beam_new's error, or 0. beam_bytes: what beam_new would allocate, host and backend. */
int beam_check(const Model *m, const BeamConfig *config);
size_t beam_bytes(const Model *m, const BeamConfig *config);

/* Finds the best outputs for the sources of x (decoding_begin); for a language model, of x->S texts without a source.
 * At every step each sentence takes the 2 beam best extensions of its live hypotheses (among equals the first
 * hypothesis and the least token): those with <eos> among the first `beam` are finished, and the first `beam` without
 * live on. A sentence ends as soon as `beam` hypotheses are finished, or when all live ones end at the longest length;
 * its finished ones are then sorted by score. A sentence that has ended is computed no longer. Results do not depend on
 * the other sentences of the batch: in f64 not in one bit. ERR_NUMERIC: a log p is not finite. ERR_INPUT: no output is
 * allowed. Hypotheses finished before an error, or before `stop`, were given to `done`. Allocates nothing (except in
 * decoding_best of a model with tails and in decoding_mean). Source of means: Sutskever, Vinyals, Le 2014; fairseq. */
int beam_search(Beam *b, const Batch *x, BeamDone *done, void *arg);

#endif
