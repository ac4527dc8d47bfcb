/* pass.c: forward and backward over a plan. Nothing is allocated here; every buffer was laid out by
 * layout.c.
 *
 * Backward. The plan read in reverse is a plan again. A register's adjoint is the sum over those who
 * read it; the LINs among them are linear maps, so their share is itself one LIN over the adjoints of
 * what they wrote: it is *pulled*, in one pass over memory and without zeroing, when the adjoint is
 * first needed: before the last EVAL or GATE that reads the register adds its own share, or at the
 * instruction that wrote it. A LIN that stands before such an EVAL adds its share when its turn comes.
 * Adjoints of a sublayer's inside are written.
 *
 * Dropout. A mask's stream is n * 2^DROPOUT_STEP + place, n numbering the passes of a training (the step,
 * where it has one part): place 0 is the embedding, 1 + 4 draw + kind an EVAL of that draw number, kind as
 * below. Equal draws in a pass share their masks. */
#include "nn/engine.h"

#include <math.h>

#include "kernels/error.h"

_Static_assert((int)PLAN_FACTORS == (int)LIN_FACTORS, "a plan's term must fit a kernel's");

enum { DROP_WEIGHTS, DROP_ATTENTION, DROP_ACTIVATION, DROP_FEEDFORWARD, DROP_KINDS };
static const Dropout no_drop = {0};

static size_t index_of(const Model *m, const PlanInstr *in)
{
    return (size_t)(in - m->plan->instr);
}

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

/* Self-attention has q, k, v in w->in (N, 3D); cross-attention q alone, k and v in the register of its KEYS. */
static Attention attention(const Model *m, const Pass *p, const PlanInstr *in, const Work *w)
{
    const ModelConfig *c = &m->config;
    const PlanSlot *s = &m->plan->slot[in->slot];
    int cross = s->kind == SLOT_CROSS, relative = !cross && c->positions & POSITIONS_RELATIVE;
    size_t D = c->width, keys = cross ? 2 * D : 3 * D;
    size_t most = cross || s->side == SIDE_SOURCE ? c->max_source_length : c->max_length;
    const void *k = cross ? m->state[in->term[1].x] : backend_at(m->backend, w->in, D);
    return (Attention){.S = p->S,
                       .start = s->side == SIDE_SOURCE ? m->batch.source_begins : m->batch.begins,
                       .memory = cross ? m->batch.source_begins : NULL,
                       .causal = !cross && plan_causal(m->plan, s->side),
                       .longest = most,
                       .D = D,
                       .H = c->heads,
                       .q = w->in,
                       .k = k,
                       .v = backend_at(m->backend, k, D),
                       .ldq = cross ? D : 3 * D,
                       .ldk = keys,
                       .relative = relative ? data(m, m->slot[in->slot].relative) : NULL,
                       .clip = relative ? c->clip : 0,
                       .span = c->span ? data(m, m->slot[in->slot].span) : NULL,
                       .longest_span = c->span,
                       .ramp = c->ramp,
                       .drop = drop_eval(p, in, DROP_WEIGHTS, c->heads * most)};
}

/* Rows that an instruction of a slot works on. */
static size_t rows_of(const Pass *p, const PlanInstr *in)
{
    return rows(p, p->m->plan->slot[in->slot].side);
}

/* The core of a sublayer, w->in (N, I) -> w->core (N, O); backward w->dcore (N, O) -> w->din (N, I). */
typedef struct {
    void (*forward)(const Model *m, const Pass *p, const PlanInstr *in, const Work *w);
    void (*back)(const Model *m, const Pass *p, const PlanInstr *in, const Work *w);
    int drop; /* DROP_* of the sublayer's output */
} Core;

static void attention_core(const Model *m, const Pass *p, const PlanInstr *in, const Work *w)
{
    Attention a = attention(m, p, in, w);
    const SlotParams *o = &m->slot[in->slot];
    m->backend->bias_drop(rows_of(p, in), o->I, w->in, data(m, o->in_b), no_drop);
    m->backend->attention(&a, w->core, w->lse);
}

