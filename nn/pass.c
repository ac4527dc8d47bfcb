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
#include "nn/model_private.h"

#include <math.h>

#include "kernels/error.h"
#include "kernels/memory.h"

_Static_assert((int)PLAN_FACTORS == (int)LIN_FACTORS, "a plan's term must fit a kernel's");

enum { DROP_WEIGHTS, DROP_ATTENTION, DROP_ACTIVATION, DROP_FEEDFORWARD, DROP_KINDS };
enum { PLACE_EMBED = 0 };

static const Dropout no_drop = {0};

/* Of rows of so many elements. */
static Dropout drop(const Model *m, const Pass *p, uint64_t place, size_t columns)
{
    return (Dropout){.rate = p->train ? m->config.dropout : 0,
                     .seed = m->config.seed,
                     .stream = place,
                     .step = m->masks,
                     .first = p->first * columns};
}

static Dropout drop_eval(const Model *m, const Pass *p, const PlanInstr *in, int kind,
                         size_t columns)
{
    return drop(m, p, 1 + (uint64_t)in->draw * DROP_KINDS + (uint64_t)kind, columns);
}

/* ---- sublayers ---------------------------------------------------------------------------------- */

static Attention attention(const Model *m, const Pass *p, const PlanInstr *in, const Work *w)
{
    int relative = m->config.positions & POSITIONS_RELATIVE;
    return (Attention){
        .S = p->S,
        .start = m->begins,
        .longest = m->config.max_length,
        .D = m->config.width,
        .H = m->config.heads,
        .qkv = w->in,
        .relative = relative ? data(m, m->slot[in->slot].relative) : NULL,
        .clip = relative ? m->config.clip : 0,
        .span = m->config.span ? data(m, m->slot[in->slot].span) : NULL,
        .longest_span = m->config.span,
        .ramp = m->config.ramp,
        .drop = drop_eval(m, p, in, DROP_WEIGHTS, m->config.heads * m->config.max_length)};
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
    m->backend->bias_drop(p->N, 3 * a.D, w->in, data(m, m->slot[in->slot].in_b), no_drop);
    m->backend->attention(&a, w->core, w->lse);
}

static void attention_core_back(const Model *m, const Pass *p, const PlanInstr *in, const Work *w)
{
    Attention a = attention(m, p, in, w);
    const SlotParams *o = &m->slot[in->slot];
    m->backend->attention_back(&a, w->core, w->lse, w->dcore, w->din,
                               a.relative ? grad(m, o->relative) : NULL,
                               a.span ? grad(m, o->span) : NULL);
    m->backend->bias_drop_back(p->N, 3 * a.D, w->din, grad(m, o->in_b), no_drop);
}

static void activation_core(const Model *m, const Pass *p, const PlanInstr *in, const Work *w)
{
    const SlotParams *o = &m->slot[in->slot];
    m->backend->bias_act(p->N, o->I, w->in, data(m, o->in_b), m->config.act,
                         drop_eval(m, p, in, DROP_ACTIVATION, o->I), w->core);
}

static void activation_core_back(const Model *m, const Pass *p, const PlanInstr *in, const Work *w)
{
    const SlotParams *o = &m->slot[in->slot];
    m->backend->bias_act_back(p->N, o->I, w->in, w->core, m->config.act,
                              drop_eval(m, p, in, DROP_ACTIVATION, o->I), w->dcore,
                              grad(m, o->in_b)); /* din is dcore */
}

static const Core core[] = {
    [SLOT_ATTENTION] = {attention_core, attention_core_back, DROP_ATTENTION},
    [SLOT_FEEDFORWARD] = {activation_core, activation_core_back, DROP_FEEDFORWARD},
};

static const Core *core_of(const Model *m, const PlanInstr *in)
{
    return &core[m->plan->slot[in->slot].kind];
}

/* What the sublayer's first product reads (N, D). */
static const void *entry(const Model *m, const void *x, const Work *w)
{
    return m->plan->post ? x : w->normed;
}

