/* statistics.h: what a few trainings allow to be said: intervals of means and of paired
 * differences, rank correlations. All at 95 %. */
#ifndef TROTTER_STATISTICS_H
#define TROTTER_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    size_t n;
    double mean, sd;  /* NaN with n = 0; with n < 2 */
    double low, high; /* mean -+ t_(0.975, n - 1) sd / sqrt(n); NaN with n < 2 */
    double
        p; /* two-sided, of the mean being 0: of a t as large; 1 where all are 0; NaN with n < 2 */
} Interval;

/* Of x (n), stride numbers apart. NaN among them: not counted. Source: Student 1908. */
Interval statistics_mean(const double *x, size_t stride, size_t n);

/* Of the differences a[i] - b[i] (n): what two schemes with the same seeds have in common
 * cancels. A pair with a NaN is not counted. */
Interval statistics_paired(const double *a, const double *b, size_t n);

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
