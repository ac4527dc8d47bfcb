/* training.h: what the commands of training share. */
#ifndef TROTTER_STUDIES_TRAINING_H
#define TROTTER_STUDIES_TRAINING_H

#include <stdio.h>

#include "studies/model/network.h"
#include "studies/base/process/lease.h"
#include "studies/base/select.h"

/* ---- command_train.c ----------------------------------------------------------------------------- */

/* The options of a training, ended by NULL: a study gives them to each of its runs. */
extern const OptionGroup *const train_groups[];

/* ---- judge.c --------------------------------------------------------------------------------- */

/* Chooses the best epoch of a training on pairs by BLEU (--best bleu). At each epoch's end a second model
 * without memory for training takes the trained weights and translates the validation text greedily. */

typedef struct Judge Judge;

/* Opens a judge; c is borrowed until judge_free. ERR_INPUT where there is nothing to translate. */
int judge_new(const Options *o, Stacks s, const Corpus *c, const Backend *b, Judge **out);
/* Sets *score to the BLEU of the validation text (tokenize none) as m translates it. m has the same plan and words. */
int judge_score(Judge *j, Model *m, double *score);
void judge_free(Judge *j); /* NULL allowed */
DROP(Judge, judge)

/* ---- warm_start.c --------------------------------------------------------------------------------- */

/* Sets what the model of --from has in common with m, whose words are v: tensors by name, rows of words by word. Tells how
 * many. ERR_INPUT where tensors have other shapes, heads differ, or nothing is common. */
int train_begin(const Options *o, const Vocab *v, Model *m);
/* Sets what neither command line nor file did to what the model of --from, if there is one, has: the tokenizer, and of a
 * model of another program the scheme, depth, shape and longest sequence. A run with a saved state goes on without it. */
int train_from(Options *o);

/* ---- tell.c: tells how a training goes and what came of it ----------------------------------- */

/* One rank's part since this process began. */
typedef struct {
    double steps, seconds; /* training steps; seconds in them alone */
    double waited;         /* seconds of these spent in sums with the other ranks */
    double bytes;          /* bytes of gradients given to sums */
} Share;

/* Collective. Fills *out (ranks) on every rank. Caller: memory_free. */
int shares_gather(Ranks *r, const TrainResult *result, Share **out);

/* Writes DIR/ranks.csv with a row a rank, and prints a line. */
extern const Column share_columns[];
int shares_write(const Ranks *r, const Share *share, const char *dir);

/* A training as the command goes through it. */
typedef struct {
    const Options *options;
    Selection schemes;
    const Table *scheme; /* the scheme of --scheme */
    Table *pair[2];      /* those of --encoder and --decoder for a corpus of pairs; owned */
    Stacks stacks;       /* the schemes that are trained, and their names */
    char name[2 * TABLE_NAME + 8];
    const char *dir;
    const Backend *backend;
    Ranks *ranks; /* NULL: alone */
    Lease claim;  /* claim of the directory */
    int goes_on;  /* 1: continues from the state that an earlier run left in the directory */
    int there;    /* 1: the run is finished already */
    Corpus corpus;
    Model *model;
    Metadata meta;
    TrainResult result;
    Share *shares;         /* (ranks) what each rank did; on the first rank */
    FILE *log;             /* DIR/log.csv while it is copied to stdout; NULL: not wanted */
    Judge *judge;          /* judge of --best bleu, else NULL */
    double drawn, drawing; /* when its plots were drawn last, or the run began; seconds that took */
    int validated;         /* 1: this process has validated */
    Asking ask[SPLITS];
} Training;

/* Writes which lines of the corpus' single file serve which split. Returns 0 where the corpus is no single file. */
enum { PARTS_WORDS = 400 };
int parts_words(const Corpus *c, char words[PARTS_WORDS]);

/* These two are callbacks of TrainConfig; arg is the Training. tell_begin prints what the run starts
 * with; tell_report shows progress and the line of an epoch. */
void tell_begin(void *arg);
void tell_report(void *arg, const TrainReport *t);

/* Says that the run is finished already, and with --csv copies its log. */
int tell_there(Training *r);

/* With --csv copies the new lines of log.csv to stdout. */
void tell_log(Training *r);

/* tell_result writes DIR/result.csv; tell_plots draws the losses, whose exp is the perplexity. tell_report draws them too,
 * in at most a twentieth of the time. */
int tell_result(const Training *r);
int tell_plots(Training *r);

/* Writes the last line. */
void tell_end(const Training *r, double seconds);
/* Prints the plan of a model that is only counted, and what it costs. */
void tell_plan(const Model *m);

/* Warns where the model is no better than word frequencies, as one of few steps is; ERR_CHECK where the training diverged.
 * Masked words pass: their perplexity is not comparable. */
int tell_use(const Training *r);

#endif
