/* layer_field.h: the vector fields that belong to a trained layer. Private to bridge/.
 *
 *   own     F_s, G_s: each set by itself, for a scheme with the layer's own sets
 *   mean    F = sum_s w_s F_s / sum_s w_s, G alike, w_s the trained scheme's total weight on the set;
 *           the same for every set
 *   whole   weight[OP_F] F + weight[OP_G] G, for a decoder's layer + weight[OP_C] C: the flow's field
 *   pair    two sets, of any operators, as F and G
 *   layer   L(y) = F(y) + G(y + F(y)), for a decoder F, C and G in turn, as the first operator; the others are zero
 *   layer_flow  weight[OP_F] L: the flow's field where L is the field
 *
 * All read the weights of layer `pin` at all times.
 */
#ifndef TROTTER_LAYER_FIELD_H
#define TROTTER_LAYER_FIELD_H

#include "bridge/bridge.h"
#include "kernels/base/scoped.h"

typedef struct {
    System *raw;            /* bridge_system */
    size_t N;               /* n d */
    int colours;            /* 2; 3 for a decoder's layer */
    int sets[COLOURS];      /* sets of each operator; 0: the model lacks it, and it is zero */
    double *share[COLOURS]; /* (sets) weights of the means, sum 1 */
    double weight[COLOURS];
    int pin;
    Eval paired[2]; /* operator and set that pair uses as F and as G */
    System own, mean, whole, layer, layer_flow, pair;
    double *first, *point, *part; /* (N) scratch */
} LayerField;

/* Makes the fields of a layer (bridge_layer moves them). `trained` is the table of the layer's side; m and memory are
 * borrowed until layer_field_free. */
int layer_field_new(Model *m, const Table *trained, const LayerOf *of, LayerField **out);
void layer_field_free(LayerField *f);
DROP(LayerField, layer_field)

/* Chooses the two sets of `pair`. */
void layer_field_pair(LayerField *f, int op_F, int set_F, int op_G, int set_G);

/* Computes a set's weight over its operator's sum; equal shares where that is zero. */
void layer_field_share(const Table *t, int op, int set, mpq_t out);

/* Checks that the trained scheme has every operator that a scheme reads; else ERR_ACCURACY with words. */
int layer_field_has(const Table *trained, const Table *scheme);

/* Tells whether the scheme has the same sets, with equal shares, of every operator it reads. */
int layer_field_owns(const Table *trained, const Table *scheme);

/* states.c computes the states that enter each layer of a side, and the last layer's output. It follows the trained
 * schemes' plan by hand, each sublayer by model_sublayer, with learned scalars and gates as
 * trained. */
typedef struct {
    const Table *table[SIDES];   /* trained tables; NULL without a source */
    size_t n[SIDES];             /* tokens; 0 without a source */
    const int32_t *token[SIDES]; /* what their scheme begins by an embedding needs; else NULL */
    /* (layers + 1, n d): the first holds the embedding on entry, the others are out. */
    double *state[SIDES];
    /* (n of the source, d) out: the memory that cross-attention reads; else NULL. */
    double *memory;
    /* (layers, carries, n d) out: what enters each layer beside y; NULL: not asked for. */
    double *carried[SIDES];
} States;
int bridge_states(Model *m, States *s);

/* The step of a layer of a scheme that carries, as it was trained, with its gates, norms and learned coefficients: (y, v) to
 * (y', v') for any y (n d) and v (carries, n d). of->layer says which, encoder is the table of a decoder's other side. ERR_ACCURACY:
 * the layer has not learned a coefficient or a gate that the text has, as a first layer that v enters as 0. */
typedef struct LayerStep LayerStep;
int layer_step_new(Model *m, const Table *trained, const Table *encoder, const LayerOf *of,
                   LayerStep **out);
void layer_step_free(LayerStep *s);
DROP(LayerStep, layer_step)
/* Takes the step from y; end out: y', NULL: not told. v: in and out. */
int layer_step(const LayerStep *s, const double *y, double *end, double *v);

#endif
