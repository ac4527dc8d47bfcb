/* chrf.c: counts a line's statistics and computes chrF2 and chrF2++. */
#include "studies/model/metrics/metric.h"

#include <string.h>

#include "kernels/base/error.h"

/* Counts the statistics of n-grams of orders 1 .. orders against one reference. */
static int line_of(const Symbols *a, const Symbols *b, size_t orders, double *out)
{
    size_t matches;
    for (size_t n = 1; n <= orders; n++, out += CHRF_EACH) {
        size_t has = grams_count(b, n);
        TRY(grams_match(n, a, b, 1, &matches));
        out[CHRF_HYPOTHESIS] = has ? (double)grams_count(a, n) : 0;
        out[CHRF_REFERENCE] = (double)has;
        out[CHRF_MATCHES] = (double)matches;
    }
    return 0;
}

int chrf_line(const Symbols *character, const Symbols *word, size_t texts, double *out)
{
    double best = -1, here[CHRF_WORDS_STATISTICS];
    size_t words = word ? CHRF_WORDS : 0;
    for (size_t r = 1; r < texts; r++) {
        TRY(line_of(&character[0], &character[r], CHRF_ORDERS, here));
        if (word) TRY(line_of(&word[0], &word[r], words, here + CHRF_STATISTICS));
        double score = chrf_score(here, words);
        if (score <= best) continue;
        best = score;
        memcpy(out, here, (CHRF_ORDERS + words) * CHRF_EACH * sizeof *out);
    }
    return 0;
}

double chrf_score(const double *sums, size_t words)
{
    const double beta = 2;
    double P = 0, R = 0, orders = 0;
    for (size_t n = 0; n < CHRF_ORDERS + words; n++, sums += CHRF_EACH) {
        if (sums[CHRF_HYPOTHESIS] == 0 || sums[CHRF_REFERENCE] == 0) continue;
        P += sums[CHRF_MATCHES] / sums[CHRF_HYPOTHESIS];
        R += sums[CHRF_MATCHES] / sums[CHRF_REFERENCE];
        orders++;
    }
    if (P + R == 0) return 0;
    P /= orders;
    R /= orders;
    return 100 * ((1 + beta * beta) * P * R / (beta * beta * P + R));
}
