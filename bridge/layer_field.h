/* layer_field.h: the vector fields that belong to a trained layer. Private to bridge/.
 *
 *   own     F_s, G_s: each set by itself, what a scheme with the layer's own sets steps on
 *   mean    F = sum_s w_s F_s / sum_s w_s, G alike, w_s the trained scheme's total weight on the set;
 *           whatever set is asked for
 *   whole   weight[OP_F] F + weight[OP_G] G, of a decoder's layer + weight[OP_C] C: what flows
 *   pair    two sets, of any operators, as F and G
 *   layer   L(y) = F(y) + G(y + F(y)), of a decoder F, C and G in turn, as the first operator, nothing as the others
 *   layer_flow  weight[OP_F] L: what flows where that is the field
 *
 * All read the weights of layer `pin`, or where that is -1 those of layer floor(t), at most `top`.
 */
#ifndef TROTTER_LAYER_FIELD_H
#define TROTTER_LAYER_FIELD_H

#include "bridge/bridge.h"

typedef struct {
    System *raw;            /* bridge_system */
    size_t N;               /* n d */
    int colours;            /* 2, of a decoder's layer 3 */
    int sets[COLOURS];      /* of an operator; 0: the model has none, and it is zero */
    double *share[COLOURS]; /* (sets) of the means, sum 1 */
    double weight[COLOURS];
    int pin, top;
    Eval paired[2]; /* operator and set of pair's F and G */
    System own, mean, whole, layer, layer_flow, pair;
    double *first, *point, *part; /* (N) scratch */
} LayerField;

/* Of a layer (from which bridge_layer moves), whose side's trained table this is; m and memory borrowed until
 * layer_field_free. */
int layer_field_new(Model *m, const Table *trained, const LayerOf *of, LayerField **out);
void layer_field_free(LayerField *f);

/* Chooses what `pair` is. */
void layer_field_pair(LayerField *f, int op_F, int set_F, int op_G, int set_G);

/* A set's weight in a scheme over the sum of its operator's; equal ones where that is zero. */
void layer_field_share(const Table *t, int op, int set, mpq_t out);

/* ERR_ACCURACY with words where a scheme reads an operator that the trained one lacks. */
int layer_field_has(const Table *trained, const Table *scheme);

/* Does the scheme have the same sets of every operator it reads, of equal shares? */
int layer_field_owns(const Table *trained, const Table *scheme);

/* states.c: the states that enter each layer of a side, and the last one's output: the trained schemes' plan followed
 * by hand, each sublayer by model_sublayer or model_cross, learned scalars and gates as trained. */
typedef struct {
    const Table *table[SIDES]; /* trained; without a source NULL */
    size_t n[SIDES];           /* tokens; without a source 0 */
    double *state[SIDES];      /* (layers + 1, n d): in the first, the embedding, out the others */
    double *memory;            /* (n of the source, d) out: what cross-attention reads; else NULL */
} States;
int bridge_states(Model *m, States *s);

#endif
