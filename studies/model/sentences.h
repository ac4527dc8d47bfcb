/* sentences.h: sentences of a text, drawn by a seed, in the form that a model reads. */
#ifndef TROTTER_SENTENCES_H
#define TROTTER_SENTENCES_H

#include "bridge/truncation.h"
#include "nn/text/corpus.h"

#define SENTENCES_FIRST UINT64_MAX

typedef struct {
    Sentences of; /* views of the arrays below */
    size_t *start[SIDES];
    int32_t *token[SIDES];
} Drawn;

/* Draws at most `count` lines of the text, each as the model reads it: <eos> first (for an encoder alone <cls>), at
 * most `tokens` (2 or more) in all. A text that a tokenizer cut as a whole (Vocab.tokens, lines 0) has no ends of
 * lines, so it is cut in pieces of `tokens` - 1, as a stream is for evaluation. From a source (NULL: there is none) it takes the same lines, <eos> last, with the same limit.
 * The seed decides which lines; SENTENCES_FIRST takes the first ones, in order. ERR_INPUT where no line has a word.
 * Caller: sentences_free, whatever the code. */
int sentences_draw(const Vocab *v, const Text *t, const Text *source, size_t count, size_t tokens,
                   uint64_t seed, Drawn *out);
void sentences_free(Drawn *d);

/* Returns the tokens of a sentence: `asked`, or `trained` where asked is 0 or more than that. */
size_t sentences_tokens(size_t asked, size_t trained);

/* Returns the tolerance of the exact flow where only errors at h = 1 and slopes are wanted: `asked`, or where that is 0,
 * SENTENCES_KINKS for a field with kinks (ReLU), and 0, the default of bridge/, for others. There 1e-8, which bridge/
 * takes to show small steps too, lasts six times as long and changes an error at h = 1 by less than a millionth. */
#define SENTENCES_KINKS 1e-6
double sentences_tolerance(double asked, const Model *m);

#endif