static void attention_core_back(const Model *m, const Pass *p, const PlanInstr *in, const Work *w)
{
    Attention a = attention(m, p, in, w);
    const SlotParams *o = &m->slot[in->slot];
    int cross = a.memory != NULL; /* other EVALs add to the adjoints of its keys and values */
    void *dk = cross ? m->adjoint[in->term[1].x] : backend_at(m->backend, w->din, a.D);
    m->backend->attention_back(
        &a, w->core, w->lse, w->dcore, w->din, dk, backend_at(m->backend, dk, a.D), cross,
        a.relative ? grad(m, o->relative) : NULL, a.span ? grad(m, o->span) : NULL);
    m->backend->bias_drop_back(rows_of(p, in), o->I, w->din, grad(m, o->in_b), no_drop);
}

static void activation_core(const Model *m, const Pass *p, const PlanInstr *in, const Work *w)
{
    const SlotParams *o = &m->slot[in->slot];
    m->backend->bias_act(rows_of(p, in), o->I, w->in, data(m, o->in_b), activation(m, in->slot),
                         drop_eval(p, in, DROP_ACTIVATION, o->I), w->core);
}

static void activation_core_back(const Model *m, const Pass *p, const PlanInstr *in, const Work *w)
{
    const SlotParams *o = &m->slot[in->slot];
    m->backend->bias_act_back(rows_of(p, in), o->I, w->in, w->core, activation(m, in->slot),
                              drop_eval(p, in, DROP_ACTIVATION, o->I), w->dcore,
                              grad(m, o->in_b)); /* din is dcore */
}

static const Core core[] = {
    [SLOT_ATTENTION] = {attention_core, attention_core_back, DROP_ATTENTION},
    [SLOT_FEEDFORWARD] = {activation_core, activation_core_back, DROP_FEEDFORWARD},
    [SLOT_CROSS] = {attention_core, attention_core_back, DROP_ATTENTION},
};

static const Core *core_of(const Model *m, const PlanInstr *in)
{
    return &core[m->plan->slot[in->slot].kind];
}

/* All of w from x (N, D). */
static void inside(const Model *m, const Pass *p, const PlanInstr *in, const void *x, const Work *w)
{
    const Backend *b = m->backend;
    const SlotParams *o = &m->slot[in->slot];
    size_t N = rows_of(p, in), D = m->config.width;
    if (!m->plan->post)
        b->norm(N, D, x, data(m, o->norm_w), data(m, o->norm_b), w->normed, w->stats);
    b->gemm(0, 1, N, o->I, D, 1, w->normed, D, data(m, o->in_w), D, 0, w->in, o->I);
    core_of(m, in)->forward(m, p, in, w);
}

/* r (N, D) = sublayer(x (N, D)). */
static int eval(void *arg, const PlanInstr *in)
{
    const Pass *p = arg;
    const Model *m = p->m;
    const Backend *b = m->backend;
    const SlotParams *o = &m->slot[in->slot];
    size_t i = index_of(m, in), N = rows_of(p, in), D = m->config.width;
    const Work *w = &m->work[i];
    void *y = m->state[in->out];
    inside(m, p, in, m->state[in->term[0].x], w);
    b->gemm(0, 1, N, D, o->O, 1, w->core, o->O, data(m, o->out_w), o->O, 0, y, D);
    b->bias_drop(N, D, y, data(m, o->out_b), drop_eval(p, in, core_of(m, in)->drop, D));
    if (p->see) p->see(p, i, p->context);
    return 0;
}

