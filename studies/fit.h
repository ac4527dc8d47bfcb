/* fit.h: whether a training fits into the memory it may take. */
#ifndef TROTTER_FIT_H
#define TROTTER_FIT_H

#include "studies/network.h"

/* The most memory the training of o would take as one of `ranks`, counted before it is had: what the process
 * holds now (with the corpus), the model's own count, and what training adds besides. On a device: the
 * model's count alone. */
int fit_count(const Options *o, const Table *t, const Corpus *c, const Backend *b, int ranks,
              size_t *bytes);

/* ERR_INPUT, naming the need and what makes it less, where that is above --memory-limit. */
int fit_check(const Options *o, const Table *t, const Corpus *c, const Backend *b, int ranks);

#endif
