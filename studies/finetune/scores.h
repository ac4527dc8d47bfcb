/* scores.h: what fine-tuned encoders score on a dev text, as two files of a directory, and what several of them say together.
 *
 *   result.csv        a row for the majority's baseline and for each start (finetune.h) of the encoder
 *   predictions.csv   what each start said of every example, from which scores and their intervals can be computed again
 *
 * Encoders of one scheme that were pre-trained with other seeds are runs of one cell. A score has two intervals: over seeds,
 * one-way layout of statistics.h with one standard deviation for all cells; over examples, of 1,000 drawn dev texts
 * (bootstrap.h). The first says what another pre-training would give, the second what another dev text would. */
#ifndef TROTTER_FINETUNE_SCORES_H
#define TROTTER_FINETUNE_SCORES_H

#include <stdio.h>

#include "studies/metrics/agreement.h"
#include "studies/tools/sheet.h"

/* A row of result.csv; scores that the task has not, and what the majority has not, are NaN. */
typedef struct {
    const char *task, *metric;  /* the one that chose */
    const char *scheme, *start; /* "majority": neither scheme nor training */
    double layers, params, model_seed;
    double rate, seed, best_epoch, chosen;
    double score[AGREEMENTS];
    double examples;
} ScoreRow;
extern const Column score_results[], score_predictions[], score_columns[];

/* A row of predictions.csv: classes by their number from 0, or numbers. */
typedef struct {
    const char *start;
    double example, gold, said; /* example: from 1 */
} DevAnswer;

/* A run: its row, and what it said (n). */
typedef struct {
    ScoreRow row;
    double *said;
} ScoredRun;

typedef struct {
    char *task, *metric, *dir; /* of the first directory; dir for messages */
    int choose;                /* the metric */
    size_t n;
    double *gold; /* (n) */
    ScoreRow majority;
    ScoredRun *run; /* (runs) */
    size_t runs;
    char **name; /* texts that rows point to */
    size_t names;
} Scores;

/* Adds the runs of a directory. ERR_INPUT: not such files, another task or dev text than those before, an encoder of that
 * scheme and seed that is there already, a score that is not that of its predictions. */
int scores_take(Scores *s, const char *dir);
/* x (n), a run's or the gold ones, in the form of the metric; borrows x and label (n), of which classes need room. */
Answers scores_answers(const Scores *s, const double *x, int32_t *label);
/* finetune.csv, .md and .tex in dir, and the table on stdout, or with csv != 0 that of the file. */
int scores_tell(const Scores *s, const char *dir, int csv);
void scores_free(Scores *s);

#endif
