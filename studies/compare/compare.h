/* compare.h: the study behind `trotter compare`, in parts: its runs (compare_runs.c), runs recorded before
 * (compare_from.c), the measures of the networks (compare_measure.c): truncation errors (compare_truncation.c), words
 * one by one (compare_one_by_one.c), their file (compare_errors.c); the choice of rate and dropout (compare_tune.c),
 * differences from the baseline (compare_differences.c), the dial (compare_regression.c), tables (compare_table.c,
 * compare_epochs.c), correlations (compare_relate.c), words and files (compare_save.c), plots (compare_plot.c).
 *
 * A cell is a scheme at a depth, trained once for every seed. Everything is computed from the
 * cells.
 */
#ifndef TROTTER_COMPARE_H
#define TROTTER_COMPARE_H

#include "studies/measure/convergence.h"
#include "studies/runs/tasks.h"
#include "studies/runs/worker.h"
#include "studies/statistics/simultaneous.h"
#include "studies/tools/csv.h"

enum { COMPARE_DEPTHS = 16 };

/* The measures of a run's network: truncation errors over the flow's displacement at h = 1, and their slopes; NaN: not
 * asked for, or not available. */
typedef struct {
    double split, split_slope; /* of y' = F + G */
    double layer, layer_slope; /* of y' = L(y): schemes over L alone */
    double check;              /* sublayers against a forward pass */
    double leading;    /* leading term of split's error, over the displacement; NaN: unknown */
    double governed;   /* share of sentences and layers with an error near to that (truncation.h) */
    double one_by_one; /* pseudo-perplexity, one word masked at a time */
} RunErrors;

/* The columns of truncation errors, of a record whose RunErrors are `errors`. */
#define RUN_ERRORS_FIELDS(Record)                                                              \
    FIELD(Record, "truncation", errors.split, .digits = 3,                                     \
          .words =                                                                             \
              "truncation error of the network's own step: median over sentences and layers"), \
        FIELD(Record, "truncation_slope", errors.split_slope, .digits = 3),                    \
        FIELD(Record, "truncation_leading", errors.leading, .digits = 3,                       \
              .words = "leading term of that error"),                                          \
        FIELD(Record, "truncation_governed", errors.governed, .digits = 3,                     \
              .words = "share of sentences and layers whose error is near the leading term"),  \
        FIELD(Record, "layer_truncation", errors.layer, .digits = 3, .sparse = 1),             \
        FIELD(Record, "layer_truncation_slope", errors.layer_slope, .digits = 3, .sparse = 1), \
        FIELD(Record, "check", errors.check, .digits = 2, .sparse = 1,                         \
              .words = "largest difference between the sublayers put together and a forward pass")

typedef struct {
    const Table *scheme;
    size_t index; /* of the scheme in the selection */
    size_t layers;
    size_t same; /* first cell with the same map (plan_same); itself if there is none before */
    char rate[32], dropout[32];  /* of its runs, as written */
    size_t runs;                 /* that have a result */
    RunResult *result;           /* (seeds); NaN where a run failed or is not recorded */
    RunErrors *errors;           /* (seeds) */
    size_t gaining;              /* those of them whose best epoch was their last */
    double best_epoch;           /* mean */
    size_t numbers;              /* of the model that the options make */
    int told;                    /* 1: an errors.csv has runs of it (compare_from) */
    int measured;                /* 1: its row of compare.csv was read (compare_from) */
    size_t taken;                /* runs of the rows read there that have only some of its runs */
    double params, speed, bytes; /* the same in all; mean; most */
    Interval valid, test;
    /* Differences from the baseline at this depth, each alone, and together with the others (Dunnett); NaN: not
     * compared */
    Difference valid_diff, test_diff, valid_together, test_together;
    double valid_equal, test_equal; /* p of these being --equivalence or more; NaN: not asked for */
    Interval split, split_slope, layer, layer_slope; /* of the errors, over seeds */
    double leading, governed;                        /* means over seeds, as in RunErrors */
    char time[64];       /* of the recorded errors; "": the scheme's own */
    Interval one_by_one; /* over seeds */
} Cell;

