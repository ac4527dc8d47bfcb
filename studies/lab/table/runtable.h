/* runtable.h: statistics of any table of runs in long form: a row a run, as CSV of one file or several, whatever program
 * wrote it. Nothing here knows a network. `trotter table` shows any such table; `compare`, `sweep` and `finetune` write one
 * and read it back by the same functions, so that fresh and recorded runs are one input.
 *
 *   Design     columns that tell designs apart; its name is their cells, joined by '@'
 *   Seed       column with the seed (fold, subject, block) of a run; runs of one seed may be paired
 *   Measure    column with the number, and whether less or more is better
 *   By         column whose values are looked at apart (a panel each), as depths are; NULL: all is one panel.
 *              `file`, where no table has such a column, is the name of the file that a run is read from
 *   Baseline   the design from which differences are shown, in every panel
 *
 * With y_ij the run of design i and seed j of a panel, n_i runs and their mean m_i, rows show
 *
 *   mean         m_i -+ t_(0.975, n_i - 1) sd_i / sqrt(n_i)                 Student 1908
 *   difference   m_i - m_0 -+ c s sqrt(1 / n_i + 1 / n_0)                   c: Dunnett 1955, 1964
 *   pair         m_i - m_k -+ c s sqrt(1 / n_i + 1 / n_k)                   c: Tukey, Kramer 1956
 *   contrast     sum_i w_i m_i -+ t_(0.975, df) s sqrt(sum_i w_i^2 / n_i)   by itself
 *
 * with s, df and whether seeds are paired by the one rule of statistics.h, c from simultaneous.h. The rule looks at the first
 * measure of a panel and holds for all measures there, so that a table has one estimator. Where no column has seeds, each row is
 * a run of its own, and none are paired. A run that is missing (an
 * empty cell, NA) is no run. A design with a run that diverged has no difference: its spread is not the others', and a mean
 * without that run would be of lucky runs alone. Columns of these names say more of a row, where a table has them:
 *
 *   diverged   yes: the run diverged, although its number is finite (NaN and inf say so themselves)
 *   objective  masked: perplexities are of masked words, and compare with no others: rows of both are refused, but with
 *              `by` this column
 *   same_as    name of the design, earlier in the table, of which this one is the same map under another name: the two
 *              count as one design, with the earlier one's runs
 *   part       tuning, trial: a run for a choice of rate, seed or the like, which is not read;
 *              choice: the run chose its design, so it is in the mean, and in no comparison;
 *              bound: not a run but a number to be beaten (frequencies of words), named by the first design column
 */
#ifndef TROTTER_RUNTABLE_H
#define TROTTER_RUNTABLE_H

#include "kernels/base/numbers.h"
#include "studies/base/statistics/differences.h"
#include "studies/base/frame.h"
#include "studies/base/kind.h"

enum {
    RUNTABLE_KEYS = 16, /* columns of a design */
    RUNTABLE_BOUNDS = 8,
    RUNTABLE_MOST = 1000000, /* designs, and seeds */
    RUNTABLE_ROOM = 1 << 27  /* designs times seeds: each pair has a number */
};

/* Rows of one kind: how many, and where the first is. */
typedef struct {
    size_t count;
    const char *file;
    size_t line;
} RunRows;

typedef struct {
    char *name;
    size_t panel, first;            /* its panel; its first row */
    size_t same;                    /* the first design that is the same map; itself */
    size_t look;                    /* in plots: names are numbered, in whatever panels they are */
    RunRows missing, diverged;      /* rows without a number of the first measure; that diverged */
    Interval mean[RUN_MEASURES];    /* of all its numbers */
    Interval counted[RUN_MEASURES]; /* of those that are compared */
    double least[RUN_MEASURES], greatest[RUN_MEASURES]; /* NaN without a number */
    /* Less the baseline of its panel, each alone and together with the others; NaN: not compared */
    Difference alone[RUN_MEASURES], together[RUN_MEASURES];
    double equal[RUN_MEASURES]; /* p of these being the margin or more; NaN: not asked for */
} RunDesign;