/* dr (N, D) in, spoilt; dx (N, D) accumulates. */
static void eval_back(const Pass *p, const PlanInstr *in)
{
    const Model *m = p->m;
    const Backend *b = m->backend;
    const SlotParams *o = &m->slot[in->slot];
    const Work *w = &m->again[index_of(m, in)];
    const Core *c = core_of(m, in);
    const void *x = m->state[in->term[0].x];
    void *dy = m->adjoint[in->out], *dx = m->adjoint[in->term[0].x];
    size_t N = rows_of(p, in), D = m->config.width;
    int post = m->plan->post;
    if (m->config.recompute) inside(m, p, in, x, w);
    b->bias_drop_back(N, D, dy, grad(m, o->out_b), drop_eval(p, in, c->drop, D));
    b->gemm(1, 0, D, o->O, N, 1, dy, D, w->core, o->O, 1, grad(m, o->out_w), o->O);
    b->gemm(0, 0, N, o->O, D, 1, dy, D, data(m, o->out_w), o->O, 0, w->dcore, o->O);
    c->back(m, p, in, w);
    b->gemm(1, 0, o->I, D, N, 1, w->din, o->I, w->normed, D, 1, grad(m, o->in_w), D);
    b->gemm(0, 0, N, D, o->I, 1, w->din, o->I, data(m, o->in_w), D, post, post ? dx : w->normed, D);
    if (!post)
        b->norm_back(N, D, x, data(m, o->norm_w), w->stats, w->normed, dx, grad(m, o->norm_w),
                     grad(m, o->norm_b));
}

/* ---- instructions ------------------------------------------------------------------------------- */

static void *gate_value(const Model *m, void *gates, size_t g)
{
    return backend_at(m->backend, gates, g * gate_rows(m));
}

/* The kernel's term c f_1 f_2 ... x; adjoints are not wanted. */
static LinTerm lin_term(const Model *m, const PlanTerm *t, const void *x)
{
    LinTerm l = {t->c, x, NULL, t->factors, {{0}}};
    for (int f = 0; f < t->factors; f++) {
        size_t j = (size_t)t->factor[f].index;
        int scalar = t->factor[f].kind == FACTOR_SCALAR;
        l.factor[f].p =
            scalar ? data(m, m->scalar[j] + t->factor[f].element) : gate_value(m, m->gates, j);
        l.factor[f].stride = !scalar;
    }
    return l;
}

static int lin(void *arg, const PlanInstr *in)
{
    const Pass *p = arg;
    const Model *m = p->m;
    for (size_t k = 0; k < in->terms; k++)
        m->term[k] = lin_term(m, &in->term[k], m->state[in->term[k].x]);
    m->backend->lin(rows(p, m->plan->reg[in->out].side), m->config.width, in->terms, m->term,
                    m->state[in->out]);
    return 0;
}

/* Adjoint r = the sum over the LINs behind instruction i that read it. */
static void pull(const Model *m, const Pass *p, int r, int i)
{
    size_t n = 0;
    for (size_t k = m->from[r]; k < m->from[r + 1] && (int)m->reader[k].instr > i; k++) {
        const PlanInstr *in = &m->plan->instr[m->reader[k].instr];
        m->term[n++] = lin_term(m, &in->term[m->reader[k].term], m->adjoint[in->out]);
    }
    m->backend->lin(rows(p, m->plan->reg[r].side), columns(m, r), n, m->term, m->adjoint[r]);
}

/* Adjoints that are first needed at instruction i. */
static void pull_adjoints(const Model *m, const Pass *p, int i)
{
    const PlanInstr *in = &m->plan->instr[i];
    if (in->op != PLAN_GATE && m->pull[in->out] == i) pull(m, p, in->out, i);
    for (size_t k = 0; k < in->terms; k++)
        if (m->pull[in->term[k].x] == i) pull(m, p, in->term[k].x, i);
}

