/* pass.c: forward and backward over a plan. Nothing is allocated here; every buffer was laid out by
 * layout.c.
 *
 * Backward. The plan read in reverse is a plan again. A register's adjoint is the sum over the instructions that read
 * it. The LINs among them are linear maps, so their share is itself one LIN over the adjoints of the registers they
 * wrote. This share is *pulled*, in one pass over memory and without zeroing, when the adjoint is first needed: before
 * the last EVAL or GATE that reads the register adds its share, or at the instruction that wrote it. A LIN that stands
 * before such an EVAL adds its share when its turn comes. Adjoints inside a sublayer are written, not added. Where the
 * kernel that first needs the adjoint can make the sum itself, it does (fuse_pulls). Gradients of weights are made aside
 * (backend.h), and have until the second instruction after theirs that makes some (layout.c). */
#include "nn/run/pass.h"

#include "kernels/base/error.h"

_Static_assert((int)PLAN_FACTORS == (int)LIN_FACTORS, "a plan's term must fit a kernel's");

/* What an EVAL does besides, or is done already: nothing where instructions run apart. */
static Fuse fused(const Pass *p, size_t i)
{
    return p->whole ? p->m->fuse[i] : (Fuse){0};
}

/* ---- linear combinations ------------------------------------------------------------------------ */

static void *gate_value(const Model *m, void *gates, size_t g)
{
    return backend_at(m->backend, gates, g * gate_rows(m));
}

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

static void line_terms(const Model *m, const PlanInstr *in)
{
    for (size_t k = 0; k < in->terms; k++)
        m->term[k] = lin_term(m, &in->term[k], m->state[in->term[k].x]);
}

/* Sets m->term from the LINs behind instruction i that read r; their sum is r's adjoint. Returns their number. */
static size_t pull_terms(const Model *m, int r, int i)
{
    size_t n = 0;
    for (size_t k = m->from[r]; k < m->from[r + 1] && (int)m->reader[k].instr > i; k++) {
        const PlanInstr *in = &m->plan->instr[m->reader[k].instr];
        m->term[n++] = lin_term(m, &in->term[m->reader[k].term], m->adjoint[in->out]);
    }
    return n;
}

static void pull(const Model *m, const Pass *p, int r, int i)
{
    size_t n = pull_terms(m, r, i);
    m->backend->lin(rows(p, m->plan->reg[r].side), columns(m, r), n, m->term, m->adjoint[r]);
}

static void pull_adjoints(const Model *m, const Pass *p, int i)
{
    const PlanInstr *in = &m->plan->instr[i];
    if (plan_writes(in) && m->pull[in->out] == i && !fuse_pulls(m, (size_t)i, in->out))
        pull(m, p, in->out, i);
    for (size_t k = 0; k < in->terms; k++)
        if (m->pull[in->term[k].x] == i && !fuse_pulls(m, (size_t)i, in->term[k].x))
            pull(m, p, in->term[k].x, i);
}

/* ---- sublayers in a training ---------------------------------------------------------------------- */

/* Weights and outputs of the norm inside an instruction; instruction `instrs`: the final norm. */
typedef struct {
    const void *w, *b;
    void *y, *stats;
} NormOf;

static NormOf norm_of(const Model *m, size_t i)
{
    const PlanInstr *in = &m->plan->instr[i];
    if (i == m->plan->instrs)
        return (NormOf){data(m, m->out.norm_w), norm_bias(m, m->out.norm_b), m->out.hidden,
                        m->out.stats};
    const SlotParams *o = &m->slot[in->slot];
    const Work *w = &m->work[i];
    return (NormOf){data(m, o->norm_w), norm_bias(m, o->norm_b),
                    in->op == PLAN_NORM ? m->state[in->out] : w->normed, w->stats};
}

/* Makes r (N, D) = sublayer(x (N, D)), with the instructions fused into it (fuse.c). */
static int eval(void *arg, const PlanInstr *in)
{
    const Pass *p = arg;
    const Model *m = p->m;
    const Fuse f = fused(p, index_of(m, in));
    const PlanInstr *line = in + 1;
    const void *out_b = bias(m, m->slot[in->slot].out_b, 0);
    void *y = m->state[in->out];
    size_t N = instr_rows(p, in), D = m->config.width;
    sublayer_forward(p, in, f.normed);
    NormOf n = f.norm ? norm_of(m, f.norm) : (NormOf){0};
    if (f.line) {
        line_terms(m, line);
        m->backend->residual(N, D, y, out_b, sublayer_drop(p, in), f.kept, line->terms, m->term,
                             m->state[line->out], norm_kind(m), n.w, n.b, n.y, n.stats);
    } else {
        m->backend->bias_drop(N, D, y, out_b, sublayer_drop(p, in));
    }
    if (p->see) p->see(p, index_of(m, in), p->context);
    return 0;
}

