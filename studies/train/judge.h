/* judge.h: chooses the best epoch of a training on pairs by BLEU (--best bleu). At each epoch's end a second model
 * without memory for training takes the trained weights and translates the validation text greedily. */
#ifndef TROTTER_JUDGE_H
#define TROTTER_JUDGE_H

#include "studies/model/network.h"

typedef struct Judge Judge;

/* Returns 1 where the options ask for it. */
int judge_wanted(const Options *o);
/* Opens a judge; c is borrowed until judge_free. ERR_INPUT where there is nothing to translate. */
int judge_new(const Options *o, Stacks s, const Corpus *c, const Backend *b, Judge **out);
/* Sets *score to the BLEU of the validation text (tokenize none) as m translates it. m has the same plan and words. */
int judge_score(Judge *j, Model *m, double *score);
void judge_free(Judge *j); /* NULL allowed */

#endif
