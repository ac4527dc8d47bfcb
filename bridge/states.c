/* states.c: computes the states between the layers of a network, and the step of one layer from any state. It follows a plan in
 * host doubles (nn/model/walk.c), sublayer by sublayer. The result of the network's plan must equal that of nn/ in one pass.
 *
 * The plan of a step is that of one layer of the trained table in which all that is carried begins as an embedding: the
 * instructions of these give what the step begins with. What it learned is that of the layer that is asked for. A decoder's
 * layer has a plan of two sides, whose encoder is not run, as its output is given. */
#include "bridge/layer_field.h"
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a plan is run with: the model, and for a step its layer and what is carried into it. */
typedef struct {
    Model *model;
    const LayerOf *of; /* NULL: the plan is the model's own */
    const double *carried;
} Walk;

/* Moves a side and a layer of the plan to those of the model. Returns 0 on the side that is not run. */
static int place(const Walk *w, int *side, int *layer)
{
    if (!w->of) return 1;
    if (*side != SIDE_TARGET) return 0;
    *side = w->of->side;
    *layer = w->of->layer;
    return 1;
}

/* Finds tensor "layers.<layer>.scheme.<name><suffix>" of a side; NULL: there is none. */
static const Param *find_learned(const Walk *w, int side, int layer, const char *name,
                                 const char *suffix)
{
    char full[2 * sizeof((Param *)0)->name];
    place(w, &side, &layer);
    snprintf(full, sizeof full, "%slayers.%d.scheme.%s%s", plan_prefix(model_plan(w->model), side),
             layer, name, suffix);
    return model_find(w->model, full);
}

/* Reads n numbers of it, from `first` on; of the side that is not run none. */
static int learned(const Walk *w, int side, int layer, const char *name, const char *suffix,
                   size_t first, size_t n, double *out)
{
    const Backend *b = model_backend(w->model);
    const Param *p = find_learned(w, side, layer, name, suffix);
    if (!place(w, &side, &layer)) return 0;
    NEED(p && p->size >= first + n);
    b->get(out, backend_at(b, model_data(w->model), p->offset + first), n);
    return 0;
}

static int scalar(const PlanValues *v, const PlanFactor *f, double *value)
{
    const PlanScalar *s = &v->plan->scalar[f->index];
    *value = 0;
    return learned(v->arg, s->side, s->layer, s->name, "", f->element, 1, value);
}

/* Finds the model's slot for one of the plan; below 0: there is none. */
static int find_slot(const Walk *w, const PlanSlot *s)
{
    int side = s->side, layer = s->layer;
    if (!place(w, &side, &layer)) return -1;
    return plan_find_slot(model_plan(w->model), side, s->kind, layer, s->set);
}