/* What is not pulled: adjoints of learned factors, and of a register that a later EVAL or GATE reads. */
static void lin_back(const Pass *p, const PlanInstr *in)
{
    const Model *m = p->m;
    int wanted = 0, i = (int)index_of(m, in);
    for (size_t k = 0; k < in->terms; k++) {
        const PlanTerm *t = &in->term[k];
        LinTerm *l = &m->term[k];
        *l = lin_term(m, t, m->state[t->x]);
        l->dx = m->pull[t->x] > i ? m->adjoint[t->x] : NULL;
        wanted |= l->dx || t->factors;
        for (int f = 0; f < t->factors; f++) {
            size_t j = (size_t)t->factor[f].index;
            l->factor[f].dp = t->factor[f].kind == FACTOR_SCALAR
                                  ? grad(m, m->scalar[j] + t->factor[f].element)
                                  : gate_value(m, m->dgates, j);
        }
    }
    if (wanted)
        m->backend->lin_back(rows(p, m->plan->reg[in->out].side), m->config.width, in->terms,
                             m->term, m->adjoint[in->out]);
}

static int norm(void *arg, const PlanInstr *in)
{
    const Pass *p = arg;
    const Model *m = p->m;
    const SlotParams *o = &m->slot[in->slot];
    m->backend->norm(rows_of(p, in), m->config.width, m->state[in->term[0].x], data(m, o->norm_w),
                     data(m, o->norm_b), m->state[in->out], m->work[index_of(m, in)].stats);
    return 0;
}

static void norm_back(const Pass *p, const PlanInstr *in)
{
    const Model *m = p->m;
    const SlotParams *o = &m->slot[in->slot];
    m->backend->norm_back(rows_of(p, in), m->config.width, m->state[in->term[0].x],
                          data(m, o->norm_w), m->work[index_of(m, in)].stats, m->adjoint[in->out],
                          m->adjoint[in->term[0].x], grad(m, o->norm_w), grad(m, o->norm_b));
}

/* r (M, 2D) = x (M, D) K^T + b: keys, then values. */
static int keys(void *arg, const PlanInstr *in)
{
    const Pass *p = arg;
    const Model *m = p->m;
    const SlotParams *o = &m->slot[in->slot];
    size_t M = p->source.N, D = m->config.width;
    void *r = m->state[in->out];
    m->backend->gemm(0, 1, M, 2 * D, D, 1, m->state[in->term[0].x], D, data(m, o->keys_w), D, 0, r,
                     2 * D);
    m->backend->bias_drop(M, 2 * D, r, data(m, o->keys_b), no_drop);
    return 0;
}

static void keys_back(const Pass *p, const PlanInstr *in)
{
    const Model *m = p->m;
    const SlotParams *o = &m->slot[in->slot];
    size_t M = p->source.N, D = m->config.width;
    int x = in->term[0].x;
    void *dr = m->adjoint[in->out];
    m->backend->bias_drop_back(M, 2 * D, dr, grad(m, o->keys_b), no_drop);
    m->backend->gemm(1, 0, 2 * D, D, M, 1, dr, 2 * D, m->state[x], D, 1, grad(m, o->keys_w), D);
    m->backend->gemm(0, 0, M, D, 2 * D, 1, dr, 2 * D, data(m, o->keys_w), D, 1, m->adjoint[x], D);
}

static void gate_inputs(const Model *m, const PlanInstr *in)
{
    for (size_t k = 0; k < in->terms; k++) {
        m->gate_x[k] = m->state[in->term[k].x];
        m->gate_dx[k] = m->adjoint[in->term[k].x];
    }
}

static int gate(void *arg, const PlanInstr *in)
{
    const Pass *p = arg;
    const Model *m = p->m;
    size_t g = (size_t)in->out;
    gate_inputs(m, in);
    m->backend->gate(rows(p, m->plan->gate[g].side), m->config.width, in->terms, m->gate_x,
                     data(m, m->gate[g].w), data(m, m->gate[g].b), m->plan->gate[g].act,
                     gate_value(m, m->gates, g));
    return 0;
}

