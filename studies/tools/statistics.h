/* statistics.h: what a few trainings allow to be said: intervals of means, of differences
 * with a standard deviation pooled over designs, rank correlations. All at 95 %. */
#ifndef TROTTER_STATISTICS_H
#define TROTTER_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    size_t n;
    double mean, sd;  /* NaN with n = 0; with n < 2 */
    double low, high; /* mean -+ t_(0.975, n - 1) sd / sqrt(n); NaN with n < 2 */
    /* Two-sided, of the mean being 0: of a t as large; 1 where all are 0; NaN with n < 2. */
    double p;
} Interval;

/* Of x (n), stride numbers apart. NaN among them: not counted. Source: Student 1908. */
Interval statistics_mean(const double *x, size_t stride, size_t n);

/* ---- one-way layout ---------------------------------------------------------------------------
 *
 * Run j of design i is y_ij = mu_i + e_ij, j = 1 .. n_i, the errors e independent, normal, and of one
 * standard deviation sigma in all designs:
 *
 *   sd^2     = sum_i sum_j (y_ij - mean_i)^2 / df,   df = sum_i (n_i - 1)
 *   interval = mean_a - mean_b -+ t_(0.975, df) sd sqrt(1 / n_a + 1 / n_b)
 *
 * A design of one run adds no degree of freedom, and is compared with the standard deviation of the others.
 *
 * One sigma is an assumption. Without it (Welch 1947) a difference of two designs of three runs rests on 2 to 4
 * degrees of freedom, as it does when runs are paired by seed (2), and t_(0.975, 2) is 4.30 where 13 such designs
 * pooled have t_(0.975, 26) = 2.06. Seeds are no blocks here: between schemes the perplexities of equal seeds have a
 * mean correlation of .06 on validation and .33 on test text (studies/results/one-layer), so pairs would cost
 * half of the degrees of freedom and more, and cancel little.
 *
 * The two structures are what corrections for many comparisons (Dunnett's, Tukey's) need too: means, numbers of
 * runs, sd, df. Source: Scheffe 1959, The Analysis of Variance, chapter 3.
 */
typedef struct {
    size_t df;
    double sd; /* NaN with df = 0 */
} Pooled;

/* Over designs (n), each as statistics_mean gave it. */
Pooled statistics_pool(const Interval *design, size_t n);

typedef struct {
    double mean, error; /* a - b, its standard error; NaN where a or b has no run */
    double low, high;   /* NaN with df = 0 */
    double p;           /* two-sided, of mu_a = mu_b; NaN with df = 0 */
} Difference;

Difference statistics_difference(const Pooled *s, const Interval *a, const Interval *b);

/* ---- many comparisons, rank correlations ------------------------------------------------------- */

/* p (n), in place: corrected for being n tests, each at most 1 and none below one that was less. NaN among
 * them: not counted. Source: Holm 1979. ERR_MEMORY. */
int statistics_holm(double *p, size_t n);

/* Of fewer pairs the bootstrap's intervals leave out 0 of unrelated numbers too often. */
enum { BOOTSTRAP_LEAST = 7 };

typedef struct {
    size_t n;   /* pairs without NaN */
    double rho; /* Spearman's, equal values having their mean rank; NaN with n < 3 or where all x
                         or all y are equal */
    double low, high; /* percentile bootstrap of the pairs; NaN with n < BOOTSTRAP_LEAST */
    double p; /* two-sided: share of the permutations of y with |rho| at least as large; all of
                         them with n <= 8 (exact), else a sample with this one among it */
} Correlation;

/* Rank correlation of x and y (n); a function of the data and the seed. Source: Spearman 1904;
 * Efron 1979; Pitman 1937. ERR_MEMORY. */
int statistics_rank(const double *x, const double *y, size_t n, uint64_t seed, Correlation *out);

/* The same with a bootstrap interval from `least` pairs on: a test shows by it why BOOTSTRAP_LEAST is no less. */
int statistics_rank_from(size_t least, const double *x, const double *y, size_t n, uint64_t seed,
                         Correlation *out);

/* Are two groups farther from each other than within? distance (n, n), read above its
 * diagonal; second (n): 1 for the second
 * group. With D the mean distance between groups less the mean of all pairs within one, *p is the share of the
 * divisions of the n in groups of these sizes with D at least as large; all of them where they are no more than 20,000 (exact), else
 * a sample with this one among it. NaN where no group has a pair. n <= 64. Source: Mielke, Berry, Johnson 1976. */
void statistics_apart(const double *distance, const int *second, size_t n, uint64_t seed,
                      double *p);

#endif