/* What the designs of a panel share on a measure. */
typedef struct {
    size_t designs, single; /* that are compared; those of them with one run */
    size_t comparisons;     /* with the baseline */
    Seeds model;
} RunModel;

/* A row of a file, and the index of the next one of its design; SIZE_MAX: none. */
typedef struct {
    size_t design, seed, file, row, next;
    int counts; /* 0: not compared */
} RunCell;

/* A number to be beaten: its name and its row. */
typedef struct {
    const char *name;
    size_t file, row;
} RunBound;

/* The 95 % interval of a difference over drawn lines, or other examples, of which a run has many (bootstrap.h), and its
 * two-sided p. */
typedef struct {
    double low, high, p;
} RunDrawn;

typedef struct RunTable RunTable;
/* Computes that of a design less another: *out, which stays as it is where the measure has none. */
typedef int RunDraw(const void *study, const RunTable *t, size_t design, size_t less,
                    size_t measure, RunDrawn *out);

struct RunTable {
    size_t files;
    const Frame *file; /* (files) */
    Frame *own;        /* the same, where runtable_open has read them; NULL: borrowed */
    size_t keys;       /* names of the columns; borrowed from the files */
    const char *key[RUNTABLE_KEYS], *seed, *by;
    size_t measures;
    RunMeasure measure[RUN_MEASURES];
    size_t panels, designs, looks, seeds, runs, rows, bounds;
    const char **panel; /* (panels): the cells of `by` */
    RunDesign *design;  /* (designs), in the order of their first rows */
    Numbers named;      /* their numbers by hashes of their names and panels */
    RunCell *row;       /* (rows) */
    double *y;          /* (measures, designs, seeds); NaN: no number */
    RunModel *model;    /* (panels, measures) */
    RunBound bound[RUNTABLE_BOUNDS];
    const char *const *positive; /* as asked for */
    const char *base;            /* the baseline; NULL: none */
    double margin;               /* of equivalence; 0: none */
    RunDraw *draw;               /* of the study; NULL: none */
    const void *study;           /* its first argument */
    double *work;                /* (2, seeds): room for runtable_value and _even */
};

/* Reads the files, whose rows are put together: a file may lack columns of the others. A folder stands for the trainings at
 * and beneath it (frame_trainings). ERR_INPUT with "FILE:LINE: ..."
 * where a file cannot be read, a column is in none (with the nearest name), a cell is no number, or two rows are one run;
 * ERR_MEMORY. runtable_close takes {0} too. */
int runtable_open(const char *const *name, size_t files, const RunColumns *asked, RunTable *out);
/* The same of frames that are there; they are borrowed until runtable_close. */
int runtable_read(const Frame *file, size_t files, const RunColumns *asked, RunTable *out);
void runtable_close(RunTable *t);

/* Part of it: chooses the columns (runtable_columns.c). */
int runtable_columns(RunTable *t, const RunColumns *asked);
/* What a cell holds; *x out of a number. */
enum { CELL_NUMBER, CELL_MISSING, CELL_DIVERGED, CELL_TEXT };
int runtable_cell(const char *text, double *x);
/* Returns the cell of a row in a column: `file` is the file's name, where it has no such column; else "". */
const char *runtable_text(const RunTable *t, const RunCell *row, const char *name);
/* Says how to write a cell that is no number but seems meant as one, as 71% and 1,234.5; NULL: it seems a word. */
const char *runtable_seems(const char *text);

/* Returns the index of a design of a panel, or the number of designs. */
size_t runtable_find(const RunTable *t, size_t panel, const char *name);
/* Returns 1 where a design has runs and none diverged; it may be the same map as another. */
int runtable_compared(const RunDesign *d);
const RunModel *runtable_model(const RunTable *t, size_t panel, size_t measure);
/* Returns how a panel's standard deviation was estimated: "paired by seed", "unpaired". */
const char *runtable_estimator(const RunModel *l);
/* Writes the design's name, with its panel where there are several: "heun, layers 2". */
void runtable_name(const RunTable *t, size_t design, char *out, size_t bytes);

