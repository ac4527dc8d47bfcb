/* examples.h: labelled sentences as an encoder reads them, and its answers.
 *
 *     TRY(examples_new(&net, "train.tsv", &labelled, NULL, &e));        sentences -> tokens
 *     ... batches_new(&e.first, &e.second, &net.vocab, &e.ask, ...)     to train on
 *     TRY(examples_say(model, &e, &net.vocab, 4096, 64, NULL, z, label));  numbers, or classes
 *
 * Numbers are learned as (y - mean) / sd of the training text, so that rates mean the same whatever their unit is. */
#ifndef TROTTER_FINETUNE_EXAMPLES_H
#define TROTTER_FINETUNE_EXAMPLES_H

#include "studies/lab/finetune/labelled.h"
#include "studies/model/network.h"

/* The scale of learned numbers; for classes 0, 1. */
typedef struct {
    double mean, sd; /* sd > 0 */
} Scale;

typedef struct {
    size_t count, unknown; /* examples; tokens that the vocabulary reads as <unk> */
    Text first, second;    /* line i is of example i; second without tokens: single sentences */
    double *value;         /* (count) scaled; NULL for classes */
    Asking ask;            /* question to the model; borrows the classes of `labelled` */
} Examples;

/* Returns the mean and standard deviation of a training text's values. */
Scale examples_scale(const Labelled *train);

/* Encodes sentences in the words or pieces of a model. file: for messages. ERR_INPUT: a sentence of blanks alone, a
 * word that the vocabulary cannot tell or that means the end of a sentence, text that bpe.h refuses. */
int examples_new(const Network *n, const char *file, const Labelled *l, Scale s, Examples *out);
/* Encodes sentences without labels; second NULL: single ones. line (count): where they stand in the file. */
int examples_of(const Network *n, const char *file, const size_t *line, char *const *first,
                char *const *second, size_t count, Examples *out);
void examples_free(Examples *e);
/* Counts the examples that have more rows than a sequence, with <cls> and every <eos>. These lose their ends. */
size_t examples_longer(const Examples *e, int32_t eos, size_t sequence);

/* label (count) out: the class of the largest logit; of equal ones, the first. z (count) out: its probability or, with C = 1,
 * the number, unscaled by s. stop NULL or set: ERR_INTERRUPTED. */
int examples_say(Model *m, const Examples *e, const Vocab *v, Scale s, size_t batch_tokens,
                 size_t sequence, const volatile int *stop, double *z, int32_t *label);

#endif
