/* translations.h: the study behind `trotter compare` on a corpus of pairs, in parts: its cells and trainings
 * (translations.c), the measures of each trained network (translations_measure.c), the table of runs and what is read off
 * it (translations_table.c, studies/table), the papers' figures (translations_published.c).
 *
 * A cell is an encoder's scheme and a decoder's, trained once for every seed. A run keeps line by line what its test
 * translations match of the references, so a difference of two cells has two intervals: over seeds, and over sentences.
 */
#ifndef TROTTER_TRANSLATIONS_H
#define TROTTER_TRANSLATIONS_H

#include "studies/metrics/metric.h"
#include "studies/runs/tasks.h"
#include "studies/runs/worker.h"
#include "studies/table/runtable.h"
#include "studies/tools/select.h"

/* The measures of a run's trained network; NaN: not available. */
typedef struct {
    double valid_bleu, test_bleu, test_chrf, brevity; /* of the test text's BLEU */
    double sentences_per_s;                           /* in translating the test text */
    /* Truncation errors over the flow's displacement at h = 1, and their slopes. */
    double encoder_error, encoder_slope, decoder_error, decoder_slope;
} TranslationResult;

/* A run of a cell. */
typedef struct {
    RunResult result; /* NaN where the run failed */
    TranslationResult measure;
    Statistics lines; /* of the test text, for BLEU */
} TranslationRun;

typedef struct {
    Table *encoder, *decoder; /* owned */
    size_t encoder_layers, layers;
    int encoder_order, decoder_order; /* exact; -1: none */
    char name[2 * TABLE_NAME + 64];   /* as --pair has it */
    size_t numbers;                   /* of the model */
    TranslationRun *run;              /* (seeds) */
} TranslationCell;

typedef struct {
    Options *options;
    const OptionGroup *const *groups; /* the options' */
    const char *dir;
    Worker worker;
    Runs runs;
    Selection schemes; /* for names of --scheme-file */
    Corpus corpus;
    size_t seeds, seed, layers, cells, failed; /* layers: where a pair names none */
    TranslationCell *cell;
    MetricOptions metric;
    char how[512]; /* translations_how */
    char runs_file[OUTPUT_PATH];
    RunTable pairs; /* of that file, once all is trained */
    Column *own[2]; /* of the sheets */
    Sheet *table, *differences;
} Translations;

/* Does the whole study; o: compare's options, of the groups `all`. It takes over c. */
int translations_run(Options *o, const OptionGroup *const *all, Corpus *c);

/* ---- translations_measure.c ---- */

/* Returns the run of a cell with its k-th seed. */
RunSpec translations_spec(const Translations *u, const TranslationCell *c, size_t k);

/* Writes what a run's measures depend on besides the run. */
int translations_how(const Translations *u, char *out, size_t room);

/* Takes the measures of the runs that have a row in DIR/runs.csv and no folder, with their lines in DIR/lines.csv.
 * ERR_INPUT where they were made with other options. */
int translations_take(Translations *u);
/* Measures the trained network of a run, whose task's `more` is the number of its cell times seeds plus that of its seed,
 * unless that is done: the `measure` of Work. */
int translations_measure(void *study, Task *t);

/* ---- translations_table.c ---- */

/* A row of DIR/runs.csv. */
typedef struct {
    const char *pair, *encoder, *decoder, *diverged, *how;
    size_t seed, epochs;
    TranslationCell of;
    TranslationRun run;
} TranslationRow;
/* Columns of runs.csv, of lines.csv, of compare.csv. Those of runs.csv from `how` on are the measures' alone. */
extern const Column translation_runs[], translation_lines[], translation_columns[];

/* Adds the lines of a run to a table of translation_lines. */
void translations_add_lines(Sheet *s, const char *pair, size_t seed, const Statistics *of);
/* Writes DIR/lines.csv and runs.csv. */
int translations_record(const Translations *u);
/* Reads runs.csv back, and makes the sheets. ERR_INPUT, ERR_MEMORY. */
int translations_tables(Translations *u);
int translations_show(const Translations *u);
/* Writes the tables and draws the plots. */
int translations_save(const Translations *u);

/* ---- translations_published.c ---- */

extern const Column translation_published[];
/* Writes DIR/published.csv: the papers' figures, with ours beside them where we have that row. */
int translations_published(const Translations *u);

#endif
