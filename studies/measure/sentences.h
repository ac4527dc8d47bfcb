/* sentences.h: sentences of a text, drawn by a seed, as a model is given them. */
#ifndef TROTTER_SENTENCES_H
#define TROTTER_SENTENCES_H

#include "bridge/truncation.h"
#include "nn/corpus.h"

/* At most `count` lines of the text, each as the model is given it: <eos> first, at most
 * `tokens` in all. Which ones is a function of the seed. No line of a word: ERR_INPUT. */
int sentences_draw(const Vocab *v, const Text *t, size_t count, size_t tokens, uint64_t seed,
                   size_t **start, int32_t **token, Sentences *out);

#endif
