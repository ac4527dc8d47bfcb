/* masking.h: which words of a text are hidden from an encoder, and the tokens in their place.
 *
 * In training each token but <eos> is chosen with probability 0.15; it is replaced by <mask> with probability 0.8, by a
 * word drawn evenly from the vocabulary with 0.1, and stays with 0.1. Evaluation chooses the same tokens for every
 * model, and replaces them all by <mask>. The choice is a function of (seed, epoch, place of the token in the text)
 * alone. So it is the same on every backend, in every batch, for any number of ranks, and after a resumed run.
 *
 * Source: Devlin, Chang, Lee, Toutanova 2019 (BERT), section 3.1; they choose 15 % of each sequence's tokens; here each
 * token is chosen by itself, as in later public code. */
#ifndef TROTTER_MASKING_H
#define TROTTER_MASKING_H

#include "nn/text/text.h"

#define WORD_FIRST "<cls>" /* begins every sequence of an encoder alone; labels are read there */
#define WORD_MASK "<mask>"

#define MASKING_CHOSEN 0.15
#define MASKING_MASK 0.8
#define MASKING_RANDOM 0.1

/* Returns 1 where token i of a text, with this id, is chosen. *input is the token that then stands there, else the id.
 * epoch < 0: evaluation, which does not depend on seed. */
int masking_draw(const Vocab *v, uint64_t seed, long epoch, size_t i, int32_t id, int32_t *input);

/* Appends <cls> and <mask> to a vocabulary; either there already: ERR_INPUT. */
int masking_words(Vocab *v);
/* masking_has: 1 where a vocabulary ends in them, or a tokenizer has its own; masking_check: else ERR_INPUT, naming the file. */
int masking_has(const Vocab *v);
int masking_check(const Vocab *v, const char *file);

#endif
