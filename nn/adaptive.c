/* adaptive.c: adaptive input embeddings and adaptive softmax: rare words have narrow embeddings.
 *
 * The ids, which fall in frequency, are cut in clusters: the head, 0 .. cut[0]-1, and tails 1 .. k. A word
 * of tail i has an embedding of w = D / factor^i numbers, and the tail a matrix P_i (D, w) that widens it:
 *
 *   input   x = E_0[word] in the head, P_i e, e = E_i[word] (w), in tail i; then as every embedding
 *   output  over the head's words and k entries, which stand for the tails: p = softmax(h [E_0; C]^T)
 *           of a word of tail i: p(entry i) softmax(P_i^T h E_i^T)_word
 *   loss    -log p: cross-entropy of the head, in every row, and of the tail, in rows whose target it has
 *
 * Words and projections are shared by input and output; the entries C (k, D) are the output's own. In files:
 * embed.weight (cut[0], D), embed.entry.weight (k, D), embed.tail.i.weight (words, w),
 * embed.tail.i.project.weight (D, w), i = 1 .. k. Without tails this is the plain model, and no code of
 * this file runs.
 *
 * Source: Grave et al. 2017, sections 4.2, 4.3; Baevski, Auli 2019, sections 3 and 4, factor 4, tied
 * embeddings and projections. The head has no projection, here.
 *
 * Rows are sorted by cluster on the host, so that each cluster's products are dense. Gathering rows is the
 * kernel `embed` without scale and positions, scattering them is `embed_back`: there are no other kernels. */
#include <math.h>

#include "kernels/error.h"
#include "nn/model_private.h"

static const Dropout no_drop = {0};

/* ---- shapes ------------------------------------------------------------------------------------- */

int adaptive_check(ModelConfig *c)
{
    size_t kept = 0, width = c->width;
    if (c->tails > TAILS_MOST)
        return error_set(ERR_INPUT, "adaptive: %zu cut-offs, where there can be at most %d",
                         c->tails, TAILS_MOST);
    if (c->tails && c->factor < 1)
        return error_set(ERR_INPUT, "adaptive: a factor of 0 between widths");
    for (size_t i = 0; i < c->tails; i++)
        if (c->cut[i] <= (i ? c->cut[i - 1] : 0))
            return error_set(ERR_INPUT, "adaptive: cut-off %zu is not above %zu", c->cut[i],
                             i ? c->cut[i - 1] : 0);
    while (kept < c->tails && c->cut[kept] < c->vocab) {
        kept++;
        width /= c->factor;
        if (width == 0)
            return error_set(ERR_INPUT,
                             "adaptive: width %zu is too small for %zu tails, each %zu "
                             "times as narrow as the one before",
                             c->width, kept, c->factor);
    }
    c->tails = kept;
    return 0;
}

void adaptive_shapes(Model *m)
{
    const ModelConfig *c = &m->config;
    size_t width = c->width;
    m->head = c->tails ? c->cut[0] + c->tails : c->vocab;
    for (size_t i = 0; i < c->tails; i++) {
        size_t end = i + 1 < c->tails ? c->cut[i + 1] : c->vocab;
        width /= c->factor;
        m->tail[i] = (Tail){.first = c->cut[i], .words = end - c->cut[i], .width = width};
    }
}

size_t adaptive_widest(const Model *m)
{
    size_t widest = m->head;
    for (size_t i = 0; i < m->config.tails; i++)
        if (m->tail[i].words > widest) widest = m->tail[i].words;
    return widest;
}

/* ---- rows by cluster ---------------------------------------------------------------------------- */

/* 0: the head; i: tail i. */
static size_t cluster_of(const Model *m, int32_t word)
{
    size_t i = 0;
    while (i < m->config.tails && (size_t)word >= m->tail[i].first) i++;
    return i;
}

/* at[c - 1] .. at[c]-1 are the places of the rows of cluster c of the words (N), in their order; cluster 0
 * has none where `head` is 0. */
static void count_rows(const Model *m, size_t N, const int32_t *word, int head, size_t *at)
{
    for (size_t c = 0; c <= m->config.tails + 1; c++) at[c] = 0;
    for (size_t r = 0; r < N; r++) {
        size_t c = cluster_of(m, word[r]);
        if (c || head) at[c + 1]++;
    }
    for (size_t c = 0; c <= m->config.tails; c++) at[c + 1] += at[c];
}

static int32_t within(const Model *m, size_t cluster, int32_t word)
{
    return cluster ? word - (int32_t)m->tail[cluster - 1].first : word;
}

