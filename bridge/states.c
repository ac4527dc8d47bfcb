/* states.c: the states between the layers of a network, by following its plan in host doubles (nn/walk.c),
 * sublayer by sublayer. What comes out must be what nn/ computes in one pass. */
#include "bridge/layer_field.h"
#include "kernels/error.h"
#include "kernels/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* n numbers of tensor "layers.<layer>.scheme.<name><suffix>" from `first` on. */
static int learned(Model *m, int layer, const char *name, const char *suffix, size_t first,
                   size_t n, double *out)
{
    char full[sizeof((Param *)0)->name];
    const Backend *b = model_backend(m);
    snprintf(full, sizeof full, "layers.%d.scheme.%s%s", layer, name, suffix);
    const Param *p = model_find(m, full);
    if (!p || p->size < first + n)
        return error_set(ERR_MISUSE, "the model has no %s of %zu numbers", full, first + n);
    b->get(out, backend_at(b, model_data(m), p->offset + first), n);
    return 0;
}

static int scalar(const PlanValues *v, const PlanFactor *f, double *value)
{
    const PlanScalar *s = &v->plan->scalar[f->index];
    return learned(v->arg, s->layer, s->name, "", f->element, 1, value);
}

static int sublayer(void *arg, const PlanInstr *in)
{
    const PlanValues *v = arg;
    const PlanSlot *s = &v->plan->slot[in->slot];
    int slot = plan_find_slot(model_plan(v->arg), s->side, s->kind, s->layer, s->set);
    return model_sublayer(v->arg, slot, v->N, plan_value(v, in->term[0].x), plan_value(v, in->out));
}

static void gate_values(const PlanValues *v, const PlanInstr *in, int act, const double *weight,
                        double bias)
{
    for (size_t i = 0; i < v->N; i++) {
        double z = bias;
        for (size_t k = 0; k < in->terms; k++)
            for (size_t e = 0; e < v->D; e++)
                z += weight[k * v->D + e] * plan_value(v, in->term[k].x)[i * v->D + e];
        plan_gates(v, in->out)[i] = act == ACT_SIGMOID ? 1 / (1 + exp(-z)) : tanh(z);
    }
}

static int gate(void *arg, const PlanInstr *in)
{
    const PlanValues *v = arg;
    const PlanGate *g = &v->plan->gate[in->out];
    double bias, *weight = memory_new(g->inputs * v->D, sizeof *weight);
    if (!weight) return ERR_MEMORY;
    int code = learned(v->arg, g->layer, g->name, ".weight", 0, g->inputs * v->D, weight);
    if (code == 0) code = learned(v->arg, g->layer, g->name, ".bias", 0, 1, &bias);
    if (code == 0) gate_values(v, in, g->act, weight, bias);
    memory_free(weight);
    return code;
}

int bridge_states(Model *m, const Table *trained, size_t n, const double *r0, double *state)
{
    size_t layers = model_plan(m)->layers[SIDE_TARGET], d = model_config(m)->width;
    BridgeOptions o = {.layers = layers, .width = d, .inner = 1, .match = MATCH_NONE};
    int *at = memory_new(layers + 1, sizeof *at);
    if (!at) return ERR_MEMORY;
    Plan *plan = NULL;
    PlanValues v = {.N = n, .D = d, .sublayer = sublayer, .gate = gate, .scalar = scalar, .arg = m};
    int code = bridge_plan_states(trained, &o, &plan, at); /* not folded: every state is there */
    v.plan = plan;
    if (code == 0) code = plan_values(&v, r0);
    for (size_t l = 0; code == 0 && l <= layers; l++)
        memcpy(state + l * n * d, plan_value(&v, at[l]), n * d * sizeof *state);
    plan_values_free(&v);
    plan_free(plan);
    memory_free(at);
    return code;
}
