/* result.h: what a training leaves beside its model: result.csv, a row of numbers, and log.csv, a row a line of progress; and
 * what a result is worth. */
#ifndef TROTTER_TRAIN_RESULT_H
#define TROTTER_TRAIN_RESULT_H

#include "nn/nn.h"
#include "studies/base/frame.h"
#include "studies/base/option.h"

/* The numbers of result.csv; exact only for pairs, bits (a byte) only for a tokenizer's tokens, else NaN. */
typedef struct {
    double params, best_epoch, valid_ppl, test_ppl, tokens_per_s, peak_bytes, valid_exact,
        test_exact, valid_bits, test_bits;
} RunResult;
extern const RunResult runs_none; /* all NaN */

/* A row of result.csv, and of the tables of a study's runs. */
typedef struct {
    const char *scheme;
    size_t layers, seed;
    RunResult result;
    /* "masked": perplexities are pseudo-perplexities of masked words; else NULL */
    const char *objective;
} RunRecord;
extern const Column run_columns[];

/* A row of a run's log. */
typedef struct {
    double step, epoch, tokens, train_loss, valid_ppl, rate, grad_norm, tokens_per_s, valid_exact,
        valid_score, valid_bits; /* NaN where the log has none */
    const char *objective;       /* as in RunRecord */
} RunRow;
extern const Column log_columns[]; /* log.csv, as nn/run/run.c writes it */

/* Returns 1 where one of the results (n) is no better than drawing words from V at random, or its test perplexity is
 * NaN; failed runs do not count. */
int runs_diverged(const RunResult *r, size_t n, size_t V);

/* Returns 1 where a validation perplexity is worse than that of the network before its first step, so that the training
 * diverged; 0 too where the fresh network cannot be evaluated. The size of the vocabulary is no measure of that, as a wide
 * network with tied embeddings begins far above it. */
int runs_worse(Model *fresh, const Options *o, const Corpus *c, double valid_ppl);

/* Perplexities of the unigram on both texts: the frequencies of tokens alone reach them (corpus_unigram). */
typedef struct {
    double valid, test;
} Unigram;
int runs_unigram(const Corpus *c, Unigram *u); /* ERR_MEMORY */
/* Returns 1 where the perplexities of both texts are below the unigram's; NaN is not. */
int runs_beats_unigram(double valid, double test, const Unigram *u);

/* Reads a row of a table with the columns of result.csv. ERR_INPUT. */
int runs_result(const Frame *c, size_t row, RunResult *out);

#endif
