/* plan.h: the network plan, the one structure that a language model, or an encoder with its decoder, is made from.
 *
 * A plan is a list of instructions in single assignment over registers. A register r0, r1, ... holds
 * a state (N, D): N tokens of a batch, D the width. r0 is the embedding; `output` feeds the final
 * layer norm. A register is of one side: in a plan of two r0 is the target's embedding and r1 the source's, whose
 * tokens are others. Depth, step size, sharing, history: all of it is in the list. Whoever writes a plan
 * never touches the engine, and the engine never learns why the list is as it is.
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
 *
 *   sublayer_slot(x) = Attention(LayerNorm(x)) or FeedForward(LayerNorm(x)), no skip, no step factor.
 *   A slot owns one set of weights; two EVALs of one slot share them. History is older registers.
 *
 *   Self-attention of the target sees the tokens up to its own, that of the source and of a bidirectional plan all.
 *   Cross-attention(x, r) is of
 *   the target: its queries come from LayerNorm(x), its keys and values are r, which KEYS made of the source once a
 *   pass, for all EVALs of the slot. In a pre plan the source's last register is normed by a slot of its own.
 *
 *   In a post plan a sublayer is Attention(x) or FeedForward(x), and its norm is where a NORM puts it:
 *   r = NORM(x + EVAL(x)) is a sublayer of Vaswani et al. 2017, section 3.1. The output is that of a NORM,
 *   so there is no final layer norm.
 */
#ifndef TROTTER_PLAN_H
#define TROTTER_PLAN_H

#include <stddef.h>
#include <stdio.h>

enum { PLAN_LIN, PLAN_EVAL, PLAN_GATE, PLAN_NORM, PLAN_KEYS, PLAN_OPS };
enum { SLOT_ATTENTION, SLOT_FEEDFORWARD, SLOT_CROSS, SLOT_NORM, SLOT_KINDS };
enum { SIDE_TARGET, SIDE_SOURCE, SIDES };
enum { FACTOR_SCALAR, FACTOR_GATE };
enum { PLAN_FACTORS = 4, PLAN_NAME = 32 };

/* A sublayer with weights of its own; saved as layers.<layer>.attn|ffn.<set>, of two sides as
 * encoder.layers.<layer>.attn|ffn.<set> and decoder.layers.<layer>.attn|ffn|cross.<set>. SLOT_NORM: a layer norm alone,
 * of the whole side, saved as encoder.norm or decoder.norm; its layer is 0, its set 1. */
typedef struct {
    int kind;     /* SLOT_* */
    int layer;    /* from 0 */
    int set;      /* from 1 */
    size_t inner; /* M of a feed-forward slot, else 0 */
    int side;     /* SIDE_*: of what it gives */
} PlanSlot;

/* A learned vector of scalars, saved as layers.<layer>.scheme.<name> (size), of two sides with encoder. or decoder.
 * before it. */
typedef struct {
    int side, layer;
    char name[PLAN_NAME];
    size_t size;
    double init;
} PlanScalar;

/* A learned gate, saved as a scalar is, <name>.weight (1, inputs * D) and <name>.bias (1), both from zero. */
typedef struct {
    int side, layer;
    char name[PLAN_NAME];
    int act;       /* ACT_SIGMOID or ACT_TANH (kernels/backend.h) */
    size_t inputs; /* registers it reads */
} PlanGate;

typedef struct {
    int kind;       /* FACTOR_* */
    int index;      /* of the scalar, or of the gate */
    size_t element; /* of the scalar vector */
} PlanFactor;

typedef struct {
    double c;
    int x; /* register */
    int factors;
    PlanFactor factor[PLAN_FACTORS];
} PlanTerm;

typedef struct {
    int op;   /* PLAN_* */
    int out;  /* register written; for GATE the gate's index, whose value it computes */
    int slot; /* EVAL, NORM, KEYS */
    int draw; /* EVAL: instructions of equal draw share their dropout masks in a step */
    /* The registers it reads are term[i].x, in EVAL, NORM and KEYS one, but two in an EVAL of cross-attention: x and
     * what KEYS made. Only a LIN reads c and has factors. */
    size_t terms;
    PlanTerm *term;
} PlanInstr;

typedef struct {
    int side;
    int keys; /* it holds 2 D numbers a token, which KEYS made and EVALs of its slot read */
} PlanRegister;

typedef struct {
    int sides;            /* 1, or 2 with a source */
    size_t layers[SIDES]; /* of the source 0 where there is none */
    int post;             /* norms are NORMs, not inside EVALs */
    int bidirectional; /* of one side: an encoder alone, whose self-attention sees all tokens of a sequence */
    size_t registers;  /* 0 .. registers-1 */
    PlanRegister *reg; /* (registers) */
    int output;
    size_t slots, scalars, gates, instrs;
    PlanSlot *slot;
    PlanScalar *scalar;
    PlanGate *gate;
    PlanInstr *instr;
} Plan;

/* An empty plan, whose only register is r0 and whose output is r0; of two sides, with r0 and r1. NULL: out of memory. */
Plan *plan_new(size_t layers);
Plan *plan_new_pair(size_t encoder_layers, size_t decoder_layers);
/* A plan of the slots, scalars and gates of p, without an instruction. NULL: out of memory. */
Plan *plan_like(const Plan *p);
void plan_free(Plan *p); /* NULL allowed */

/* Add one thing; return its index (slot, scalar, gate) or the register written, or a code < 0. The
 * arguments are copied. A gate's value is computed once: plan_gate adds the gate and its GATE. */