/* All of w from x (N, D). */
static void inside(const Model *m, const Pass *p, const PlanInstr *in, const void *x, const Work *w)
{
    const Backend *b = m->backend;
    const SlotParams *o = &m->slot[in->slot];
    size_t N = p->N, D = m->config.width;
    if (!m->plan->post)
        b->norm(N, D, x, data(m, o->norm_w), data(m, o->norm_b), w->normed, w->stats);
    b->gemm(0, 1, N, o->I, D, 1, entry(m, x, w), D, data(m, o->in_w), D, 0, w->in, o->I);
    core_of(m, in)->forward(m, p, in, w);
}

/* y (N, D) = sublayer(x (N, D)) of instruction i. */
static void sublayer(const Model *m, const Pass *p, size_t i, const void *x, void *y)
{
    const Backend *b = m->backend;
    const PlanInstr *in = &m->plan->instr[i];
    const SlotParams *o = &m->slot[in->slot];
    const Work *w = &m->work[i];
    size_t N = p->N, D = m->config.width;
    inside(m, p, in, x, w);
    b->gemm(0, 1, N, D, o->O, 1, w->core, o->O, data(m, o->out_w), o->O, 0, y, D);
    b->bias_drop(N, D, y, data(m, o->out_b), drop_eval(m, p, in, core_of(m, in)->drop, D));
}

/* dy (N, D) in, spoilt; dx (N, D) accumulates. */
static void sublayer_back(const Model *m, const Pass *p, size_t i, const void *x, void *dy,
                          void *dx)
{
    const Backend *b = m->backend;
    const PlanInstr *in = &m->plan->instr[i];
    const SlotParams *o = &m->slot[in->slot];
    const Work *w = &m->again[i];
    const Core *c = core_of(m, in);
    size_t N = p->N, D = m->config.width;
    if (m->config.recompute) inside(m, p, in, x, w);
    b->bias_drop_back(N, D, dy, grad(m, o->out_b), drop_eval(m, p, in, c->drop, D));
    b->gemm(1, 0, D, o->O, N, 1, dy, D, w->core, o->O, 1, grad(m, o->out_w), o->O);
    b->gemm(0, 0, N, o->O, D, 1, dy, D, data(m, o->out_w), o->O, 0, w->dcore, o->O);
    c->back(m, p, in, w);
    b->gemm(1, 0, o->I, D, N, 1, w->din, o->I, entry(m, x, w), D, 1, grad(m, o->in_w), D);
    if (m->plan->post) {
        b->gemm(0, 0, N, D, o->I, 1, w->din, o->I, data(m, o->in_w), D, 1, dx, D);
        return;
    }
    b->gemm(0, 0, N, D, o->I, 1, w->din, o->I, data(m, o->in_w), D, 0, w->normed, D);
    b->norm_back(N, D, x, data(m, o->norm_w), w->stats, w->normed, dx, grad(m, o->norm_w),
                 grad(m, o->norm_b));
}

/* ---- instructions ------------------------------------------------------------------------------- */