static void gate_back(const Pass *p, const PlanInstr *in)
{
    const Model *m = p->m;
    size_t g = (size_t)in->out;
    gate_inputs(m, in);
    m->backend->gate_back(rows(p, m->plan->gate[g].side), m->config.width, in->terms, m->gate_x,
                          data(m, m->gate[g].w), m->plan->gate[g].act, gate_value(m, m->gates, g),
                          gate_value(m, m->dgates, g), m->gate_dx, grad(m, m->gate[g].w),
                          grad(m, m->gate[g].b));
}

PlanOp *const pass_op[PLAN_OPS] = {[PLAN_LIN] = lin,
                                   [PLAN_EVAL] = eval,
                                   [PLAN_GATE] = gate,
                                   [PLAN_NORM] = norm,
                                   [PLAN_KEYS] = keys};

typedef void BackOp(const Pass *p, const PlanInstr *in);
static BackOp *const back_op[PLAN_OPS] = {[PLAN_LIN] = lin_back,
                                          [PLAN_EVAL] = eval_back,
                                          [PLAN_GATE] = gate_back,
                                          [PLAN_NORM] = norm_back,
                                          [PLAN_KEYS] = keys_back};

/* From the output's adjoint to those of the embeddings. */
static void run_back(const Model *m, const Pass *p)
{
    for (size_t i = m->plan->instrs; i-- > 0;) {
        const PlanInstr *in = &m->plan->instr[i];
        pull_adjoints(m, p, (int)i);
        back_op[in->op](p, in);
        share_after(m, p, i);
    }
    for (int side = 0; side < m->plan->sides; side++)
        if (m->pull[side] < 0) pull(m, p, side, -1);
}

void pass_end(const Model *m, const Pass *p)
{
    if (!ends_in_norm(m)) {
        m->backend->copy(m->out.hidden, m->state[m->plan->output], p->N * m->config.width);
        return;
    }
    m->backend->norm(p->N, m->config.width, m->state[m->plan->output], data(m, m->out.norm_w),
                     data(m, m->out.norm_b), m->out.hidden, m->out.stats);
}

static void final_norm_back(const Model *m, const Pass *p)
{
    int r = m->plan->output;
    if (!ends_in_norm(m)) {
        m->backend->copy(m->adjoint[r], m->out.dhidden, p->N * m->config.width);
        return;
    }
    m->backend->norm_back(p->N, m->config.width, m->state[r], data(m, m->out.norm_w), m->out.stats,
                          m->out.dhidden, m->adjoint[r], grad(m, m->out.norm_w),
                          grad(m, m->out.norm_b));
}

/* ---- passes ------------------------------------------------------------------------------------- */

static int check_target(const Model *m, const Batch *x)
{
    int32_t V = (int32_t)m->config.vocab, T = (int32_t)m->config.max_length;
    if (x->N < 1 || x->N > m->config.max_tokens || x->longest > m->config.max_length)
        return error_set(ERR_MISUSE, "a batch of %zu tokens, longest %zu, in a model for %zu, %zu",
                         x->N, x->longest, m->config.max_tokens, m->config.max_length);
    int next = m->ends != &ends_heads; /* it has targets */
    for (size_t i = 0; i < x->N; i++)
        if (x->input[i] < 0 || x->input[i] >= V ||
            (next && (x->target[i] < 0 || x->target[i] >= V)) || x->position[i] < 0 ||
            (m->positions && x->position[i] >= T))
            return error_set(ERR_MISUSE, "row %zu of a batch is outside the model", i);
    return heads_batch(m, x);
}

static int check_source(const Model *m, const Batch *x)
{
    int32_t V = (int32_t)m->config.vocab, T = (int32_t)m->config.max_source_length;
    if ((x->source.N > 0) != (m->plan->sides > 1) || x->source.N > m->config.max_source ||
        x->source.longest > m->config.max_source_length)
        return error_set(
            ERR_MISUSE, "a batch of %zu source tokens, longest %zu, in a model for %zu, %zu",
            x->source.N, x->source.longest, m->config.max_source, m->config.max_source_length);
    for (size_t i = 0; i < x->source.N; i++)
        if (x->source.input[i] < 0 || x->source.input[i] >= V || x->source.position[i] < 0 ||
            (m->positions && x->source.position[i] >= T))
            return error_set(ERR_MISUSE, "source row %zu of a batch is outside the model", i);
    return 0;
}

