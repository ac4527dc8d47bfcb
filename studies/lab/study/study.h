/* study.h: a study is a row of a table. Each trains designs over seeds, measures the trained networks, writes a table of
 * runs, DIR/runs.csv, and makes tables, words and plots of the same rows (studies/lab/table). What tells one study from
 * another is its row, a StudyKind; study_run does the rest, for fresh and recorded runs alike:
 *
 *   open      the corpus is read, the kind makes its designs, each measure is tried on an untrained network of each, a
 *             folder of another study is refused: what could fail behind the trainings fails here
 *   take      runs that have a row in DIR/runs.csv and no folder are finished
 *   tune      with --tune: rate, dropout and length of each design, by runs of the part `tuning` (study_tune.c)
 *   train     seed by seed, so that a study that is stopped has whole seeds of all designs (study_train.c)
 *   measure   each trained network by the rows of study_measures (study_measure.c)
 *   record    runs.csv, a row a run, made again whenever one ends; at last the kind's sheets are made of the same rows
 *             (study_record.c)
 *   show      words and tables on stdout, files, plots (study_show.c); exit status
 *
 * To add a study, write its row and the function that makes its designs; to add a measure, its row in study_measures and
 * the function that computes it. A measure's columns stand in every table of runs and of designs without more.
 */
#ifndef TROTTER_STUDY_H
#define TROTTER_STUDY_H

#include "studies/model/metrics/metric.h"
#include "studies/model/sentences.h"
#include "studies/lab/runs/runs.h"
#include "studies/base/process/worker.h"
#include "studies/lab/table/runtable.h"
#include "studies/base/select.h"

enum { STUDY_ALSO = 2, STUDY_NAME = 512, STUDY_VALUES = 32 };

/* A point of the grid from which each design has its own chosen. */
typedef struct {
    Spec own;
    uint64_t seed;
} StudyPoint;

/* A training of a design. */
typedef struct {
    uint64_t seed;
    const StudyPoint *point; /* that it tries; NULL: a run of the study */
    size_t at;  /* its row of Study.runs_csv, which has all its numbers: study_real, study_put */
    size_t row; /* of runs.csv as it was, which has it alone; SIZE_MAX: it has a folder */
    int state;  /* RUN_*; RUN_OPEN: not tried */
    Statistics lines; /* of translations of the test text, for BLEU; empty: there are none */
} StudyRun;

/* A map that is trained over seeds. */
typedef struct {
    char name[STUDY_NAME];  /* in tables; the only one of that name in its panel */
    char label[STUDY_NAME]; /* in plots and words */
    /* of its runs; the seed is set, and the options of `chosen` or of a point are added, by study_spec */
    RunSpec spec;
    StudyRun *trial; /* (points) for the choice; NULL: there is none */
    Spec chosen;     /* by --tune, or recorded */
    size_t same;     /* the first design that is the same map; itself */
    size_t seeds;    /* trainings, from the study's first seed on */
    StudyRun *run;   /* (seeds) */
    void *own;       /* the kind's, of design_bytes */
} StudyDesign;

typedef struct StudyKind StudyKind;
typedef struct Study Study;
/* A run that is to be trained or measured, and how far that is: RUN_*. */
typedef struct {
    StudyDesign *design;
    StudyRun *run;
    int state;
} StudyTask;
/* Does one: sets its state to one other than RUN_OPEN. */
typedef int StudyWork(Study *u, StudyTask *t);

struct Study {
    const StudyKind *kind;
    Options *options;
    const OptionGroup *const *groups; /* the options' */
    const char *dir;
    Worker worker;
    double remade, remaking; /* when runs.csv was made last, and the seconds that took */
    int behind;              /* 1: it lacks runs that have ended since */
    Runs runs;
    Selection schemes; /* and the zoo */
    Corpus corpus;     /* with --tune without the test text until all is chosen and trained */
    char checksum[32]; /* of the corpus, as runs.csv has it */
    Unigram unigram;
    size_t seeds, seed; /* --seeds; the first */
    size_t designs;
    StudyDesign *design; /* (designs) */
    Column *columns;     /* of runs.csv */
    /* What is known of each run, with a row for each, and of the bounds: runs.csv is written from it. */
    Frame runs_csv;
    size_t bound; /* its first row of a bound; 0: they have none yet */
    size_t points;
    StudyPoint *point; /* (points) of the grid */
    size_t baseline;   /* from which differences are shown; `designs`: none */
    size_t failed;     /* runs */
    Frame recorded;    /* DIR/runs.csv as it was at the beginning; no rows: it was not there */
    char *taken;       /* (its rows) 1: a run of this study */
    char runs_file[OUTPUT_PATH], lines_file[OUTPUT_PATH];
    Frame lines; /* of lines.csv, once it is read for recorded translations */
    /* (files) other tables of runs, which are read in place of this study's (study_file); it then trains nothing */
    size_t files;
    char **file;
    RunTable table; /* of them; a design for each above, in their order */
    Sheet *means, *differences, *correlations; /* correlations NULL: the kind has none */
    Sheet *also[STUDY_ALSO];                   /* of the kind's own tables */
    void *more;                                /* the kind's, of study_bytes */
};

