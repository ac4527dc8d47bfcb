/* masking.h: which words of a text an encoder is asked, and what stands in their place.
 *
 * In training each token but <eos> is chosen with probability 0.15; where it was there stands <mask> with probability 0.8, a
 * word drawn evenly from the vocabulary with 0.1, itself with 0.1. In evaluation the chosen ones are the same for every
 * model, and <mask> stands in all their places. It is a function of (seed, epoch, place of the token in the text) alone: the
 * same on every backend, in every batch, for any number of ranks, and after a resumed run.
 *
 * Source: Devlin, Chang, Lee, Toutanova 2019 (BERT), section 3.1; there the choice is of 15 % of each sequence's tokens, here of
 * each token by itself, as in later public code. */
#ifndef TROTTER_MASKING_H
#define TROTTER_MASKING_H

#include "nn/nn.h"

#define WORD_FIRST "<cls>" /* begins every sequence of an encoder alone; labels are read there */
#define WORD_MASK "<mask>"

#define MASKING_CHOSEN 0.15
#define MASKING_MASK 0.8
#define MASKING_RANDOM 0.1

/* 1 where token i of a text, an id, is chosen; *input is what then stands there, else the id. epoch < 0: evaluation, of which
 * seed is no part. */
int masking_draw(const Vocab *v, uint64_t seed, long epoch, size_t i, int32_t id, int32_t *input);

/* Appends <cls> and <mask> to a vocabulary; either there already: ERR_INPUT. */
int masking_words(Vocab *v);
/* 1 where a vocabulary ends in them; else ERR_INPUT, naming the file. */
int masking_has(const Vocab *v);
int masking_check(const Vocab *v, const char *file);

#endif
