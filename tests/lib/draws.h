/* draws.h: properties that are drawn at random: `few` of them, or TROTTER_DRAWS; TROTTER_DRAWS_SEED draws others. */
#ifndef TROTTER_TESTS_DRAWS_H
#define TROTTER_TESTS_DRAWS_H

#include "kernels/base/random.h"
#include "tests/lib/test.h"

static inline size_t draws(size_t few)
{
    const char *n = getenv("TROTTER_DRAWS");
    return n ? (size_t)atol(n) : few;
}

static inline uint64_t draws_seed(void)
{
    const char *seed = getenv("TROTTER_DRAWS_SEED");
    return seed ? (uint64_t)atoll(seed) : 1;
}

/* Returns the next number below n. */
static inline size_t draw(size_t n)
{
    static uint64_t index;
    return (size_t)random_below(draws_seed(), 44, index++, n);
}

#endif
