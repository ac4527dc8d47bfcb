/* fuse.c: fuses instructions, so that forward makes fewer passes over memory than the plan has instructions.
 *
 * A sublayer's second product is followed by its bias and dropout, mostly by the LIN that adds it to a state, and
 * mostly by the norm of that state, before the next sublayer or the loss. Where these stand in the plan one after
 * another, the EVAL does all of it (Backend.residual), and the LIN and the norm have nothing left to do. The numbers
 * are those of separate calls, to the bit. Results of later instructions are written earlier, so layout.c lets them
 * live from the EVAL on. Where works are not kept for backward, two of them would live at a time, and nothing is
 * fused. */
#include "nn/model/engine.h"

static int reads(const PlanInstr *in, int r)
{
    for (size_t k = 0; k < in->terms; k++)
        if (in->term[k].x == r) return 1;
    return 0;
}

/* Tells whether register r is read by anything but terms of LIN i, which adds it, without learned factors. */
static int kept(const Plan *p, size_t i, int r)
{
    const PlanInstr *line = &p->instr[i];
    if (p->output == r) return 1;
    for (size_t k = 0; k < line->terms; k++)
        if (line->term[k].x == r && line->term[k].factors) return 1;
    for (size_t j = 0; j < p->instrs; j++)
        if (j != i && reads(&p->instr[j], r)) return 1;
    return 0;
}

/* Returns the instruction with a norm of LIN i's register, if it is the next; 0: there is none. */
static size_t norm_behind(const Model *m, size_t i)
{
    const Plan *p = m->plan;
    const PlanInstr *next = &p->instr[i + 1];
    int r = p->instr[i].out;
    if (i + 1 == p->instrs) return p->output == r && ends_in_norm(m) ? i + 1 : 0;
    int has = next->op == PLAN_NORM || (next->op == PLAN_EVAL && !p->post);
    return has && next->term[0].x == r ? i + 1 : 0;
}

void fuse_find(Model *m)
{
    const Plan *p = m->plan;
    if (!m->training || m->config.recompute) return;
    for (size_t i = 0; i + 1 < p->instrs; i++) {
        const PlanInstr *in = &p->instr[i], *line = in + 1;
        Fuse *f = &m->fuse[i];
        if (in->op != PLAN_EVAL || line->op != PLAN_LIN || line->terms > LIN_FUSED ||
            !reads(line, in->out))
            continue;
        f->line = 1;
        f->kept = kept(p, i + 1, in->out);
        f->norm = norm_behind(m, i + 1);
        if (f->norm && f->norm < p->instrs) m->fuse[f->norm].normed = 1;
    }
}

/* Tells whether the kernel that first needs the adjoint of a register makes that sum itself. It does where instruction
 * i is an EVAL or a NORM, for the register that it wrote (an EVAL alone) and for the one that its norm reads. */
int fuse_pulls(const Model *m, size_t i, int r)
{
    const PlanInstr *in = &m->plan->instr[i];
    int wrote = in->op == PLAN_EVAL && in->out == r;
    int normed =
        (in->op == PLAN_NORM || (in->op == PLAN_EVAL && !m->plan->post)) && in->term[0].x == r;
    return (wrote || normed) && m->pull[r] == (int)i && m->from[r + 1] - m->from[r] <= LIN_FUSED;
}
