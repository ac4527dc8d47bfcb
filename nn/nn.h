/* nn.h: language models, by room. This room knows no ODE vocabulary: a model is a plan (plan.h) and a configuration.
 *
 * Whoever trains a model calls, in this order:
 *
 *   backend_find        kernels/backend.h   the hardware and the precision
 *   corpus_choose       nn/text/text.h      three texts as numbers of words, and the vocabulary
 *   bridge_plan         bridge/bridge.h     the plan of a scheme with a name (zoo_find in ode/scheme/scheme.h); this room
 *                                           does not know schemes. plan_new and plan_eval, plan_lin and so on
 *                                           (nn/model/plan.h) make a plan by hand
 *   model_new           nn/model/model.h    the parameters of that plan, drawn; the model owns the plan
 *   train_run           nn/run/train.h      steps, validations, files
 *   train_eval          nn/run/train.h      its loss on another text
 *   model_free, corpus_free
 *
 * nn/README.md has a program that does so. */
#ifndef TROTTER_NN_H
#define TROTTER_NN_H

#include "kernels/base/error.h"
#include "nn/model/model.h"
#include "nn/run/train.h"
#include "nn/text/text.h"

#endif
