/* bleu.c: counts a line's statistics and computes BLEU. */
#include "studies/metrics/metric.h"

#include <math.h>

#include "kernels/error.h"

double bleu_smooth_value(int smooth)
{
    return smooth == SMOOTH_FLOOR ? 0.1 : smooth == SMOOTH_ADD_K ? 1 : NAN;
}

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

BleuScore bleu_score(const double *sums, int smooth, double value)
{
    double c = sums[BLEU_HYPOTHESIS], r = sums[BLEU_REFERENCE], any = 0, logs = 0, power = 1;
    BleuScore s = {.brevity = c < r ? (c > 0 ? exp(1 - r / c) : 0) : 1,
                   .ratio = r > 0 ? c / r : 0,
                   .hypothesis = (size_t)c,
                   .reference = (size_t)r};
    if (isnan(value)) value = bleu_smooth_value(smooth);
    for (size_t n = 0; n < BLEU_ORDERS; n++) any += sums[BLEU_MATCHES + n];
    if (any == 0) return s;
    for (size_t n = 0; n < BLEU_ORDERS; n++) {
        double more = smooth == SMOOTH_ADD_K && n > 0 ? value : 0;
        double matches = sums[BLEU_MATCHES + n] + more, totals = sums[BLEU_TOTALS + n] + more;
        if (totals == 0) return s; /* longer orders have none either */
        if (matches > 0)
            s.precision[n] = 100 * matches / totals;
        else if (smooth == SMOOTH_EXP)
            s.precision[n] = 100 / ((power *= 2) * totals);
        else if (smooth == SMOOTH_FLOOR)
            s.precision[n] = 100 * value / totals;
        logs += log(s.precision[n]); /* -inf for 0 */
    }
    s.score = s.brevity * exp(logs / BLEU_ORDERS);
    return s;
}