static void *gate_value(const Model *m, void *gates, size_t g)
{
    return backend_at(m->backend, gates, g * m->config.max_tokens);
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

static void lin(const Model *m, const Pass *p, size_t i)
{
    const PlanInstr *in = &m->plan->instr[i];
    for (size_t k = 0; k < in->terms; k++)
        m->term[k] = lin_term(m, &in->term[k], m->state[in->term[k].x]);
    m->backend->lin(p->N, m->config.width, in->terms, m->term, m->state[in->out]);
}

/* Adjoint r = the sum over the LINs behind instruction i that read it. */
static void pull(const Model *m, const Pass *p, int r, int i)
{
    size_t n = 0;
    for (size_t k = m->from[r]; k < m->from[r + 1] && (int)m->reader[k].instr > i; k++) {
        const PlanInstr *in = &m->plan->instr[m->reader[k].instr];
        m->term[n++] = lin_term(m, &in->term[m->reader[k].term], m->adjoint[in->out]);
    }
    m->backend->lin(p->N, m->config.width, n, m->term, m->adjoint[r]);
}

/* Adjoints that are first needed at instruction i. */
static void pull_adjoints(const Model *m, const Pass *p, int i)
{
    const PlanInstr *in = &m->plan->instr[i];
    if (in->op != PLAN_GATE && m->pull[in->out] == i) pull(m, p, in->out, i);
    if (plan_of_slot(in) && m->pull[in->x] == i) pull(m, p, in->x, i);
    for (size_t k = 0; in->op == PLAN_GATE && k < in->terms; k++)
        if (m->pull[in->term[k].x] == i) pull(m, p, in->term[k].x, i);
}

/* What is not pulled: adjoints of learned factors, and of a register that a later EVAL or GATE reads. */
static void lin_back(const Model *m, const Pass *p, size_t i)
{
    const PlanInstr *in = &m->plan->instr[i];
    int wanted = 0;
    for (size_t k = 0; k < in->terms; k++) {
        const PlanTerm *t = &in->term[k];
        LinTerm *l = &m->term[k];
        *l = lin_term(m, t, m->state[t->x]);
        l->dx = m->pull[t->x] > (int)i ? m->adjoint[t->x] : NULL;
        wanted |= l->dx || t->factors;
        for (int f = 0; f < t->factors; f++) {
            size_t j = (size_t)t->factor[f].index;
            l->factor[f].dp = t->factor[f].kind == FACTOR_SCALAR
                                  ? grad(m, m->scalar[j] + t->factor[f].element)
                                  : gate_value(m, m->dgates, j);
        }
    }
    if (wanted)
        m->backend->lin_back(p->N, m->config.width, in->terms, m->term, m->adjoint[in->out]);
}

static void eval(const Model *m, const Pass *p, size_t i)
{
    const PlanInstr *in = &m->plan->instr[i];
    sublayer(m, p, i, m->state[in->x], m->state[in->out]);
}

static void eval_back(const Model *m, const Pass *p, size_t i)
{
    const PlanInstr *in = &m->plan->instr[i];
    sublayer_back(m, p, i, m->state[in->x], m->adjoint[in->out], m->adjoint[in->x]);
}

static void norm(const Model *m, const Pass *p, size_t i)
{
    const PlanInstr *in = &m->plan->instr[i];
    const SlotParams *o = &m->slot[in->slot];
    m->backend->norm(p->N, m->config.width, m->state[in->x], data(m, o->norm_w), data(m, o->norm_b),
                     m->state[in->out], m->work[i].stats);
}

static void norm_back(const Model *m, const Pass *p, size_t i)
{
    const PlanInstr *in = &m->plan->instr[i];
    const SlotParams *o = &m->slot[in->slot];
    m->backend->norm_back(p->N, m->config.width, m->state[in->x], data(m, o->norm_w),
                          m->work[i].stats, m->adjoint[in->out], m->adjoint[in->x],
                          grad(m, o->norm_w), grad(m, o->norm_b));
}

static void gate_inputs(const Model *m, const PlanInstr *in)
{
    for (size_t k = 0; k < in->terms; k++) {
        m->gate_x[k] = m->state[in->term[k].x];
        m->gate_dx[k] = m->adjoint[in->term[k].x];
    }
}

static void gate(const Model *m, const Pass *p, size_t i)
{
    const PlanInstr *in = &m->plan->instr[i];
    size_t g = (size_t)in->out;
    gate_inputs(m, in);
    m->backend->gate(p->N, m->config.width, in->terms, m->gate_x, data(m, m->gate[g].w),
                     data(m, m->gate[g].b), m->plan->gate[g].act, gate_value(m, m->gates, g));
}

static void gate_back(const Model *m, const Pass *p, size_t i)
{
    const PlanInstr *in = &m->plan->instr[i];
    size_t g = (size_t)in->out;
    gate_inputs(m, in);
    m->backend->gate_back(p->N, m->config.width, in->terms, m->gate_x, data(m, m->gate[g].w),
                          m->plan->gate[g].act, gate_value(m, m->gates, g),
                          gate_value(m, m->dgates, g), m->gate_dx, grad(m, m->gate[g].w),
                          grad(m, m->gate[g].b));
}

static const struct {
    void (*forward)(const Model *m, const Pass *p, size_t i);
    void (*back)(const Model *m, const Pass *p, size_t i);
} instruction[] = {[PLAN_LIN] = {lin, lin_back},
                   [PLAN_EVAL] = {eval, eval_back},
                   [PLAN_GATE] = {gate, gate_back},
                   [PLAN_NORM] = {norm, norm_back}};

/* From register 0 to the output. */
static void run(const Model *m, const Pass *p)
{
    for (size_t i = 0; i < m->plan->instrs; i++) instruction[m->plan->instr[i].op].forward(m, p, i);
}

/* From the output's adjoint to register 0's. */
static void run_back(const Model *m, const Pass *p)
{
    for (size_t i = m->plan->instrs; i-- > 0;) {
        pull_adjoints(m, p, (int)i);
        instruction[m->plan->instr[i].op].back(m, p, i);
        share_after(m, p, i);
    }
    if (m->pull[0] < 0) pull(m, p, 0, -1);
}

/* ---- both ends ---------------------------------------------------------------------------------- */

static double embed_scale(const Model *m)
{
    return sqrt((double)m->config.width);
}

/* With tails the rows of the batch, made before, stand for the words' embeddings. */
static void embed(const Model *m, const Pass *p)
{
    int tails = m->config.tails > 0;
    m->backend->embed(p->N, m->config.width, tails ? m->place : m->input, m->position,
                      tails ? adaptive_embed(m, p) : data(m, m->embed), embed_scale(m),
                      m->positions, drop(m, p, PLACE_EMBED, m->config.width), m->state[0]);
}

static void embed_back(const Model *m, const Pass *p)
{
    int tails = m->config.tails > 0;
    void *dE = tails ? m->mix[MIX_BACK].wide : grad(m, m->embed);
    if (tails) m->backend->fill(dE, 0, p->N * m->config.width);
    m->backend->embed_back(p->N, m->config.width, tails ? p->N : m->config.vocab,
                           tails ? m->place : m->input, embed_scale(m),
                           drop(m, p, PLACE_EMBED, m->config.width), m->adjoint[0], dE);
    if (tails) adaptive_embed_back(m, p);
}

/* A post plan's output is normalised. */
static void final_norm(const Model *m, const Pass *p)
{
    if (m->plan->post) {
        m->backend->copy(m->hidden, m->state[m->plan->output], p->N * m->config.width);
        return;
    }
    m->backend->norm(p->N, m->config.width, m->state[m->plan->output], data(m, m->final_w),
                     data(m, m->final_b), m->hidden, m->stats);
}

static void final_norm_back(const Model *m, const Pass *p)
{
    int r = m->plan->output;
    if (m->plan->post) {
        m->backend->copy(m->adjoint[r], m->dhidden, p->N * m->config.width);
        return;
    }
    m->backend->norm_back(p->N, m->config.width, m->state[r], data(m, m->final_w), m->stats,
                          m->dhidden, m->adjoint[r], grad(m, m->final_w), grad(m, m->final_b));
}

/* m->logits (n, V) = rows at .. at+n-1 of hidden E^T, V the head; gives n <= m->logit_rows. */
static size_t logit_rows(const Model *m, const Pass *p, size_t at)
{
    size_t V = m->head, D = m->config.width;
    size_t n = p->N - at < m->logit_rows ? p->N - at : m->logit_rows;
    m->backend->gemm(0, 1, n, V, D, 1, backend_at(m->backend, m->hidden, at * D), D,
                     data(m, m->output), D, 0, m->logits, V);
    return n;
}

/* With z's adjoint in m->logits: dhidden = dz E and dE += dz^T hidden, for n rows. */
static void logit_rows_back(const Model *m, size_t at, size_t n)
{
    const Backend *b = m->backend;
    size_t V = m->head, D = m->config.width;
    b->gemm(0, 0, n, D, V, 1, m->logits, V, data(m, m->output), D, 0,
            backend_at(b, m->dhidden, at * D), D);
    b->gemm(1, 0, V, D, n, 1, m->logits, V, backend_at(b, m->hidden, at * D), D, 1,
            grad(m, m->output), D);
}

/* Of the output's rows: the target's alone, or smoothed over the vocabulary. */
static Labels labels(const Model *m, const Pass *p)
{
    double smooth = p->train ? m->config.smoothing : 0, each = smooth / (double)m->config.vocab;
    Labels q = {.hit = 1 - smooth, .all = each};
    if (m->config.tails && smooth > 0) adaptive_labels(m, each, &q);
    return q;
}

/* m->nll of all rows, in blocks of rows so that no (N, V) exists, and their sum in m->step. back: the
 * adjoints of that sum / p->tokens too. */
static void loss(const Model *m, const Pass *p, int back)
{
    const Backend *b = m->backend;
    for (size_t at = 0, n; at < p->N; at += n) {
        n = logit_rows(m, p, at);
        b->cross_entropy(n, m->head, m->logits, m->target + at, labels(m, p),
                         back ? 1 / (double)p->tokens : 0, backend_at(b, m->nll, at));
        if (back) logit_rows_back(m, at, n);
    }
    if (m->config.tails) adaptive_loss(m, p, back);
    b->loss(p->N, m->nll, m->step);
}

/* ---- passes ------------------------------------------------------------------------------------- */

static int check_tokens(const Model *m, const Batch *x)
{
    int32_t V = (int32_t)m->config.vocab, T = (int32_t)m->config.max_length;
    for (size_t i = 0; i < x->N; i++)
        if (x->input[i] < 0 || x->input[i] >= V || x->target[i] < 0 || x->target[i] >= V ||
            x->position[i] < 0 || (m->positions && x->position[i] >= T))
            return error_set(ERR_MISUSE, "row %zu of a batch is outside the model", i);
    return 0;
}

int pass_begin(const Model *m, const Batch *x, int train, Pass *p)
{
    const Backend *b = m->backend;
    if (x->N < 1 || x->N > m->config.max_tokens || x->longest > m->config.max_length)
        return error_set(ERR_MISUSE, "a batch of %zu tokens, longest %zu, in a model for %zu, %zu",
                         x->N, x->longest, m->config.max_tokens, m->config.max_length);
    TRY(check_tokens(m, x));
    *p = (Pass){.N = x->N, .S = x->S, .train = train, .tokens = x->N};
    if (m->config.tails) {
        adaptive_send(m, x, p);
    } else {
        b->send(m->input, x->input, x->N * sizeof *x->input);
        b->send(m->target, x->target, x->N * sizeof *x->target);
    }
    b->send(m->position, x->position, x->N * sizeof *x->position);
    b->send(m->begins, x->start, (x->S + 1) * sizeof *x->start);
    return 0;
}

static void forward(const Model *m, const Pass *p)
{
    embed(m, p);
    run(m, p);
    final_norm(m, p);
}

static void backward(const Model *m, const Pass *p)
{
    m->backend->fill(m->dgates, 0, m->plan->gates * m->config.max_tokens);
    pull(m, p, m->plan->output, (int)m->plan->instrs);
    final_norm_back(m, p);
    run_back(m, p);
    embed_back(m, p);
}

/* Of nothing yet; of the loss's term of spans where this rank has it (spans.c). */
static void clear_gradient(const Model *m, const Pass *p)
{
    m->backend->fill(m->grad, 0, m->size);
    if (m->config.span && !p->elsewhere)
        m->backend->fill(grad(m, m->spans), spans_slope(m), m->span_count);
}

void pass_gradient(const Model *m, const Pass *p)
{
    if (!p->more) clear_gradient(m, p);
    if (p->N) {
        forward(m, p);
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
    step_send(m, step, 0);
    forward(m, &p);
    loss(m, &p, 0);
    if (nll) b->get(nll, m->nll, p.N);
    b->receive(&s, m->step, sizeof s);
    if (mean) *mean = s.loss / (double)p.N;
    return b->wait();
}

static int log_p_room(const Model *m, double **room)
{
    *room = memory_new(m->logit_rows, adaptive_widest(m) * sizeof **room);
    return *room ? 0 : ERR_MEMORY;
}

int model_logits(Model *m, const Batch *b, double *logits)
{
    Pass p;
    size_t V = m->config.vocab;
    double *room = NULL;
    TRY(pass_begin(m, b, 0, &p));
    if (m->config.tails) TRY(log_p_room(m, &room));
    step_send(m, 0, 0);
    forward(m, &p);
    for (size_t at = 0, n; at < p.N; at += n) {
        n = logit_rows(m, &p, at);
        if (room)
            adaptive_log_p(m, at, n, room, logits + at * V);
        else
            m->backend->get(logits + at * V, m->logits, n * V);
    }
    memory_free(room);
    return m->backend->wait();
}

/* ---- parts by themselves ------------------------------------------------------------------------ */

/* One sequence of N rows, without dropout. */
static int begin_rows(const Model *m, size_t N, Pass *p)
{
    size_t begins[2] = {0, N};
    if (N < 1 || N > m->config.max_tokens)
        return error_set(ERR_MISUSE, "%zu rows in a model for %zu", N, m->config.max_tokens);
    m->backend->send(m->begins, begins, sizeof begins);
    *p = (Pass){.N = N, .S = 1};
    return 0;
}

int model_sublayer(Model *m, int slot, size_t N, const double *x, double *y)
{
    Pass p;
    size_t i = 0;
    TRY(begin_rows(m, N, &p));
    if (slot < 0 || (size_t)slot >= m->plan->slots)
        return error_set(ERR_MISUSE, "no slot %d", slot);
    while (m->plan->instr[i].op != PLAN_EVAL || m->plan->instr[i].slot != slot) i++;
    const PlanInstr *in = &m->plan->instr[i];
    m->backend->put(m->state[in->x], x, N * m->config.width);
    eval(m, &p, i);
    m->backend->get(y, m->state[in->out], N * m->config.width);
    return m->backend->wait();
}

int model_run_plan(Model *m, size_t N, const double *x, double *y)
{
    Pass p;
    TRY(begin_rows(m, N, &p));
    m->backend->put(m->state[0], x, N * m->config.width);
    run(m, &p);
    m->backend->get(y, m->state[m->plan->output], N * m->config.width);
    return m->backend->wait();
}

int pass_tokens(const Model *m, size_t N, const int32_t *token, Pass *p)
{
    size_t begins[2] = {0, N};
    int32_t *position = memory_new(N, sizeof *position);
    if (!position) return ERR_MEMORY;
    for (size_t i = 0; i < N; i++) position[i] = (int32_t)i;
    /* Nothing is predicted: the inputs stand for the targets too. */
    Batch x = {N, 1, N, (int32_t *)token, (int32_t *)token, position, begins};
    int code = pass_begin(m, &x, 0, p);
    memory_free(position);
    return code;
}

void pass_watch(const Model *m, const Pass *p, PassSee *see, void *context)
{
    step_send(m, 0, 0);
    embed(m, p);
    for (size_t i = 0; i < m->plan->instrs; i++) {
        instruction[m->plan->instr[i].op].forward(m, p, i);
        see(m, p, i, context);
    }
}

int model_embed(Model *m, size_t N, const int32_t *token, double *y)
{
    Pass p;
    TRY(pass_tokens(m, N, token, &p));
    embed(m, &p);
    m->backend->get(y, m->state[0], N * m->config.width);
    return m->backend->wait();
}
