/* encoder_ends.c: both ends of an encoder alone, which does not predict every row's next word.
 *
 *   words    for the rows that a batch lists: the words that stood there before they were hidden.
 *              a = LN(gelu(h W_d^T + b_d)),   z = a E^T + b,   nll = -log softmax(z)_word
 *   label    for every sequence, from its first row: one of C classes, or with C = 1 a number y.
 *              p = drop(tanh(h W_p^T + b_p)),   z = p W_c^T + b_c,   nll = -log softmax(z)_label or (z - y)^2
 *
 * h are rows of the output under its norm, E is the output's matrix. The loss is the mean over the words plus the mean
 * over the sequences of a batch; without words it is the mean over the sequences. config.smoothing applies to words,
 * not to labels. Where a model has segments, a row's embedding is sqrt(D) (E[word] + S[segment]) + position.
 *
 * The kernels of the embedding gather and scatter rows, as in adaptive_softmax.c: there are no other kernels.
 *
 * Source: Devlin, Chang, Lee, Toutanova 2019 (BERT), sections 3.1 and 4, and its public code, the source of the layer
 * before the words' matrix and of its bias. */
#include "nn/model/engine.h"

#include <string.h>

#include "kernels/base/error.h"

static const Dropout no_drop = {0};

/* ---- shapes ------------------------------------------------------------------------------------- */

static int is_asked(const ModelConfig *c)
{
    return c->masked || c->classes;
}

int heads_check(const ModelConfig *c, const Plan *p)
{
    if (!is_asked(c) && !c->segments && !p->bidirectional) return 0;
    if (!is_asked(c))
        return error_set(ERR_INPUT, "a bidirectional network sees the word it is to say: let it be "
                                    "asked masked words or classes");
    NEED(p->bidirectional);
    if (c->tails)
        return error_set(ERR_INPUT,
                         "adaptive embeddings are of language models: an encoder alone has none");
    if (c->max_length < (c->segments ? 3 : 2))
        return error_set(
            ERR_INPUT,
            "sequences of %zu tokens: an encoder alone needs one for <cls> and one for "
            "a word%s",
            c->max_length, c->segments ? " of each segment" : "");
    if (c->untied && !c->masked)
        return error_set(ERR_INPUT, "untied: a network that tells no words has one matrix of them");
    return 0;
}

/* ---- a batch ------------------------------------------------------------------------------------ */

int heads_batch(const Model *m, const Batch *x)
{
    const ModelConfig *c = &m->config;
    NEED(x->asked.masked == c->masked && (c->masked || !x->asked.count));
    NEED((!x->asked.label || c->classes > 1) && (!x->asked.value || c->classes == 1));
    NEED(!x->asked.segment || batch_below(x->N, x->asked.segment, c->segments));
    NEED(!x->asked.label || batch_below(x->S, x->asked.label, c->classes));
    NEED(x->asked.count <= x->N && batch_below(x->asked.count, x->asked.row, x->N));
    NEED(batch_below(x->asked.count, x->asked.word, c->vocab));
    return 0;
}

/* Sends y as numbers of the backend; `room`: on the host, (n) of f32. */
static void send_values(const Model *m, const double *y, size_t n, void *room)
{
    float *single = room;
    int is_double = m->backend->size == sizeof *y;
    for (size_t i = 0; !is_double && i < n; i++) single[i] = (float)y[i];
    m->backend->send(m->heads.value, is_double ? y : room, n * m->backend->size);
}

static void send_list(const Model *m, int32_t *to, const int32_t *from, size_t n)
{
    if (n) m->backend->send(to, from, n * sizeof *from);
}

/* Sends the first rows of sequences; `list` is on the host, (max N). */
static void send_firsts(const Model *m, const Batch *x, int32_t *list)
{
    for (size_t s = 0; s < x->S; s++) list[s] = (int32_t)x->start[s];
    send_list(m, m->heads.label.row, list, x->S);
}

static void send_segments(const Model *m, const Batch *x, int32_t *list)
{
    if (!x->asked.segment) memset(list, 0, x->N * sizeof *list);
    send_list(m, m->heads.segment, x->asked.segment ? x->asked.segment : list, x->N);
}

static void send_asked(const Model *m, const Batch *x, const Pass *p, int32_t *list)
{
    size_t n = x->asked.count, bytes = n * sizeof *list;
    if (n) memcpy(list, x->asked.row, bytes);
    send_list(m, m->heads.words.row, filled_list(list, n, p->words, NO_ROW), p->words);
    if (n) memcpy(list, x->asked.word, bytes);
    send_list(m, m->batch.target, filled_list(list, n, p->words, FILLER), p->words);
}

