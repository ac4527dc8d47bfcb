/* finetune.h: the study behind `trotter finetune` (studies/lab/study): a pre-trained encoder is trained on labelled sentences.
 *
 *   labelled.h          files -> examples          examples.h   examples -> tokens, a model's answers
 *   finetune_open.c     task, encoder, folder: the designs and the grid
 *   trials.c            a training, the choice, what the chosen ones say of the dev text
 *   finetune_table.c    runs.csv; means over pre-trainings with both kinds of intervals, differences
 *
 * A design is a start: the encoder as it was pre-trained, or the same one with fresh numbers. Every start is trained with
 * each rate and seed of the grid on a part of the training text: rows `trial` of runs.csv. After each epoch it is measured
 * on the rest of that text by the task's first metric. The epoch, rate and seed with the best score are chosen; of equal
 * ones, the first. Only the chosen ones read the dev text: a row of the study. A directory DIR has START/rateX-seedN
 * (log.csv; for the best so far the weights), and in the end predictions.csv, each start's answer for every example,
 * finetune.csv, differences.csv, and model.safetensors with vocab.txt: the fine-tuned encoder. The same command given again
 * keeps finished work and does the rest.
 *
 * Encoders of one scheme that were pre-trained with other seeds are runs of one design (--together). A score has two
 * intervals. The one over seeds is that of studies/lab/table: it covers another pre-training. The one over examples comes from
 * 1,000 drawn dev texts (bootstrap.h): it covers another dev text.
 *
 * Source: Devlin, Chang, Lee, Toutanova 2019 (BERT), section 4.1, whose grid is over rates and
 * whose trials differ by seed. */
#ifndef TROTTER_FINETUNE_H
#define TROTTER_FINETUNE_H

#include "studies/lab/finetune/examples.h"
#include "studies/base/process/lease.h"
#include "studies/lab/study/study.h"

enum { START_PRETRAINED, START_FRESH, STARTS };

/* A row of predictions.csv. Classes are numbers from 0; values are numbers. */
typedef struct {
    const char *start;
    double example, gold, said, line; /* example and line: from 1 */
} DevAnswer;

/* What the study has of its own (Study.more). */
typedef struct {
    Options *options;
    const char *model;     /* --model */
    LabelledTask own_task; /* a file of the user's: with the names of its columns */
    const LabelledTask *task;
    char name[64]; /* the task's name in tables: "cola", or the file's name without its folders */
    int metric;    /* the metric that chooses: the task's first */
    const Backend *backend;
    Network net; /* without a model */
    char weights
        [OUTPUT_PATH]; /* the file of the pre-trained weights; of an encoder of another program net.foreign has them */
    uint64_t begun;        /* checksum of those */
    Labelled whole;        /* where both texts are parts of one file */
    Labelled train, dev;   /* files */
    Labelled rest, chosen; /* parts of train: for training, for choosing */
    Scale scale;           /* scale of the values */
    Examples on_rest, on_chosen, on_dev;
    Corpus corpus;                 /* rest and chosen, as a training takes them; borrows all */
    size_t batch_tokens, sequence; /* most tokens of a batch, of a sequence */
    size_t steps;                  /* steps of a trial of all epochs */
    size_t model_seed;             /* of the pre-training */
    double majority[AGREEMENTS];   /* always the most frequent label; NaN: not of the task */
    Metadata meta;                 /* metadata of the saved model */
    Lease claim;                   /* of the folder */
    /* Of the tables' runs */
    size_t n;       /* examples */
    double *gold;   /* (n) */
    double *said;   /* (rows, n): of each run */
    int32_t *label; /* (rows + 1, n): the same as classes, the gold ones behind the others */
    Resampled *own; /* (designs): over drawn examples */
} Finetune;

/* ---- finetune_open.c ---- */

/* Reads task and encoder, takes the folder, makes designs and grid; with --together only names the tables. ERR_INPUT. */
int finetune_open(Study *u);
void finetune_close(Study *u);
/* Makes a model of the task with the start's initial weights. training 1: with memory for training; 0:
 * without. seed: of fresh numbers. */
int finetune_model(Study *u, int start, uint64_t seed, int training, Model **out);
/* Makes the metadata of a fine-tuned encoder: those of the encoder, and more. r NULL: of no run in particular. */
int finetune_metadata(Study *u, const Model *m, const StudyRun *r);

/* ---- trials.c ---- */

/* Does a training of the grid (StudyKind.one). ERR_INTERRUPTED, with everything saved. */
StudyWork finetune_trial;
/* Does those that runs.csv has not, chooses the best of each start, and reads the dev text with it. ERR_CHECK where all
 * trials of a start diverged. */
int finetune_train(Study *u);

/* ---- finetune_table.c ---- */

/* Columns of runs.csv, predictions.csv, finetune.csv; all names of runs.csv. */
extern const Column finetune_run_columns[], finetune_answers[], finetune_columns[];
extern const char finetune_run_names[];
void finetune_fill(Study *u, const StudyDesign *d, const StudyRun *r);
void finetune_bound(Study *u, size_t row);
/* Sets the scores on the dev text (AGREEMENTS) of a row of runs.csv. */
void finetune_put_scores(Study *u, size_t row, const double *score);
/* Reads the answers of the tables' runs. ERR_INPUT: another task or dev text than before, a score that differs from that of its
 * predictions. */
int finetune_read(Study *u);
RunMore finetune_more;
RunDraw finetune_draw;
int finetune_differences(const Study *u, Sheet *out);
int finetune_caption(const Study *u, int brief, FILE *f);

#endif
