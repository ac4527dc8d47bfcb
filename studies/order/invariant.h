/* invariant.h: energy drift and reversal of several schemes on one particle system, with a plot. */
#ifndef TROTTER_INVARIANT_H
#define TROTTER_INVARIANT_H

#include "studies/measure/choose.h"

/* Schemes of the study where the user names none. */
#define INVARIANT_SCHEMES "leapfrog,stoermer-verlet,yoshida4,euler,heun,rk4"

/* Columns of invariant.csv and drift.csv. */
extern const Column invariant_columns[], drift_columns[];

/* Runs to t_end with step h (0: 200 and half the h0 of the system). Prints the table, or with csv
 * every part of every run. Where dir is not NULL, writes invariant.csv, invariant.md, drift.csv
 * and the plot drift there. */
int invariant_study(const SystemChoice *system, double t_end, double h, const Selection *s, int csv,
                    const char *dir);

#endif
