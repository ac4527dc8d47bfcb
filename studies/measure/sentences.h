/* sentences.h: sentences of a text, drawn by a seed, as a model is given them. */
#ifndef TROTTER_SENTENCES_H
#define TROTTER_SENTENCES_H

#include "bridge/truncation.h"
#include "nn/corpus.h"

#define SENTENCES_FIRST UINT64_MAX

typedef struct {
    Sentences of; /* what follows */
    size_t *start[SIDES];
    int32_t *token[SIDES];
} Drawn;

/* At most `count` lines of the text, each as the model is given it: <eos> first (of an encoder alone <cls>), at most
 * `tokens` in all; of a source (NULL: there is none) the same lines, <eos> the last, as long. Which ones is a function
 * of the seed; SENTENCES_FIRST: the first ones, in order. No line of a word: ERR_INPUT. Caller: sentences_free, whatever the code. */
int sentences_draw(const Vocab *v, const Text *t, const Text *source, size_t count, size_t tokens,
                   uint64_t seed, Drawn *out);
void sentences_free(Drawn *d);

/* Tokens of a sentence: as many as are asked for, but (0, or more than that) no more than a network was trained with. */
size_t sentences_tokens(size_t asked, size_t trained);

#endif
