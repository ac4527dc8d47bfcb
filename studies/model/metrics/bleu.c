/* bleu.c: counts a line's statistics and computes BLEU. */
#include "studies/model/metrics/metric.h"

#include <math.h>

#include "kernels/base/error.h"

static size_t apart(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

int bleu_line(const Symbols *hypothesis, const Symbols *reference, size_t references, double *out)
{
    size_t c = hypothesis->n, closest = reference[0].n, matches;
    for (size_t r = 1; r < references; r++) {
        size_t n = reference[r].n, far = apart(n, c), least = apart(closest, c);
        if (far < least || (far == least && n < closest)) closest = n;
    }
    out[BLEU_HYPOTHESIS] = (double)c;
    out[BLEU_REFERENCE] = (double)closest;
    for (size_t n = 1; n <= BLEU_ORDERS; n++) {
        TRY(grams_match(n, hypothesis, reference, references, &matches));
        out[BLEU_MATCHES + n - 1] = (double)matches;
        out[BLEU_TOTALS + n - 1] = (double)grams_count(hypothesis, n);
    }
    return 0;
}

BleuScore bleu_score(const double *sums)
{
    double c = sums[BLEU_HYPOTHESIS], r = sums[BLEU_REFERENCE], any = 0, logs = 0, power = 1;
    BleuScore s = {.brevity = c < r ? (c > 0 ? exp(1 - r / c) : 0) : 1,
                   .ratio = r > 0 ? c / r : 0,
                   .hypothesis = (size_t)c,
                   .reference = (size_t)r};
    for (size_t n = 0; n < BLEU_ORDERS; n++) any += sums[BLEU_MATCHES + n];
    if (any == 0) return s;
    for (size_t n = 0; n < BLEU_ORDERS; n++) {
        double matches = sums[BLEU_MATCHES + n], totals = sums[BLEU_TOTALS + n];
        if (totals == 0) return s; /* longer orders have none either */
        s.precision[n] = matches > 0 ? 100 * matches / totals : 100 / ((power *= 2) * totals);
        logs += log(s.precision[n]);
    }
    s.score = s.brevity * exp(logs / BLEU_ORDERS);
    return s;
}
