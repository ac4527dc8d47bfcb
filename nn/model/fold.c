/* fold.c: sums long lines ahead of time, so that their terms need not all wait for them.
 *
 * A line r = y + c1 k1 + ... + cn kn at the end of a layer keeps every k alive until it comes. Where an EVAL (or NORM
 * or KEYS, here and below) still comes before the line, those k that nothing else reads any more are summed before it:
 *     s1 = c1 k1 + c2 k2,   s2 = s1 + c3 k3 + c4 k4,   ...   r = y + s
 * Terms with learned factors stay, because gates are known late; so do registers that an EVAL, NORM or GATE reads,
 * which are kept in any case. The sum is the same, but its order changes. */
#include "nn/model/plan.h"

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"

/* A register of the old plan. The line that reads it last may take it early, if the instruction that touched it before
 * that, `ripe`, is done. */
typedef struct {
    int map;        /* number in the new plan */
    int line, ripe; /* the last two instructions that touch it, or -1 */
    int kept, taken;
} Reg;

typedef struct {
    const Plan *old;
    Plan *new;
    Reg *reg;       /* (registers) */
    int *sum;       /* (instrs) for a line: the register of its sum so far, or -1 */
    PlanTerm *term; /* room for the longest line and one more */
} Folder;

static void touch(Reg *r, int i)
{
    if (r->line != i) r->ripe = r->line;
    r->line = i;
}

static void find_lives(const Plan *p, Reg *reg)
{
    for (size_t r = 0; r < p->registers; r++) reg[r].line = reg[r].ripe = -1;
    for (int side = 0; side < p->sides; side++) reg[side].kept = 1;
    reg[p->output].kept = 1;
    for (int i = 0; i < (int)p->instrs; i++) {
        const PlanInstr *in = &p->instr[i];
        for (size_t k = 0; k < in->terms; k++) {
            Reg *x = &reg[in->term[k].x];
            x->kept |= in->op != PLAN_LIN || in->term[k].factors || x->line == i; /* twice in i */
            touch(x, i);
        }
        if (plan_writes(in)) touch(&reg[in->out], i);
    }
}

/* Adds to line l, before instruction i, the terms that are known by then, if that makes fewer registers. */
static int fold_line(Folder *f, int l, int i)
{
    const PlanInstr *in = &f->old->instr[l];
    size_t n = 0;
    if (in->op != PLAN_LIN || l <= i) return 0;
    if (f->sum[l] >= 0) f->term[n++] = (PlanTerm){.c = 1, .x = f->sum[l]};
    for (size_t k = 0; k < in->terms; k++) {
        const Reg *r = &f->reg[in->term[k].x];
        if (r->kept || r->taken || r->line != l || r->ripe >= i) continue;
        f->term[n++] = (PlanTerm){.c = in->term[k].c, .x = r->map};
    }
    if (n < 2) return 0;
    for (size_t k = 0; k < in->terms; k++) {
        Reg *r = &f->reg[in->term[k].x];
        r->taken |= !r->kept && r->line == l && r->ripe < i;
    }
    f->sum[l] = plan_lin(f->new, n, f->term);
    return f->sum[l] < 0 ? f->sum[l] : 0;
}

/* Folds, before the EVAL i, the lines of the registers touched since the EVAL before. */
static int fold_before(Folder *f, int i)
{
    const Plan *p = f->old;
    for (int j = i - 1; j >= 0; j--) {
        const PlanInstr *in = &p->instr[j];
        for (size_t k = 0; k < in->terms; k++) TRY(fold_line(f, f->reg[in->term[k].x].line, i));
        if (plan_writes(in)) TRY(fold_line(f, f->reg[in->out].line, i));
        if (plan_of_slot(in)) break;
    }
    return 0;
}

static int copy_instr(Folder *f, int i)
{
    PlanInstr in = f->old->instr[i];
    if (plan_of_slot(&in)) TRY(fold_before(f, i));
    size_t n = 0;
    for (size_t k = 0; k < in.terms; k++) {
        const Reg *r = &f->reg[in.term[k].x];
        if (r->taken && r->line == i) continue;
        f->term[n] = in.term[k];
        f->term[n++].x = r->map;
    }
    if (f->sum[i] >= 0) f->term[n++] = (PlanTerm){.c = 1, .x = f->sum[i]};
    in.terms = n;
    int out = plan_add(f->new, in, f->term);
    if (plan_writes(&in)) f->reg[in.out].map = out;
    return out < 0 ? out : 0;
}

static int copy_plan(Folder *f)
{
    for (int side = 0; side < f->old->sides; side++) f->reg[side].map = side;
    for (int i = 0; i < (int)f->old->instrs; i++) {
        if (f->old->network == (size_t)i && i) plan_end(f->new);
        TRY(copy_instr(f, i));
    }
    f->new->output = f->reg[f->old->output].map;
    return 0;
}

static void folder_free(Folder *f)
{
    plan_free(f->new);
    memory_free_all(f->reg, f->sum, f->term);
}

int plan_fold(const Plan *p, Plan **out)
{
    size_t most = 0;
    for (size_t i = 0; i < p->instrs; i++)
        most = p->instr[i].terms > most ? p->instr[i].terms : most;
    SCOPED(folder_free)
    Folder f = {p, plan_like(p), memory_new(p->registers, sizeof *f.reg),
                memory_new(p->instrs, sizeof *f.sum), memory_new(most + 1, sizeof *f.term)};
    if (!f.new || !f.reg || !f.sum || !f.term) return ERR_MEMORY;
    for (size_t i = 0; i < p->instrs; i++) f.sum[i] = -1;
    find_lives(p, f.reg);
    TRY(copy_plan(&f));
    *out = f.new;
    f.new = NULL;
    return 0;
}