/* Computes every design less the one of this name in its panel: alone, together, equal. margin: of equivalence; 0: none.
 * ERR_MEMORY. */
int runtable_baseline(RunTable *t, const char *name, double margin);

/* ---- values by name (runtable_values.c) ---- */

/* A cell of a design's row: a text, or where that is NULL a number. */
typedef struct {
    const char *text;
    double x;
} RunValue;

/* Returns what a design has of this name: `seeds` (runs with a number); a measure's column (its mean; inf: all its runs diverged)
 * or STEM_sd, _low, _high; another column of the runs: its text, or the mean of its numbers, and COLUMN_sd, _low, _high of
 * these. Undefined and unknown: {NULL, NaN}. */
RunValue runtable_value(const RunTable *t, size_t design, const char *name);
int runtable_has(const RunTable *t, const char *name); /* 1: a file has this column */
/* Returns the mean of a column over the seeds that all designs of the panel with a number have; without one, over the
 * design's own: the effect of one seed on all must not decide a rank. */
double runtable_even(const RunTable *t, size_t design, const char *column);

/* Sets the cells of a design's row that are no values of runtable_value. */
typedef void RunMore(const void *study, const RunTable *t, size_t design, Frame *out, size_t row);
/* Makes a sheet with a row a design, of runtable_value and then of more, where it is not NULL; behind them a row a bound, named in
 * the first column, with the numbers that its row of the runs has. best_first 1: sorted by the means of the first measure. */
int runtable_sheet(const RunTable *t, const Column *list, RunMore *more, const void *study,
                   int best_first, Sheet **out);

/* Returns how many places numbers have: so many that a standard deviation has two digits, 2 at least, and none where it is
 * 100 or more. */
int runtable_places(const RunTable *t);
/* Makes an empty sheet of the columns below, with these places, and `panel` under the name of its column. */
int runtable_new(const RunTable *t, const Column *list, Sheet **out);

/* ---- differences (runtable_differences.c) ---- */

/* A row. */
typedef struct {
    const char *name; /* a contrast's own */
    const char *panel, *measure;
    const char *design, *less;
    Difference together, alone;
    double half; /* of together's interval */
    RunDrawn drawn;
    double equal;          /* p of a difference of the margin or more */
    const char *result;    /* better, worse, or not shown */
    const char *estimator; /* of the standard deviation */
    double sd;             /* standard deviation of the runs, with df degrees of freedom */
    size_t df;
    size_t comparisons;     /* intervals that hold together */
    const char *correction; /* Dunnett, Tukey, none */
    const char *planned;    /* yes, no, not shown; "": nothing was asked */
} RunDifference;
extern const Column runtable_differences[];

/* Add rows to a sheet of these columns: every design less the baseline; all pairs, the later less the earlier; one design
 * less another, by itself, on the first measure; a contrast (differences.h). ERR_MEMORY, ERR_INPUT. */
int runtable_dunnett(const RunTable *t, Sheet *out);
int runtable_tukey(const RunTable *t, Sheet *out);
int runtable_one(const RunTable *t, size_t design, size_t less, Sheet *out);
int runtable_contrast(const RunTable *t, const char *where, const char *text, const char *planned,
                      Sheet *out);

/* ---- rank correlations (runtable_relate.c) ---- */

/* Numbers that are ranked against each other over designs; equal maps are one design, with the mean of their values. */
typedef struct {
    const char *quantity, *x; /* words for x, and its column */
    const char *only;         /* a column that must be above 0; NULL: none */
    const char *text, *y;     /* words for y, and its column; NULL: y is each measure in turn */
    /* a column: ranks are taken within the designs of a panel that are equal in it, and all panels are in one row; NULL */
    const char *within;
} RunRelation;
extern const Column runtable_correlations[];
/* Adds a row for each relation of the list (ended by a NULL x) in each panel, over all its designs and, with `groups`, a
 * column whose cells hold words, over those of each word. Rows whose numbers do not vary are left out.
 * measures: so many of the first. seed: of the bootstrap. ERR_MEMORY. */
