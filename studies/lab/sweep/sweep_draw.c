/* sweep_draw.c: draws and makes words over {s, f} as a function of the seed alone
 * (sweep.h). */
#include <string.h>

#include "kernels/base/random.h"
#include "studies/lab/sweep/sweep.h"

enum { STREAM_PERMUTATIONS = 0x7065726d, STREAM_WORDS = 0x776f7264 }; /* "perm", "word" */

void draw_permutation(uint64_t seed, uint64_t i, size_t n, char *word)
{
    uint32_t order[ZOO_LETTERS];
    random_permutation(seed, STREAM_PERMUTATIONS + (i << 32), 2 * n, order);
    for (size_t j = 0; j < 2 * n; j++) word[j] = order[j] < n ? 's' : 'f';
    word[2 * n] = '\0';
}

int draw_word(uint64_t seed, uint64_t i, uint64_t s, uint64_t f, uint64_t budget, char *word)
{
    size_t n = 0;
    uint64_t least = s < f ? s : f;
    while (budget >= least && n < ZOO_LETTERS) {
        int attention = random_below(seed, STREAM_WORDS, (i << 32) + n, 2) == 0;
        if ((attention ? s : f) > budget) attention = !attention;
        budget -= attention ? s : f;
        word[n++] = attention ? 's' : 'f';
    }
    word[n] = '\0';
    return budget == 0;
}

void sandwich_word(size_t n, size_t k, char *word)
{
    memset(word, 's', k);
    for (size_t i = 0; i < n - k; i++) memcpy(word + k + 2 * i, "sf", 2);
    memset(word + 2 * n - k, 'f', k);
    word[2 * n] = '\0';
}

Halves word_halves(const char *word, double s, double f)
{
    Halves h = {{0, 0}, {0, 0}};
    double all = 0, below = 0;
    for (const char *c = word; *c; c++) all += *c == 's' ? s : f;
    for (const char *c = word; *c; c++) {
        int kind = *c == 'f';
        double own = kind ? f : s, left = 0.5 * all - below;
        double part = left >= own ? 1 : left <= 0 ? 0 : left / own;
        h.bottom[kind] += part;
        h.top[kind] += 1 - part;
        below += own;
    }
    return h;
}
