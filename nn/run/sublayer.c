/* sublayer.c: the inside of an EVAL: norm, product, core, product, forward and backward. engine.h has the shapes.
 *
 * Dropout. A mask's stream is n * 2^DROPOUT_STEP + place; n numbers the passes of a training (the step, if it has one
 * part): place 0 is the embedding, 1 + 4 draw + kind an EVAL of that draw number, kind as below. Equal draws in a pass
 * share their masks. */
#include "nn/run/pass.h"

enum { DROP_WEIGHTS, DROP_ATTENTION, DROP_ACTIVATION, DROP_FEEDFORWARD, DROP_KINDS };
static Dropout drop_eval(const Pass *p, const PlanInstr *in, int kind, size_t columns)
{
    const ModelConfig *c = &p->m->config;
    double rate = !c->dropout_apart         ? c->dropout
                  : kind == DROP_WEIGHTS    ? c->attention_dropout
                  : kind == DROP_ACTIVATION ? c->activation_dropout
                                            : c->dropout;
    return drop(p, p->m->plan->slot[in->slot].side, rate,
                1 + (uint64_t)in->draw * DROP_KINDS + (uint64_t)kind, columns);
}

/* ---- sublayers ---------------------------------------------------------------------------------- */

/* Describes the attention of an EVAL. Self-attention has q, k, v in w->in (N, I); cross-attention has q there, and k
 * and v in the register of its KEYS. */
static Attention attention(const Model *m, const Pass *p, const PlanInstr *in, const Work *w)
{
    const ModelConfig *c = &m->config;
    const PlanSlot *s = &m->plan->slot[in->slot];
    int cross = s->kind == SLOT_CROSS, relative = !cross && c->positions & POSITIONS_RELATIVE;
    size_t D = c->width, I = m->slot[in->slot].I, wide = cross ? D : key_width(m);
    size_t most = cross || s->side == SIDE_SOURCE ? c->max_source_length : c->max_length;
    size_t rows = s->side == SIDE_SOURCE ? p->source.longest : p->longest;
    const void *k = cross ? m->state[in->term[1].x] : element_at(m, w->in, D);
    return (Attention){.S = p->S,
                       .start = s->side == SIDE_SOURCE ? m->batch.source_begins : m->batch.begins,
                       .memory = cross ? m->batch.source_begins : NULL,
                       .causal = !cross && plan_causal(m->plan, s->side),
                       .longest = most,
                       .rows = rows,
                       .keys = cross ? p->source.longest : rows,
                       .D = D,
                       .H = c->heads,
                       .kv = cross ? 0 : c->kv_heads,
                       .q = w->in,
                       .k = k,
                       .v = element_at(m, k, wide),
                       .ldq = I,
                       .ldk = cross ? 2 * D : I,
                       .relative = relative ? data(m, m->slot[in->slot].relative) : NULL,
                       .clip = relative ? c->clip : 0,
                       .drop = drop_eval(p, in, DROP_WEIGHTS, c->heads * most)};
}

/* The core of a sublayer with the product before it: w->normed (N, D) -> w->core (N, O); backward with the product behind
 * it: w->dy (N, D) -> w->din (N, I). */
typedef struct {
    void (*forward)(const Model *m, const Pass *p, const PlanInstr *in, const Work *w);
    void (*back)(const Model *m, const Pass *p, const PlanInstr *in, const Work *w);
    int drop; /* DROP_* of the sublayer's output */
} Core;

/* Turns the queries and keys of self-attention in x (N, I), or their adjoints back, where positions are rotary. */
static void turn(const Model *m, const Pass *p, const PlanInstr *in, void *x, int back)
{
    const PlanSlot *s = &m->plan->slot[in->slot];
    size_t n = m->config.heads + key_width(m) / m->E;
    if (s->kind == SLOT_ATTENTION)
        turn_heads(m, s->side, instr_rows(p, in), n, x, m->slot[in->slot].I, back);
}

static void attention_core(const Model *m, const Pass *p, const PlanInstr *in, const Work *w)
{
    Attention a = attention(m, p, in, w);
    const SlotParams *o = &m->slot[in->slot];
    m->backend->linear(instr_rows(p, in), o->I, m->config.width, w->normed, data(m, o->in_w),
                       data(m, o->in_b), w->in);
    turn(m, p, in, w->in, 0);
    m->backend->attention(&a, w->out, w->lse);
    core_factors(m, instr_rows(p, in), w);
}

