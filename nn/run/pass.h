/* pass.h: the engine of passes, on the inside of a model (engine.h). Reading order:
 *
 *   share.c      gradients summed over ranks
 *   sublayer.c   the inside of a sublayer, forward and backward
 *   penalty.c    what a PENALTY adds to the loss and to adjoints
 *   pass.c       forward and backward over the plan
 *   parts.c      parts of it by themselves
 *   weights.c    where attention looks
 *   train_step.c       a step of training
 */
#ifndef TROTTER_PASS_H
#define TROTTER_PASS_H

#include "nn/model/engine.h"
#include "nn/run/train.h"

/* sublayer.c. sublayer_forward writes the register of an EVAL, without bias and dropout (`sublayer_drop`), which come
 * later; normed: its norm is done. sublayer_back makes the adjoints of its inside down to dnormed or, in a plan with
 * post norms, down to the register it reads; the adjoint of the EVAL's register is the sum of m->term[0 .. n-1]. */
void sublayer_forward(const Pass *p, const PlanInstr *in, int normed);
Dropout sublayer_drop(const Pass *p, const PlanInstr *in);
void sublayer_back(const Pass *p, const PlanInstr *in, size_t n);
/* Norms each head of w->raw: queries to w->in, keys to k, rows without gaps (N, A), (N, K E). A head is a row of the norm. */
void sublayer_norm_heads(const Model *m, size_t N, const SlotParams *o, const Work *w, void *k);

/* penalty.c. Forward and backward of a PENALTY. */
PlanOp penalty;
void penalty_back(const Pass *p, const PlanInstr *in);

/* share.c. With p->sums, share_after begins the sums that are ready when backward has done instruction i; share_nothing
 * does so for a rank without rows; share_rest sums the rest and waits. */
void share_after(const Model *m, const Pass *p, size_t i);
void share_nothing(const Model *m, const Pass *p);
void share_rest(const Model *m, const Pass *p);

/* parts.c. Begins a pass over one sequence of N tokens (pass_begin), dropout off. A token or a position that the model
 * lacks: ERR_MISUSE. */
int pass_tokens(const Model *m, size_t N, const int32_t *token, Pass *p);

/* pass.c. pass_inputs returns a Step that has only its inputs; pass_step sends one; pass_masks sends the number of the
 * masks; pass_begin checks and sends a batch, pass_source the source's part of one. */
Step pass_inputs(const Pass *p, uint64_t step, double rate);
void pass_step(const Pass *p, uint64_t step, double rate);
void pass_masks(const Model *m, uint64_t number);
int pass_begin(const Model *m, const Batch *x, int train, Pass *p);
int pass_source(const Model *m, const Batch *x);
/* Forward's operation for each op; arg is the Pass. pass_keys is that of KEYS, with r (M, 2D) out; pass_end makes
 * out.hidden from the output's register. */
extern PlanOp *const pass_op[PLAN_OPS];
void pass_keys(const Pass *p, const PlanInstr *in, void *r);
void pass_end(const Model *m, const Pass *p);
/* Writes the logits of all rows of out.hidden that are asked, as model_logits does. */
int pass_logits(const Model *m, const Pass *p, double *logits);
/* Run on the batch that was sent: pass_forward makes out.hidden, pass_gradient the gradient of the mean loss. */
void pass_forward(const Model *m, const Pass *p);
void pass_gradient(const Model *m, const Pass *p);

#endif
