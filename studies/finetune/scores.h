/* scores.h: the scores of fine-tuned encoders on a dev text, in two tables of a directory, and what is read off them.
 *
 *   result.csv        a row for each start (finetune.h) of the encoder, and one for the majority's baseline
 *   predictions.csv   each start's prediction for every example; scores and their intervals can be computed from these
 *
 * Encoders of one scheme that were pre-trained with other seeds are runs of one design. A score has two intervals. The one
 * over seeds is that of studies/table: it covers another pre-training. The one over examples comes from 1,000 drawn dev
 * texts (bootstrap.h): it covers another dev text. */
#ifndef TROTTER_FINETUNE_SCORES_H
#define TROTTER_FINETUNE_SCORES_H

#include "studies/metrics/agreement.h"
#include "studies/table/runtable.h"

/* A row of result.csv. Scores that the task lacks, and values that the majority lacks, are NaN. */
typedef struct {
    const char *task, *metric; /* the metric that chose the trial */
    const char *scheme, *start, *part;
    double layers, params, model_seed;
    double rate, seed, best_epoch, chosen;
    double score[AGREEMENTS];
    double examples;
} ScoreRow;

/* A row of predictions.csv. Classes are numbers from 0; values are numbers. */
typedef struct {
    const char *start;
    double example, gold, said, line; /* example and line: from 1 */
} DevAnswer;
extern const Column score_results[], score_predictions[], score_columns[];

/* Reads the directories (n), writes their scores as finetune.csv, .md, .tex and differences.csv, .tex in `out`, and prints
 * them, or with csv != 0 finetune.csv. ERR_INPUT: files of another kind, another task or dev text than before, an encoder
 * twice, a score that differs from that of its predictions. */
int scores_tell(const char *const *dir, size_t n, const char *out, int csv);

#endif
