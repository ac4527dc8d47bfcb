/* random.c: uniforms, normals, integers and permutations from random_words. */
#include "kernels/base/random.h"

#include <math.h>

static uint64_t word64(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t w[4];
    random_words(seed, stream, index, w);
    return (uint64_t)w[0] << 32 | w[1];
}

double random_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    return ((double)(word64(seed, stream, index) >> 11) + 0.5) * 0x1p-53;
}

double random_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t w[4];
    random_words(seed, stream, index, w);
    double u = ((double)(((uint64_t)w[0] << 32 | w[1]) >> 11) + 0.5) * 0x1p-53;
    double v = ((double)(((uint64_t)w[2] << 32 | w[3]) >> 11) + 0.5) * 0x1p-53;
    return sqrt(-2 * log(u)) * cos(6.283185307179586476925286766559 * v);
}

uint64_t random_below(uint64_t seed, uint64_t stream, uint64_t index, uint64_t n)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)word64(seed, stream, index) * n >> 64);
}

void random_permutation(uint64_t seed, uint64_t stream, size_t n, uint32_t *order)
{
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    for (size_t i = n; i > 1; i--) {
        size_t j = random_below(seed, stream, i, i);
        uint32_t t = order[i - 1];
        order[i - 1] = order[j];
        order[j] = t;
    }
}
