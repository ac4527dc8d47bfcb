/* numbers.h: a table from numbers to numbers: open addressing with linear probing, at most half full; nothing is
 * removed. A table of zeros is empty. Source: Knuth 1998, volume 3, section 6.4, algorithm
 * L. */
#ifndef TROTTER_NUMBERS_H
#define TROTTER_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t *key; /* (slots) the key + 1; 0: empty */
    uint32_t *value;
    size_t slots, size;
} Numbers;

/* Returns the key's value, or `otherwise`. Keys are below 2^64 - 1. */
uint32_t numbers_find(const Numbers *m, uint64_t key, uint32_t otherwise);
/* Returns where the key's value is; a new key gets `fresh`. Valid until the next call. NULL: out of memory. */
uint32_t *numbers_place(Numbers *m, uint64_t key, uint32_t fresh);
void numbers_free(Numbers *m);

#endif
