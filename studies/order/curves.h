/* curves.h: the logs of several trainings over each other, for `trotter plot`. */
#ifndef TROTTER_STUDIES_CURVES_H
#define TROTTER_STUDIES_CURVES_H

#include "studies/tools/csv.h"
#include "studies/tools/option.h"

/* Returns 1 where the table is the log.csv of a training. */
int curves_are(const Csv *c);

/* Prints where each log of --file ends, or with --csv all rows. Writes curves.csv and the plots curves (validation
 * perplexity) and curves-loss to --out. Names leave out the first `common` bytes of the paths, which are the same in all.
 * ERR_INPUT for a file that is no log. */
int curves_study(const Options *o, size_t common);

/* Columns of curves.csv. */
extern const Column log_curve_columns[];

#endif
