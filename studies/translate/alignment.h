/* alignment.h: which source words a model looks at while it writes target words. */
#ifndef TROTTER_TRANSLATE_ALIGNMENT_H
#define TROTTER_TRANSLATE_ALIGNMENT_H

#include <stdio.h>

#include "studies/model/network.h"

/* Writes a line "i-j i-j ...": for each word j of the target the word i of the source, both from 0, with the largest
 * weight of the last cross-attention, which is the mean over heads and over the models, and summed over the pieces of
 * words. source and target end with <eos>, which is no word. n: vocabulary and pieces. ERR_MEMORY. Source: fairseq's
 * --print-alignment hard, which has pieces in place of words. */
int alignment_write(Model *const *model, size_t models, const Network *n, const int32_t *source,
                    size_t source_length, const int32_t *target, size_t target_length, FILE *f);

#endif