static void sort_inputs(const Model *m, const Batch *x, const size_t *in, int32_t *input,
                        int32_t *place)
{
    size_t next[TAILS_MOST + 1];
    for (size_t c = 0; c <= m->config.tails; c++) next[c] = in[c];
    for (size_t r = 0; r < x->N; r++) {
        size_t c = cluster_of(m, x->input[r]), to = next[c]++;
        place[r] = (int32_t)to;
        input[to] = within(m, c, x->input[r]);
    }
}

/* Behind the head's words come the entries, in order. */
static void sort_targets(const Model *m, const Batch *x, const size_t *out, int32_t *target,
                         int32_t *row, int32_t *in_tail)
{
    size_t next[TAILS_MOST + 1], words = m->head - m->config.tails;
    for (size_t c = 0; c <= m->config.tails; c++) next[c] = out[c];
    for (size_t r = 0; r < x->N; r++) {
        size_t c = cluster_of(m, x->target[r]);
        target[r] = c ? (int32_t)(words + c - 1) : x->target[r];
        if (!c) continue;
        row[next[c]] = (int32_t)r;
        in_tail[next[c]++] = within(m, c, x->target[r]);
    }
}

void adaptive_send(const Model *m, const Batch *x, Pass *p)
{
    size_t most = m->config.max_tokens;
    int32_t *list[5], *to[5] = {m->input, m->place, m->target, m->row, m->within};
    for (size_t i = 0; i < 5; i++) list[i] = m->sorted + i * most;
    count_rows(m, x->N, x->input, 1, p->in);
    count_rows(m, x->N, x->target, 0, p->out);
    sort_inputs(m, x, p->in, list[0], list[1]);
    sort_targets(m, x, p->out, list[2], list[3], list[4]);
    for (size_t i = 0; i < 5; i++) m->backend->send(to[i], list[i], x->N * sizeof *list[i]);
}

/* Row i of y (n, cols) = row index[i] of x. */
static void gather(const Model *m, size_t n, size_t cols, const int32_t *index, const void *x,
                   void *y)
{
    m->backend->embed(n, cols, index, NULL, x, 1, NULL, no_drop, y);
}

/* Row index[i] of dx (rows, cols) += row i of dy (n, cols). */
static void scatter(const Model *m, size_t n, size_t cols, size_t rows, const int32_t *index,
                    const void *dy, void *dx)
{
    m->backend->embed_back(n, cols, rows, index, 1, no_drop, dy, dx);
}

static void *row_of(const Model *m, void *x, size_t cols, size_t r)
{
    return backend_at(m->backend, x, r * cols);
}

/* ---- input -------------------------------------------------------------------------------------- */

const void *adaptive_embed(const Model *m, const Pass *p)
{
    const Mix *x = &m->mix[MIX_EMBED];
    size_t D = m->config.width;
    if (p->in[1]) gather(m, p->in[1], D, m->input, data(m, m->embed), x->wide);
    for (size_t i = 0; i < m->config.tails; i++) {
        const Tail *t = &m->tail[i];
        size_t at = p->in[i + 1], n = p->in[i + 2] - at, w = t->width;
        if (n == 0) continue;
        gather(m, n, w, m->input + at, data(m, t->embed), x->narrow);
        m->backend->gemm(0, 1, n, D, w, 1, x->narrow, w, data(m, t->project), w, 0,
                         row_of(m, x->wide, D, at), D);
    }
    return x->wide;
}

void adaptive_embed_back(const Model *m, const Pass *p)
{
    const Backend *b = m->backend;
    const Mix *x = &m->mix[MIX_BACK];
    size_t D = m->config.width, words = m->head - m->config.tails;
    if (p->in[1]) scatter(m, p->in[1], D, words, m->input, x->wide, grad(m, m->embed));
    for (size_t i = 0; i < m->config.tails; i++) {
        const Tail *t = &m->tail[i];
        size_t at = p->in[i + 1], n = p->in[i + 2] - at, w = t->width;
        const void *dx = row_of(m, x->wide, D, at);
        if (n == 0) continue;
        gather(m, n, w, m->input + at, data(m, t->embed), x->narrow);
        b->gemm(1, 0, D, w, n, 1, dx, D, x->narrow, w, 1, grad(m, t->project), w);
        b->gemm(0, 0, n, w, D, 1, dx, D, data(m, t->project), w, 0, x->other, w);
        scatter(m, n, w, t->words, m->input + at, x->other, grad(m, t->embed));
    }
}

/* ---- output ------------------------------------------------------------------------------------- */

/* m->logits (n, words) = q E^T for rows at .. of narrow (., w). */
static void tail_logits(const Model *m, const Tail *t, const void *narrow, size_t at, size_t n)
{
    size_t w = t->width;
    m->backend->gemm(0, 1, n, t->words, w, 1, backend_at(m->backend, narrow, at * w), w,
                     data(m, t->embed), w, 0, m->logits, t->words);
}

