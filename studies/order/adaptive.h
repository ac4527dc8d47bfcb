/* adaptive.h: errors and work of embedded pairs with steps by tolerance, beside GSL's and Boost's. */
#ifndef TROTTER_ADAPTIVE_H
#define TROTTER_ADAPTIVE_H

#include "studies/measure/convergence.h"

/* Columns of adaptive.csv and tolerance.csv. */
extern const Column adaptive_columns[], tolerance_columns[];

typedef struct {
    double t_end, first;     /* 0: the system's own; 0: Hairer's rule */
    const double *tolerance; /* (count) absolute and relative at once */
    size_t count;
    int csv, summary;
    const char *dir; /* NULL: no files */
} AdaptiveChoice;

/* Takes from a selection what has no pair, and what has one that does not see its own error; `all`: what --scheme says means
 * many, so nothing is wrong with those. Otherwise such a scheme: ERR_INPUT, with the names of those that have a pair. */
int adaptive_select(Selection *s, int all);

/* Runs every pair, and the other libraries', at every tolerance and prints the table; dir: adaptive.csv, tolerance.csv, .md
 * and the plots precision and tolerance. ERR_CHECK where one of ours does not reach the end. */
int adaptive_study(const SystemChoice *system, const AdaptiveChoice *how, const Selection *s);

#endif