/* A table of a kind's own, kept as NAME.csv where it has rows. */
typedef struct {
    const char *name;
    const Column *columns;
    int (*make)(Study *u, Sheet *out); /* adds its rows */
    const char *words; /* it is printed below these, and kept as NAME.tex too; NULL: not */
} StudyTable;

struct StudyKind {
    const char *command;
    int (*is)(
        const Options *o,
        const Corpus *c); /* 1: the options ask for this row; NULL: the last row of the command */
    int pairs;            /* 1: of a corpus of pairs */
    size_t design_bytes, study_bytes; /* of StudyDesign.own, Study.more */
    int (*open)(Study *u);            /* makes the designs (study_add); sets baseline */
    int (*begin)(Study *u);           /* before any training, with DIR there; NULL: nothing */
    int (*train)(Study *u);           /* NULL: study_train alone */
    /* Does a training that is not one of `trotter train`: sets its StudyRun and t->state. With it the options are
     * not those of language models: `open` reads all texts and takes the folder, and sets checksum. NULL: trotter train */
    StudyWork *one;
    void (*drop)(void *own); /* frees what StudyDesign.own holds; NULL: nothing */
    void (*close)(Study *u); /* frees what Study.more holds; NULL: nothing */
    /* ---- runs.csv ---- */
    const RunColumns *asked; /* how it is read */
    /* The columns of runs.csv, as strings one after another, each ended by a NUL. A column whose name stands behind a '?' is left
     * out where no run has a value for it. */
    const char *runs;
    /* Sets the cells of a run that are the kind's own (study_put, study_set). NULL: it has none. */
    void (*fill)(Study *u, const StudyDesign *d, const StudyRun *r);
    int bounds; /* 1: rows of runs.csv for perplexities that need no network */
    /* Sets the cells of a row of runs.csv that is another such number; NULL: there is none. */
    void (*bound_row)(Study *u, size_t row);
    int mixed; /* 1: designs no better than frequencies are part of the answer where others are */
    /* ---- what is read off it: NAME.csv with a row a design, differences.csv, correlations.csv, COMMAND.md with all words ---- */
    const char *name;
    const Column *columns; /* of designs; those of measures that it lacks stand behind */
    RunMore *more;         /* values of these that are no means over runs; NULL: none */
    int best_first;        /* 1: designs are sorted by the first measure */
    int (*read)(Study *u); /* before the tables are made; NULL: nothing */
    RunDraw *draw;         /* as in RunTable */
    int (*differences)(const Study *u,
                       Sheet *out); /* NULL: of the baseline, contrasts, all pairs */
    const RunRelation *relations;   /* NULL: no correlations */
    const char *groups; /* as in runtable_relate; the first measure alone is printed then */
    StudyTable also[STUDY_ALSO];
    /* Prints what stands above the tables; brief: as stdout has it without --explain. */
    int (*caption)(const Study *u, int brief, FILE *f);
    /* ---- plots ---- */
    size_t shown;                   /* their measure */
    const RunForest *apart;         /* NULL: one part */
    const RunScatter *scatter;      /* NULL: none */
    int (*save)(const Study *u);    /* more files and plots; NULL: nothing */
    int (*verdict)(const Study *u); /* at the end; NULL: nothing more can be wrong */
};

/* Does a study of the options o, which have these groups: the first of the kinds (up to a NULL command) that they ask for. */
int study_run(const StudyKind *kinds, const OptionGroup *const *groups, Options *o);

/* Options of differences: --contrast, --all-pairs, --equivalence. */
extern const OptionGroup study_statistics_group;
/* The options --truncation (its default here), --truncation-tokens, --truncation-tolerance. */
/* clang-format off */
#define STUDY_TRUNCATION(usual)                                                                    \
    {"truncation", OPTION_SIZE, usual, "N",                                                        \
     "measure the truncation error of each trained network on N validation sentences; 0: none", 0, \
     10000},                                                                                       \
    {"truncation-tokens", OPTION_SIZE, NULL, "N",                                                  \
     "tokens of a sentence at most, <eos> first (default: as the networks are trained, --sequence)", \
     2, 65536},                                                                                    \
    {"truncation-tolerance", OPTION_REAL, "0", "X",                                                \
     "relative tolerance of the exact flow; 0: 1e-13, or 1e-6 where the field has kinks (relu)", 0, \
     1e-3}
