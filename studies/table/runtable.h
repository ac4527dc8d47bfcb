/* runtable.h: statistics of any table of runs in long form: a row a run, as CSV of one file or several, whatever program
 * wrote it. Nothing here knows a network.
 *
 *   Design     columns that tell designs apart; its name is their cells, joined by '@'
 *   Seed       column with the seed (fold, subject, block) of a run; runs of one seed may be paired
 *   Measure    column with the number, and whether less or more is better
 *   Baseline   the design from which differences are shown
 *
 * With y_ij the run of design i and seed j, n_i runs and their mean m_i, rows show
 *
 *   mean         m_i -+ t_(0.975, n_i - 1) sd_i / sqrt(n_i)                 Student 1908
 *   difference   m_i - m_0 -+ c s sqrt(1 / n_i + 1 / n_0)                   c: Dunnett 1955, 1964
 *   pair         m_i - m_k -+ c s sqrt(1 / n_i + 1 / n_k)                   c: Tukey, Kramer 1956
 *   contrast     sum_i w_i m_i -+ t_(0.975, df) s sqrt(sum_i w_i^2 / n_i)   by itself
 *
 * with s, df and whether seeds are paired by the one rule of statistics.h, c from simultaneous.h: what `trotter compare`
 * shows of its designs of a depth, by the same functions. A design with a run that diverged (NaN, inf) has no difference,
 * as in `compare`; a run that is missing (an empty cell, NA) is no run.
 */
#ifndef TROTTER_RUNTABLE_H
#define TROTTER_RUNTABLE_H

#include "studies/statistics/differences.h"
#include "studies/tools/csv.h"

enum { RUNTABLE_KEYS = 16, RUNTABLE_MOST = 1000 }; /* columns of a design; designs, and seeds */

/* Rows of one kind: how many, and where the first is. */
typedef struct {
    size_t count;
    const char *file;
    size_t line;
} RunRows;

typedef struct {
    char *name;
    RunRows missing, diverged; /* rows without a number; with one that is not finite */
    Interval mean;             /* of the other rows */
    double least, greatest;    /* NaN without one */
} RunDesign;

typedef struct {
    size_t files;
    Csv *file;
    size_t keys; /* names of the columns; borrowed from the files */
    const char *key[RUNTABLE_KEYS], *seed, *measure; /* seed: NULL where there is none */
    int more;                                        /* 1: more is better */
    size_t designs, seeds, runs;
    RunDesign *design; /* (designs), in the order of their first rows */
    double *y;         /* (designs, seeds); NaN: no run, or one that diverged */
    size_t compared,
        single;  /* designs with runs of which none diverged; those of them with one run */
    Seeds model; /* of these */
    SharedSeeds shared;
} RunTable;

/* Names of columns; NULL: by default, the last column of numbers is the measure, one called `seed` the seed, and the
 * columns of text that vary are the design's, or without one the first column left. */
typedef struct {
    const char *design, *seed, *measure; /* design: separated by commas */
    int more;
} RunTableAsked;

/* Reads the files, whose rows are put together: a file may lack columns of the others. ERR_INPUT with "FILE:LINE: ..."
 * where a file cannot be read, a column is in none (with the nearest name), a cell is no number, or two rows are one run;
 * ERR_MEMORY. runtable_close takes {0} too. */
int runtable_open(const char *const *name, size_t files, const RunTableAsked *asked, RunTable *out);
void runtable_close(RunTable *t);

/* Part of it: chooses the columns (runtable_columns.c). */
int runtable_columns(RunTable *t, const RunTableAsked *asked);
/* What a cell holds; *x out of a number. */
enum { CELL_NUMBER, CELL_MISSING, CELL_DIVERGED, CELL_TEXT };
int runtable_cell(const char *text, double *x);

/* Returns the index of a design, or the number of designs: a DifferencesFind. */
size_t runtable_find(const void *table, const char *name);
/* Returns 1 where a design has runs and none diverged. */
int runtable_compared(const RunDesign *d);

/* ---- differences (runtable_differences.c) ---- */

/* A row. */
typedef struct {
    const char *name; /* a contrast's own */
    const char *design, *less;
    Difference together, alone;
    double half;            /* of together's interval */
    const char *result;     /* better, worse, or not shown */
    const char *estimator;  /* of the standard deviation */
    size_t comparisons;     /* intervals that hold together */
    const char *correction; /* Dunnett, Tukey, none */
    const char *planned;    /* yes, no, not shown; "": nothing was asked */
} RunDifference;
extern const Column runtable_differences[];

/* Add rows to a sheet of these columns: every design less the baseline; all pairs, the later less the earlier; a contrast
 * (differences.h). ERR_MEMORY, ERR_INPUT. */
int runtable_dunnett(const RunTable *t, size_t base, Sheet *out);
int runtable_tukey(const RunTable *t, Sheet *out);
int runtable_contrast(const RunTable *t, const char *where, const char *text, const char *planned,
                      Sheet *out);

/* ---- plans (runtable_plan.c) ---- */

/* Adds the contrasts of a file, one a line; '#' begins a comment at the beginning of a line or behind a blank. */
int runtable_plan(const RunTable *t, const char *plan, const char *planned, Sheet *out);
/* Returns "yes" where the last commit of the plan is older than the first commit of every file of the table; "no" where it
 * is not; "not shown" with *why where git cannot tell: no repository, a file without commit, a plan that was changed since.
 * Times are those of the committer, which whoever commits can set; files are followed through renaming. */
const char *runtable_planned(const RunTable *t, const char *plan, const char **why);

#endif
