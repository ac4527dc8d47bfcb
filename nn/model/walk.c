/* walk.c: follows a plan (plan.h); all readers use it. Training (pass.c), the states between layers
 * (bridge/states.c) and the equality of maps (same.c) differ in what an instruction does, not in how they follow
 * the list. Only backward follows it from its end (pass.c): around every instruction it pulls adjoints and begins
 * sums over ranks. */
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "nn/model/plan.h"

int plan_walk(const Plan *p, PlanOp *const op[PLAN_OPS], void *arg)
{
    for (size_t i = 0; i < plan_network(p); i++) TRY(op[p->instr[i].op](arg, &p->instr[i]));
    return 0;
}

int plan_walk_on(const Plan *p, PlanOp *const op[PLAN_OPS], void *arg)
{
    for (size_t i = plan_network(p); i < p->instrs; i++) TRY(op[p->instr[i].op](arg, &p->instr[i]));
    return 0;
}

/* ---- in host doubles ------------------------------------------------------------------------- */

/* Adds a term to out (rows, D). f holds the values of its scalars; a gate's values are read row by row. */
static void add_term(const PlanValues *v, size_t rows, const PlanTerm *t, const double *f,
                     double *out)
{
    const double *x = plan_value(v, t->x);
    for (size_t i = 0; i < rows; i++) {
        double c = t->c;
        for (int j = 0; j < t->factors; j++)
            c *= t->factor[j].kind == FACTOR_GATE ? plan_gates(v, t->factor[j].index)[i] : f[j];
        for (size_t e = 0; e < v->D; e++) out[i * v->D + e] += c * x[i * v->D + e];
    }
}

static int line(void *arg, const PlanInstr *in)
{
    PlanValues *v = arg;
    double f[PLAN_FACTORS], *out = plan_value(v, in->out);
    size_t rows = plan_rows(v, v->plan->reg[in->out].side);
    memset(out, 0, rows * v->D * sizeof *out);
    for (size_t k = 0; k < in->terms; k++) {
        const PlanTerm *t = &in->term[k];
        for (int j = 0; j < t->factors; j++)
            if (t->factor[j].kind == FACTOR_SCALAR) TRY(v->scalar(v, &t->factor[j], &f[j]));
        add_term(v, rows, t, f, out);
    }
    return 0;
}

int plan_values(PlanValues *v, const double *const begin[SIDES])
{
    const Plan *p = v->plan;
    PlanOp *const op[PLAN_OPS] = {
        [PLAN_LIN] = line,         [PLAN_EVAL] = v->sublayer, [PLAN_GATE] = v->gate,
        [PLAN_NORM] = v->sublayer, [PLAN_KEYS] = v->sublayer, [PLAN_WORDS] = v->sublayer};
    v->reg = memory_new(p->registers, plan_most(v) * v->D * sizeof *v->reg);
    v->gates = memory_new(p->gates, plan_most(v) * sizeof *v->gates);
    if (!v->reg || !v->gates) return ERR_MEMORY;
    for (int side = 0; side < p->sides; side++)
        memcpy(plan_value(v, side), begin[side], plan_rows(v, side) * v->D * sizeof *v->reg);
    return plan_walk(p, op, v);
}

void plan_values_free(PlanValues *v)
{
    v->reg = memory_free(v->reg);
    v->gates = memory_free(v->gates);
}
