/* plan.h: the network plan. Language models, encoders and decoders are all built from this structure.
 *
 * A plan is a list of instructions in single assignment over registers. A register r0, r1, ... holds
 * a state (N, D): N tokens of a batch, D the width. r0 is the embedding; `output` feeds the final
 * layer norm. A register belongs to one side. In a plan of two sides r0 is the target's embedding and r1 the source's;
 * the two sides have different tokens. The list holds everything: depth, step size, sharing, history. Whoever writes a
 * plan never touches the engine, and the engine never learns why the list is as it is.
 *
 *   instruction  meaning                                  backward, the list reversed
 *   -----------  ---------------------------------------  -----------------------------------------
 *   LIN  r       r = sum_i c_i f_i1 f_i2 ... x_i           dx_i += c_i f_i1 f_i2 ... dr
 *                x_i registers, c_i numbers, f learned:    df_ij += c_i (other f) <x_i, dr>
 *                a scalar's element or a gate              (whole batch, or by rows for a gate)
 *   EVAL r       r = sublayer_slot(x)                      the sublayer's own adjoint
 *   GATE g       g = act(sum_i w_i . x_i + b), one number  dx_i, dw, db
 *                a row; x_i registers
 *
 *   NORM r       r = LayerNorm_slot(x), of post plans and  the norm's own adjoint
 *                of a slot that is a norm
 *   KEYS r       r = K_slot(x) (M, 2 D): keys, values      dx, dK; dr is the sum over the EVALs that
 *                of cross-attention at M source tokens     read r
 *   WORDS r      r = E_slot[word] + P_slot[place] of each   dE, dP
 *                token, as r0 is made, with its own tensors
 *
 *   PENALTY      the loss += c sum_s (n_s / N)            dx = 2 c (n_s / N) x / |z_s|^2,
 *                |x_s|^2 / |z_s|^2, over the sequences   dz = -2 c (n_s / N) z |x_s|^2 / |z_s|^4, by sequence
 *                s of n_s of the batch's N tokens; x and
 *                z are registers, c = term[0].c
 *
 *   sublayer_slot(x) = Attention(LayerNorm(x)) or FeedForward(LayerNorm(x)), no skip, no step factor.
 *   A slot owns one set of weights; two EVALs of one slot share them. Multistep schemes read older registers.
 *
 *   The target's self-attention sees the tokens up to its own. The source's, and that of a bidirectional plan, sees
 *   all.
 *   Cross-attention(x, r) belongs to the target. Its queries come from LayerNorm(x), its keys and values are r. KEYS
 *   makes r from the source once a pass, for all EVALs of the slot. In a pre plan a SLOT_NORM normalizes the source's
 *   last register.
 *
 *   In a post plan a sublayer is Attention(x) or FeedForward(x), and a NORM applies its norm: r = NORM(x + EVAL(x)) is
 *   a sublayer of Vaswani et al. 2017, section 3.1. A NORM writes the output, so there is no final layer norm.
 *
 *   PENALTYs, and what is evaluated for them alone, stand behind the network. Training runs the whole list; everything else
 *   (validation, tests, inference, the walks below) runs the network, the instructions before `network`.
 */
#ifndef TROTTER_PLAN_H
#define TROTTER_PLAN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/base/scoped.h"

enum { PLAN_LIN, PLAN_EVAL, PLAN_GATE, PLAN_NORM, PLAN_KEYS, PLAN_WORDS, PLAN_PENALTY, PLAN_OPS };
enum { SLOT_ATTENTION, SLOT_FEEDFORWARD, SLOT_CROSS, SLOT_NORM, SLOT_WORDS, SLOT_KINDS };
enum { SIDE_TARGET, SIDE_SOURCE, SIDES };
enum { FACTOR_SCALAR, FACTOR_GATE };
enum { PLAN_FACTORS = 4, PLAN_NAME = 32 };

/* A sublayer and its weights. It is saved as layers.<layer>.attn|ffn.<set>; in a plan of two sides as
 * encoder.layers.<layer>.attn|ffn.<set> and decoder.layers.<layer>.attn|ffn|cross.<set>. SLOT_NORM is a norm
 * alone. Sets 1 and 2 are for the whole side, with layer 0: set 1 is saved as encoder.norm, set 2, which stands behind the
 * input of a post plan, as input.norm (encoder.input.norm, decoder.input.norm). Set NORM_OWN + i is norm i of a layer,
 * layers.<layer>.norm.<i>. SLOT_WORDS is an embedding beside that of the input, start.<set>; its layer is 0. */
enum { NORM_SIDE = 1, NORM_INPUT, NORM_OWN = NORM_INPUT };
typedef struct {
    int kind;     /* SLOT_* */
    int layer;    /* from 0 */
    int set;      /* from 1 */
    size_t inner; /* M of a feed-forward slot, else 0 */
    int side;     /* SIDE_* of its output */
} PlanSlot;

