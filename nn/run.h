/* run.h: a training run, and the directory it keeps (run.c). Private to train.c and run.c.
 *
 * A run is its Progress: everything the loop knows that is not in the model. Written beside the
 * parameters and moments it is the state file, and since dropout masks and batch orders are pure
 * functions of seed, step and epoch, a resumed run repeats the uninterrupted one bit for bit (with
 * the same threads). */
#ifndef TROTTER_RUN_H
#define TROTTER_RUN_H

#include <stdio.h>

#include "nn/nn.h"

enum { RUN_LINE = 1280 };

/* What state.safetensors keeps besides the model. */
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
    double seconds; /* of training alone */
    double best_ppl;
    long best_epoch;   /* 0: none yet */
    double best_score; /* of a judge */
} Progress;

typedef struct {
    Model *m;
    const Corpus *c;
    const TrainConfig *t;
    Progress p;
    Batches *train, *valid;
    void *best;            /* weights of the best epoch, where no directory keeps them */
    FILE *log, *json;      /* log.csv; t->log */
    char *file;            /* room for a name in the run directory */
    char recipe[RUN_LINE]; /* what a resumed run must agree in */
    uint64_t steps;        /* of the whole run */
    double reported;       /* time of the last report */
    int files;             /* this process reads and writes the directory */
    int stop;              /* a rank was asked to stop, as of the last step */
    double waited;         /* for other ranks, while training */
    Progress begun;        /* where this process began */
} Run;

/* Whether the training text has a source; whether something is exact or right in it (Evaluation). */
int run_has_pairs(const Run *r);
int run_has_exact(const Run *r);

/* Learning rate of a step. */
double run_rate(const Run *r, uint64_t step);

/* Steps of an epoch of so many batches: each takes t->accumulate of them, the last perhaps fewer. */
size_t run_epoch_steps(const TrainConfig *t, size_t batches);

/* With t->average: the parameters at the end of epoch p.epoch, as a file; once the state is written,
 * those that the last epochs do not need go; the model becomes the mean of the last, *count of them. */
int checkpoint_add(Run *r);
void checkpoint_prune(Run *r);
int run_average(Run *r, long *count);

/* Tokens a second of training alone; mean loss since the last row of the log (NaN: no step since). */
double run_speed(const Progress *p);
double run_loss(const Progress *p);

/* Opens the run directory t->out: loads the state where t->resume, else makes the directory; writes
 * the vocabulary and opens the log. Without r->files nothing of that. */
int run_open(Run *r);

/* With ranks: ERR_INPUT where one has another recipe, text, kernel or number of threads than the first, whose
 * state all have then; sends them the parameters of the first. */
int ranks_check_same_run(Run *r);
void run_send(Run *r);

/* "<out>/<name>"; good until the next call. */
const char *run_file(Run *r, const char *name);

/* Writes state.safetensors; without a directory nothing. */
int run_save(Run *r);

/* Ends a row of the log and begins a new mean of the loss. valid_ppl 0: not known here; valid_exact (NaN: not known) has
 * a column in the log of a run on pairs alone, valid_score in that of a run with a judge. */
int run_log(Run *r, double valid_ppl, double valid_exact, double valid_score);

/* json_log.c: opens t->log, where there is one, at the end of what the state knows; a row. */
int json_open(Run *r);
int json_row(Run *r, const TrainReport *t, int exact); /* exact: it has valid_exact */

/* evaluate.c. Batch i, or this rank's share of it, before which there are first[side] rows. */
int evaluate_batch(Ranks *r, Batches *b, size_t i, Batch *x, size_t first[SIDES]);
/* All batches as they stand; stop may be NULL. */
int evaluate_batches(Model *m, Ranks *r, Batches *b, const volatile int *stop, Evaluation *e);
/* ERR_INPUT, naming the text, unless pairs go to a model with an encoder and a text alone to one without. */
int evaluate_sides(const Model *m, const char *name, int pairs);

#endif
