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
    size_t D = c->width;
    HeadsAt at = cross ? (HeadsAt){0, D, D, 2 * D} : heads_at(m, instr_rows(p, in));
    size_t most = cross || s->side == SIDE_SOURCE ? c->max_source_length : c->max_length;
    size_t rows = s->side == SIDE_SOURCE ? p->source.longest : p->longest;
    const void *k = cross ? m->state[in->term[1].x] : w->in;
    return (Attention){.S = p->S,
                       .start = s->side == SIDE_SOURCE ? m->batch.source_begins : m->batch.begins,
                       .memory = cross ? m->batch.source_begins : NULL,
                       .causal = !cross && plan_causal(m->plan, s->side),
                       .window = cross ? 0 : window_of(m, s),
                       .longest = most,
                       .rows = rows,
                       .keys = cross ? p->source.longest : rows,
                       .D = m->A,
                       .H = c->heads,
                       .kv = cross ? 0 : c->kv_heads,
                       .q = w->in,
                       .k = element_at(m, k, at.k),
                       .v = element_at(m, k, at.v),
                       .ldq = at.ldq,
                       .ldk = at.ldk,
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
    size_t N = instr_rows(p, in), H = m->config.heads, K = key_width(m) / m->E;
    HeadsAt at = heads_at(m, N);
    int normed = m->config.head_norm;
    if (s->kind != SLOT_ATTENTION) return;
    turn_heads(m, s, N, normed ? H : H + K, x, at.ldq, back);
    if (normed) turn_heads(m, s, N, K, element_at(m, x, at.k), at.ldk, back);
}

/* The products of a slot's first matrix: one or, with norms of heads, one each for queries, keys and values, whose rows have
 * no gaps. Part: `rows` rows of the matrix from `row` on, and where in w->in and its adjoints. */
typedef struct {
    size_t row, rows, at;
} Part;
enum { PARTS = 3 };

static size_t parts_of(const Model *m, const PlanInstr *in, size_t N, Part part[PARTS])
{
    size_t A = m->A, W = key_width(m);
    part[0] = (Part){0, m->slot[in->slot].I, 0};
    if (m->plan->slot[in->slot].kind != SLOT_ATTENTION || !m->config.head_norm) return 1;
    part[0] = (Part){0, A, 0};
    part[1] = (Part){A, W, N * A};
    part[2] = (Part){A + W, W, N * (A + W)};
    return PARTS;
}

void sublayer_norm_heads(const Model *m, size_t N, const SlotParams *o, const Work *w, void *k)
{
    size_t q = N * m->config.heads;
    const NormKind kind = {NORM_RMS, norm_kind(m).eps};
    m->backend->norm(q, m->E, kind, w->raw, data(m, o->q_norm), NULL, w->in, w->head_stats);
    m->backend->norm(N * key_width(m) / m->E, m->E, kind, element_at(m, w->raw, N * m->A),
                     data(m, o->k_norm), NULL, k, element_at(m, w->head_stats, 2 * q));
}

/* Turns w->dqkv, the adjoint of the norms, into that of the product before them, by way of w->in, which nothing reads any
 * more. */
static void norm_heads_back(const Model *m, size_t N, const SlotParams *o, const Work *w)
{
    static const LinTerm none = {0};
    size_t q = N * m->config.heads, A = N * m->A, W = N * key_width(m);
    const NormKind kind = {NORM_RMS, norm_kind(m).eps};
    m->backend->norm_back(q, m->E, kind, w->raw, data(m, o->q_norm), w->head_stats, w->dqkv, 0,
                          &none, w->in, grad(m, o->q_norm), NULL);
    m->backend->norm_back(W / m->E, m->E, kind, element_at(m, w->raw, A), data(m, o->k_norm),
                          element_at(m, w->head_stats, 2 * q), element_at(m, w->dqkv, A), 0, &none,
                          element_at(m, w->in, A), grad(m, o->k_norm), NULL);
    m->backend->copy(w->dqkv, w->in, A + W);
}

