/* sentences.h: sentences of a text, drawn by a seed, in the form that a model reads. */
#ifndef TROTTER_SENTENCES_H
#define TROTTER_SENTENCES_H

#include "bridge/truncation.h"
#include "nn/corpus.h"

#define SENTENCES_FIRST UINT64_MAX

typedef struct {
    Sentences of; /* views of the arrays below */
    size_t *start[SIDES];
    int32_t *token[SIDES];
} Drawn;

/* Draws at most `count` lines of the text, each as the model reads it: <eos> first (for an encoder alone <cls>), at
 * most `tokens` in all. From a source (NULL: there is none) it takes the same lines, <eos> last, with the same limit.
 * The seed decides which lines; SENTENCES_FIRST takes the first ones, in order. ERR_INPUT where no line has a word.
 * Caller: sentences_free, whatever the code. */
int sentences_draw(const Vocab *v, const Text *t, const Text *source, size_t count, size_t tokens,
                   uint64_t seed, Drawn *out);
void sentences_free(Drawn *d);

/* Returns the tokens of a sentence: `asked`, or `trained` where asked is 0 or more than that. */
size_t sentences_tokens(size_t asked, size_t trained);

#endif
