/* scores.h: the scores of fine-tuned encoders on a dev text, read from two files of a directory, and their summary.
 *
 *   result.csv        a row for the majority's baseline and for each start (finetune.h) of the encoder
 *   predictions.csv   each start's prediction for every example; scores and their intervals can be computed from these
 *
 * Encoders of one scheme that were pre-trained with other seeds are runs of one cell. A score has two
 * intervals. The one over seeds comes from the one-way layout of statistics.h with one standard deviation for
 * all cells: it covers another pre-training. The one over examples comes from 1,000 drawn dev texts
 * (bootstrap.h): it covers another dev text. */
#ifndef TROTTER_FINETUNE_SCORES_H
#define TROTTER_FINETUNE_SCORES_H

#include <stdio.h>

#include "studies/metrics/agreement.h"
#include "studies/tools/sheet.h"

/* A row of result.csv. Scores that the task lacks, and values that the majority lacks, are NaN. */
typedef struct {
    const char *task, *metric;  /* the metric that chose the trial */
    const char *scheme, *start; /* "majority": it has neither scheme nor training */
    double layers, params, model_seed;
    double rate, seed, best_epoch, chosen;
    double score[AGREEMENTS];
    double examples;
} ScoreRow;
extern const Column score_results[], score_predictions[], score_columns[];

/* A row of predictions.csv. Classes are numbers from 0; values are numbers. */
typedef struct {
    const char *start;
    double example, gold, said, line; /* example and line: from 1 */
} DevAnswer;

/* A run: its row and its predictions (n). */
typedef struct {
    ScoreRow row;
    double *said;
} ScoredRun;

typedef struct {
    char *task, *metric, *dir; /* from the first directory; dir for messages */
    int choose;                /* number of the metric */
    size_t n;
    double *gold; /* (n) */
    ScoreRow majority;
    ScoredRun *run; /* (runs) */
    size_t runs;
    char **name; /* texts that rows point to */
    size_t names;
} Scores;

/* Adds the runs of a directory. ERR_INPUT: files of another kind, another task or dev text than before, an encoder of
 * that scheme and seed that was added already, a score that differs from that of its predictions. */
int scores_take(Scores *s, const char *dir);
/* Returns x (n), a run's answers or the gold ones, in the form of the metric. Borrows x and label (n),
 * which classes need as room. */
Answers scores_answers(const Scores *s, const double *x, int32_t *label);
/* Writes finetune.csv, .md and .tex in dir, and prints the table, or with csv != 0 that of the file. */
int scores_tell(const Scores *s, const char *dir, int csv);
void scores_free(Scores *s);

#endif
