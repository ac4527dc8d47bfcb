/* rouge.h: ROUGE-1, ROUGE-2 and ROUGE-L, means over lines.
 *
 *   ROUGE-N   matches are n-grams that both have, clipped; P = matches / those of the hypothesis, R = matches / those of
 *             the reference
 *   ROUGE-L   the same of the longest common subsequence of words, the line being one sentence
 *   F = 2 P R / (P + R)
 *
 * A line without n-grams has 0. With several references a line takes the first of those with the largest F; there is no
 * jackknife. Words are cut at white space alone and neither stemmed nor lower-cased, so programs that do so give other
 * figures. Source: Lin 2004, sections 2 and 3.
 */
#ifndef TROTTER_METRICS_ROUGE_H
#define TROTTER_METRICS_ROUGE_H

#include "studies/metrics/symbols.h"

/* A line's statistics, each 0 .. 1, and 1 for the line itself. */
enum { ROUGE_PRECISION, ROUGE_RECALL, ROUGE_F, ROUGE_LINES, ROUGE_STATISTICS };

/* Write the statistics of one line to out (ROUGE_STATISTICS); words are numbers. ERR_MEMORY. */
int rouge_1_line(const Symbols *hypothesis, const Symbols *reference, size_t references,
                 Grams *room, double *out);
int rouge_2_line(const Symbols *hypothesis, const Symbols *reference, size_t references,
                 Grams *room, double *out);
int rouge_l_line(const Symbols *hypothesis, const Symbols *reference, size_t references,
                 Grams *room, double *out);

/* Returns the mean over lines, 0 .. 100, of a statistic above; sums: over lines (ROUGE_STATISTICS). */
double rouge_mean(const double *sums, int statistic);

#endif
