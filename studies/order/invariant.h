/* invariant.h: energy drift and reversal of several schemes on one particle system, with a plot. */
#ifndef TROTTER_INVARIANT_H
#define TROTTER_INVARIANT_H

#include "studies/measure/choose.h"

/* Schemes studied where none are named. */
#define INVARIANT_SCHEMES "leapfrog,stoermer-verlet,yoshida4,euler,heun,rk4"

/* Columns of invariant.csv and drift.csv. */
extern const Column invariant_columns[], drift_columns[];

/* Runs to t_end with step h (0: 200 and half the h0 of the system), prints the table, or with csv every
 * part of every run; dir, if not NULL: invariant.csv, invariant.md, drift.csv and the plot drift. */
int invariant_study(const SystemChoice *system, double t_end, double h, const Selection *s, int csv,
                    const char *dir);

#endif
