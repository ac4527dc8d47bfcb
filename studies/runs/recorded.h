/* recorded.h: DIR/runs.csv, the runs that a study has recorded: a row a trained network, with what tells designs apart, the
 * seed, the results and all measures. `part` tells what a run is of: tuning or trial, for a choice (RunSpec.untested); else of
 * the study. A run that has a row there and no folder counts as trained, so that tables and plots can be made again from that
 * one file. */
#ifndef TROTTER_RECORDED_H
#define TROTTER_RECORDED_H

#include "studies/runs/runs.h"

/* Opens DIR/runs.csv; without the file it has no rows. ERR_INPUT where it cannot be read. */
int recorded_open(Recorded *r, const char *dir);
void recorded_close(Recorded *r);

/* Returns the row of a run that has no folder; SIZE_MAX: it has one, or no row, or only one of other `epochs` or another
 * `corpus`, where the table has these columns. */
size_t recorded_alone(const Runs *r, const RunSpec *s);
/* Reads the result of a row. ERR_INPUT where the row `unigram` has other perplexities than the study's corpus, the run has another number of parameters than s->numbers (0: not known), or
 * its best epoch is behind `epochs`. */
int recorded_result(const Runs *r, const RunSpec *s, size_t row, RunResult *out);
/* Returns ERR_INPUT where a row of a study's run has no folder and was not read by recorded_result: a study that writes
 * DIR/runs.csv anew would lose it. */
int recorded_keep(const Runs *r);
/* Returns 1 where a row is a run for a choice. */
int recorded_chooses(const Csv *t, size_t row);

#endif