static void send(const Model *m, const Batch *x, Pass *p)
{
    const ModelConfig *c = &m->config;
    const Heads *h = &m->heads;
    int labelled = x->asked.label || x->asked.value;
    p->labels = labelled ? x->S : 0;
    p->words = c->masked ? filled_rows(m, p, x->asked.count, x->N - p->labels) : 0;
    send_list(m, m->batch.input, x->input, x->N);
    if (c->segments) send_segments(m, x, h->list);
    if (c->classes) send_firsts(m, x, h->list);
    if (c->masked) send_asked(m, x, p, h->list);
    if (x->asked.label) send_list(m, h->label_of, x->asked.label, x->S);
    if (x->asked.value) send_values(m, x->asked.value, x->S, h->list);
    p->label_weight = c->masked ? x->asked.weight : 1;
    p->before = x->asked.before;
    p->asked = c->masked ? p->words : p->labels;
}

/* ---- input -------------------------------------------------------------------------------------- */

/* Makes r0 = drop(scale (E + S) + positions); the sum is made before dropout. */
static void embed(const Model *m, const Pass *p, int side)
{
    const Backend *b = m->backend;
    const Heads *h = &m->heads;
    size_t D = m->config.width;
    if (!m->config.segments) {
        ends_embed(m, p, side, m->batch.input, data(m, m->embed));
        return;
    }
    const LinTerm add = {.c = 1, .x = h->wide, .dx = m->state[side]};
    b->embed(p->N, D, m->batch.input, m->batch.position, data(m, m->embed), ends_scale(m),
             m->positions, no_drop, m->state[side]);
    b->embed(p->N, D, h->segment, NULL, data(m, h->segments), ends_scale(m), NULL, no_drop,
             h->wide);
    b->lin_back(p->N, D, 1, &add, h->wide);
    b->bias_drop(p->N, D, m->state[side], m->zeros, ends_drop(m, p, side));
}

static void embed_back(const Model *m, const Pass *p)
{
    const Backend *b = m->backend;
    const Heads *h = &m->heads;
    size_t D = m->config.width, V = m->config.vocab;
    void *dx = m->adjoint[SIDE_TARGET];
    if (!m->config.segments) {
        ends_embed_back(m, p, SIDE_TARGET, V, m->batch.input, grad(m, m->embed));
        return;
    }
    b->bias_drop_back(p->N, D, 1, &(LinTerm){.c = 1, .x = dx}, ends_drop(m, p, SIDE_TARGET), dx,
                      NULL);
    b->embed_back(p->N, D, V, m->batch.input, ends_scale(m), no_drop, dx, grad(m, m->embed));
    b->embed_back(p->N, D, m->config.segments, h->segment, ends_scale(m), no_drop, dx,
                  grad(m, h->segments));
    ends_position_back(m, p, SIDE_TARGET, no_drop, dx);
}

/* ---- a dense layer over rows of out.hidden ---------------------------------------------------------- */

static Dropout drop_pool(const Model *m, const Pass *p)
{
    Dropout d = drop(p, SIDE_TARGET, m->config.dropout, PLACE_POOL, m->config.width);
    d.first = p->before * m->config.width;
    return d;
}

/* Computes act (n, D) = act(h W^T + b) for n rows. */
static void dense(const Model *m, const Head *h, size_t n, int act, Dropout drop)
{
    const Backend *b = m->backend;
    size_t D = m->config.width;
    ends_gather(m, n, D, h->row, m->out.hidden, h->picked);
    b->gemm(0, 1, n, D, D, 1, h->picked, D, data(m, h->dense_w), D, 0, h->dense, D);
    b->bias_act(n, D, h->dense, data(m, h->dense_b), act, drop, h->act);
}

/* Goes back from the adjoint of act, in dact: gradients, and rows of dhidden. Overwrites act and dact. */
static void dense_back(const Model *m, const Pass *p, const Head *h, size_t n, int act,
                       Dropout drop)
{
    const Backend *b = m->backend;
    size_t D = m->config.width;
    b->bias_act_back(n, D, h->dense, NULL, act, drop, h->dact, h->dact, grad(m, h->dense_b));
    b->gemm(1, 0, D, D, n, 1, h->dact, D, h->picked, D, 1, grad(m, h->dense_w), D);
    b->gemm(0, 0, n, D, D, 1, h->dact, D, data(m, h->dense_w), D, 0, h->act, D);
    ends_scatter(m, n, D, p->N, h->row, h->act, m->out.dhidden);
}

