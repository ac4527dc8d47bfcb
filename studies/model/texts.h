/* texts.h: reads a user's texts for a model, and tells on stderr what it reads otherwise than they have it. */
#ifndef TROTTER_MODEL_TEXTS_H
#define TROTTER_MODEL_TEXTS_H

#include "studies/model/network.h"

/* Reads a text as text_read does, with the model's pieces and words. */
int texts_read(const Network *n, const char *file, Text *t);
int texts_source(const Network *n, const char *file, Text *t); /* a text as a source */

/* Adds the counts of a part to those of a text: tokens, unknown. */
void texts_count(Text *of, const Text *part);

/* Writes how many tokens are read as <unk>, where there are any. A text with many of them is
 * easier, so perplexities of two vocabularies do not compare. */
void texts_tell(const Text *t);

#endif