/* The options --figure, --csv, --explain, --config. */
#define STUDY_OUTPUT                                                                                                      \
    PLOT_FIGURE, {"csv", OPTION_FLAG, NULL, NULL, "print the designs as CSV", 0, 0},                                      \
        {"explain", OPTION_FLAG, NULL, NULL,                                                                              \
         "print what columns and intervals mean too, as the file .md in DIR has it"},                                     \
        {"config", OPTION_TEXT, NULL, "FILE",                                                                             \
         "read options from a file like DIR/config.ini; the command line overrides it"},                                  \
        {"keep-states", OPTION_FLAG, NULL, NULL,                                                                          \
         "keep the state of each finished run, from which a longer study of more --epochs goes on; else it trains anew. " \
         "States are two thirds of all bytes. And keep each run's log in its other forms, and draw its loss"}
/* clang-format on */

/* Adds the table DIR/runs.csv of a folder to those that are read. ERR_MEMORY, ERR_INPUT. */
int study_file(Study *u, const char *dir);

/* ---- designs (study_designs.c) ---- */

/* Adds a design with so many trainings: *out, to be filled at once; its name and label are `name`. ERR_MEMORY. */
int study_add(Study *u, const char *name, const RunSpec *spec, size_t seeds, StudyDesign **out);
/* Gives a design more trainings. ERR_MEMORY. */
int study_seeds(Study *u, StudyDesign *d, size_t seeds);
RunSpec study_spec(const StudyDesign *d, const StudyRun *r);
/* Gives every design a run for each point of the grid. ERR_MEMORY. */
int study_trials(Study *u);
/* Returns the number that a run has under the name of a column of runs.csv; NaN: none. */
static inline double study_real(const Study *u, const StudyRun *r, const char *name)
{
    return frame_real(&u->runs_csv, r->at, name);
}
/* Set what a run has there: a number (NaN: nothing), a text (NULL: nothing). A column that runs.csv does not have is left out. */
static inline void study_put(Study *u, const StudyRun *r, const char *name, double x)
{
    frame_put(&u->runs_csv, r->at, name, x);
}
static inline void study_set(Study *u, const StudyRun *r, const char *name, const char *text)
{
    frame_set(&u->runs_csv, r->at, name, text);
}
/* Returns 1 where a run diverged. */
int study_run_diverged(const Study *u, const StudyRun *r);
/* Returns 1 where every run of a design has a folder, and so its log; where none has one. */
int study_recorded(const StudyDesign *d);
int study_has_logs(const Study *u, const StudyDesign *d);
int study_tunes(const Study *u); /* 1: with --tune */
/* Returns the number that an option of train has in a run of the study; NaN: --tune has not chosen it yet. */
double study_number(const Study *u, const RunSpec *s, const char *name);

/* ---- trainings (study_train.c) ---- */

/* Works off a list (n): measures the runs or, with NULL, trains them. wait: as below. */
int study_work(Study *u, StudyWork *measure, StudyTask *list, size_t n, int wait);
/* Returns room for all runs of the study; NULL: out of memory. Caller: memory_free. */
StudyTask *study_tasks(const Study *u);
/* Trains all runs that were not tried; trials 1: those of the grid. wait 0: returns once only those of other processes are
 * left. follow 1: more runs may be added to designs. ERR_INTERRUPTED after command_stop; ERR_INPUT, before anything is trained,
 * where that would destroy something. */
int study_train(Study *u, int trials, int wait, int follow);

/* ---- tuning (study_tune.c) ---- */

/* --tune and the grid; of study_tune. */
extern const OptionGroup study_tune_group;
/* Makes the grid of the options. ERR_INPUT. */
int study_grid(Study *u);
/* Chooses rate, dropout and length of every design by validation perplexity with one seed. Designs whose runs are all recorded keep
 * theirs. */
int study_tune(Study *u);

/* ---- measures (study_columns.c, study_measure.c) ---- */

/* A run that is measured. */
typedef struct {
    Study *study;
    StudyRun *run;
    RunSpec spec;
    const char *design;
    char name[512];  /* of the run (runs_name) */
    const char *dir; /* its folder; NULL: it is recorded in the study's */
} StudyMeasured;

/* Computes a measure of a network in double precision on sentences, and sets its columns of row 0. t: the run's scheme, of pairs
 * the decoder's. */
typedef int MeasureSentences(const Network *n, const Table *t, const Drawn *drawn, double tolerance,
                             Frame *out);

