/* judge.h: the best epoch of a training on pairs by BLEU (--best bleu): validation text is translated greedily at each
 * epoch's end, by a model without memory for training whose numbers are then those of the trained one. */
#ifndef TROTTER_JUDGE_H
#define TROTTER_JUDGE_H

#include "studies/model/network.h"

typedef struct Judge Judge;

/* 1 where the options ask for it. */
int judge_wanted(const Options *o);
/* c: borrowed until judge_free. ERR_INPUT where there is nothing to translate. */
int judge_new(const Options *o, Stacks s, const Corpus *c, const Backend *b, Judge **out);
/* *score = BLEU of the validation text (tokenize none) as m translates it; m: of the same plan and words. */
int judge_score(Judge *j, Model *m, double *score);
void judge_free(Judge *j); /* NULL allowed */

#endif