/* Runs an EVAL, a NORM or a WORDS. A KEYS copies the memory, which stands for the keys made of it. */
static int sublayer(void *arg, const PlanInstr *in)
{
    const PlanValues *v = arg;
    const Walk *w = v->arg;
    const PlanSlot *s = &v->plan->slot[in->slot];
    int slot = find_slot(w, s);
    size_t rows = in->op == PLAN_KEYS ? v->M : plan_rows(v, s->side);
    const double *x = in->terms ? plan_value(v, in->term[0].x) : NULL;
    double *y = plan_value(v, in->out);
    if (w->of && in->op == PLAN_KEYS) x = w->of->memory;
    if (w->of && in->op == PLAN_WORDS) x = w->carried + (size_t)(s->set - 1) * rows * v->D;
    if (w->of && s->side != SIDE_TARGET) return 0;
    if (x && (in->op == PLAN_KEYS || in->op == PLAN_WORDS))
        return memcpy(y, x, rows * v->D * sizeof *y), 0;
    if (in->op == PLAN_WORDS) return model_words(w->model, slot, rows, v->token[s->side], y);
    const double *memory = in->terms > 1 ? plan_value(v, in->term[1].x) : NULL;
    return model_sublayer(w->model, slot, rows, x, v->M, memory, y);
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

/* Copies n numbers of a register; -1: of what is 0. */
static void copy_value(const PlanValues *v, int reg, size_t n, double *to)
{
    if (reg >= 0)
        memcpy(to, plan_value(v, reg), n * sizeof *to);
    else
        memset(to, 0, n * sizeof *to);
}

static void copy_carried(const States *s, const PlanStates *p, const PlanValues *v, int side)
{
    size_t N = s->n[side] * v->D, count = v->plan->layers[side] * s->table[side]->carries;
    for (size_t i = 0; i < count; i++)
        copy_value(v, p->carried[side][i], N, s->carried[side] + i * N);
}

static PlanValues values(const Plan *plan, size_t N, size_t M, size_t D, Walk *w)
{
    return (PlanValues){.plan = plan,
                        .N = N,
                        .M = M,
                        .D = D,
                        .sublayer = sublayer,
                        .gate = gate,
                        .scalar = scalar,
                        .arg = w};
}

static int follow(Model *m, const States *s, PlanStates *p)
{
    Walk w = {.model = m};
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
    PlanValues v = values(plan, s->n[SIDE_TARGET], s->n[SIDE_SOURCE], d, &w);
    for (int side = 0; side < SIDES; side++) v.token[side] = s->token[side];
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

/* ---- one step --------------------------------------------------------------------------------------- */

struct LayerStep {
    Model *model;
    LayerOf of;
    Plan *plan;
    int at[2],
        *carried; /* (2, carries) registers of y and of what is carried, before the step and behind it */
    size_t carries;
};

/* Makes the plan of one layer whose v all begin as embeddings. */
static int plan_step(LayerStep *s, const Table *trained, const Table *encoder)
{
    BridgeOptions o = {.layers = 1, .width = 1, .inner = 1, .match = MATCH_NONE};
    PlanStates p = {.at = {s->at}, .carried = {s->carried}, .last = 1};
    SCOPED(table_drop) Table *t = table_copy(trained);
    if (!t) return ERR_MEMORY;
    for (size_t c = 0; c < t->carries; c++) t->carry[c].started = 0, t->carry[c].embedded = 1;
    return bridge_plan_states(encoder, t, &o, &s->plan, &p);
}

/* Checks that the layer has learned all that the step reads. */
static int check_learned(const LayerStep *s)
{
    const Plan *p = s->plan;
    Walk w = {.model = s->model, .of = &s->of};
    const char *lacks = NULL;
    for (size_t i = 0; i < p->scalars; i++)
        if (p->scalar[i].side == SIDE_TARGET &&
            !find_learned(&w, SIDE_TARGET, 0, p->scalar[i].name, ""))
            lacks = p->scalar[i].name;
    for (size_t i = 0; i < p->gates; i++)
        if (p->gate[i].side == SIDE_TARGET &&
            !find_learned(&w, SIDE_TARGET, 0, p->gate[i].name, ".bias"))
            lacks = p->gate[i].name;
    return lacks ? error_set(ERR_ACCURACY, "layer %d has learned no %s", s->of.layer, lacks) : 0;
}

int layer_step_new(Model *m, const Table *trained, const Table *encoder, const LayerOf *of,
                   LayerStep **out)
{
    *out = NULL;
    SCOPED(layer_step_drop) LayerStep *s = memory_new(1, sizeof *s);
    if (!s) return ERR_MEMORY;
    *s = (LayerStep){.model = m, .of = *of, .carries = trained->carries};
    s->carried = memory_new(2 * trained->carries, sizeof *s->carried);
    if (!s->carried) return ERR_MEMORY;
    TRY(plan_step(s, trained, of->M ? encoder : NULL));
    TRY(check_learned(s));
    *out = s;
    s = NULL;
    return 0;
}

void layer_step_free(LayerStep *s)
{
    if (!s) return;
    plan_free(s->plan);
    memory_free_all(s->carried, s);
}

int layer_step(const LayerStep *s, const double *y, double *end, double *v)
{
    size_t D = model_config(s->model)->width, N = s->of.n * D;
    Walk w = {.model = s->model, .of = &s->of, .carried = v};
    const double *const begin[SIDES] = {y, s->of.memory};
    SCOPED(plan_values_free) PlanValues made = values(s->plan, s->of.n, s->of.M, D, &w);
    TRY(plan_values(&made, begin));
    if (end) memcpy(end, plan_value(&made, s->at[1]), N * sizeof *end);
    for (size_t c = 0; c < s->carries; c++)
        copy_value(&made, s->carried[s->carries + c], N, v + c * N);
    return 0;
}
