/* random.h: random numbers as a pure function of (seed, stream, index), the same on every backend.
 *
 * Philox4x32-10 of Random123 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as
 * 1, 2, 3"): key = seed, counter = (index, stream). One call gives four 32-bit words. There is no
 * state to save: a resumed run draws the numbers that the uninterrupted one would have drawn.
 */
#ifndef TROTTER_RANDOM_H
#define TROTTER_RANDOM_H

#include <stddef.h>
#include <stdint.h>
#include <Random123/philox.h>

/* Writes out (4), four independent uniform 32-bit words. */
static inline void random_words(uint64_t seed, uint64_t stream, uint64_t index, uint32_t out[4])
{
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    philox4x32_ctr_t counter = {
        {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)}};
    philox4x32_ctr_t r = philox4x32_R(10, counter, key);
    for (int i = 0; i < 4; i++) out[i] = r.v[i];
}

/* Returns element `index` of the stream, uniform in (0, 1), 53 bits. */
double random_uniform(uint64_t seed, uint64_t stream, uint64_t index);

/* Returns element `index` of the stream, standard normal (Box and Muller 1958). */
double random_normal(uint64_t seed, uint64_t stream, uint64_t index);

/* Returns element `index` of the stream, a uniform integer in [0, n), n > 0; bias below n / 2^64. */
uint64_t random_below(uint64_t seed, uint64_t stream, uint64_t index, uint64_t n);

/* Draws order (n), a permutation of 0 .. n-1 (Fisher and Yates), a function of (seed, stream). */
void random_permutation(uint64_t seed, uint64_t stream, size_t n, uint32_t *order);

#endif
