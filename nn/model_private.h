/* model_private.h: what model.c (building) and pass.c (running) share.
 *
 * Everything a pass touches is laid out here once, by model_new:
 *
 *   data, grad, moment   one number per parameter, every tensor a window (Param)
 *   state, adjoint       registers of the plan and their adjoints, (max N, D) each
 *   work                 per EVAL what its backward needs (Work)
 *
 * Two registers whose lives do not meet share memory. A life goes from the instruction that writes a
 * register to the last one that reads it, ends included (an output overlaps no input); the adjoint's
 * life is the same stretch read backwards, so one colouring serves both: in training every register
 * is kept and adjoints are coloured, without training registers are coloured and all EVALs share one
 * Work. Colours by the greedy rule, optimal for intervals (Cormen et al. 2009, exercise 16.1-4).
 */
#ifndef TROTTER_MODEL_PRIVATE_H
#define TROTTER_MODEL_PRIVATE_H

#include "nn/nn.h"

enum { LOGIT_ROWS = 512, MODEL_BUFFERS = 24 };

/* A sublayer is norm -> y = x W_in^T (I, D) -> core -> y = c W_out^T (D, O) -> + b, dropout, where
 * the core is attention (I = 3D, O = D) or bias and activation (I = O = M). Offsets into data. */
typedef struct {
    size_t I, O;
    size_t norm_w, norm_b; /* (D) */
    size_t in_w, in_b;     /* (I, D), (I) */
    size_t out_w, out_b;   /* (D, O), (D) */
    size_t relative;       /* (2*clip+1, D/H), if any */
} SlotParams;

typedef struct {
    size_t w, b; /* (inputs, D), (1) */
} GateParams;

/* What an EVAL leaves for its backward. */
typedef struct {
    void *normed; /* (N, D) */
    void *stats;  /* (N, 2) of the norm */
    void *in;     /* (N, I): qkv, or the input of the activation */
    void *core;   /* (N, O): attention's output, or the activation's */
    void *lse;    /* (N, H), attention */
} Work;

/* How a tensor starts; parallel to the list of Param. */
typedef struct {
    int kind; /* START_* in model.c */
    double value;
} Start;

struct Model {
    ModelConfig config;
    Plan *plan;
    const Backend *backend;
    int training;
    size_t E; /* D / H */

    Param *param;
    Start *start;
    size_t params, size;
    SlotParams *slot; /* (plan->slots) */
    size_t *scalar;   /* (plan->scalars) offsets */
    GateParams *gate; /* (plan->gates) */
    size_t embed, final_w, final_b, output;

    void *buffer[MODEL_BUFFERS]; /* all device memory, for model_free */
    size_t buffers, bytes;
    void *data, *grad, *moment[2];

    int *last;        /* (registers) last instruction that reads it, its writer, or `instrs` */
    void **state;     /* (registers) (N, D) */
    void **adjoint;   /* (registers) (N, D), training */
    void *gates;      /* (gates, max N) */
    void *dgates;     /* the same, training */
    Work *work;       /* (instrs) */
    void *scratch[2]; /* adjoints inside a sublayer: (N, max(D, O)) and (N, 3D), training */

    void *positions; /* (max_length, D) sinusoids, or NULL */
    void *hidden;    /* (N, D) after the final norm */
    void *stats;     /* (N, 2) of the final norm */
    void *dhidden;   /* (N, D), training */
    void *logits;    /* (LOGIT_ROWS, V) */
    double *nll;     /* (max N) host */

    LinTerm *term; /* host lists as long as the longest instruction */
    const void **gate_x;
    void **gate_dx;
};

#endif
