/* regression.h: a linear model of runs at several levels with seeds as blocks.
 *
 *   y_ij = a + sum_k beta_k x_ik + b_j + e_ij       level i, seed j; b random, e normal with one standard deviation sigma
 *
 * The slopes are those of least squares on what is left of x and y once each seed's means are subtracted:
 *
 *   beta = (X'X)^-1 X'y,   sigma^2 = |y - X beta|^2 / df,   df = runs - seeds - K,   beta_k -+ t_(0.975, df) error_k
 *
 * Where every seed has every level this is the generalised least squares of the model with b random, whatever its standard
 * deviation is, as x is the same in every seed; where runs are missing it leaves out what is to be had from the means of
 * seeds, and intervals hold too. Source: Scheffe 1959, The Analysis of Variance, chapters 1, 2 and 5.
 */
#ifndef TROTTER_REGRESSION_H
#define TROTTER_REGRESSION_H

#include <stddef.h>

typedef struct {
    double estimate, error; /* and its standard error; NaN with df = 0 */
    double low, high, p;    /* 95 %; two-sided, of beta_k = 0; NaN with df = 0 */
} Slope;

typedef struct {
    size_t runs, seeds, df; /* seeds: those with a run */
    double sd;              /* sigma; NaN with df = 0 */
} Regression;

/* y (levels, seeds), NaN: no run; x (levels, K); slope (K) out. ERR_ACCURACY with words where the runs are too few or x does
 * not tell the slopes apart. */
int regression_within(const double *y, const double *x, size_t levels, size_t seeds, size_t K,
                      Slope *slope, Regression *out);

#endif
