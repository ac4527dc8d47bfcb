/* judge.h: what a study found, in a line, read from its first table. */
#ifndef TROTTER_JUDGE_H
#define TROTTER_JUDGE_H

#include "studies/report/kind.h"

/* How often each verdict, and each match of a constant or remainder, occurs; bad: "disagree". */
void judge_orders(const Csv *c, Verdict *out);
/* Claims by verdict, and those whose verdict is not the registered one. */
void judge_claims(const Csv *c, Verdict *out);
/* Schemes no better than word frequencies, without a finished run, off their exact order. */
void judge_comparison(const Csv *c, Verdict *out);
/* Perplexities of a training. */
void judge_training(const Csv *c, Verdict *out);

#endif
