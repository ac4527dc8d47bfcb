/* nearest.h: finds the name that a user meant. */
#ifndef TROTTER_NEAREST_H
#define TROTTER_NEAREST_H

#include <stddef.h>

/* Returns the name among `count` nearest to `word`; NULL where none is near enough to be meant (more than a
 * third of its letters differ, at least 2 may). The distance counts insertions, deletions, substitutions and
 * swaps of neighbours (optimal string alignment; Damerau 1964). Only the first 63 bytes are compared. */
const char *nearest_name(const char *word, const char *const *name, size_t count);
/* Returns "; the nearest is 'NAME'", or "" where there is none; valid until the next call. */
const char *nearest_words(const char *word, const char *const *name, size_t count);

#endif
