/* finetune.h: fine-tunes a pre-trained encoder on labelled sentences.
 *
 *   labelled.h   files -> examples          examples.h   examples -> tokens, a model's answers
 *   trials.c     a grid of trainings, the best on a part of the training text
 *   scores.h     their scores on the dev text, and the table of several encoders
 *
 * A start is the encoder as it was pre-trained, or the same one with fresh numbers. Every start is trained with each
 * rate and seed of the grid on a part of the training text. After each epoch it is measured on the rest of that text
 * by the task's first metric. The epoch, rate and seed with the best score are chosen; of equal ones, the first.
 * Only the chosen ones read the dev text. A directory DIR has config.ini, grid.csv (a row a trial) and
 * START/rateX-seedN (log.csv; for the best so far the weights), and in the end result.csv, predictions.csv,
 * finetune.csv, and model.safetensors with vocab.txt: the fine-tuned encoder. The same command given again keeps
 * finished work and does the rest.
 *
 * Source: Devlin, Chang, Lee, Toutanova 2019 (BERT), section 4.1, whose grid is over rates and
 * whose trials differ by seed. */
#ifndef TROTTER_FINETUNE_H
#define TROTTER_FINETUNE_H

#include "studies/finetune/examples.h"
#include "studies/finetune/scores.h"

enum { START_PRETRAINED, START_FRESH, STARTS };
extern const char *const finetune_start[STARTS]; /* "pretrained", "fresh" */

typedef struct {
    Options *options;
    const char *dir, *model; /* --out, --model */
    const LabelledTask *task;
    char name[64]; /* the task's name in tables: "cola", or the file's name without its folders */
    int metric;    /* the metric that chooses: the task's first */
    const Backend *backend;
    Network net;               /* without a model */
    char weights[OUTPUT_PATH]; /* the file of the pre-trained weights */
    Labelled train, dev;       /* files */
    Labelled rest, chosen;     /* parts of train: for training, for choosing */
    Scale scale;               /* scale of the values */
    Examples on_rest, on_chosen, on_dev;
    Corpus corpus;                 /* rest and chosen, as a training takes them; borrows all */
    size_t batch_tokens, sequence; /* most tokens of a batch, of a sequence */
    size_t steps;                  /* steps of a trial of all epochs */
    Metadata meta;                 /* metadata of the saved model */
} Finetune;

/* A row of grid.csv. */
typedef struct {
    const char *start; /* finetune_start */
    double rate, seed, best_epoch;
    double score; /* on the chosen part; NaN: the trial diverged */
    double seconds;
} Trial;
extern const Column finetune_trials[];

/* Runs all trials of all starts that are not done yet. best (STARTS) out: the best trial of each start; its
 * start is NULL where the options leave it out. ERR_INTERRUPTED, with everything saved; ERR_CHECK where all
 * trials of a start diverged. */
int trials_run(Finetune *u, Trial best[STARTS]);

/* Makes a model of the task with the start's initial weights. training 1: with memory for training; 0:
 * without. seed: of fresh numbers. */
int trials_model(const Finetune *u, int start, uint64_t seed, int training, Model **out);
/* Loads the weights of a trial into m. */
int trials_load(const Finetune *u, const Trial *t, Model *m);

#endif
