/* order.h: the studies of `trotter order` besides its own. */
#ifndef TROTTER_STUDIES_ORDER_H
#define TROTTER_STUDIES_ORDER_H

#include "studies/solve/convergence.h"

/* ---- adaptive.c ------------------------------------------------------------------------------ */

/* Errors and work of embedded pairs with steps by tolerance, beside those of GSL and Boost. */

/* Columns of adaptive.csv and tolerance.csv. */
extern const Column adaptive_columns[], tolerance_columns[];

/* Removes from a selection the schemes without a pair and those whose pair does not see its own error.
 * `all`: --scheme names many schemes, so this is no mistake. Otherwise such a scheme is ERR_INPUT, with the
 * names of those that have a pair. */
int adaptive_select(Selection *s, int all);

/* Returns ERR_INPUT where the schemes do not all solve one field. */
int adaptive_one_field(const Selection *s);
/* Warns where the estimate of a pair is known not to see an error (stability_blind). */
int adaptive_tell_blind(const Table *t);
/* Returns the RMS over coordinates of x - y (N). */
double order_distance(size_t N, const double *x, const double *y);
/* Returns the largest of these distances at `times` times, x and y (times, N); NaN where one is NaN. */
double order_furthest(size_t N, size_t times, const double *x, const double *y);

/* Runs every pair, and those of the other libraries, at every one of --tolerances to --t-end, with --h0 as the first step
 * (default: Hairer's rule), and prints the table. Writes adaptive.csv, tolerance.csv, .md and the plots precision and
 * tolerance to --out. ERR_CHECK where a pair of ours does not reach the end. */
int adaptive_study(const Options *o, const SystemChoice *system, const Selection *s);

/* ---- invariant.c ----------------------------------------------------------------------------- */

/* Energy drift and reversal of several schemes on one particle system, with a plot. */

/* Schemes of the study where the user names none. */
#define INVARIANT_SCHEMES "leapfrog,stoermer-verlet,yoshida4,euler,heun,rk4"

/* Columns of invariant.csv and drift.csv. */
extern const Column invariant_columns[], drift_columns[];

/* Runs to --t-end with step --h0 (default: 200 and half the h0 of the system). Prints the table, or with --csv every part
 * of every run. Writes invariant.csv, invariant.md, drift.csv and the plot drift to --out. */
int invariant_study(const Options *o, const SystemChoice *system, const Selection *s);

/* ---- curves.c: the logs of several trainings over each other, for `trotter plot` ------------- */

/* Returns 1 where the table is the log.csv of a training. */
int curves_are(const Frame *c);

/* Prints where each log of --file ends, or with --csv all rows. Writes curves.csv and the plots curves (validation
 * perplexity) and curves-loss to --out. Names leave out the first `common` bytes of the paths, which are the same in all.
 * ERR_INPUT for a file that is no log. */
int curves_study(const Options *o, size_t common);

/* Columns of curves.csv. */
extern const Column log_curve_columns[];

#endif
