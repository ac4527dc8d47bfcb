/* texts.h: reads a user's texts for a model, and tells on stderr what it reads otherwise than they have it. */
#ifndef TROTTER_MODEL_TEXTS_H
#define TROTTER_MODEL_TEXTS_H

#include "studies/model/network.h"

/* --replace-marks, for commands that have no network_text_group; it goes on with the group before. */
extern const OptionGroup texts_group;

/* Returns 1 where the options of a command (NULL: it has none) or of the model's training ask for marks_replace. */
int texts_replace(const Options *o, const Network *n);
/* Reads a text as text_read does, with the model's pieces and words. */
int texts_read(const Options *o, const Network *n, const char *file, Text *t);

/* Adds the counts of a part to those of a text: tokens, unknown, replaced. */
void texts_count(Text *of, const Text *part);

/* Writes what was replaced, and how many tokens are read as <unk>, where there are any. A text with many of them is
 * easier, so perplexities of two vocabularies do not compare. */
void texts_tell(const Text *t);
void texts_tell_corpus(const Corpus *c); /* only what was replaced, in every text */

#endif
