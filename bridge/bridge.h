/* bridge.h: from schemes to networks. The only room that knows both vocabularies. */
#ifndef TROTTER_BRIDGE_H
#define TROTTER_BRIDGE_H

#include "nn/nn.h"
#include "ode/ode.h"

enum { MATCH_PARAMETERS, MATCH_NONE };
enum {
    MASKS_STAGE,
    MASKS_STEP
}; /* a fresh dropout mask per evaluation, or one per slot and layer */

enum { NORM_PRE, NORM_POST };

typedef struct {
    size_t layers, width, inner; /* inner: M of the one-set block */
    size_t encoder_layers;       /* of a plan of two sides; 0: as many as layers */
    int match;                   /* MATCH_PARAMETERS: (M - 2 d (f - 1)) / g each, see below */
    int masks;
    int norm;          /* NORM_PRE: F(y) = Attention(LN(y)); NORM_POST: see below */
    int bidirectional; /* of bridge_plan: an encoder alone, whose attention sees all tokens of a sequence */
    /* Of size 1 / substeps, with the layer's weights, in place of each step; 0 is 1. */
    size_t substeps;
} BridgeOptions;

/* Compiles `layers` steps of a table (h = 1, symbols kept) to a network plan. One slot per layer,
 * operator and parameter set. A block of f attention and g feed-forward sets with MATCH_PARAMETERS
 * gets inner width (M - 2 d (f - 1)) / g, so that its matrices hold as many numbers as those of one
 * of each: 4 d^2 f + 2 d m g = 4 d^2 + 2 d M; words keep full sublayers. ERR_INPUT where that is not
 * a whole positive number. Layers without enough history run table_start. Equal argument rows share
 * a register; a dense scheme's update reads all older slopes with weights of their own. */
int bridge_plan(const Table *t, const BridgeOptions *o, Plan **out);
/* The same; state (layers + 1) out: the register of the state that enters each layer, and the output. */
int bridge_plan_states(const Table *t, const BridgeOptions *o, Plan **out, int *state);

/* The plan of a network of two sides: encoder_layers steps of a scheme of F and G on the source, a final norm
 * (NORM_PRE), then `layers` steps of a decoder's scheme on the target, whose C is cross-attention to what the
 * encoder gave. Sets of C count like those of F: inner width (M - 2 d (f + c - 2)) / g. A scheme of the
 * wrong number of colours: ERR_INPUT. */
int bridge_plan_pair(const Table *encoder, const Table *decoder, const BridgeOptions *o,
                     Plan **out);
/* The same; states: registers as bridge_plan_states gives them, of either side. */
typedef struct {
    int *at[SIDES]; /* (layers + 1), made by the caller */
    int memory;     /* what cross-attention reads */
} PairStates;
int bridge_plan_pair_states(const Table *encoder, const Table *decoder, const BridgeOptions *o,
                            Plan **out, PairStates *states);

/* ERR_INPUT, with words on what to write instead, where the scheme is made of exact flows or has implicit stages. */
int bridge_takes(const Table *t);

/* NORM_POST: F(y) = Attention(y), G(y) = FFN(y) have no norm inside, and the state is normalised after
 * each sub-step: y <- LN(y + c F(y)), LN being the one of the sublayer's set. (In the words of integrators:
 * an Euler sub-step, then a projection; Hairer, Lubich, Wanner 2006, section IV.4. So the macaron layer of
 * Lu et al. 2019, whose public code has the norm behind each of the three sums.) That needs a scheme that
 * is such sub-steps one after another: the layers of transformer, macaron, words, looped. Any other
 * combines stages that are no states: ERR_INPUT. */

/* Inner width of each feed-forward set as above. */
int bridge_inner(const Table *t, const BridgeOptions *o, size_t *inner);

/* The network's sublayers (dropout off, one sequence of n tokens) of one layer of a side as a particle system
 * in double precision: set s of F is layers.<layer>.attn.<s>. A decoder's layer has C too, with its memory at rest: memory
 * (M, d), what the encoder gave, its norm behind it. Borrows m and memory until system_free. A post-norm
 * model: ERR_INPUT. */
typedef struct {
    int side, layer;
    size_t n, M;          /* M: 0 but of a decoder */
    const double *memory; /* (M, d) */
} LayerOf;
int bridge_system(Model *m, const LayerOf *of, System **out);
/* Moves such a system to another layer: depth-time is piecewise constant in the weights. */
void bridge_layer(System *s, int layer);
/* 0, or the code of a sublayer evaluation that failed since bridge_system (its values were NaN). */
int bridge_system_failed(const System *s);

#endif
