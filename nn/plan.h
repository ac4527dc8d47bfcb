/* plan.h: the network plan, the one structure that a language model is made from.
 *
 * A plan is a list of instructions in single assignment over registers. A register r0, r1, ... holds
 * a state (N, D): N tokens of a batch, D the width. r0 is the embedding; `output` feeds the final
 * layer norm. Depth, step size, sharing, history: all of it is in the list. Whoever writes a plan
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
 *   sublayer_slot(x) = Attention(LayerNorm(x)) or FeedForward(LayerNorm(x)), no skip, no step factor.
 *   A slot owns one set of weights; two EVALs of one slot share them. History is older registers.
 */
#ifndef TROTTER_PLAN_H
#define TROTTER_PLAN_H

#include <stddef.h>
#include <stdio.h>

enum { PLAN_LIN, PLAN_EVAL, PLAN_GATE };
enum { SLOT_ATTENTION, SLOT_FEEDFORWARD };
enum { FACTOR_SCALAR, FACTOR_GATE };
enum { PLAN_FACTORS = 4, PLAN_NAME = 32 };

/* A sublayer with weights of its own; saved as layers.<layer>.attn|ffn.<set>. */
typedef struct {
    int kind;     /* SLOT_* */
    int layer;    /* from 0 */
    int set;      /* from 1 */
    size_t inner; /* M of a feed-forward slot, 0 for attention */
} PlanSlot;

/* A learned vector of scalars, saved as layers.<layer>.scheme.<name> (size). */
typedef struct {
    int layer;
    char name[PLAN_NAME];
    size_t size;
    double init;
} PlanScalar;

/* A learned gate, saved as layers.<layer>.scheme.<name>.weight (1, inputs * D) and .bias (1), both
 * from zero. */
typedef struct {
    int layer;
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
    int op;       /* PLAN_* */
    int out;      /* register written; for GATE the gate's index, whose value it computes */
    int x;        /* EVAL: register read */
    int slot;     /* EVAL */
    int draw;     /* EVAL: instructions of equal draw share their dropout masks in a step */
    size_t terms; /* LIN: terms; GATE: registers read, in term[i].x */
    PlanTerm *term;
} PlanInstr;

typedef struct {
    size_t layers;
    size_t registers; /* 0 .. registers-1 */
    int output;
    size_t slots, scalars, gates, instrs;
    PlanSlot *slot;
    PlanScalar *scalar;
    PlanGate *gate;
    PlanInstr *instr;
} Plan;

/* An empty plan, whose only register is r0 and whose output is r0. NULL: out of memory. */
Plan *plan_new(size_t layers);
void plan_free(Plan *p); /* NULL allowed */

/* Add one thing; return its index (slot, scalar, gate) or the register written, or a code < 0. The
 * arguments are copied. A gate's value is computed once: plan_gate adds the gate and its GATE. */
int plan_slot(Plan *p, PlanSlot slot);
int plan_scalar(Plan *p, int layer, const char *name, size_t size, double init);
int plan_lin(Plan *p, size_t terms, const PlanTerm *term);
int plan_eval(Plan *p, int slot, int x, int draw);
int plan_gate(Plan *p, int layer, const char *name, int act, size_t inputs, const int *x);

/* Single assignment, every source written before it is read, every index in range, every slot and
 * gate used; ERR_MISUSE with words otherwise. The model runs it before it trusts a plan. */
int plan_check(const Plan *p);

/* fold.c: *out = a plan of the same slots and values, up to the order of sums, in which long lines are
 * summed as soon as their terms are known, so that fewer registers live at a time. p: checked. */
int plan_fold(const Plan *p, Plan **out);

/* same.c: *same = 1 where two checked plans compute the same function of r0 for all weights, slots and
 * learned numbers matched in the order of their first use, dropout off; coefficients to 1e-12. Never 1
 * of plans that differ; how 0 may be told of equal ones: same.c. */
int plan_same(const Plan *a, const Plan *b, int *same);

/* One line an instruction: "r3 = 1/2... " in numbers: `r5 = r0 + 0.5 r1 + 0.5 a[0] r4`. */
void plan_print(const Plan *p, FILE *f);

/* EVALs by kind. */
size_t plan_evals(const Plan *p, int kind);

/* Multiply-adds of the matrix products of one forward pass, per token, without the output layer:
 * attention 4 D^2 + 2 T D (dense scores), feed-forward 2 D M. */
double plan_macs(const Plan *p, size_t D, size_t T);

#endif
