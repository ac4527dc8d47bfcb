/* translations.h: the study behind `trotter compare` on a corpus of pairs, in parts: its cells, trainings and the
 * measures of each trained network (translations.c), runs recorded before (translations_from.c), tables, words and
 * files (translations_table.c), plots (translations_plot.c), the papers' figures (translations_published.c).
 *
 * A cell is an encoder's scheme and a decoder's, trained once for every seed. A run keeps line by line what its test
 * translations match of the references, so a difference of two cells has two intervals: over seeds, and over sentences.
 */
#ifndef TROTTER_TRANSLATIONS_H
#define TROTTER_TRANSLATIONS_H

#include "studies/metrics/metric.h"
#include "studies/runs/tasks.h"
#include "studies/runs/worker.h"
#include "studies/statistics/simultaneous.h"
#include "studies/tools/select.h"

/* The measures of a run's trained network; NaN: not available. */
typedef struct {
    double valid_bleu, test_bleu, test_chrf, brevity; /* of the test text's BLEU */
    double sentences_per_s;                           /* in translating the test text */
    /* Truncation errors over the flow's displacement at h = 1, and their slopes. */
    double encoder_error, encoder_slope, decoder_error, decoder_slope;
} TranslationResult;

typedef struct {
    Table *encoder, *decoder; /* owned */
    size_t encoder_layers, layers;
    int encoder_order, decoder_order; /* exact; -1: none */
    char name[2 * TABLE_NAME + 64];   /* as --pair has it */
    size_t numbers;                   /* of the model */
    size_t runs;                      /* that have a result */
    RunResult *result;                /* (seeds); NaN where a run failed or is not recorded */
    TranslationResult *measure;       /* (seeds) */
    Statistics *lines;                /* (seeds) of the test text, for BLEU */
    Interval valid_ppl, test_ppl, valid_bleu, test_bleu, test_chrf, encoder_error, decoder_error;
    double speed;                              /* sentences a second, mean */
    Difference valid_ppl_diff, test_bleu_diff; /* from the baseline, over seeds */
    double test_bleu_p;                        /* of that difference being 0, corrected (Dunnett) */
    double drawn_low, drawn_high,
        drawn_p; /* of the difference of mean BLEU, over drawn sentences */
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
    Pooled valid_ppl, test_bleu; /* over seeds, within the cells */
    Unigram unigram;
    MetricOptions metric;
    Sheet *table, *differences;
} Translations;

/* Does the whole study; o: compare's options, of the groups `all`. It takes over c. */
int translations_run(Options *o, const OptionGroup *const *all, Corpus *c);

/* ---- translations_from.c: DIR/runs.csv and DIR/lines.csv ---- */

/* A row of runs.csv. */
typedef struct {
    const char *encoder, *decoder;
    size_t encoder_layers, layers, seed;
    RunResult result;
    TranslationResult measure;
} TranslationRun;
extern const Column translation_runs[], translation_lines[];
/* translations_add_lines adds the lines of a run to a table of translation_lines, under the run's number.
 * translations_read_lines reads rows first .. first + n - 1 of such a table (caller: metric_free). ERR_INPUT,
 * ERR_MEMORY. */
void translations_add_lines(Sheet *s, size_t run, const Statistics *of);
int translations_read_lines(const Csv *c, size_t first, size_t n, Statistics *out);
/* Writes both files of all cells. */
int translations_record(const Translations *u);
/* Fills the cells in from those files of the directories of --from. ERR_INPUT. */
int translations_take(Translations *u);

/* ---- translations_table.c ---- */

extern const Column translation_columns[];
/* Computes intervals, differences and the sheets, once all runs are filled in. */
int translations_tables(Translations *u);
int translations_show(const Translations *u);
int translations_save(const Translations *u);

/* ---- translations_plot.c, translations_published.c ---- */

int translations_plots(const Translations *u);
extern const Column translation_published[];
/* Writes DIR/published.csv: the papers' figures, with ours beside them where we have that row. */
int translations_published(const Translations *u);

#endif
