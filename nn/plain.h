/* plain.h: a whole model in one file, plain.c, written to be read from top to bottom: forward, loss, backward and a step
 * of Adam of any plan (nn/model/plan.h), in double precision, in plain loops, without a backend. The engine (nn/run) does
 * the same fast; the tests hold it to this file, for every scheme.
 *
 * It leaves out: dropout (it computes as with rates of 0), the adaptive softmax, and the scaling of rotary positions. */
#ifndef TROTTER_PLAIN_H
#define TROTTER_PLAIN_H

#include "nn/nn.h"

/* A model. The settings, the plan and the list of tensors are borrowed from whoever built them (model_new). */
typedef struct {
    const ModelConfig *config;
    const Plan *plan;
    const Param *param; /* (params) names, shapes, and places in the four arrays below */
    size_t params, size;
    double *theta;     /* (size) parameters */
    double *grad;      /* (size) d loss / d theta */
    double *moment[2]; /* (size) Adam's means of the gradient and of its square */
} Plain;

/* Begins with the settings, plan and parameters of a model. ERR_INPUT for what is left out; ERR_MEMORY. */
int plain_new(Model *m, Plain *out);
void plain_free(Plain *p);

/* Runs forward on a batch. loss out: its loss, as model_gradient has it, with smoothed labels and with penalties where `train` is 1. logits
 * out, or NULL: of a language model or a decoder (N, V), of an encoder alone (count, V) of the masked words, and behind
 * them (S, C) of the classes. */
int plain_loss(Plain *p, const Batch *b, int train, double *logits, double *loss);
/* Runs forward and backward: grad = d loss / d theta. loss as above, in training. */
int plain_gradient(Plain *p, const Batch *b, double *loss);
/* Makes step number `step`, from 1, of Adam with this gradient, at the rate of `a`. */
void plain_adam(Plain *p, const AdamConfig *a, uint64_t step);

#endif
