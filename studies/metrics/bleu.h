/* bleu.h: corpus BLEU, with the numbers of sacreBLEU 2.6.
 *
 *   BLEU = BP exp(1/4 sum_(n=1..4) ln p_n),   p_n = 100 matches_n / totals_n
 *   BP   = exp(1 - r / c) where c < r, else 1
 *
 * totals_n counts the n-grams of the hypotheses, and matches_n those of them that a line's references have, clipped. c
 * is the number of words in the hypotheses, and r is the sum over lines of the reference length closest to the
 * hypothesis' (of two as close, the shorter). All are summed over lines before anything is divided: BLEU is not a mean
 * over lines. It is 0 without any matching word, and where an order has no n-gram at all. Source: Papineni, Roukos,
 * Ward, Zhu 2002, section 2; Post 2018.
 *
 * Smoothing of orders without a match (Chen and Cherry 2014, section 3):
 *   exp     the k-th such order has p_n = 100 / (2^k totals_n)                  their method 3
 *   floor   100 x / totals_n, x = 0.1 unless it is given                        method 1
 *   add-k   matches and totals of every order above 1 are k = 1 more           method 2
 *   none    p_n = 0, and BLEU is 0
 */
#ifndef TROTTER_METRICS_BLEU_H
#define TROTTER_METRICS_BLEU_H

#include "studies/metrics/symbols.h"

enum { BLEU_ORDERS = 4, BLEU_STATISTICS = 2 + 2 * BLEU_ORDERS };
/* A line's statistics: words of the hypothesis, the closest reference length, matches (4), totals (4). */
enum { BLEU_HYPOTHESIS, BLEU_REFERENCE, BLEU_MATCHES, BLEU_TOTALS = BLEU_MATCHES + BLEU_ORDERS };

enum { SMOOTH_EXP, SMOOTH_FLOOR, SMOOTH_ADD_K, SMOOTH_NONE };
/* Names of the smoothings, in this order: values of an option, read by option_index and option_value. */
#define SMOOTH_NAMES "exp|floor|add-k|none"

/* Returns the value of a smoothing where none is given: 0.1 for floor, 1 for add-k, NaN for the others. */
double bleu_smooth_value(int smooth);

/* Writes the statistics of one line, whole numbers, to out (BLEU_STATISTICS). hypothesis and reference are words as
 * numbers; references >= 1. ERR_MEMORY. */
int bleu_line(const Symbols *hypothesis, const Symbols *reference, size_t references, Grams *room,
              double *out);

typedef struct {
    double score;                  /* 0 .. 100 */
    double precision[BLEU_ORDERS]; /* 0 .. 100, smoothed; 0 where no word matches */
    double brevity;                /* BP */
    double ratio;                  /* c / r; 0 with r = 0 */
    size_t hypothesis, reference;  /* c, r, in words */
} BleuScore;

/* Returns the score of statistics summed over lines, sums (BLEU_STATISTICS). value: that of the smoothing; NaN:
 * bleu_smooth_value. */
BleuScore bleu_score(const double *sums, int smooth, double value);

#endif
