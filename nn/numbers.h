/* numbers.h: a table of numbers by number, as words.c has one of words: open addressing with linear probing, at most half
 * full; nothing is taken out. All zero is an empty table. Source: Knuth 1998, volume 3, section 6.4, algorithm L. */
#ifndef TROTTER_NUMBERS_H
#define TROTTER_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t *key; /* (slots) + 1; 0: empty */
    uint32_t *value;
    size_t slots, size;
} Numbers;

/* The key's value, or `otherwise`. Keys are below 2^64 - 1. */
uint32_t numbers_find(const Numbers *m, uint64_t key, uint32_t otherwise);
/* Where the key's value is, `fresh` if it is new; good until the next call. NULL: out of memory. */
uint32_t *numbers_place(Numbers *m, uint64_t key, uint32_t fresh);
void numbers_free(Numbers *m);

#endif
