/* states.c: the states between the layers of a network, by following its plan by hand: lines and gates
 * in host doubles, sublayers one by one. What comes out must be what nn/ computes in one pass. */
#include "bridge/layer_field.h"
#include "kernels/error.h"
#include "kernels/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    Model *model;
    const Plan *plan; /* of the trained scheme, not folded */
    size_t n, d;
    double *reg;  /* (registers, n d) */
    double *gate; /* (gates, n) */
} Walk;

static double *reg(const Walk *w, int r)
{
    return w->reg + (size_t)r * w->n * w->d;
}

/* The numbers of tensor "layers.<layer>.scheme.<name><suffix>" (count) out. */
static int learned(const Walk *w, int layer, const char *name, const char *suffix, size_t count,
                   double *out)
{
    char full[96];
    const Param *list;
    const Backend *b = model_backend(w->model);
    size_t params = model_params(w->model, &list);
    snprintf(full, sizeof full, "layers.%d.scheme.%s%s", layer, name, suffix);
    for (size_t i = 0; i < params; i++) {
        if (strcmp(list[i].name, full) != 0 || list[i].size != count) continue;
        b->get(out, backend_at(b, model_data(w->model), list[i].offset), count);
        return 0;
    }
    return error_set(ERR_MISUSE, "the model has no %s of %zu numbers", full, count);
}

/* ---- instructions ----------------------------------------------------------------------------------- */

/* The learned factor of a term at a token. */
static int factor(const Walk *w, const PlanFactor *f, size_t token, double *out)
{
    double value[64];
    if (f->kind == FACTOR_GATE) {
        *out = w->gate[(size_t)f->index * w->n + token];
        return 0;
    }
    const PlanScalar *s = &w->plan->scalar[f->index];
    double *x = s->size <= 64 ? value : memory_new(s->size, sizeof *x);
    if (!x) return ERR_MEMORY;
    int code = learned(w, s->layer, s->name, "", s->size, x);
    *out = code == 0 ? x[f->element] : NAN;
    if (x != value) memory_free(x);
    return code;
}

static int line(const Walk *w, const PlanInstr *in)
{
    double *out = reg(w, in->out);
    memset(out, 0, w->n * w->d * sizeof *out);
    for (size_t k = 0; k < in->terms; k++) {
        const PlanTerm *t = &in->term[k];
        const double *x = reg(w, t->x);
        for (size_t i = 0; i < w->n; i++) {
            double c = t->c, f;
            for (int j = 0; j < t->factors; j++) {
                TRY(factor(w, &t->factor[j], i, &f));
                c *= f;
            }
            for (size_t e = 0; e < w->d; e++) out[i * w->d + e] += c * x[i * w->d + e];
        }
    }
    return 0;
}

static int find_slot(const Plan *p, const PlanSlot *like)
{
    for (size_t i = 0; i < p->slots; i++)
        if (p->slot[i].kind == like->kind && p->slot[i].layer == like->layer &&
            p->slot[i].set == like->set)
            return (int)i;
    return -1;
}

static int eval(const Walk *w, const PlanInstr *in)
{
    int slot = find_slot(model_plan(w->model), &w->plan->slot[in->slot]);
    return model_sublayer(w->model, slot, w->n, reg(w, in->x), reg(w, in->out));
}

static void gate_values(const Walk *w, const PlanInstr *in, int act, const double *weight,
                        double bias)
{
    for (size_t i = 0; i < w->n; i++) {
        double z = bias;
        for (size_t k = 0; k < in->terms; k++)
            for (size_t e = 0; e < w->d; e++)
                z += weight[k * w->d + e] * reg(w, in->term[k].x)[i * w->d + e];
        w->gate[(size_t)in->out * w->n + i] = act == ACT_SIGMOID ? 1 / (1 + exp(-z)) : tanh(z);
    }
}

static int gate(const Walk *w, const PlanInstr *in)
{
    const PlanGate *g = &w->plan->gate[in->out];
    double bias, *weight = memory_new(g->inputs * w->d, sizeof *weight);
    if (!weight) return ERR_MEMORY;
    int code = learned(w, g->layer, g->name, ".weight", g->inputs * w->d, weight);
    if (code == 0) code = learned(w, g->layer, g->name, ".bias", 1, &bias);
    if (code == 0) gate_values(w, in, g->act, weight, bias);
    memory_free(weight);
    return code;
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static int follow(Walk *w, const double *r0)
{
    typedef int Run(const Walk *w, const PlanInstr *in);
    static Run *const run[] = {[PLAN_LIN] = line, [PLAN_EVAL] = eval, [PLAN_GATE] = gate};
    w->reg = memory_new(w->plan->registers, w->n * w->d * sizeof *w->reg);
    w->gate = memory_new(w->plan->gates, w->n * sizeof *w->gate);
    if (!w->reg || !w->gate) return ERR_MEMORY;
    memcpy(w->reg, r0, w->n * w->d * sizeof *w->reg);
    for (size_t i = 0; i < w->plan->instrs; i++)
        TRY(run[w->plan->instr[i].op](w, &w->plan->instr[i]));
    return 0;
}

int bridge_states(Model *m, const Table *trained, size_t n, const double *r0, double *state)
{
    size_t layers = model_plan(m)->layers, d = model_config(m)->width;
    BridgeOptions o = {.layers = layers, .width = d, .inner = 1, .match = MATCH_NONE};
    int *at = memory_new(layers + 1, sizeof *at);
    if (!at) return ERR_MEMORY;
    Plan *plan = NULL;
    Walk w = {.model = m, .n = n, .d = d};
    int code = bridge_plan_states(trained, &o, &plan, at);
    w.plan = plan;
    if (code == 0) code = follow(&w, r0);
    for (size_t l = 0; code == 0 && l <= layers; l++)
        memcpy(state + l * n * d, reg(&w, at[l]), n * d * sizeof *state);
    memory_free(w.reg);
    memory_free(w.gate);
    plan_free(plan);
    memory_free(at);
    return code;
}
