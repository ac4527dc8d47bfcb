/* nn.h: language models, by room. This room knows no ODE vocabulary: a model is a plan (plan.h) and a configuration. */
#ifndef TROTTER_NN_H
#define TROTTER_NN_H

#include "nn/model/model.h"
#include "nn/run/train.h"
#include "nn/text/text.h"

#endif
