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

/* Do the levels lie on that line? With Q the sum of squares about it and Q_0 that about a mean for every level,
 *
 *   F = ((Q - Q_0) / (df - df_0)) / (Q_0 / df_0),   *p out: of an F as large where the line is right
 *
 * NaN where every level is on any such line (levels <= K + 1) or the runs are too few. Arguments as above. Errors: ERR_MEMORY.
 * Source: Draper, Smith 1998, Applied Regression Analysis, section 2.1. */
int regression_lack(const double *y, const double *x, size_t levels, size_t seeds, size_t K,
                    double *p);

/* y_ij = a + beta_1 x_i + beta_2 e_ij + b_j + error, where e is measured in the same runs and so may go with their errors: z stands
 * for it, which acts on y through e alone (two-stage least squares, as many instruments as there are such e). With W = (x, e) and
 * Z = (x, z), less each seed's means,
 *
 *   beta = (Z'W)^-1 Z'y,   cov beta = sigma^2 (Z'W)^-1 (Z'Z) (W'Z)^-1
 *
 * which holds as the runs are many and e goes with z: first out, the F of z in the regression of e on x and z, above 10 by the
 * usual rule. Source: Wooldridge 2010, Econometric Analysis of Cross Section and Panel Data, chapter 5; Staiger, Stock 1997.
 *
 * y, e (levels, seeds), NaN: no run; x, z (levels). Errors as above. */
int regression_instrumented(const double *y, const double *e, const double *x, const double *z,
                            size_t levels, size_t seeds, Slope slope[2], double *first,
                            Regression *out);

#endif
