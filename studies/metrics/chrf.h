/* chrf.h: chrF2 of a corpus, with the numbers of sacreBLEU 2.6: character n-grams of orders 1 to 6, no word n-grams,
 * all white space removed, beta = 2.
 *
 *   P = mean over n of matches_n / hypothesis_n,   R = mean over n of matches_n / reference_n
 *   chrF2 = 100 (1 + beta^2) P R / (beta^2 P + R)
 *
 * The counts are sums over lines, and the means are over those orders that hypotheses and references both have. A
 * line's n-grams of a hypothesis count only where its reference has any of that order. With several references a line
 * takes the first of those whose own chrF2 is largest. Source: Popovic 2015 (chrF), 2016 (beta = 2).
 */
#ifndef TROTTER_METRICS_CHRF_H
#define TROTTER_METRICS_CHRF_H

#include "studies/metrics/symbols.h"

enum { CHRF_ORDERS = 6, CHRF_STATISTICS = 3 * CHRF_ORDERS };
/* A line's statistics: for each order hypothesis_n, reference_n, matches_n. */
enum { CHRF_HYPOTHESIS, CHRF_REFERENCE, CHRF_MATCHES, CHRF_EACH };

/* Writes the statistics of one line, whole numbers, to out (CHRF_STATISTICS). hypothesis and reference are characters
 * without white space. ERR_MEMORY. */
int chrf_line(const Symbols *hypothesis, const Symbols *reference, size_t references, Grams *room,
              double *out);

/* Returns the score, 0 .. 100, of statistics summed over lines, sums (CHRF_STATISTICS). */
double chrf_score(const double *sums);

#endif
