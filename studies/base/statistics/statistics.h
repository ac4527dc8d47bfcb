/* statistics.h: what can be said from a few trainings: intervals of means, of differences with a standard deviation
 * pooled over designs, rank correlations. All are at 95 %. */
#ifndef TROTTER_STATISTICS_H
#define TROTTER_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    size_t n;
    double mean, sd;  /* mean: NaN with n = 0; sd: NaN with n < 2 */
    double low, high; /* mean -+ t_(0.975, n - 1) sd / sqrt(n); NaN with n < 2 */
    /* Two-sided, of the mean being 0: P(a t as large); 1 where all are 0; NaN with n < 2. */
    double p;
} Interval;

/* Returns the interval of the mean of x (n), stride numbers apart. NaN among them is not counted. Source: Student
 * 1908. */
Interval statistics_mean(const double *x, size_t stride, size_t n);
/* Returns the same for positive numbers, as perplexities are, with low not below 0; two numbers far apart would give a
 * negative low. An interval that loses only impossible values holds the true mean as often as before. high - mean stays
 * t sd / sqrt(n). */
Interval statistics_positive(const double *x, size_t n);
/* Returns 1 where the interval would begin below 0. */
int statistics_is_cut(Interval positive);
/* The words about low in a column's description, and the note below a table that has such an interval. */
#define STATISTICS_POSITIVE_LOW "lower end of the 95 % interval (Student's t), no less than 0"
#define STATISTICS_POSITIVE_CUT \
    "Where ± is larger than its mean, the interval begins at 0, as these numbers are positive.\n"

/* ---- designs and seeds --------------------------------------------------------------------------
 *
 * Run j of design i is y_ij = mu_i + b_j + e_ij, j = 1 .. n_i. Designs are fixed. The effect of a seed on all of them,
 * b, is random with standard deviation tau. The errors e are normal with sigma, the same in all designs. Two estimates:
 *
 *   one-way   sd^2 = sum_i sum_j (y_ij - mean_i)^2 / df,                       df = sum_i (n_i - 1)
 *   two-way   sd^2 = sum_i sum_j (y_ij - mean_i - mean_j + mean)^2 / df,       df = (designs - 1) (seeds - 1)
 *   interval  mean_a - mean_b -+ t_(0.975, df) sd sqrt(1 / n_a + 1 / n_b)
 *
 * The two-way one pairs runs of one seed and needs every seed in every design; a difference is then free of b, and its
 * interval holds the true one in 95 of 100 studies whatever tau is. The one-way one estimates sigma^2 + tau^2: it is
 * exact where tau = 0, has more degrees of freedom, and where tau > 0 its intervals are longer than necessary. A table
 * with missing runs has only the one-way one. A design of one run adds no degree of freedom to it, and is compared with
 * the standard deviation of the others.
 *
 * The rule is fixed before any figure is seen. Seeds are paired where that lengthens the expected interval by at most 5 %
 * if seeds do nothing, which follows from the numbers of designs and seeds alone (13 designs of 3 seeds: 0.3 %); in
 * smaller tables where the F test of seeds has p < .005, which costs at most half a percent of coverage if seeds do
 * nothing. A choice by whether the estimate of tau is above 0 (REML) would cost more: intervals of two designs of
 * three seeds would hold in 92.5 of 100 studies (tests/studies/test_simultaneous.c).
 *
 * One sigma is an assumption, which Bartlett's test checks: with s_i the k designs' own standard deviations, those of two
 * or more runs,
 *
 *   (df log s^2 - sum_i (n_i - 1) log s_i^2) / (1 + (sum_i 1 / (n_i - 1) - 1 / df) / (3 (k - 1)))
 *
 * is nearly chi-squared with k - 1 degrees of freedom if all sigma are equal and tau = 0; where tau > 0 it is less. If they
 * differ, the intervals of designs with a large sigma are too short. Without the assumption (Welch 1947) a difference of two
 * designs of three runs rests on 2 to 4 degrees of freedom, as it does when the two alone are paired by seed (2), and
 * t_(0.975, 2) is 4.30 where 13 such designs together have t_(0.975, 24) = 2.06.
 *
 * Source: Scheffe 1959, The Analysis of Variance, chapters 3, 4 and 8; Bartlett 1937.
 */
typedef struct {
    size_t df;
    double sd; /* NaN with df = 0; 0: the runs do not differ, or but for the seeds' effects */
} Pooled;

/* Returns the one-way estimate over designs (n), each as statistics_mean gave it. */
Pooled statistics_pool(const Interval *design, size_t n);