/* A measure of trained networks. Its numbers are kept in the run's folder as NAME.csv with `how`, and claimed there as
 * NAME.claim, like the run itself. */
typedef struct {
    const char *name;
    /* Of its numbers (VALUE). One with `low` is positive, and shown as a mean with its interval. */
    const Column *columns;
    int (*wanted)(const Study *u); /* 1, 0; below 0: an error, as an option has no meaning */
    /* Writes the options that the numbers depend on; NULL: they are read off the run's log, and not kept. */
    int (*how)(const Study *u, char *out, size_t room);
    /* A measure on the sentences of --truncation is this function and what its first number is called in study.log; the members
     * below are then NULL. */
    MeasureSentences *of;
    const char *what;
    /* Sets the columns of row 0, which are empty at first. */
    int (*measure)(const StudyMeasured *r, Frame *out);
    /* Reads what is larger than a number; NULL: there is nothing. */
    int (*load)(const StudyMeasured *r);
    /* Tries, before any training, what `measure` will need of the options, the texts and a network of this design.
     * NULL: it needs no more than the run's own folder. ERR_INPUT, as `measure` would say. */
    int (*try)(const Study *u, const RunSpec *s);
} StudyMeasure;
extern const StudyMeasure *const study_measures[]; /* up to NULL */

/* Reads DIR/runs.csv, where it is there, once. */
int study_open_recorded(Study *u);
/* Takes what DIR/runs.csv tells of runs that have no folder (study_take.c): result, rate, dropout, measures. ERR_INPUT where rate
 * or dropout differ within a design, or from the options' without --tune; where a network's size, best epoch or the unigram's
 * perplexities are not those of the options; where measures were made in another way. */
int study_take(Study *u);
/* Returns ERR_INPUT where a row of a run without folder was not taken: a study that writes the file anew would lose it. */
int study_keep(const Study *u);
/* Returns how many of a design's runs have a number above this in a column. */
size_t study_count(const Study *u, const StudyDesign *d, const char *column, double above);
/* Loads a run's network, draws the sentences of --truncation, makes a measure of them, and notes its first number in study.log;
 * tries that, roughly, on one short sentence with an untrained network of a design (measure_sentences.c). */
int measure_on_sentences(const StudyMeasured *r, const StudyMeasure *m, Frame *out);
int measure_try_sentences(const Study *u, const RunSpec *s, const StudyMeasure *m);
/* Checks the measures' options. ERR_INPUT. */
int study_check_measures(const Study *u);
/* Tries all wanted measures on an untrained network of each design, so that none fails for the first time when all are
 * trained. ERR_INPUT, ERR_MEMORY. */
int study_try_measures(const Study *u);
/* Makes all wanted measures of the trained networks; of those that diverged only what their logs tell. */
int study_measure(Study *u);
/* Returns a list of columns with those of the options that designs vary (NULL: they vary none) and of the measures behind, each
 * sparse, of which the list has none; ends 1: with NAME_low and NAME_high of those that have an interval. NULL: out of memory.
 * Caller: memory_free. */
Column *study_columns(const Column *list, const Spec *varied, int ends);
const char *const *study_positive(void); /* their positive columns, for RunColumns */

/* ---- runs.csv and what is read off it (study_record.c) ---- */

/* Makes the columns of runs.csv (Study.columns): the kind's, and behind them those of the options that designs vary and of the
 * measures. The first design is there. ERR_MEMORY. */
int study_open_runs(Study *u, const Spec *varied);
/* Fills the rows of runs_csv with what is known by now, and writes DIR/runs.csv. ERR_MEMORY, ERR_INPUT. */
int study_record(Study *u);
/* The same while runs are at work, with what other processes have finished; in the process that writes tables alone, and not
 * where rows would be lost, at most a twentieth of the time. study_catch_up writes what that put off, where a study ends before
 * its tables. */
int study_remake(Study *u);
void study_catch_up(Study *u);
/* Writes DIR/runs.csv and makes the sheets of its rows, or of the other tables that are read. */
int study_tables(Study *u);
/* Returns ERR_INPUT where a contrast of the options is none of the designs. */
int study_check_contrasts(const Study *u);

/* ---- words and files (study_show.c) ---- */

/* Prints words and tables, or with --csv the designs; saves tables, words and plots, unless another process does. */
int study_show(const Study *u);
int study_save(const Study *u);

const RunDesign *study_design(const Study *u, size_t i); /* in the table */
int study_beats_unigram(const Study *u, size_t i);       /* NaN does not */
/* Prints "Corpus X has N training tokens and a vocabulary of V. The models have ...". */
void study_print_recipe(const Study *u, FILE *f);

#endif
