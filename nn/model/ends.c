/* ends.c: both ends of a network, words in and a loss out. The plain ends have a row of the embedding for every word,
 * and one softmax over all words. adaptive_softmax.c, with narrow rare words, uses the same parts. */
#include "nn/model/engine.h"

#include <math.h>

/* Places of dropout's masks (sublayer.c). */
static const uint64_t place[SIDES] = {0, PLACE_SOURCE};

static const Dropout no_drop = {0};

/* ---- parts -------------------------------------------------------------------------------------- */

double ends_scale(const Model *m)
{
    return m->config.plain_input ? 1 : sqrt((double)m->config.width);
}

Dropout ends_drop(const Model *m, const Pass *p, int side)
{
    return drop(p, side, m->config.dropout, place[side], m->config.width);
}

void ends_gather(const Model *m, size_t n, size_t cols, const int32_t *index, const void *x,
                 void *y)
{
    m->backend->embed(n, cols, index, NULL, x, 1, NULL, no_drop, y);
}

void ends_scatter(const Model *m, size_t n, size_t cols, size_t rows, const int32_t *index,
                  const void *dy, void *dx)
{
    m->backend->embed_back(n, cols, rows, index, 1, no_drop, dy, dx);
}

void ends_embed(const Model *m, const Pass *p, int side, const int32_t *index, const void *E)
{
    size_t D = m->config.width;
    m->backend->embed(rows(p, side), D, index, places(m, side), E, ends_scale(m), m->positions,
                      ends_drop(m, p, side), m->state[side]);
}

void ends_embed_back(const Model *m, const Pass *p, int side, size_t words, const int32_t *index,
                     void *dE)
{
    size_t D = m->config.width;
    m->backend->embed_back(rows(p, side), D, words, index, ends_scale(m), ends_drop(m, p, side),
                           m->adjoint[side], dE);
    ends_position_back(m, p, side, ends_drop(m, p, side), m->adjoint[side]);
}

void ends_position_back(const Model *m, const Pass *p, int side, Dropout drop, const void *dx)
{
    if (!(m->config.positions & POSITIONS_LEARNED)) return;
    m->backend->embed_back(rows(p, side), m->config.width, longest(m), places(m, side), 1, drop, dx,
                           grad(m, m->position));
}

static const int32_t *words_of(const Model *m, int side)
{
    return side == SIDE_SOURCE ? m->batch.source : m->batch.input;
}

void ends_words(const Pass *p, const PlanInstr *in, Dropout drop)
{
    const Model *m = p->m;
    const SlotParams *o = &m->slot[in->slot];
    int side = m->plan->slot[in->slot].side, learned = m->config.positions & POSITIONS_LEARNED;
    m->backend->embed(rows(p, side), m->config.width, words_of(m, side), places(m, side),
                      data(m, o->in_w), ends_scale(m), learned ? data(m, o->in_b) : m->positions,
                      drop, m->state[in->out]);
}

void ends_words_back(const Pass *p, const PlanInstr *in, Dropout drop)
{
    const Model *m = p->m;
    const SlotParams *o = &m->slot[in->slot];
    const void *dx = m->adjoint[in->out];
    int side = m->plan->slot[in->slot].side;
    size_t N = rows(p, side), D = m->config.width, V = m->config.vocab + m->config.source_vocab;
    m->backend->embed_back(N, D, V, words_of(m, side), ends_scale(m), drop, dx, grad(m, o->in_w));
    if (m->config.positions & POSITIONS_LEARNED)
        m->backend->embed_back(N, D, longest(m), places(m, side), 1, drop, dx, grad(m, o->in_b));
}

/* ---- a loss -------------------------------------------------------------------------------------- */

/* Returns the rows of out.asked from `at` on. */
static void *asked_at(const Model *m, size_t at)
{
    size_t i = at * m->config.width;
    return m->out.factors ? backend_factor_at(m->backend, m->out.asked, i)
                          : backend_at(m->backend, m->out.asked, i);
}