int plan_slot(Plan *p, PlanSlot slot);
int plan_scalar(Plan *p, int side, int layer, const char *name, size_t size, double init);
int plan_lin(Plan *p, size_t terms, const PlanTerm *term);
int plan_eval(Plan *p, int slot, int x, int draw);
/* Of cross-attention: of x and of the register that KEYS of the slot wrote. */
int plan_cross(Plan *p, int slot, int x, int keys, int draw);
int plan_norm(Plan *p, int slot, int x);
int plan_keys(Plan *p, int slot, int x);
int plan_gate(Plan *p, int side, int layer, const char *name, int act, size_t inputs, const int *x);
/* Any instruction, with these terms: the register it writes is the next; a gate is there already. */
int plan_add(Plan *p, PlanInstr in, const PlanTerm *term);

/* The slot of this name; -1: there is none. */
int plan_find_slot(const Plan *p, int side, int kind, int layer, int set);
/* The register that KEYS of a slot wrote; -1: none did. */
int plan_find_keys(const Plan *p, int slot);
/* The highest set of a kind on a side; 0: there is no slot of it. */
int plan_sets(const Plan *p, int side, int kind);
/* What stands before the name of a tensor of a side: "", or "encoder." and "decoder.". */
const char *plan_prefix(const Plan *p, int side);
/* "attn", "ffn", "cross", "norm". */
const char *plan_kind_name(int kind);

/* EVAL, NORM and KEYS: a slot's. */
static inline int plan_of_slot(const PlanInstr *in)
{
    return in->op == PLAN_EVAL || in->op == PLAN_NORM || in->op == PLAN_KEYS;
}

/* Whether a slot is attention, of either kind. */
static inline int plan_attends(const PlanSlot *s)
{
    return s->kind == SLOT_ATTENTION || s->kind == SLOT_CROSS;
}

/* Whether self-attention of a side sees no token behind its own. */
static inline int plan_causal(const Plan *p, int side)
{
    return side == SIDE_TARGET && !p->bidirectional;
}

/* Single assignment, every source written before it is read, every index in range, every slot and
 * gate used, norms where `post` says, registers of the side that reads them; ERR_MISUSE with words otherwise. The model
 * runs it before it trusts a plan. */
int plan_check(const Plan *p);

/* walk.c: gives the instructions in their order to the operation of their kind, op[PLAN_LIN], ...; the first
 * code that is not 0 ends the walk and is given back. */
typedef int PlanOp(void *arg, const PlanInstr *in);
int plan_walk(const Plan *p, PlanOp *const op[PLAN_OPS], void *arg);

/* A walk in host doubles, N rows of D numbers a register of the target, M of the source; keys have D, whatever the
 * callbacks put there. The caller sets what a sublayer, a norm, a gate and a
 * learned scalar are; each callback gives 0 or a code, which ends the walk. */
typedef struct PlanValues PlanValues;
struct PlanValues {
    const Plan *plan;
    size_t N, M, D; /* M: 0 without a source */
    /* arg is the PlanValues. EVAL, NORM and KEYS: from plan_value(v, in->term[k].x) to plan_value(v, in->out). GATE: from
     * plan_value(v, in->term[k].x) to plan_gates(v, in->out). */
    PlanOp *sublayer, *gate;
    int (*scalar)(const PlanValues *v, const PlanFactor *f, double *value);
    void *arg; /* the caller's own */
    double *reg,
        *gates; /* (registers, rows, D), (gates, rows), rows = max(N, M): made by plan_values */
};
/* begin[side] in: r0 (N, D), r1 (M, D). Caller: plan_values_free, whatever the code. */
int plan_values(PlanValues *v, const double *const begin[SIDES]);
void plan_values_free(PlanValues *v);

/* Rows of a side; the most of either. */
static inline size_t plan_rows(const PlanValues *v, int side)
{
    return side == SIDE_SOURCE ? v->M : v->N;
}
static inline size_t plan_most(const PlanValues *v)
{
    return v->N > v->M ? v->N : v->M;
}

/* (rows, D) of a register; (rows) of a gate. */
static inline double *plan_value(const PlanValues *v, int r)
{
    return v->reg + (size_t)r * plan_most(v) * v->D;
}
static inline double *plan_gates(const PlanValues *v, int g)
{
    return v->gates + (size_t)g * plan_most(v);
}

/* fold.c: *out = a plan of the same slots and values, up to the order of sums, in which long lines are
 * summed as soon as their terms are known, so that fewer registers live at a time. p: checked. */
int plan_fold(const Plan *p, Plan **out);

/* same.c: *same = 1 where two checked plans compute the same function of r0 (and r1) for all weights, slots and
 * learned numbers matched in the order of their first use, dropout off; coefficients to 1e-11. How sure
 * that is: same.c. ERR_MEMORY. */
int plan_same(const Plan *a, const Plan *b, int *same);

/* One line an instruction: "r3 = 1/2... " in numbers: `r5 = r0 + 0.5 r1 + 0.5 a[0] r4`. */
void plan_print(const Plan *p, FILE *f);

/* EVALs by kind, of both sides. */
size_t plan_evals(const Plan *p, int kind);

/* Multiply-adds of the matrix products of one forward pass, per token, without the output layer:
 * attention 4 D^2 + 2 T D (dense scores), feed-forward 2 D M; cross-attention 2 D^2 + 2 T D, and 2 D^2 for KEYS, source
 * and target being of one length T. */
double plan_macs(const Plan *p, size_t D, size_t T);

#endif
