/* tell.h: what a training tells: as it goes, and when it is done. */
#ifndef TROTTER_TRAIN_TELL_H
#define TROTTER_TRAIN_TELL_H

#include <stdio.h>

#include "studies/model/network.h"
#include "studies/runs/lease.h"
#include "studies/tools/select.h"
#include "studies/train/judge.h"
#include "studies/train/shares.h"

/* A training as the command goes through it. */
typedef struct {
    const Options *options;
    Selection schemes;
    const Table *scheme; /* of --scheme */
    Table *pair[2];      /* of --encoder and --decoder, for a corpus of pairs; owned */
    Stacks stacks;       /* those that are trained, and their names */
    char name[2 * TABLE_NAME + 8];
    const char *dir;
    const Backend *backend;
    Ranks *ranks; /* NULL: alone */
    Lease claim;  /* of the directory */
    int goes_on;  /* from the state that a run left there */
    int there;    /* the run is finished already */
    size_t need;  /* bytes, counted before the model was there */
    Corpus corpus;
    Model *model;
    Metadata meta;
    TrainResult result;
    Share *shares; /* (ranks) what each did, on the first */
    FILE *log;     /* DIR/log.csv, being copied to stdout; NULL: not wanted */
    Judge *judge;  /* of --best bleu, else NULL */
    Asking ask[SPLITS];
} Training;

/* Which lines of one file are what text, in words; 0: the corpus is no single file. */
enum { PARTS_WORDS = 400 };
int parts_words(const Corpus *c, char words[PARTS_WORDS]);

/* For TrainConfig, arg being the Training: what it begins with; progress, and the line of an epoch. */
void tell_begin(void *arg);
void tell_report(void *arg, const TrainReport *t);

/* Of a run that is finished already: says so, and with --csv copies its log. */
int tell_there(Training *r);

/* With --csv copies the lines of log.csv that have come since to stdout. */
void tell_log(Training *r);

/* DIR/result.csv; the plots of loss and perplexity. */
int tell_result(const Training *r);
int tell_plots(const Training *r);

/* The last line. */
void tell_end(const Training *r, double seconds);

#endif
