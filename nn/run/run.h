/* run.h: a training run, and the directory it keeps (run.c). Private to train.c and run.c.
 *
 * Progress holds everything the loop knows that is not in the model. The state file has it beside the parameters and
 * moments. Dropout masks and batch orders are pure functions of seed, step and epoch, so a resumed run repeats the
 * uninterrupted one bit for bit (with the same threads). */
#ifndef TROTTER_RUN_H
#define TROTTER_RUN_H

#include <stdio.h>

#include "nn/run/train.h"

enum { RUN_LINE = 1280 };

/* Contents of state.safetensors besides the model. */
typedef struct {
    uint64_t step;    /* steps done */
    uint64_t checked; /* step of the last validation */
    long epoch;       /* from 1 */
    size_t batch;     /* next batch of the epoch */
    size_t tokens;    /* trained so far */
    size_t rows;      /* rows of the log */
    size_t sum_tokens;
    double sum_nll; /* since the last row */
    double grad_norm;
    double seconds; /* time of training alone */
    double best_ppl;
    long best_epoch;    /* 0: none yet */
    double best_score;  /* for runs with a judge */
    double sum_penalty; /* as sum_nll, for runs with a penalty */
} Progress;

/* log.csv, which is read as it grows, and what is made of it; NULL: without a directory (log_forms.c). */
typedef struct {
    FILE *log, *json, *events;
    char names[1024]; /* the first line of log.csv */
} LogForms;

typedef struct {
    Model *m;
    const Corpus *c;
    const TrainConfig *t;
    Progress p;
    /* with dropped merges: the corpus with the training text of this epoch; else empty */
    Corpus cut;
    Batches *train, *valid;
    void *best;      /* weights of the best epoch, where no directory keeps them */
    FILE *log;       /* log.csv */
    LogForms forms;  /* the same as other programs read it */
    char *file;      /* room for a file name in the run directory */
    char recipe[80]; /* hashes of the layers and of the text: a resumed run must agree in them */
    uint64_t steps;  /* steps of the whole run */
    double reported; /* time of the last report */
    int files;       /* 1: this process reads and writes the directory */
    int stop;        /* 1: a rank was asked to stop, as of the last step */
    double waited;   /* seconds spent waiting for other ranks, while training */
    double penalty;  /* run_penalty where run_loss was asked last */
    Progress begun;  /* progress where this process began */
} Run;

/* Tell whether the training text has a source; whether its evaluation counts exact or right ones. */
int run_has_pairs(const Run *r);
int run_has_exact(const Run *r);

/* Returns the bits a byte of a text with that perplexity; tells whether the tokens are a tokenizer's, and the next ones
 * are predicted, so that these are told. */
double run_bits(const Run *r, int split, double ppl);
int run_has_bits(const Run *r);

/* Returns the learning rate of a step. */
double run_rate(const Run *r, uint64_t step);

/* Returns the steps of an epoch of `batches` batches: each takes t->accumulate of them, the last perhaps fewer. */
size_t run_epoch_steps(const TrainConfig *t, size_t batches);

/* With t->average or t->keep: checkpoint_add saves the parameters at the end of epoch p.epoch in a file; checkpoint_prune, once
 * the state is written, removes those that the last epochs do not need; run_average makes the model the mean of the
 * last *count. */
int checkpoint_add(Run *r);
void checkpoint_prune(Run *r);
int run_average(Run *r, long *count);

/* Returns the mean loss since the log's last row (NaN: none), and sets r->penalty, the mean penalty (NaN: none). */
double run_loss(Run *r);

/* Returns what the progress tells, with a loss and results of the validation text. */
TrainReport run_report(const Run *r, double loss, double ppl, double exact, double score);

/* Opens the run directory t->out: loads the state where t->resume; writes the vocabulary and
 * opens the log. Without r->files it does nothing of that. */
int run_open(Run *r);

/* With ranks: ranks_check_same_run returns ERR_INPUT where a rank has another recipe, text, kernel or number of threads
 * than the first; after it all have the first rank's state. run_send sends them the parameters of the first. */
int ranks_check_same_run(Run *r);
void run_send(Run *r);

/* Returns "<out>/<name>"; valid until the next call. */
const char *run_file(Run *r, const char *name);

/* Writes state.safetensors; without a directory it does nothing. */
int run_save(Run *r);

/* Ends a row of the log and begins a new mean of the loss. valid_ppl 0: not known here. valid_exact (NaN: not known) is
 * a column in the log of a run on pairs alone, valid_score in that of a run with a judge; so is
 * valid_bits, bits a byte, where run_has_bits. */
int run_log(Run *r, double valid_ppl, double valid_exact, double valid_score);

/* Opens a file of the run directory; a symbolic link is not followed, as it may lead out of a folder of others, and a FIFO not
 * waited for. NULL: with errno. */
FILE *run_fopen(const char *file, const char *mode, int flags);

/* log_forms.c: begins log.jsonl and events.out.tfevents with the rows that log.csv has, and adds those that came since. */
int log_forms_open(Run *r);
int log_forms_follow(Run *r);
void log_forms_close(Run *r);

/* evaluate.c. Gets batch i, or this rank's share of it; first[side] rows of the batch come before the share. */
int evaluate_batch(Ranks *r, Batches *b, size_t i, Batch *x, size_t first[SIDES]);
/* Evaluates all batches as they stand; stop may be NULL. */
int evaluate_batches(Model *m, Ranks *r, Batches *b, const volatile int *stop, Evaluation *e);
/* Checks that pairs go to a model with an encoder and a text alone to one without; else ERR_INPUT, naming the text. */
int evaluate_sides(const Model *m, const char *name, int pairs);

#endif
