/* bridge.h: from schemes to networks. This is the only room that knows both vocabularies. */
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
enum { PENALISE_NONE, PENALISE_ERROR, PENALISE_DISPLACEMENT };

typedef struct {
    size_t layers, width, inner; /* inner: M of the one-set block */
    size_t encoder_layers;       /* for a plan of two sides; 0: as many as layers */
    /* MATCH_PARAMETERS: each set has inner width (M - 2 d (f - 1)) / g, see below. */
    int match;
    int masks;
    size_t rows; /* H E + K E, numbers of a token's queries and keys in self-attention; 0: 2 d */
    int gated;   /* 1: feed-forward networks are gated, of 3 d M numbers instead of 2 d M */
    int norm;    /* NORM_PRE: F(y) = Attention(LN(y)); NORM_POST: see below */
    /* 1: a norm stands behind each sublayer of a language model, before it is added: F(y) = LN(Attention(LN(y))) (sandwich norm: Ding
     * et al. 2021, arXiv:2105.13290, section 2.4; NORM_PRE, schemes without norms). Norm 2 s - 1 of a layer is that of attention s, 2 s
     * that of feed-forward network s. */
    int output_norm;
    /* 1: a norm stands behind the input of each side (BERT, Devlin et al. 2019); NORM_POST alone. Dropout of the input
     * comes before it. */
    int input_norm;
    /* For bridge_plan: an encoder alone, whose attention sees all tokens of a sequence. */
    int bidirectional;
    /* Replaces each step by this many of size 1 / substeps, with the layer's weights; 0 is 1. */
    size_t substeps;
    int penalty;   /* PENALISE_*: of a training, see below */
    double lambda; /* its factor; 0: as PENALISE_NONE */
} BridgeOptions;

/* Compiles `layers` steps of a table (h = 1, symbols kept) to a network plan. There is one slot per layer, operator and
 * parameter set. A block of f attention and g feed-forward sets with MATCH_PARAMETERS gets inner width (M - 2 d (f -
 * 1)) / g, so that its matrices hold as many numbers as those of one of each: 4 d^2 f + 2 d m g = 4 d^2 + 2 d M, or with
 * `gated` 4 d^2 f + 3 d m g = 4 d^2 + 3 d M; with `rows` a an attention has 2 d a instead of 4 d^2; words keep full sublayers. ERR_INPUT where that is not a whole positive number. Layers without enough history run
 * table_start. What the scheme carries beside y begins by the row of its text, with the first layer's weights, or as 0,
 * whose terms are left out; the last layer's goes nowhere, and is not computed. Equal argument rows share a register; a dense scheme's update reads each older slope with a separate
 * weight. */
int bridge_plan(const Table *t, const BridgeOptions *o, Plan **out);

/* A penalty on the step of each layer. Phi_h is the step of size h of the layer's scheme, with the layer's weights; y enters it:
 *
 *   PENALISE_ERROR         lambda mean |e|^2 / |d|^2     d = Phi_1(y) - y,  e = Phi_1(y) - Phi_1/2(Phi_1/2(y))
 *   PENALISE_DISPLACEMENT  lambda mean |d|^2 / |y|^2
 *
 * are added to the loss of a training, summed over layers; the mean is over tokens, and | |^2 the sum of squares over the
 * token's sequence (nn/run/penalty.c). A step of order p has the error C h^(p+1) + O(h^(p+2)), so two half steps have
 * 2 C (1/2)^(p+1) = 2^-p C, and e is 1 - 2^-p of the error of the step, up to terms of higher order: Hairer, Norsett, Wanner
 * 1993, section II.4 (Richardson's extrapolation). The gradient is that of the whole expression: through y, the step, its
 * half steps and both sums of squares. A field c L in place of L has c^p of the relative error e / d in its leading term, so a
 * penalty on the error also makes steps smaller: hence the one on the displacement, as a control.
 *
 * Phi_1/2 has to be a step of the same field. That is so where every slope stands in the table with the factor h: a scheme's
 * sets of weights are parts of one field, whose step uses them in turn (macaron, words), and the half step of repeat:N is N
 * half steps. In a scheme of whole layers, L(y) = F(y) + G(y + F(y)), the F inside L has the factor h too: its field is F + G, as
 * that of the others (FIELD_SPLIT in truncation.h). ERR_INPUT for the error of schemes with learned numbers or gates, which
 * may multiply a state; that read earlier steps, whose half step would need the states between; that carry a quantity; whose
 * step of size 0 is not y, as with NORM_POST. With dropout the masks are part of the field: the error then needs MASKS_STEP, which
 * the caller sees to. A displacement is of any scheme. Both are of language models: ERR_INPUT for two sides or `bidirectional`. */

/* Compiles a network of two sides: encoder_layers steps of a scheme of F and G on the source, a final norm (NORM_PRE),
 * then `layers` steps of a decoder's scheme on the target, whose C is cross-attention to the encoder's output. Sets of
 * C count like those of F: inner width (M - 2 d (f + c - 2)) / g. A scheme with the wrong number of colours:
 * ERR_INPUT. encoder NULL: as bridge_plan. */
int bridge_plan_pair(const Table *encoder, const Table *decoder, const BridgeOptions *o,
                     Plan **out);
/* Registers of the states: of that which enters each layer of a side, and of the side's output. */
typedef struct {
    int *at[SIDES]; /* (layers + 1), allocated by the caller; NULL: not told */
    /* (layers, carries) of what is carried into each layer, allocated alike; -1: it is 0 */
    int *carried[SIDES];
    int last;   /* in, 1: what the last layer carries is computed too, and told behind the others */
    int memory; /* register that cross-attention reads; -1: one side */
} PlanStates;
int bridge_plan_states(const Table *encoder, const Table *decoder, const BridgeOptions *o,
                       Plan **out, PlanStates *states);

/* Checks whether a scheme can be compiled. ERR_INPUT, with words on what to write instead, where it is made of exact
 * flows or has implicit stages. */
int bridge_takes(const Table *t);

/* NORM_POST: F(y) = Attention(y), G(y) = FFN(y) have no norm inside, and the state is normalised after each sub-step: y
 * <- LN(y + c F(y)), with the LN of the sublayer's set. (Integrators call this an Euler sub-step followed by a
 * projection; Hairer, Lubich, Wanner 2006, section IV.4. The macaron layer of Lu et al. 2019 is of this kind: their
 * public code has the norm behind each of the three sums.) The scheme must consist of such sub-steps one after another:
 * the layers of transformer, macaron, words, looped. Any other scheme combines stages that are not states:
 * ERR_INPUT. */

/* Computes the inner width of each feed-forward set as above. */
int bridge_inner(const Table *t, const BridgeOptions *o, size_t *inner);

/* Makes a particle system, in double precision, of the network's sublayers (dropout off, one sequence of n tokens) in
 * one layer of a side: set s of F is layers.<layer>.attn.<s>. A decoder's layer also has C, with its memory at rest:
 * memory (M, d) is the encoder's output behind its norm. Borrows m and memory until system_free. A post-norm model:
 * ERR_INPUT. */
typedef struct {
    int side, layer;
    size_t n, M;          /* M: 0, except for a decoder */
    const double *memory; /* (M, d) */
} LayerOf;
int bridge_system(Model *m, const LayerOf *of, System **out);
/* Moves such a system to another layer. */
void bridge_layer(System *s, int layer);
/* Returns 0, or the code of a sublayer evaluation that failed since bridge_system (its values were NaN). */
int bridge_system_failed(const System *s);

#endif