/* Sets m->term from what an EVAL reads of its output's adjoint; returns their number. */
static size_t dy_terms(const Model *m, size_t i)
{
    int r = m->plan->instr[i].out;
    if (fuse_pulls(m, i, r)) return pull_terms(m, r, (int)i);
    m->term[0] = (LinTerm){.c = 1, .x = m->adjoint[r]};
    return 1;
}

/* Makes the adjoint of register x from dy, the adjoint of the norm inside instruction i. It is added to what is there,
 * or to what is pulled. */
static void norm_adjoint(const Model *m, const Pass *p, size_t i, const void *dy)
{
    const PlanInstr *in = &m->plan->instr[i];
    const SlotParams *o = &m->slot[in->slot];
    int x = in->term[0].x, pulls = fuse_pulls(m, i, x);
    size_t n = pulls ? pull_terms(m, x, (int)i) : 0;
    m->backend->norm_back(instr_rows(p, in), m->config.width, norm_kind(m), m->state[x],
                          data(m, o->norm_w), m->again[i].stats, dy, n, pulls ? m->term : NULL,
                          m->adjoint[x], grad(m, o->norm_w), norm_bias_grad(m, o->norm_b));
}

static void eval_back(const Pass *p, const PlanInstr *in)
{
    const Model *m = p->m;
    size_t i = index_of(m, in);
    sublayer_back(p, in, dy_terms(m, i));
    if (!m->plan->post) norm_adjoint(m, p, i, m->again[i].dnormed);
}

/* ---- instructions ------------------------------------------------------------------------------- */

static int lin(void *arg, const PlanInstr *in)
{
    const Pass *p = arg;
    const Model *m = p->m;
    size_t i = index_of(m, in);
    if (i > 0 && fused(p, i - 1).line) return 0; /* that EVAL has done it */
    line_terms(m, in);
    m->backend->lin(rows(p, m->plan->reg[in->out].side), m->config.width, in->terms, m->term,
                    m->state[in->out]);
    return 0;
}

/* Adds what is not pulled: adjoints of learned factors, and of a register that a later EVAL or GATE reads. */
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
    if (fused(p, index_of(m, in)).normed) return 0;
    m->backend->norm(instr_rows(p, in), m->config.width, norm_kind(m), m->state[in->term[0].x],
                     data(m, o->norm_w), norm_bias(m, o->norm_b), m->state[in->out],
                     m->work[index_of(m, in)].stats);
    return 0;
}

static void norm_back(const Pass *p, const PlanInstr *in)
{
    norm_adjoint(p->m, p, index_of(p->m, in), p->m->adjoint[in->out]);
}

/* Makes r (M, 2D) = x (M, D) K^T + b: keys, then values. */
void pass_keys(const Pass *p, const PlanInstr *in, void *r)
{
    const Model *m = p->m;
    const SlotParams *o = &m->slot[in->slot];
    size_t M = p->source.N, D = m->config.width;
    m->backend->linear(M, 2 * D, D, m->state[in->term[0].x], data(m, o->keys_w),
                       bias(m, o->keys_b, 0), r);
}

static int keys(void *arg, const PlanInstr *in)
{
    const Pass *p = arg;
    pass_keys(p, in, p->m->state[in->out]);
    return 0;
}

static void keys_back(const Pass *p, const PlanInstr *in)
{
    const Model *m = p->m;
    const SlotParams *o = &m->slot[in->slot];
    size_t M = p->source.N, D = m->config.width;
    int x = in->term[0].x;
    void *dy = m->again[index_of(m, in)].dy;
    m->backend->bias_back(m->backend, M, 2 * D, m->adjoint[in->out], dy,
                          bias_grad(m, o->keys_b, 0));
    weight_back(m, M, 2 * D, dy, D, m->state[x], p->more || o->last_keys != index_of(m, in),
                grad(m, o->keys_w), bias_grad(m, o->keys_b, 0));
    m->backend->gemm(0, 0, M, D, 2 * D, 1, dy, 2 * D, data(m, o->keys_w), D, 1, m->adjoint[x], D);
}