static void attention_core(const Model *m, const Pass *p, const PlanInstr *in, const Work *w)
{
    Attention a = attention(m, p, in, w);
    const SlotParams *o = &m->slot[in->slot];
    Part part[PARTS];
    size_t N = instr_rows(p, in), parts = parts_of(m, in, N, part);
    for (size_t k = 0; k < parts; k++)
        m->backend->linear(N, part[k].rows, m->config.width, w->normed,
                           data(m, o->in_w + part[k].row * m->config.width),
                           bias(m, o->in_b, part[k].row),
                           element_at(m, parts > 1 && k < 2 ? w->raw : w->in, part[k].at));
    if (parts > 1) sublayer_norm_heads(m, N, o, w, element_at(m, w->in, part[1].at));
    turn(m, p, in, w->in, 0);
    m->backend->attention(&a, w->out, w->lse);
    core_factors(m, instr_rows(p, in), w);
}

static void attention_core_back(const Model *m, const Pass *p, const PlanInstr *in, const Work *w)
{
    Attention a = attention(m, p, in, w);
    const SlotParams *o = &m->slot[in->slot];
    int cross = a.memory != NULL; /* other EVALs add to the adjoints of its keys and values */
    Part part[PARTS];
    size_t N = instr_rows(p, in), D = m->config.width, parts = parts_of(m, in, N, part);
    HeadsAt at = cross ? (HeadsAt){.v = D} : heads_at(m, N);
    m->backend->gemm(0, 0, N, o->O, D, 1, w->dy, D, data(m, o->out_w), o->O, 0, w->dcore, o->O);
    void *dk = cross ? m->adjoint[in->term[1].x] : w->dqkv;
    m->backend->attention_back(&a, w->out, w->lse, w->dcore, w->dqkv, element_at(m, dk, at.k),
                               element_at(m, dk, at.v), cross,
                               a.relative ? grad(m, o->relative) : NULL);
    turn(m, p, in, w->dqkv, 1);
    if (parts > 1) norm_heads_back(m, N, o, w);
    for (size_t k = 0; k < parts; k++)
        m->backend->bias_back(m->backend, N, part[k].rows, element_at(m, w->dqkv, part[k].at),
                              element_at(m, w->din, part[k].at),
                              bias_grad(m, o->in_b, part[k].row));
}

static void activation_core(const Model *m, const Pass *p, const PlanInstr *in, const Work *w)
{
    const SlotParams *o = &m->slot[in->slot];
    const Backend *b = m->backend;
    b->activate(b, instr_rows(p, in), o->O, m->config.width, w->normed, data(m, o->in_w),
                bias(m, o->in_b, 0), activation(m, in->slot),
                drop_eval(p, in, DROP_ACTIVATION, o->O), w->in, w->core);
}

static void activation_core_back(const Model *m, const Pass *p, const PlanInstr *in, const Work *w)
{
    const SlotParams *o = &m->slot[in->slot];
    const Backend *b = m->backend;
    b->activate_back(b, instr_rows(p, in), o->O, m->config.width, w->dy, data(m, o->out_w), w->in,
                     w->core, activation(m, in->slot), drop_eval(p, in, DROP_ACTIVATION, o->O),
                     w->dcore, w->din, bias_grad(m, o->in_b, 0));
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
    b->bias_drop_back(N, D, n, m->term, sublayer_drop(p, in), w->dy, bias_grad(m, o->out_b, 0));
    weight_back(m, N, D, w->dy, o->O, w->core, more, grad(m, o->out_w), NULL);
    c->back(m, p, in, w);
    Part part[PARTS];
    size_t parts = parts_of(m, in, N, part);
    for (size_t k = 0; k < parts; k++)
        weight_back(m, N, part[k].rows, element_at(m, w->din, part[k].at), D, w->normed, more,
                    grad(m, o->in_w + part[k].row * D), bias_grad(m, o->in_b, part[k].row));
    for (size_t k = 0; k < parts; k++) /* dnormed may take the place of normed */
        b->gemm(0, 0, N, D, part[k].rows, 1, element_at(m, w->din, part[k].at), part[k].rows,
                data(m, o->in_w + part[k].row * D), D, post || k, post ? dx : w->dnormed, D);
}