int runtable_relate(const RunTable *t, const RunRelation *list, const char *groups, size_t measures,
                    uint64_t seed, Sheet *out);

/* ---- the table of a paper (runtable_paper.c) ---- */

/* Writes a row a design, in a form of sheet.h, with the columns NAME or NAME=HEAD, separated by commas: `design`, `n` (its
 * runs), a measure or another column of the runs. Numbers of several runs are "mean ± half of the 95 % interval" in one
 * cell. A measure's best mean is strong where Tukey's intervals show it to be better than all
 * others of its panel. LaTeX fits a column of a page of two. ERR_INPUT, ERR_MEMORY. */
int runtable_paper(const RunTable *t, const char *columns, int form, FILE *f);

/* ---- plots (runtable_plot.c) ---- */

/* Returns the look of a design in plots (plot_style): a colour for each name, with another dash and mark in each panel. */
size_t runtable_look(const RunTable *t, size_t design);

/* A column of numbers that parts the rows of a forest plot, each part under "NUMBER WORDS". */
typedef struct {
    const char *column, *words, *brief; /* brief: in a narrow plot */
} RunForest;
/* Writes DIR/forest.csv, of these columns, and draws it: the means of a measure with their intervals, a row a design, the best
 * first. apart NULL: in one part. */
extern const Column runtable_forest_columns[];
int runtable_forest(const RunTable *t, size_t measure, const RunForest *apart, const char *dir);

typedef struct {
    const char *name, *column, *words,
        *axis; /* of the files; on the x axis; in the title; at the axis */
    int flags; /* PLOT_ */
    /* a column whose first word gives designs their colour and mark, named once; NULL: each its own */
    const char *groups;
    /* a column of numbers, and its words: designs that are equal in it have one colour, each with a mark of its own, and
     * stand together, with the number behind their names; NULL: none */
    const char *colours, *colours_words;
} RunScatter;
/* Writes DIR/NAME.csv, of these columns, and draws it: the means of a measure against those of a column. Nothing where no
 * design has both. */
extern const Column runtable_scatter_columns[];
int runtable_scatter(const RunTable *t, size_t measure, const RunScatter *of, const char *dir);

/* ---- plans (runtable_plan.c) ---- */

/* Adds the contrasts of a file, one a line; '#' begins a comment at the beginning of a line or behind a blank. */
int runtable_plan(const RunTable *t, const char *plan, const char *planned, Sheet *out);
/* Returns "yes" where the last commit of the plan is older than the first commit of every file of the table; "no" where it
 * is not; "not shown" with *why where git cannot tell: no repository, a file without commit, a plan that was changed since.
 * Times are those of the committer, which whoever commits can set; files are followed through renaming. */
const char *runtable_planned(const RunTable *t, const char *plan, const char **why);

/* ---- words (runtable_words.c) ---- */

/* Tells on stderr which rows are left out, and why. */
void runtable_tell(const RunTable *t);
/* Prints STATISTICS_POSITIVE_CUT where the interval of a mean is cut at 0. */
void runtable_cut(const RunTable *t, FILE *f);
/* Prints in few words what the comparisons of a panel rest on: "; 3 designs, unpaired, 6 degrees of freedom". */
void runtable_rests(const RunTable *t, size_t panel, int latex, FILE *f);
/* Prints a table of differences, if it has rows: brief 0: what they are and what they rest on; 1: that alone where it is
 * doubtful. */
int runtable_print_differences(const RunTable *t, const Sheet *s, int form, int brief, FILE *f);
/* Prints a table of correlations. */
int runtable_print_correlations(const Sheet *s, int form, int brief, FILE *f);

#endif
