/* adaptive.h: errors and work of embedded pairs with steps by tolerance, beside those of GSL and Boost. */
#ifndef TROTTER_ADAPTIVE_H
#define TROTTER_ADAPTIVE_H

#include "studies/measure/convergence.h"

/* Columns of adaptive.csv and tolerance.csv. */
extern const Column adaptive_columns[], tolerance_columns[];

typedef struct {
    double t_end, first;     /* 0: the system's default; 0: Hairer's rule */
    const double *tolerance; /* (count) absolute and relative tolerance in one */
    size_t count;
    int csv, summary;
    const char *dir; /* NULL: no files */
} AdaptiveChoice;

/* Removes from a selection the schemes without a pair and those whose pair does not see its own error.
 * `all`: --scheme names many schemes, so this is no mistake. Otherwise such a scheme is ERR_INPUT, with the
 * names of those that have a pair. */
int adaptive_select(Selection *s, int all);

/* Runs every pair, and those of the other libraries, at every tolerance and prints the table. Writes
 * adaptive.csv, tolerance.csv, .md and the plots precision and tolerance to dir. ERR_CHECK where a pair of
 * ours does not reach the end. */
int adaptive_study(const SystemChoice *system, const AdaptiveChoice *how, const Selection *s);

#endif
