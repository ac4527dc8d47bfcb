/* result.h: what a training leaves beside its model: result.csv, a row of numbers, and log.csv, a row a line of progress; and
 * what a result is worth. */
#ifndef TROTTER_TRAIN_RESULT_H
#define TROTTER_TRAIN_RESULT_H

#include "nn/nn.h"
#include "studies/base/frame.h"
#include "studies/base/option.h"

/* The columns of result.csv, a frame of one row: exact only for pairs, bits (a byte) only for a tokenizer's tokens; objective:
 * "masked" where perplexities are pseudo-perplexities of masked words. */
extern const Column run_columns[];

/* Checks that a row is a result: ERR_INPUT where its table lacks a column of numbers that each result has, or where a cell of
 * these columns is no number. */
int runs_result(const Frame *c, size_t row);

/* A row of a run's log. */
typedef struct {
    double step, epoch, tokens, train_loss, valid_ppl, rate, grad_norm, tokens_per_s, valid_exact,
        valid_score, valid_bits, penalty; /* NaN where the log has none */
    const char *objective;                /* as in result.csv */
} RunRow;
extern const Column log_columns[]; /* log.csv, as nn/run/run.c writes it */

/* Returns 1 where a run with these perplexities is no better than drawing words from V at random, or its test perplexity is NaN;
 * one that failed, without a validation perplexity, does not count. */
int runs_diverged(double valid_ppl, double test_ppl, size_t V);

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

#endif