void pass_masks(const Model *m, uint64_t number)
{
    m->backend->send(m->masks, &number, sizeof number);
}

void pass_step(const Model *m, uint64_t step, double rate)
{
    Step s = {.step = step, .rate = rate};
    m->backend->send(m->step, &s, sizeof s);
    pass_masks(m, step);
}

int pass_source(const Model *m, const Batch *x)
{
    const Backend *b = m->backend;
    TRY(check_source(m, x));
    if (x->source.N == 0) return 0;
    b->send(m->batch.source, x->source.input, x->source.N * sizeof *x->source.input);
    b->send(m->batch.place, x->source.position, x->source.N * sizeof *x->source.position);
    b->send(m->batch.source_begins, x->source.start, (x->S + 1) * sizeof *x->source.start);
    return 0;
}

int pass_begin(const Model *m, const Batch *x, int train, Pass *p)
{
    const Backend *b = m->backend;
    TRY(check_target(m, x));
    TRY(pass_source(m, x));
    *p = (Pass){.m = m, .N = x->N, .S = x->S, .train = train, .asked = x->N};
    p->source.N = x->source.N;
    m->ends->send(m, x, p);
    p->tokens = p->asked;
    b->send(m->batch.position, x->position, x->N * sizeof *x->position);
    b->send(m->batch.begins, x->start, (x->S + 1) * sizeof *x->start);
    return 0;
}

void pass_forward(const Model *m, const Pass *p)
{
    for (int side = 0; side < m->plan->sides; side++) m->ends->embed(m, p, side);
    plan_walk(m->plan, pass_op, (void *)p);
    pass_end(m, p);
    if (m->ends->head) m->ends->head(m, p);
}

static void backward(const Model *m, const Pass *p)
{
    m->backend->fill(m->dgates, 0, m->plan->gates * gate_rows(m));
    pull(m, p, m->plan->output, (int)m->plan->instrs);
    final_norm_back(m, p);
    run_back(m, p);
    m->ends->embed_back(m, p);
}

static void loss(const Model *m, const Pass *p, int back)
{
    m->ends->loss(m, p, back);
    if (p->asked) m->backend->loss(p->asked, m->out.nll, m->step);
}

void pass_gradient(const Model *m, const Pass *p)
{
    if (!p->more) m->backend->fill(m->grad, 0, m->size);
    if (!p->more && !p->elsewhere) spans_gradient(m);
    if (p->N) {
        pass_forward(m, p);
        loss(m, p, 1);
        backward(m, p);
    } else {
        share_nothing(m, p);
    }
    share_rest(m, p);
}

int model_forward(Model *m, const Batch *x, int train, uint64_t step, double *nll, double *mean)
{
    const Backend *b = m->backend;
    Pass p;
    Step s;
    TRY(pass_begin(m, x, train, &p));
    pass_step(m, step, 0);
    pass_forward(m, &p);
    loss(m, &p, 0);
    if (nll) b->get(nll, m->out.nll, p.words + p.labels ? p.words + p.labels : p.asked);
    b->receive(&s, m->step, sizeof s);
    if (mean) *mean = p.asked ? s.loss / (double)p.asked : 0;
    return b->wait();
}

int model_logits(Model *m, const Batch *b, double *logits)
{
    Pass p;
    TRY(pass_begin(m, b, 0, &p));
    pass_step(m, 0, 0);
    pass_forward(m, &p);
    for (size_t at = 0, n; at < p.asked; at += n) {
        n = ends_logits(m, &p, at);
        TRY(m->ends->logits(m, at, n, logits + at * m->config.vocab));
    }
    return m->backend->wait();
}
