/* symbols.h: a line as a sequence of numbers, and the n-grams that two such sequences share. */
#ifndef TROTTER_METRICS_SYMBOLS_H
#define TROTTER_METRICS_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "nn/text/corpus.h"

/* Characters as Unicode code points, or words as numbers; all zero is an empty sequence. */
typedef struct {
    uint32_t *x; /* (n) */
    size_t n, room;
} Symbols;

/* Adds a symbol at the end. ERR_MEMORY; the sequence then stays as it was. */
int symbols_add(Symbols *s, uint32_t symbol);
/* Makes room for `room` symbols in all; existing ones stay. ERR_MEMORY. */
int symbols_room(Symbols *s, size_t room);
void symbols_free(Symbols *s);

/* Writes to out the words of a text that has single blanks (U+0020) between words, each as its number in `words`, which
 * gets new words added; words borrows the text's characters. text and out are distinct. ERR_MEMORY. */
int symbols_words(const Symbols *text, Words *words, Symbols *out);

/* Room that calls of grams_match share; all zero at the beginning. */
typedef struct {
    struct GramSlot *slot;
    size_t slots;
} Grams;

/* Returns the number of n-grams of a line of N symbols: max(0, N - n + 1). */
size_t grams_count(const Symbols *a, size_t n);

/* Computes *matches = sum over the distinct n-grams g of a of min(count of g in a, max over r of count of g in b[r]), n
 * >= 1: matches clipped by the references b (references). Source: Papineni, Roukos, Ward, Zhu 2002, section 2.1.
 * ERR_MEMORY. */
int grams_match(Grams *room, size_t n, const Symbols *a, const Symbols *b, size_t references,
                size_t *matches);
void grams_free(Grams *g);

#endif