/* Makes z (n, out.rows), n <= block. */
static size_t logits_to(const Model *m, const Pass *p, size_t at, size_t block, void *z)
{
    size_t V = m->out.rows, D = m->config.width;
    size_t n = p->asked - at < block ? p->asked - at : block;
    if (m->out.bias)
        m->backend->linear(n, V, D, asked_at(m, at), data(m, m->out.matrix), data(m, m->out.bias),
                           z);
    else
        m->backend->gemm(0, 1, n, V, D, 1, asked_at(m, at), D, data(m, m->out.matrix), D, 0, z, V);
    return n;
}

size_t ends_logits(const Model *m, const Pass *p, size_t at)
{
    return logits_to(m, p, at, m->out.block, m->out.logits);
}

/* Goes back from the logits' adjoint, in dlogits (with a bias, in the place of the logits): dasked = dz E and dE +=
 * dz^T asked, for n rows; `last` of the plain ends: the latter aside. more: dE is there; else it is written. */
static void logits_back(const Model *m, size_t at, size_t n, int last, int more)
{
    const Backend *b = m->backend;
    size_t V = m->out.rows, D = m->config.width;
    void *dz = m->out.dlogits;
    if (m->out.bias)
        b->bias_drop_back(n, V, 1, &(LinTerm){.c = 1, .x = m->out.logits}, no_drop, dz,
                          grad(m, m->out.bias));
    b->gemm(0, 0, n, D, V, 1, dz, V, data(m, m->out.matrix), D, 0,
            backend_at(b, m->out.dasked, at * D), D);
    if (last && m->ends == &ends_plain)
        weight_back(m, n, V, dz, D, asked_at(m, at), more, grad(m, m->out.matrix), NULL);
    else
        b->gemm(1, 0, V, D, n, 1, dz, V, asked_at(m, at), D, more, grad(m, m->out.matrix), D);
}

Labels ends_labels(const Model *m, const Pass *p)
{
    double smooth = p->train ? m->config.smoothing : 0;
    return (Labels){.hit = 1 - smooth, .all = smooth / (double)m->config.vocab};
}

/* Works in blocks of rows, so that no (N, V) exists. Backward, where no bias is added, a block's logits are factors from
 * the start. */
void ends_loss(const Model *m, const Pass *p, const Labels *q, int back)
{
    const Backend *b = m->backend;
    int apart = back && !m->out.bias;
    void *z = apart ? m->out.dlogits : m->out.logits;
    for (size_t at = 0, n; at < p->asked; at += n) {
        n = logits_to(m, p, at, apart ? m->out.dblock : m->out.block, z);
        b->cross_entropy(n, m->out.rows, z, m->batch.target + at, *q,
                         back ? &m->step->grad[GRAD_WORDS] : NULL, z,
                         backend_at(b, m->out.nll, at));
        if (back) logits_back(m, at, n, at + n == p->asked, at > 0 || p->more || !writes_matrix(m));
    }
}

/* ---- the plain ends ----------------------------------------------------------------------------- */

static void send(const Model *m, const Batch *x, Pass *p)
{
    (void)p;
    m->backend->send(m->batch.input, x->input, x->N * sizeof *x->input);
    m->backend->send(m->batch.target, x->target, x->N * sizeof *x->target);
}

static void embed(const Model *m, const Pass *p, int side)
{
    ends_embed(m, p, side, words_of(m, side), data(m, m->embed));
}

static void embed_back(const Model *m, const Pass *p)
{
    size_t V = m->config.vocab + m->config.source_vocab;
    ends_embed_back(m, p, SIDE_TARGET, V, m->batch.input, grad(m, m->embed));
    if (m->plan->sides > 1)
        ends_embed_back(m, p, SIDE_SOURCE, V, m->batch.source, grad(m, m->embed));
}

static void loss(const Model *m, const Pass *p, int back)
{
    Labels q = ends_labels(m, p);
    ends_loss(m, p, &q, back);
}

int ends_plain_logits(const Model *m, size_t at, size_t n, double *z)
{
    (void)at;
    m->backend->get(z, m->out.logits, n * m->out.rows);
    return 0;
}

const Ends ends_plain = {send, embed, embed_back, NULL, loss, ends_plain_logits};