/* The designs of a depth and their seeds (statistics.h). */
typedef struct {
    size_t designs, single; /* maps that differ and have runs; those of them with one run */
    size_t comparisons;     /* with the baseline */
    Seeds valid, test;
    SharedSeeds valid_shared, test_shared;
} Layout;

typedef struct {
    Options *options;
    const char *dir;
    Worker worker;
    Runs runs;
    Selection schemes;
    ConvergenceStudy orders;
    Corpus corpus; /* with --tune without the test text until all is chosen and trained */
    Unigram unigram;
    size_t seeds, seed; /* seed .. seed + seeds - 1 */
    size_t depths, depth[COMPARE_DEPTHS];
    Layout layout[COMPARE_DEPTHS];
    size_t baseline; /* scheme */
    size_t cells;
    Cell *cell; /* (schemes, depths) */
    Sheet *table, *differences, *pairs, *contrasts, *curves, *epochs, *correlations, *choices;
    Sheet *dial, *regression; /* without rows where no dial:S,THETA is among the schemes */
    size_t last_epoch;        /* that any run has reached */
    size_t failed;            /* runs */
} Compare;

/* ---- compare_runs.c ---- */

/* Makes the cells, finds equal maps and the baseline; fails here where every run would fail. */
int compare_open(Compare *u);
void compare_close(Compare *u);
/* Returns the run of a cell with the k-th seed. */
RunSpec compare_spec(const Compare *u, const Cell *c, size_t k);
/* Trains all cells and measures their networks; fills in the results that it has, which are those of all runs with
 * `wait`. */
int compare_train(Compare *u, int wait);

/* Computes what follows from the results and errors of single runs, for every cell. */
void compare_summarise(Compare *u);
/* Computes the part of it that follows from the errors of a cell's runs. */
void compare_summarise_errors(const Compare *u, Cell *c);

/* Returns 1 where the runs are recorded ones (--from). */
int compare_recorded(const Compare *u);
/* Writes "NAME", with its depth where there are several. */
enum { CELL_NAME = TABLE_NAME + 32 };
void compare_cell_name(const Compare *u, const Cell *c, char out[CELL_NAME]);

/* ---- compare_from.c ---- */

/* Fills in all cells from runs.csv, errors.csv and compare.csv of the directories of --from; u->epochs and curves stay
 * without rows, as there are no logs. u->unigram is known by then. ERR_INPUT where a cell has no run or no row of
 * compare.csv, or files contradict each other, the corpus or the options. */
int compare_from(Compare *u);

/* ---- compare_errors.c ---- */

/* compare_errors_save writes DIR/errors.csv, the RunErrors of every run; it writes no file where nothing was
 * measured. */
extern const Column compare_errors_columns[];
int compare_errors_save(const Compare *u);
/* Adds the numbers of a row of errors.csv to *out, which keeps those that the row lacks. ERR_INPUT, with *out
 * unchanged, where the row and *out have different numbers. */
int compare_errors_take(const Csv *t, size_t row, RunErrors *out);
/* Counts the runs of a cell whose truncation error is known one by one. */
size_t compare_measured(const Compare *u, const Cell *c);

/* ---- controls (compare_runs.c) ---- */

/* Chooses u->schemes: those of --scheme or --scheme-file, the levels of --dial (alone where no scheme is named), and with
 * --controls looped:N and repeat:N for every N > 1 at which a scheme evaluates F and G N times each. */
int compare_select(Compare *u);
/* Writes the names of the other schemes with the evaluations of a control, separated by blanks; "" if t is no
 * control. */
void compare_controlled(const Compare *u, const Table *t, char out[512]);

/* ---- compare_measure.c, compare_truncation.c, compare_one_by_one.c ---- */