/* A learned vector of scalars, saved as layers.<layer>.scheme.<name> (size); in a plan of two sides encoder. or
 * decoder. stands before it. */
typedef struct {
    int side, layer;
    char name[PLAN_NAME];
    size_t size;
    double init;
} PlanScalar;

/* A learned gate. It is saved as a scalar is: <name>.weight (1, inputs * D) and <name>.bias (1). Both start at zero. */
typedef struct {
    int side, layer;
    char name[PLAN_NAME];
    int act;       /* ACT_SIGMOID or ACT_TANH (kernels/backend.h) */
    size_t inputs; /* registers it reads */
} PlanGate;

typedef struct {
    int kind;       /* FACTOR_* */
    int index;      /* index of the scalar or of the gate */
    size_t element; /* element of the scalar vector */
} PlanFactor;

typedef struct {
    double c;
    int x; /* register */
    int factors;
    PlanFactor factor[PLAN_FACTORS];
} PlanTerm;

typedef struct {
    int op; /* PLAN_* */
    int out; /* register written (plan_writes); for GATE the index of the gate whose value it computes */
    int slot; /* EVAL, NORM, KEYS */
    int draw; /* EVAL, WORDS: instructions of equal draw share their dropout masks in a step */
    /* The instruction reads the registers term[i].x: one for EVAL, NORM and KEYS, but two for an EVAL of
     * cross-attention (x and what KEYS made), two for a PENALTY, and none for WORDS. Only a LIN has factors; it and a
     * PENALTY read c. */
    size_t terms;
    PlanTerm *term;
} PlanInstr;

typedef struct {
    int side;
    int keys; /* it holds 2 D numbers a token, made by KEYS and read by EVALs of its slot */
} PlanRegister;

typedef struct {
    int sides;            /* 1, or 2 with a source */
    size_t layers[SIDES]; /* 0 for a missing source */
    int post;             /* norms are NORM instructions, not inside EVALs */
    int output_norm;      /* a NORM stands behind each EVAL */
    /* The plan has one side, an encoder alone; its self-attention sees all tokens of a sequence. */
    int bidirectional;
    size_t registers;  /* 0 .. registers-1 */
    PlanRegister *reg; /* (registers) */
    int output;
    /* Instructions of the network, where others stand behind it; 0: all are (plan_network). */
    size_t network;
    size_t slots, scalars, gates, instrs;
    PlanSlot *slot;
    PlanScalar *scalar;
    PlanGate *gate;
    PlanInstr *instr;
} Plan;

/* Returns an empty plan: its only register and its output are r0; plan_new_pair makes two sides, with r0 and r1. NULL:
 * out of memory. */
Plan *plan_new(size_t layers);
Plan *plan_new_pair(size_t encoder_layers, size_t decoder_layers);
/* Returns a plan with the slots, scalars and gates of p and no instruction. NULL: out of memory. */
Plan *plan_like(const Plan *p);
void plan_free(Plan *p); /* NULL allowed */
DROP(Plan, plan)

/* Add one item and return its index (slot, scalar, gate), the register written, or a code < 0. They copy their
 * arguments. A gate's value is computed once: plan_gate adds the gate and its GATE. Single assignment holds as every
 * instruction writes a new register; ERR_MISUSE where an index is out of range, a name is taken, or a register, slot
 * or learned number is of the wrong kind or side. */
int plan_slot(Plan *p, PlanSlot slot);
int plan_scalar(Plan *p, int side, int layer, const char *name, size_t size, double init);
int plan_lin(Plan *p, size_t terms, const PlanTerm *term);
int plan_eval(Plan *p, int slot, int x, int draw);
/* Adds an EVAL of cross-attention. It reads x and the register that KEYS of the slot wrote. */
int plan_cross(Plan *p, int slot, int x, int keys, int draw);
int plan_norm(Plan *p, int slot, int x);
int plan_keys(Plan *p, int slot, int x);
int plan_words(Plan *p, int slot, int draw);
int plan_gate(Plan *p, int side, int layer, const char *name, int act, size_t inputs, const int *x);
/* Ends the network: what is added from now on is for penalties. plan_penalty adds one of a language model. */
void plan_end(Plan *p);
int plan_penalty(Plan *p, double c, int x, int z);
/* Adds any instruction, with these terms. It writes the next register; a gate must be there already. */
int plan_add(Plan *p, PlanInstr in, const PlanTerm *term);

/* Returns the slot of this name; -1: there is none. */
int plan_find_slot(const Plan *p, int side, int kind, int layer, int set);
/* Returns the register that KEYS of a slot wrote; -1: none did. */
int plan_find_keys(const Plan *p, int slot);
/* Returns the highest set of a kind on a side; 0: the side has no such slot. */
int plan_sets(const Plan *p, int side, int kind);
/* Returns the prefix of a side's tensor names: "" in a plan of one side, else "encoder." or "decoder.". */
const char *plan_prefix(const Plan *p, int side);
/* Writes the name of a slot behind its prefix, as "layers.0.attn.1", and returns it. */
enum { SLOT_NAME = 64 };
const char *plan_slot_name(const PlanSlot *s, char out[SLOT_NAME]);