static void attention_core_back(const Model *m, const Pass *p, const PlanInstr *in, const Work *w)
{
    Attention a = attention(m, p, in, w);
    const SlotParams *o = &m->slot[in->slot];
    int cross = a.memory != NULL; /* other EVALs add to the adjoints of its keys and values */
    m->backend->gemm(0, 0, instr_rows(p, in), o->O, a.D, 1, w->dy, a.D, data(m, o->out_w), o->O, 0,
                     w->dcore, o->O);
    void *dk = cross ? m->adjoint[in->term[1].x] : element_at(m, w->dqkv, a.D);
    m->backend->attention_back(&a, w->out, w->lse, w->dcore, w->dqkv, dk,
                               element_at(m, dk, cross ? a.D : key_width(m)), cross,
                               a.relative ? grad(m, o->relative) : NULL);
    turn(m, p, in, w->dqkv, 1);
    m->backend->bias_back(m->backend, instr_rows(p, in), o->I, w->dqkv, w->din, grad(m, o->in_b));
}

static void activation_core(const Model *m, const Pass *p, const PlanInstr *in, const Work *w)
{
    const SlotParams *o = &m->slot[in->slot];
    const Backend *b = m->backend;
    b->activate(b, instr_rows(p, in), o->O, m->config.width, w->normed, data(m, o->in_w),
                data(m, o->in_b), activation(m, in->slot), drop_eval(p, in, DROP_ACTIVATION, o->O),
                w->in, w->core);
}

static void activation_core_back(const Model *m, const Pass *p, const PlanInstr *in, const Work *w)
{
    const SlotParams *o = &m->slot[in->slot];
    const Backend *b = m->backend;
    b->activate_back(b, instr_rows(p, in), o->O, m->config.width, w->dy, data(m, o->out_w), w->in,
                     w->core, activation(m, in->slot), drop_eval(p, in, DROP_ACTIVATION, o->O),
                     w->dcore, w->din, grad(m, o->in_b));
}

static const Core core[] = {
    [SLOT_ATTENTION] = {attention_core, attention_core_back, DROP_ATTENTION},
    [SLOT_FEEDFORWARD] = {activation_core, activation_core_back, DROP_FEEDFORWARD},
    [SLOT_CROSS] = {attention_core, attention_core_back, DROP_ATTENTION},
    [SLOT_WORDS] = {.drop = DROP_FEEDFORWARD},
};

static const Core *core_of(const Model *m, const PlanInstr *in)
{
    return &core[m->plan->slot[in->slot].kind];
}

/* Makes all of w from x (N, D); normed: the norm's output is there already. */
static void inside(const Model *m, const Pass *p, const PlanInstr *in, const void *x, int normed,
                   const Work *w)
{
    const Backend *b = m->backend;
    const SlotParams *o = &m->slot[in->slot];
    size_t N = instr_rows(p, in), D = m->config.width;
    if (!m->plan->post && !normed)
        b->norm(N, D, norm_kind(m), x, data(m, o->norm_w), norm_bias(m, o->norm_b), w->normed,
                w->stats);
    if (p->attend && plan_attends(&m->plan->slot[in->slot])) {
        p->attend(p, in, w);
        return;
    }
    core_of(m, in)->forward(m, p, in, w);
}

void sublayer_forward(const Pass *p, const PlanInstr *in, int normed)
{
    const Model *m = p->m;
    const SlotParams *o = &m->slot[in->slot];
    const Work *w = &m->work[index_of(m, in)];
    size_t D = m->config.width;
    inside(m, p, in, m->state[in->term[0].x], normed, w);
    m->backend->gemm(0, 1, instr_rows(p, in), D, o->O, 1, w->core, o->O, data(m, o->out_w), o->O, 0,
                     m->state[in->out], D);
}

Dropout sublayer_drop(const Pass *p, const PlanInstr *in)
{
    return drop_eval(p, in, core_of(p->m, in)->drop, p->m->config.width);
}

void sublayer_back(const Pass *p, const PlanInstr *in, size_t n)
{
    const Model *m = p->m;
    const Backend *b = m->backend;
    const SlotParams *o = &m->slot[in->slot];
    const Work *w = &m->again[index_of(m, in)];
    const Core *c = core_of(m, in);
    const void *x = m->state[in->term[0].x];
    void *dx = m->adjoint[in->term[0].x];
    size_t N = instr_rows(p, in), D = m->config.width;
    int post = m->plan->post, more = p->more || o->last != index_of(m, in);
    if (m->config.recompute) inside(m, p, in, x, 0, w);
    b->bias_drop_back(N, D, n, m->term, sublayer_drop(p, in), w->dy, grad(m, o->out_b));
    weight_back(m, N, D, w->dy, o->O, w->core, more, grad(m, o->out_w), NULL);
    c->back(m, p, in, w);
    weight_back(m, N, o->I, w->din, D, w->normed, more, grad(m, o->in_w), grad(m, o->in_b));
    b->gemm(0, 0, N, D, o->I, 1, w->din, o->I, data(m, o->in_w), D, post, post ? dx : w->dnormed,
            D);
}
