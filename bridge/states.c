/* states.c: computes the states between the layers of a network. It follows the plan in host doubles
 * (nn/model/walk.c), sublayer by sublayer. The result must equal that of nn/ in one pass. */
#include "bridge/layer_field.h"
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Finds tensor "layers.<layer>.scheme.<name><suffix>" of a side; NULL: there is none. */
static const Param *find_learned(Model *m, int side, int layer, const char *name,
                                 const char *suffix)
{
    char full[2 * sizeof((Param *)0)->name];
    snprintf(full, sizeof full, "%slayers.%d.scheme.%s%s", plan_prefix(model_plan(m), side), layer,
             name, suffix);
    return model_find(m, full);
}

/* Reads n numbers of it, from `first` on. */
static int learned(Model *m, int side, int layer, const char *name, const char *suffix,
                   size_t first, size_t n, double *out)
{
    const Backend *b = model_backend(m);
    const Param *p = find_learned(m, side, layer, name, suffix);
    NEED(p && p->size >= first + n);
    b->get(out, backend_at(b, model_data(m), p->offset + first), n);
    return 0;
}

static int scalar(const PlanValues *v, const PlanFactor *f, double *value)
{
    const PlanScalar *s = &v->plan->scalar[f->index];
    return learned(v->arg, s->side, s->layer, s->name, "", f->element, 1, value);
}

/* Runs an EVAL, a NORM or a WORDS. A KEYS copies the memory, which stands for the keys made of it. */
static int sublayer(void *arg, const PlanInstr *in)
{
    const PlanValues *v = arg;
    const PlanSlot *s = &v->plan->slot[in->slot];
    int slot = plan_find_slot(model_plan(v->arg), s->side, s->kind, s->layer, s->set);
    const double *x = in->terms ? plan_value(v, in->term[0].x) : NULL;
    double *y = plan_value(v, in->out);
    if (in->op == PLAN_WORDS)
        return model_words(v->arg, slot, plan_rows(v, s->side), v->token[s->side], y);
    if (in->op == PLAN_KEYS) memcpy(y, x, v->M * v->D * sizeof *y);
    if (in->op == PLAN_KEYS) return 0;
    const double *memory = in->terms > 1 ? plan_value(v, in->term[1].x) : NULL;
    return model_sublayer(v->arg, slot, plan_rows(v, s->side), x, v->M, memory, y);
}

static void gate_values(const PlanValues *v, const PlanInstr *in, int act, const double *weight,
                        double bias)
{
    size_t rows = plan_rows(v, v->plan->gate[in->out].side);
    for (size_t i = 0; i < rows; i++) {
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
    double bias;
    SCOPED(memory_drop) double *weight = memory_new(g->inputs * v->D, sizeof *weight);
    if (!weight) return ERR_MEMORY;
    TRY(learned(v->arg, g->side, g->layer, g->name, ".weight", 0, g->inputs * v->D, weight));
    TRY(learned(v->arg, g->side, g->layer, g->name, ".bias", 0, 1, &bias));
    gate_values(v, in, g->act, weight, bias);
    return 0;
}

static void copy_carried(const States *s, const PlanStates *p, const PlanValues *v, int side)
{
    size_t N = s->n[side] * v->D, count = v->plan->layers[side] * s->table[side]->carries;
    for (size_t i = 0; i < count; i++)
        if (p->carried[side][i] >= 0)
            memcpy(s->carried[side] + i * N, plan_value(v, p->carried[side][i]),
                   N * sizeof(double));
        else
            memset(s->carried[side] + i * N, 0, N * sizeof(double));
}

int layer_learned(Model *m, int side, int layer, Table *t)
{
    for (size_t i = 0; i < t->symbols; i++) {
        double value;
        Symbol *a = &t->symbol[i];
        if (a->inputs || !find_learned(m, side, layer, a->name, ""))
            return error_set(ERR_ACCURACY, "%s: layer %d has no number %s", t->name, layer,
                             a->name);
        TRY(learned(m, side, layer, a->name, "", 0, 1, &value));
        mpq_set_d(a->start, value);
    }
    return 0;
}

static int follow(Model *m, const States *s, PlanStates *p)
{
    size_t d = model_config(m)->width;
    const size_t *layers = model_plan(m)->layers;
    BridgeOptions o = {.layers = layers[SIDE_TARGET],
                       .encoder_layers = layers[SIDE_SOURCE],
                       .width = d,
                       .inner = 1,
                       .match = MATCH_NONE};
    const double *const begin[SIDES] = {s->state[SIDE_TARGET], s->state[SIDE_SOURCE]};
    SCOPED(plan_drop) Plan *plan = NULL;
    TRY(bridge_plan_states(s->table[SIDE_SOURCE], s->table[SIDE_TARGET], &o, &plan, p));
    SCOPED(plan_values_free)
    PlanValues v = {.plan = plan,
                    .N = s->n[SIDE_TARGET],
                    .M = s->n[SIDE_SOURCE],
                    .D = d,
                    .sublayer = sublayer,
                    .gate = gate,
                    .scalar = scalar,
                    .arg = m,
                    .token = {s->token[SIDE_TARGET], s->token[SIDE_SOURCE]}};
    TRY(plan_values(&v, begin));
    for (int side = 0; side < plan->sides; side++)
        for (size_t l = 1; l <= plan->layers[side]; l++)
            memcpy(s->state[side] + l * s->n[side] * d, plan_value(&v, p->at[side][l]),
                   s->n[side] * d * sizeof(double));
    for (int side = 0; side < plan->sides; side++)
        if (s->carried[side]) copy_carried(s, p, &v, side);
    if (plan->sides > 1)
        memcpy(s->memory, plan_value(&v, p->memory), s->n[SIDE_SOURCE] * d * sizeof(double));
    return 0;
}

int bridge_states(Model *m, States *s)
{
    PlanStates p = {0};
    int code = 0;
    for (int side = 0; side < SIDES; side++) {
        size_t layers = model_plan(m)->layers[side];
        size_t carries = s->table[side] ? s->table[side]->carries : 0;
        p.at[side] = memory_new(layers + 1, sizeof(int));
        p.carried[side] = memory_new(layers * carries, sizeof(int));
        if (!p.at[side] || !p.carried[side]) code = ERR_MEMORY;
    }
    if (code == 0) code = follow(m, s, &p);
    for (int side = 0; side < SIDES; side++) memory_free_all(p.at[side], p.carried[side]);
    return code;
}