typedef struct {
    double low, high; /* least and largest s_i; NaN with fewer than two of them */
    double p;         /* of one sigma (Bartlett's test); NaN likewise, or where all s_i are 0 */
} SeedSpread;

typedef struct {
    Pooled pooled; /* the estimate that the rule takes */
    SeedSpread spread;
    int paired;        /* 1: two-way */
    int pairing;       /* SEEDS_*: what decided that */
    size_t incomplete; /* designs that lack a seed which another has; if not 0, one-way */
    /* tau^2 / (tau^2 + sigma^2), estimated by mean squares; it may be below 0 (where it is above, it equals REML's).
     * NaN: only one seed or one design, incomplete, or all runs of each design are equal */
    double correlation;
    double p; /* of seeds having no effect (F test); NaN likewise */
    /* Expected length of a two-way interval over that of a one-way one where tau = 0; NaN likewise */
    double longer;
} Seeds;

/* Estimates from y (designs, seeds): NaN where there is no run. pairing: by the rule; or as was decided elsewhere, where
 * runs of one seed can be paired only if no design lacks a seed. SEEDS_NONE: the runs have no seeds. */
enum { SEEDS_BY_RULE, SEEDS_PAIRED, SEEDS_APART, SEEDS_NONE };
Seeds statistics_seeds(const double *y, size_t designs, size_t seeds, int pairing);

typedef struct {
    double mean; /* a - b; NaN where a or b has no run */
    /* Its standard error, interval, and two-sided p of mu_a = mu_b. NaN with df = 0 and with sd = 0, where runs that do not
     * differ say nothing of how far others would. */
    double error, low, high, p;
} Difference;

Difference statistics_difference(const Pooled *s, const Interval *a, const Interval *b);
/* Returns the contrast sum_i weight_i mean_i over designs (n), whose weights sum to 0; its standard error is sd sqrt(sum_i
 * weight_i^2 / n_i). Designs of weight 0 are not read. */
Difference statistics_contrast(const Pooled *s, const Interval *const *design, const double *weight,
                               size_t n);

/* ---- rank correlations ------------------------------------------------------------------------- */

/* With fewer pairs the bootstrap's intervals of unrelated numbers leave out 0 too often: of 5, in one of ten. */
enum { BOOTSTRAP_LEAST = 7 };

typedef struct {
    size_t n;   /* pairs without NaN */
    double rho; /* Spearman's, equal values having their mean rank; NaN with n < 3 or where all x
                         or all y are equal */
    double low, high; /* percentile bootstrap of the pairs; NaN with n < BOOTSTRAP_LEAST, or where
                         more than one draw in 20 has equal values alone */
    double p; /* two-sided: share of the permutations of y with |rho| at least as large; all of
                         them with n <= 8 (exact), else a sample with this one among it */
} Correlation;

/* Computes the rank correlation of x and y (n); a function of the data and the seed. Source: Spearman 1904; Efron 1979;
 * Pitman 1937. ERR_MEMORY. */
int statistics_rank(const double *x, const double *y, size_t n, uint64_t seed, Correlation *out);

/* Whether x goes with y where a third quantity, of which groups are made, does not differ: ranks are taken within each
 * group, about the group's mean, so that what differs between groups counts for nothing. */
typedef struct {
    size_t n, groups; /* pairs without NaN in groups of two or more; these groups */
    /* sum of the products of ranks over the root of that of their squares; NaN where none differ */
    double rho;
    /* two-sided, of permutations of y within the groups: a sample with the data among it */
    double p;
    /* the exponent b of y = a_group x^b, by least squares of logarithms, with its 95 % interval (Student's t, n - groups -
     * 1 degrees of freedom); NaN where a number is not positive, or too few differ */
    double slope, slope_low, slope_high;
} Within;

/* Computes it; group (n): the index of the first pair of each one's group. A function of the data and the seed.
 * Source: Taylor 1987, Biometrics 43, on Spearman's rho with a blocking variable. ERR_MEMORY. */
int statistics_within(const double *x, const double *y, const size_t *group, size_t n,
                      uint64_t seed, Within *out);

/* Tests whether two groups are farther from each other than each is within itself. distance (n, n) is read above its
 * diagonal; second (n): 1 for the second group. With D the mean distance between groups less the mean of all pairs
 * within one, *p is the share of the divisions of the n in groups of these sizes with D at least as large: of all
 * divisions where they are no more than 20,000 (exact), else of a sample that holds this one. NaN where no group has a
 * pair. n <= 64. Source: Mielke, Berry, Johnson 1976. */
void statistics_apart(const double *distance, const int *second, size_t n, uint64_t seed,
                      double *p);

#endif
