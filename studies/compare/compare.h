/* compare.h: the study behind `trotter compare`, in parts: its runs (compare_runs.c, compare_train.c), the measures of the networks
 * (compare_measure.c): truncation errors (compare_truncation.c), words one by one (compare_one_by_one.c); the choice of
 * rate and dropout (compare_tune.c); the table of runs (compare_record.c), and what is read off it (studies/table): tables
 * (compare_table.c), the dial (compare_regression.c), words and files (compare_save.c), plots (compare_plot.c,
 * compare_epochs.c).
 *
 * A cell is a scheme at a depth, trained once for every seed.
 */
#ifndef TROTTER_COMPARE_H
#define TROTTER_COMPARE_H

#include "studies/measure/convergence.h"
#include "studies/runs/tasks.h"
#include "studies/runs/worker.h"
#include "studies/table/runtable.h"

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
    double low,
        high; /* interval of split over the runs, where a record has no more than that and the mean */
} RunErrors;
extern const RunErrors compare_unmeasured; /* all NaN */

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
    char rate[32], dropout[32]; /* of its runs, as written */
    RunResult *result;          /* (seeds); NaN where a run failed */
    RunErrors *errors;          /* (seeds) */
    double *gaining;            /* (seeds) 1: its best epoch was its last; 0; NaN: unknown */
    size_t numbers;             /* of the model that the options make */
    char time[64];              /* of recorded errors; "": the scheme's own */
} Cell;

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
    size_t baseline; /* scheme */
    size_t cells;
    Cell *cell; /* (schemes, depths) */
    char runs_file[OUTPUT_PATH];
    RunTable runtable; /* of that file; a design for each cell, in their order */
    Column *own[3];    /* of the first three sheets */
    Sheet *table, *differences, *correlations, *curves, *epochs, *choices;
    Sheet *dial, *regression; /* without rows where no dial:S,THETA is among the schemes */
    size_t last_epoch;        /* that any run has reached */
    size_t failed;            /* runs */
} Compare;

/* ---- compare_runs.c, compare_train.c ---- */

/* Makes the cells, finds equal maps and the baseline; fails here where every run would fail. */
int compare_open(Compare *u);
void compare_close(Compare *u);
/* Returns the run of a cell with the k-th seed. */
RunSpec compare_spec(const Compare *u, const Cell *c, size_t k);
/* Trains all cells and measures their networks; fills in the results that it has, which are those of all runs with
 * `wait`. */
int compare_train(Compare *u, int wait);

/* Writes a contrast with the names of schemes as they are spelt in the tables. The caller frees *out. */
int compare_contrast(const Compare *u, const char *text, char **out);
/* Writes "NAME", with its depth where there are several. */
enum { CELL_NAME = TABLE_NAME + 32 };
void compare_cell_name(const Compare *u, const Cell *c, char out[CELL_NAME]);

/* ---- compare_record.c ---- */

extern const Column compare_run_columns[];
/* Takes what DIR/runs.csv tells of the cells' runs that have no folder: rate and dropout. ERR_INPUT where they differ within
 * a cell, or from the options' without --tune. */
int compare_take(Compare *u);
/* Returns 1 where all runs of a cell are such. */
int compare_taken(const Compare *u, const Cell *c);
/* Reads the measures of such a run; returns 0 for another run. */
int compare_take_measures(const Compare *u, const RunSpec *s, RunErrors *e);
/* Writes DIR/runs.csv: a row for each run, also of those that failed, and for the bounds that need no network. */
int compare_record(const Compare *u);

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

/* ---- compare_tune.c ---- */

/* Chooses rate and dropout of every cell, by validation perplexity with one seed; fills u->choices and writes
 * DIR/tune.csv. */
int compare_tune(Compare *u);

/* ---- compare_regression.c ---- */

/* compare_regression fills u->dial and regression: perplexity along the dial. ERR_MEMORY. */
extern const Column regression_columns[], dial_columns[];
int compare_regression(Compare *u);
int compare_regression_show(const Compare *u, int form, FILE *f);
/* Write DIR/dial.csv, regression.csv, regression.tex; dial.gp and its drawings; nothing where there are no rows. */
int compare_regression_save(const Compare *u);
int compare_regression_plot(const Compare *u);

/* ---- compare_table.c, compare_epochs.c ---- */

extern const Column compare_columns[], curve_columns[], epoch_columns[], tune_columns[];
/* Reads DIR/runs.csv and fills the sheets. */
int compare_tables(Compare *u);
/* Fills u->epochs, last_epoch, and gaining of every cell, from the logs that there are. */
int compare_epochs(Compare *u);
/* Returns the design of a cell in the table of runs. */
const RunDesign *compare_design(const Compare *u, const Cell *c);
/* Returns 1 where a run of the cell diverged. */
int compare_diverged(const Compare *u, const Cell *c);
/* Returns 1 where a cell's perplexities are below those of word frequencies; NaN is not. */
int compare_beats_unigram(const Compare *u, const Cell *c);
/* Returns 1 where the order governs a cell's error at h = 1, else 0; -1: unknown. */
int compare_governs(const Compare *u, const Cell *c);

/* ---- compare_save.c, compare_plot.c ---- */

/* Prints the tables on stdout; with --csv only the whole one, as CSV. */
int compare_show(const Compare *u);
/* compare_save writes the files of DIR: compare.csv, .md, .tex, differences.csv, .tex, correlations.csv, .tex, curves.csv,
 * epochs.csv, those of the dial, of the papers' figures and of the orders. compare_plots draws the plots. */
int compare_save(const Compare *u);
int compare_plots(const Compare *u);

#endif
