/* finetune.h: an encoder that was pre-trained, fine-tuned on labelled sentences.
 *
 *   labelled.h   files -> examples          examples.h   examples -> tokens, a model's answers
 *   trials.c     a grid of trainings, the best on a part of the training text
 *   scores.h     what they score on the dev text, and the table of several encoders
 *
 * A start is the encoder as it was pre-trained, or the same one with fresh numbers. Every start is trained with each rate and
 * seed of the grid on a part of the training text, and after each epoch measured on the rest of it, by the task's first
 * metric: the epoch, rate and seed with the best such score are chosen, of equal ones the first. The dev text is read by
 * those alone. A directory DIR has config.ini, grid.csv (a row a trial), START/rateX-seedN (log.csv; of the best so far the
 * weights), and in the end result.csv, predictions.csv, finetune.csv, and model.safetensors with vocab.txt: the encoder
 * fine-tuned. The same command given again reads what is there and goes on with what is not.
 *
 * Source: Devlin, Chang, Lee, Toutanova 2019 (BERT), section 4.1, whose grid is of rates and whose trials differ by seed. */
#ifndef TROTTER_FINETUNE_H
#define TROTTER_FINETUNE_H

#include "studies/finetune/examples.h"
#include "studies/finetune/scores.h"

enum { START_PRETRAINED, START_FRESH, STARTS };
extern const char *const finetune_start[STARTS]; /* "pretrained", "fresh" */

typedef struct {
    const Options *options;
    const char *dir, *model; /* --out, --model */
    const LabelledTask *task;
    char name[64]; /* of the task, for tables: "cola", or the file's name without its folders */
    int metric;    /* that chooses: the task's first */
    const Backend *backend;
    Network net;               /* without a model */
    char weights[OUTPUT_PATH]; /* the file of those it has */
    Labelled train, dev;       /* files */
    Labelled rest, chosen;     /* parts of train: trained on, and chosen by */
    Scale scale;               /* of values */
    Examples on_rest, on_chosen, on_dev;
    Corpus corpus;                 /* rest and chosen as a training has them; borrows all */
    size_t batch_tokens, sequence; /* most tokens of a batch, of a sequence */
    size_t steps;                  /* of a trial of all epochs */
    Metadata meta;                 /* of the model that is saved */
} Finetune;

/* A row of grid.csv. */
typedef struct {
    const char *start; /* finetune_start */
    double rate, seed, best_epoch;
    double score; /* on the chosen part; NaN: the trial diverged */
    double seconds;
} Trial;
extern const Column finetune_trials[];

/* All trials of all starts that are to be had; best (STARTS) out: of each the best trial, its start NULL where the options
 * leave it out. ERR_INTERRUPTED, with everything saved; ERR_CHECK where all trials of a start diverged. */
int trials_run(Finetune *u, Trial best[STARTS]);

/* A model of the task, with what the start begins with and no memory for training. training 1: with it, and seed its own. */
int trials_model(const Finetune *u, int start, uint64_t seed, int training, Model **out);
/* Its weights become those of a trial. */
int trials_load(const Finetune *u, const Trial *t, Model *m);

#endif