/* Tells whether the instruction multiplies by weights, and (of_slot) whether it has a slot: NORM does too. */
static inline int plan_weighs(const PlanInstr *in)
{
    return in->op == PLAN_EVAL || in->op == PLAN_KEYS;
}

static inline int plan_of_slot(const PlanInstr *in)
{
    return in->op != PLAN_LIN && in->op != PLAN_GATE && in->op != PLAN_PENALTY;
}

/* Tells whether it writes a register. */
static inline int plan_writes(const PlanInstr *in)
{
    return in->op != PLAN_GATE && in->op != PLAN_PENALTY;
}

/* Returns the number of the network's instructions. */
static inline size_t plan_network(const Plan *p)
{
    return p->network ? p->network : p->instrs;
}

/* Tells whether a slot is attention, of either kind. */
static inline int plan_attends(const PlanSlot *s)
{
    return s->kind == SLOT_ATTENTION || s->kind == SLOT_CROSS;
}

/* Tells whether self-attention of a side sees no token behind its own. */
static inline int plan_causal(const Plan *p, int side)
{
    return side == SIDE_TARGET && !p->bidirectional;
}

/* walk.c: gives the network's instructions in their order to the operation of their kind, op[PLAN_LIN], ...; the first code
 * that is not 0 ends the walk and is returned. plan_walk_on does so with those behind the network. */
typedef int PlanOp(void *arg, const PlanInstr *in);
int plan_walk(const Plan *p, PlanOp *const op[PLAN_OPS], void *arg);
int plan_walk_on(const Plan *p, PlanOp *const op[PLAN_OPS], void *arg);

/* A walk over the plan in host doubles. A register has N rows of D numbers on the target's side, M rows on the
 * source's; keys have D too, whatever the callbacks put there. The caller's callbacks define sublayers, norms, gates
 * and learned scalars; each returns 0 or a code, which ends the walk. */
typedef struct PlanValues PlanValues;
struct PlanValues {
    const Plan *plan;
    size_t N, M, D; /* M: 0 without a source */
    /* arg is the PlanValues. EVAL, NORM, KEYS and WORDS read plan_value(v, in->term[k].x) and write plan_value(v, in->out).
     * GATE reads plan_value(v, in->term[k].x) and writes plan_gates(v, in->out). */
    PlanOp *sublayer, *gate;
    int (*scalar)(const PlanValues *v, const PlanFactor *f, double *value);
    void *arg;                   /* free for the caller */
    const int32_t *token[SIDES]; /* for its WORDS */
    double *reg,
        *gates; /* (registers, rows, D), (gates, rows), rows = max(N, M): made by plan_values */
};
/* Runs the walk; begin[side] in: r0 (N, D), r1 (M, D). Caller: plan_values_free, whatever the code. */
int plan_values(PlanValues *v, const double *const begin[SIDES]);
void plan_values_free(PlanValues *v);

/* Return the rows of a side, and the larger of both. */
static inline size_t plan_rows(const PlanValues *v, int side)
{
    return side == SIDE_SOURCE ? v->M : v->N;
}
static inline size_t plan_most(const PlanValues *v)
{
    return v->N > v->M ? v->N : v->M;
}

/* Return the values of a register (rows, D) and of a gate (rows). */
static inline double *plan_value(const PlanValues *v, int r)
{
    return v->reg + (size_t)r * plan_most(v) * v->D;
}
static inline double *plan_gates(const PlanValues *v, int g)
{
    return v->gates + (size_t)g * plan_most(v);
}

/* fold.c: *out = a plan with the same slots and the same values up to the order of sums. Long lines are summed as soon
 * as their terms are known, so that fewer registers live at a time. */
int plan_fold(const Plan *p, Plan **out);

/* same.c: *same = 1 where two plans compute the same function of r0 (and r1) for all weights, with dropout off.
 * Slots and learned numbers are matched in the order of their first use, coefficients to 1e-11. same.c says how sure
 * that is. ERR_MEMORY. */
int plan_same(const Plan *a, const Plan *b, int *same);

/* Prints one line an instruction, with decimal coefficients: `r5 = r0 + 0.5 r1 + 0.5 a[0] r4`. */
void plan_print(const Plan *p, FILE *f);

/* Counts the EVALs of a kind in the network, on both sides. */
size_t plan_evals(const Plan *p, int kind);

/* Returns the multiply-adds of the matrix products of one forward pass of the network, per token, without the output layer: attention
 * 4 D^2 + 2 T D (dense scores), feed-forward 2 D M, cross-attention 2 D^2 + 2 T D, KEYS 2 D^2. Source and target both
 * have length T. */
double plan_macs(const Plan *p, size_t D, size_t T);

#endif