/* ---- labels --------------------------------------------------------------------------------------- */

static void label_head(const Model *m, const Pass *p)
{
    const Backend *b = m->backend;
    const Head *h = &m->heads.label;
    size_t D = m->config.width, C = m->config.classes;
    dense(m, h, p->S, ACT_TANH, drop_pool(m, p));
    b->linear(p->S, C, D, h->act, data(m, h->w), data(m, h->b), m->heads.z);
}

/* Computes nll (S) = (z - y)^2; back: z becomes grad 2 (z - y). */
static void square_error(const Model *m, size_t S, double grad, void *nll, int back)
{
    const Backend *b = m->backend;
    const Heads *h = &m->heads;
    const LinTerm difference[] = {{.c = 1, .x = h->z}, {.c = -1, .x = h->value}};
    LinTerm square = {.c = 1, .x = h->off, .factors = 1}, twice = {.c = 2 * grad, .x = h->off};
    square.factor[0].p = h->off;
    square.factor[0].stride = 1;
    b->lin(S, 1, 2, difference, h->off);
    b->lin(S, 1, 1, &square, nll);
    if (back) b->lin(S, 1, 1, &twice, h->z);
}

double heads_grad(const Pass *p)
{
    return p->tokens ? p->label_weight / (double)p->tokens : 0;
}

/* Computes the nll of labels; they stand behind those of words. */
static void label_loss(const Model *m, const Pass *p, int back)
{
    const Backend *b = m->backend;
    const Heads *h = &m->heads;
    const Labels one = {.hit = 1};
    void *nll = backend_at(b, m->out.nll, p->words);
    if (m->config.classes == 1)
        square_error(m, p->S, heads_grad(p), nll, back);
    else
        b->cross_entropy(p->S, m->config.classes, h->z, h->label_of, one,
                         back ? &m->step->grad[GRAD_LABELS] : NULL, h->z, nll);
}

static void label_back(const Model *m, const Pass *p)
{
    const Backend *b = m->backend;
    const Head *h = &m->heads.label;
    size_t D = m->config.width, C = m->config.classes;
    b->bias_drop_back(p->S, C, 1, &(LinTerm){.c = 1, .x = m->heads.z}, no_drop, m->heads.z,
                      grad(m, h->b));
    b->gemm(1, 0, C, D, p->S, 1, m->heads.z, C, h->act, D, 1, grad(m, h->w), D);
    b->gemm(0, 0, p->S, D, C, 1, m->heads.z, C, data(m, h->w), D, 0, h->dact, D);
    dense_back(m, p, h, p->S, ACT_TANH, drop_pool(m, p));
}

/* ---- words ---------------------------------------------------------------------------------------- */

/* Returns the form of GELU in the head, which is tanh's unless the network has the other. */
static int head_act(const Model *m)
{
    return m->config.act == ACT_ERF ? ACT_ERF : ACT_GELU;
}

static void words_head(const Model *m, const Pass *p)
{
    const Head *h = &m->heads.words;
    dense(m, h, p->words, head_act(m), no_drop);
    m->backend->norm(p->words, m->config.width, norm_kind(m), h->act, data(m, h->w),
                     norm_bias(m, h->b), m->out.asked, m->heads.stats);
}

static void words_back(const Model *m, const Pass *p)
{
    const Backend *b = m->backend;
    const Head *h = &m->heads.words;
    size_t D = m->config.width;
    b->fill(h->dact, 0, p->words * D);
    b->norm_back(p->words, D, norm_kind(m), h->act, data(m, h->w), m->heads.stats, m->out.dasked, 0,
                 NULL, h->dact, grad(m, h->w), norm_bias_grad(m, h->b));
    dense_back(m, p, h, p->words, head_act(m), no_drop);
}

/* ---- both ----------------------------------------------------------------------------------------- */

static void head(const Model *m, const Pass *p)
{
    if (p->words) words_head(m, p);
    if (m->config.classes) label_head(m, p);
}

static void loss(const Model *m, const Pass *p, int back)
{
    const Labels q = ends_labels(m, p);
    if (back) m->backend->fill(m->out.dhidden, 0, p->N * m->config.width);
    if (p->words) ends_loss(m, p, &q, back);
    if (p->words && back) words_back(m, p);
    if (p->labels) label_loss(m, p, back);
    if (p->labels && back) label_back(m, p);
}

const Ends ends_heads = {send, embed, embed_back, head, loss, ends_plain_logits};
