/* plain.h: a second reading of what a language model is, in double precision and plain loops, written
 * from the definition and not from nn/. */
#ifndef TROTTER_TESTS_PLAIN_H
#define TROTTER_TESTS_PLAIN_H

#include "nn/nn.h"

/* z (N, V), out: the logits of a batch under a model of tiny_residual with the tiny sizes, sinusoids
 * relative positions and, if any, spans; dropout off. */
void plain_logits(Model *m, const Batch *b, double *z);

/* a (heads, n, n), zeroed by the caller, out: what its attention puts where on n tokens from position 0. */
void plain_weights(Model *m, size_t n, const int32_t *token, double *a);

#endif
