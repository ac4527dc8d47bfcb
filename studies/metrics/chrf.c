/* chrf.c: counts a line's statistics and computes chrF2. */
#include "studies/metrics/metric.h"

#include <string.h>

#include "kernels/error.h"

/* Counts the statistics against one reference. */
static int line_of(const Symbols *a, const Symbols *b, double *out)
{
    size_t matches;
    for (size_t n = 1; n <= CHRF_ORDERS; n++, out += CHRF_EACH) {
        size_t has = grams_count(b, n);
        TRY(grams_match(n, a, b, 1, &matches));
        out[CHRF_HYPOTHESIS] = has ? (double)grams_count(a, n) : 0;
        out[CHRF_REFERENCE] = (double)has;
        out[CHRF_MATCHES] = (double)matches;
    }
    return 0;
}

int chrf_line(const Symbols *hypothesis, const Symbols *reference, size_t references, double *out)
{
    double best = -1, here[CHRF_STATISTICS];
    for (size_t r = 0; r < references; r++) {
        TRY(line_of(hypothesis, &reference[r], here));
        double score = chrf_score(here);
        if (score <= best) continue;
        best = score;
        memcpy(out, here, sizeof here);
    }
    return 0;
}

double chrf_score(const double *sums)
{
    const double beta = 2;
    double P = 0, R = 0, orders = 0;
    for (size_t n = 0; n < CHRF_ORDERS; n++, sums += CHRF_EACH) {
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
