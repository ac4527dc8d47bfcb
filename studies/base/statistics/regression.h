/* regression.h: a linear model of runs at several levels with seeds as blocks.
 *
 *   y_ij = a + sum_k beta_k x_ik + b_j + e_ij       level i, seed j; b random, e normal with one standard deviation sigma
 *
 * The slopes come from least squares on x and y less each seed's means:
 *
 *   beta = (X'X)^-1 X'y,   sigma^2 = |y - X beta|^2 / df,   df = runs - seeds - K,   beta_k -+ t_(0.975, df) error_k
 *
 * Where every seed has every level this is the generalised least squares of the model with b random, whatever its
 * standard deviation is, as x is the same in every seed. Where runs are missing it does not use what the means of seeds
 * tell, and intervals hold too. Source: Scheffe 1959, The Analysis of Variance, chapters 1, 2 and 5.
 */
#ifndef TROTTER_REGRESSION_H
#define TROTTER_REGRESSION_H

#include <stddef.h>

typedef struct {
    double estimate, error; /* beta_k and its standard error; error: NaN with df = 0 */
    double low, high, p;    /* 95 %; two-sided, of beta_k = 0; NaN with df = 0 */
} Slope;

typedef struct {
    size_t runs, seeds, df; /* seeds: those with a run */
    double sd;              /* sigma; NaN with df = 0 */
} Regression;

/* Fits the model to y (levels, seeds), NaN: no run, and x (levels, K); slope (K) out. ERR_ACCURACY with words where the
 * runs are too few or x does not distinguish the slopes. */
int regression_within(const double *y, const double *x, size_t levels, size_t seeds, size_t K,
                      Slope *slope, Regression *out);

/* Tests whether the levels lie on that line. With Q the sum of squares about it and Q_0 that about a mean for every
 * level,
 *
 *   F = ((Q - Q_0) / (df - df_0)) / (Q_0 / df_0),   *p out: P(an F as large), if the line is right
 *
 * p is NaN where a line can pass through every level (levels <= K + 1) or the runs are too few. Arguments as above.
 * Errors: ERR_MEMORY. Source: Draper, Smith 1998, Applied Regression Analysis, section 2.1. */
int regression_lack(const double *y, const double *x, size_t levels, size_t seeds, size_t K,
                    double *p);

#endif
