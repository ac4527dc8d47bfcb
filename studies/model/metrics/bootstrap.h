/* bootstrap.h: how far a score depends on the lines, or other examples, on which it was measured: paired bootstrap
 * resampling.
 *
 * A resample draws as many lines as there are, with replacement; every system is scored on the same drawn lines. Of N
 * resamples, sorted, the 95 % interval goes from number N/40 to number N-1-N/40, from 0. Against the first system, with d
 * the difference of scores on all lines and d* that on a resample,
 *
 *   p           = (1 + #{ |d*| - mean |d*| >= |d| }) / (N + 1)      that of `sacrebleu --paired-bs`
 *   p_two_sided = (1 + #{ |d* - mean d*| >= |d| }) / (N + 1)
 *
 * Other programs print the first. It is half of the second where all d* have one sign, and less than half where they
 * have both signs: one in ten pairs of equal systems has p below 0.05 (tests/studies/test_bleu.c). Ties count here, so
 * a system has p = 1 against itself (in sacreBLEU 1 / (N + 1)). Our own generator draws the lines (kernels/base/random.h),
 * so figures agree with sacreBLEU's as those of two of its seeds do. Source: Koehn 2004; Efron and Tibshirani 1993,
 * chapter 16. Where a score is NaN, on all lines or on a resample, so is all that is derived from it.
 */
#ifndef TROTTER_METRICS_BOOTSTRAP_H
#define TROTTER_METRICS_BOOTSTRAP_H

#include "studies/model/metrics/metric.h"

/* The default number of resamples, and the default seed. */
#define BOOTSTRAP_RESAMPLES 1000
#define BOOTSTRAP_SEED 12345

typedef struct {
    double score;           /* on all lines */
    double mean, low, high; /* over resamples; ends of the 95 % interval */
    /* Difference from the first system; p as above. NaN for the first itself. */
    double difference, difference_low, difference_high, p, p_two_sided;
} Resampled;

/* Computes the scores of all runs on the examples draw (n), in which a number may repeat; score (all runs) out.
 * ERR_MEMORY. */
typedef int (*BootstrapScore)(void *arg, const size_t *draw, size_t n, double *score);

/* Scores systems (>= 1) on n >= 1 examples. System s has runs[s] >= 1 of the runs, which follow one another, and its
 * score is their mean, on all examples and on each resample; runs NULL: each has one. out (systems). With 0 resamples:
 * score and difference, the others NaN. The result is a function of the arguments alone. ERR_MEMORY, or the code of
 * `score`. */
int bootstrap_scores(BootstrapScore score, void *arg, size_t n, const size_t *runs, size_t systems,
                     size_t resamples, uint64_t seed, Resampled *out);

/* Scores systems (>= 1) whose runs' statistics have the same metric, options, references and lines; runs and the rest are
 * as above. */
int bootstrap_means(int metric, const Statistics *run, const size_t *runs, size_t systems,
                    size_t resamples, uint64_t seed, Resampled *out);

#endif
