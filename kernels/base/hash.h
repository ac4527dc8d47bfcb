/* hash.h: FNV-1a, 64 bits: h = (h xor byte) * prime for every byte.
 * Source: Fowler, Noll, Vo 1991 (RFC 9923). The prime is odd, so each step permutes the states: two
 * texts of equal length that differ in one byte never share a value. */
#ifndef TROTTER_HASH_H
#define TROTTER_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* Continues h over n bytes at p; begin with HASH_START. */
static inline uint64_t hash_bytes(uint64_t h, const void *p, size_t n)
{
    const unsigned char *b = p;
    for (size_t i = 0; i < n; i++) h = (h ^ b[i]) * UINT64_C(0x100000001b3);
    return h;
}

#endif