/* nll of rows at .. of a tail's, whose q are in narrow; with back dq in other, dE added. from: where the
 * tail's rows begin. */
static void tail_rows(const Model *m, const Pass *p, const Tail *t, size_t from, size_t at,
                      size_t n, int back)
{
    const Backend *b = m->backend;
    const Mix *x = &m->mix[MIX_LOSS];
    size_t w = t->width;
    tail_logits(m, t, x->narrow, at, n);
    b->cross_entropy(n, t->words, m->logits, m->within + from + at, 0,
                     back ? 1 / (double)p->tokens : 0, row_of(m, m->tail_nll, 1, from + at));
    if (!back) return;
    b->gemm(0, 0, n, w, t->words, 1, m->logits, t->words, data(m, t->embed), w, 0,
            row_of(m, x->other, w, at), w);
    b->gemm(1, 0, t->words, w, n, 1, m->logits, t->words, row_of(m, x->narrow, w, at), w, 1,
            grad(m, t->embed), w);
}

/* With dq of a tail's n rows: dP += h^T dq; rows of dhidden += dq P^T, which take the place of h. */
static void tail_back(const Model *m, const Pass *p, const Tail *t, size_t from, size_t n)
{
    const Backend *b = m->backend;
    const Mix *x = &m->mix[MIX_LOSS];
    size_t D = m->config.width, w = t->width;
    b->gemm(1, 0, D, w, n, 1, x->wide, D, x->other, w, 1, grad(m, t->project), w);
    b->gemm(0, 1, n, D, w, 1, x->other, w, data(m, t->project), w, 0, x->wide, D);
    scatter(m, n, D, p->N, m->row + from, x->wide, m->dhidden);
}

void adaptive_loss(const Model *m, const Pass *p, int back)
{
    const Mix *x = &m->mix[MIX_LOSS];
    size_t D = m->config.width;
    for (size_t i = 0; i < m->config.tails; i++) {
        const Tail *t = &m->tail[i];
        size_t from = p->out[i + 1], n = p->out[i + 2] - from, w = t->width;
        if (n == 0) continue;
        gather(m, n, D, m->row + from, m->hidden, x->wide);
        m->backend->gemm(0, 0, n, w, D, 1, x->wide, D, data(m, t->project), w, 0, x->narrow, w);
        for (size_t at = 0, k; at < n; at += k) {
            k = n - at < m->logit_rows ? n - at : m->logit_rows;
            tail_rows(m, p, t, from, at, k, back);
        }
        if (back) tail_back(m, p, t, from, n);
    }
    size_t all = p->out[m->config.tails + 1];
    if (all) scatter(m, all, 1, p->N, m->row, m->tail_nll, m->nll);
}

/* ---- probabilities ------------------------------------------------------------------------------ */

/* z (n) becomes z - log sum e^z. */
static void log_softmax(size_t n, double *z)
{
    double top = z[0], sum = 0;
    for (size_t v = 1; v < n; v++) top = z[v] > top ? z[v] : top;
    for (size_t v = 0; v < n; v++) sum += exp(z[v] - top);
    for (size_t v = 0; v < n; v++) z[v] -= top + log(sum);
}

/* A tail's first word keeps log p(entry) until its turn comes. */
void adaptive_log_p(const Model *m, size_t at, size_t n, double *room, double *log_p)
{
    const Backend *b = m->backend;
    size_t D = m->config.width, V = m->config.vocab, words = m->head - m->config.tails;
    void *narrow = m->mix[MIX_LOSS].narrow;
    b->get(room, m->logits, n * m->head);
    for (size_t r = 0; r < n; r++) {
        double *z = room + r * m->head;
        log_softmax(m->head, z);
        for (size_t v = 0; v < words; v++) log_p[r * V + v] = z[v];
        for (size_t i = 0; i < m->config.tails; i++) log_p[r * V + m->tail[i].first] = z[words + i];
    }
    for (size_t i = 0; i < m->config.tails; i++) {
        const Tail *t = &m->tail[i];
        b->gemm(0, 0, n, t->width, D, 1, backend_at(b, m->hidden, at * D), D, data(m, t->project),
                t->width, 0, narrow, t->width);
        tail_logits(m, t, narrow, 0, n);
        b->get(room, m->logits, n * t->words);
        for (size_t r = 0; r < n; r++) {
            double *z = room + r * t->words, *to = log_p + r * V + t->first, entry = *to;
            log_softmax(t->words, z);
            for (size_t v = 0; v < t->words; v++) to[v] = entry + z[v];
        }
    }
}