/* A measure of a trained run's network, kept in a file of its directory `dir`. */
typedef struct {
    const char *claim; /* name of the file that claims the work */
    int (*wanted)(const Compare *u);
    int (*load)(const Compare *u, const char *dir, RunErrors *e); /* 1: it was read */
    int (*measure)(Compare *u, const RunSpec *spec, const char *name, const char *dir,
                   RunErrors *e); /* measures, and saves the numbers */
} Measure;
/* A post-norm network's layers are no steps on a field, so compare_truncation is not wanted for it. */
extern const Measure compare_truncation, compare_one_by_one;

/* Makes all wanted measures of a finished run: t->more, a RunErrors. For tasks_run. */
int compare_measure(void *study, Task *t);
/* Returns 1 where any is wanted. */
int compare_measures(const Compare *u);

/* Returns 1 where the order governs a cell's error at h = 1, else 0; -1: unknown (compare_table.c). */
int compare_governs(const Cell *c);

/* ---- compare_tune.c ---- */

/* Chooses rate and dropout of every cell, by validation perplexity with one seed; fills u->choices and writes
 * DIR/tune.csv. */
int compare_tune(Compare *u);

/* ---- compare_differences.c ---- */

/* Computes u->layout, the differences of every cell, and whether they are shown to be less than --equivalence.
 * ERR_MEMORY. */
int compare_differences(Compare *u);
/* Fills u->pairs: with --all-pairs the differences of every two designs of a depth (Tukey). */
int compare_pairs(Compare *u);
/* Returns the baseline's cell of the same depth. */
const Cell *compare_baseline(const Compare *u, const Cell *c);
/* Returns runs_diverged of the cell's runs. */
int compare_diverged(const Compare *u, const Cell *c);

/* ---- compare_contrasts.c ---- */

extern const Column contrast_columns[];
/* Returns ERR_INPUT where a --contrast names no scheme that is compared, or is no contrast. */
int compare_contrasts_check(const Compare *u);
/* Fills u->contrasts, with --contrast, from the model of compare_differences. ERR_MEMORY. */
int compare_contrasts(Compare *u);

/* ---- compare_regression.c ---- */

/* compare_regression fills u->dial and regression: perplexity along the dial. ERR_MEMORY. */
extern const Column regression_columns[], dial_columns[];
int compare_regression(Compare *u);
int compare_regression_show(const Compare *u, int form, FILE *f);
/* Write DIR/dial.csv, regression.csv, regression.tex; dial.gp and its drawings; nothing where there are no rows. */
int compare_regression_save(const Compare *u);
int compare_regression_plot(const Compare *u);

/* ---- compare_table.c, compare_epochs.c, compare_relate.c ---- */

/* compare_tables fills u->table, differences, pairs, curves, epochs, the dial's tables and correlations. */
extern const Column compare_columns[], pair_columns[], curve_columns[], epoch_columns[],
    correlation_columns[], tune_columns[];
int compare_tables(Compare *u);
/* Fills u->epochs, last_epoch, and gaining of every cell. */
int compare_epochs(Compare *u);
int compare_correlations(Compare *u);
/* Returns 1 where a cell's perplexities are below those of word frequencies; NaN is not. */
int compare_beats_unigram(const Compare *u, const Cell *c);

/* ---- compare_save.c, compare_plot.c ---- */

/* Prints the tables on stdout; with --csv only the whole one, as CSV. */
int compare_show(const Compare *u);
/* compare_save writes the files of DIR: compare.csv, .md, .tex, differences.tex, contrasts.csv, .tex, pairs.csv, .tex,
 * correlations.csv, .tex, runs.csv, errors.csv, curves.csv, epochs.csv, those of the dial, of the papers' figures and of
 * the orders. compare_plots draws the plots. */
int compare_save(const Compare *u);
int compare_plots(const Compare *u);

#endif
