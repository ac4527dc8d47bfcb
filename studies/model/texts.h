/* texts.h: what a command tells on stderr about the texts that a model reads. */
#ifndef TROTTER_MODEL_TEXTS_H
#define TROTTER_MODEL_TEXTS_H

#include "nn/nn.h"

/* Counts of one text, or of the parts of one. */
typedef struct {
    const char *file;
    size_t tokens, unknown; /* as in a Text */
} TextCounts;

/* Adds the counts of a part; `of->file` stays. */
void texts_count(TextCounts *of, const Text *part);

/* Writes how many tokens are read as <unk>, where there are any. A text with many of them is easier, so perplexities of
 * two vocabularies do not compare. */
void texts_tell(const TextCounts *c);
void texts_tell_of(const Text *t); /* the same for a whole text */

#endif