static int words(void *arg, const PlanInstr *in)
{
    const Pass *p = arg;
    ends_words(p, in, sublayer_drop(p, in));
    return 0;
}

static void words_back(const Pass *p, const PlanInstr *in)
{
    ends_words_back(p, in, sublayer_drop(p, in));
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

PlanOp *const pass_op[PLAN_OPS] = {
    [PLAN_LIN] = lin,   [PLAN_EVAL] = eval,   [PLAN_GATE] = gate,      [PLAN_NORM] = norm,
    [PLAN_KEYS] = keys, [PLAN_WORDS] = words, [PLAN_PENALTY] = penalty};

typedef void BackOp(const Pass *p, const PlanInstr *in);
static BackOp *const back_op[PLAN_OPS] = {
    [PLAN_LIN] = lin_back,        [PLAN_EVAL] = eval_back, [PLAN_GATE] = gate_back,
    [PLAN_NORM] = norm_back,      [PLAN_KEYS] = keys_back, [PLAN_WORDS] = words_back,
    [PLAN_PENALTY] = penalty_back};

/* Goes from the output's adjoint back to those of the embeddings. */
static void run_back(const Model *m, const Pass *p)
{
    for (size_t i = m->plan->instrs; i-- > 0;) {
        const PlanInstr *in = &m->plan->instr[i];
        if (plan_weighs(in)) m->backend->meet(0);
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
    m->backend->norm(p->N, m->config.width, norm_kind(m), m->state[m->plan->output],
                     data(m, m->out.norm_w), norm_bias(m, m->out.norm_b), m->out.hidden,
                     m->out.stats);
}

/* Writes the output's adjoint; nothing has added to it before. */
static void final_norm_back(const Model *m, const Pass *p)
{
    static const LinTerm nothing = {0};
    int r = m->plan->output;
    if (!ends_in_norm(m)) {
        m->backend->copy(m->adjoint[r], m->out.dhidden, p->N * m->config.width);
        return;
    }
    m->backend->norm_back(p->N, m->config.width, norm_kind(m), m->state[r], data(m, m->out.norm_w),
                          m->out.stats, m->out.dhidden, 0, &nothing, m->adjoint[r],
                          grad(m, m->out.norm_w), norm_bias_grad(m, m->out.norm_b));
}

/* ---- passes ------------------------------------------------------------------------------------- */

/* Positions are rows of what is added to the input or turns heads, where anything is or does. */
static size_t positions(const Model *m, size_t most)
{
    return m->positions || m->turns ? most : SIZE_MAX;
}

static int check_target(const Model *m, const Batch *x)
{
    const ModelConfig *c = &m->config;
    NEED(x->N >= 1 && x->N <= c->max_tokens && x->longest <= c->max_length);
    NEED(batch_below(x->N, x->input, c->vocab));
    NEED(batch_below(x->N, x->position, positions(m, c->max_length)));
    NEED(m->ends == &ends_heads || batch_below(x->N, x->target, c->vocab));
    return heads_batch(m, x);
}

static int check_source(const Model *m, const Batch *x)
{
    const ModelConfig *c = &m->config;
    NEED((x->source.N > 0) == (m->plan->sides > 1) && x->source.N <= c->max_source);
    NEED(x->source.longest <= c->max_source_length);
    NEED(batch_below(x->source.N, x->source.input, c->vocab + c->source_vocab));
    NEED(batch_below(x->source.N, x->source.position, positions(m, c->max_source_length)));
    return 0;
}

void pass_masks(const Model *m, uint64_t number)
{
    m->backend->send(m->masks, &number, sizeof number);
}

Step pass_inputs(const Pass *p, uint64_t step, double rate)
{
    double words = p->tokens ? 1 / (double)p->tokens : 0;
    return (Step){.step = step, .rate = rate, .grad = {words, heads_grad(p)}};
}

void pass_step(const Pass *p, uint64_t step, double rate)
{
    Step s = pass_inputs(p, step, rate);
    p->m->backend->send(p->m->step, &s, sizeof s);
    pass_masks(p->m, step);
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

/* Returns the longest of S, up to the next 16 2^i or the model's most: few different shapes. */
static size_t longest_of(size_t S, const size_t *start, size_t most)
{
    size_t longest = 16;
    for (size_t s = 0; s < S; s++)
        while (longest < start[s + 1] - start[s]) longest *= 2;
    return longest < most ? longest : most;
}

int pass_begin(const Model *m, const Batch *x, int train, Pass *p)
{
    const Backend *b = m->backend;
    TRY(check_target(m, x));
    TRY(pass_source(m, x));
    *p = (Pass){.m = m, .N = x->N, .S = x->S, .train = train, .asked = x->N};
    p->source.N = x->source.N;
    p->longest = longest_of(x->S, x->start, m->config.max_length);
    if (x->source.N)
        p->source.longest = longest_of(x->S, x->source.start, m->config.max_source_length);
    m->ends->send(m, x, p);
    p->tokens = batch_asked(x);
    b->send(m->batch.position, x->position, x->N * sizeof *x->position);
    b->send(m->batch.begins, x->start, (x->S + 1) * sizeof *x->start);
    return 0;
}

void pass_forward(const Model *m, const Pass *p)
{
    size_t I = m->plan->instrs;
    Pass whole = *p;
    whole.whole = 1;
    for (int side = 0; side < m->plan->sides; side++) m->ends->embed(m, p, side);
    plan_walk(m->plan, pass_op, &whole);
    if (p->train) plan_walk_on(m->plan, pass_op, &whole);
    if (I < 2 || m->fuse[I - 2].norm != I) pass_end(m, p);
    if (m->ends->head) m->ends->head(m, p);
}

static void backward(const Model *m, const Pass *p)
{
    m->backend->fill(m->dgates, 0, m->plan->gates * gate_rows(m));
    final_norm_back(m, p);
    run_back(m, p);
    m->backend->meet(1);
    m->ends->embed_back(m, p);
}

static void loss(const Model *m, const Pass *p, int back)
{
    m->ends->loss(m, p, back);
    if (p->asked) m->backend->loss(p->asked, m->out.nll, m->step);
}

/* Sets gradients to 0, beside forward; with `some` those that no product writes first. */
static void gradients_clear(const Model *m, int some)
{
    const Backend *b = m->backend;
    b->aside(1);
    if (some)
        b->clear(m->grad, m->clears, m->clear, m->cleared);
    else
        b->fill(m->grad, 0, m->size);
    b->aside(0);
}

void pass_gradient(const Model *m, const Pass *p)
{
    if (!p->more) gradients_clear(m, p->N > 0);
    if (p->N) {
        pass_forward(m, p);
        m->backend->meet(1);
        loss(m, p, 1);
        backward(m, p);
    } else {
        m->backend->meet(1);
        share_nothing(m, p);
    }
    share_rest(m, p);
}

/* Gets the losses of words, then those of labels, which stand behind words that are filled up. */
static void get_losses(const Model *m, const Pass *p, double *nll)
{
    const Backend *b = m->backend;
    size_t words = m->ends == &ends_heads && !m->config.masked ? 0 : p->tokens;
    if (words) b->get(nll, m->out.nll, words);
    if (p->labels) b->get(nll + words, backend_at(b, m->out.nll, p->words), p->labels);
}

int model_forward(Model *m, const Batch *x, int train, uint64_t step, double *nll, double *mean)
{
    const Backend *b = m->backend;
    Pass p;
    Step s;
    TRY(pass_begin(m, x, train, &p));
    pass_step(&p, step, 0);
    pass_forward(m, &p);
    loss(m, &p, 0);
    if (nll) get_losses(m, &p, nll);
    b->receive(&s, m->step, sizeof s);
    if (mean) *mean = p.tokens ? s.loss / (double)p.tokens : 0;
    return b->wait();
}

int pass_logits(const Model *m, const Pass *p, double *logits)
{
    for (size_t at = 0, n; at < p->asked; at += n) {
        n = ends_logits(m, p, at);
        TRY(m->ends->logits(m, at, n, logits + at * m->config.vocab));
    }
    return m->backend->wait();
}

int model_logits(Model *m, const Batch *b, double *logits)
{
    Pass p;
    TRY(pass_begin(m, b, 0, &p));
    pass_step(&p, 0, 0);
    pass_forward(m, &p);
    return pass_logits(m, &p, logits);
}
