/* adaptive_softmax.c: adaptive input embeddings and adaptive softmax: rare words have narrow embeddings.
 *
 * The ids, which are sorted by falling frequency, are cut in clusters: the head, 0 .. cut[0]-1, and tails 1 .. k. A
 * word of tail i has an embedding of w = D / factor^i numbers, and the tail a matrix P_i (D, w) that widens it:
 *
 *   input   x = E_0[word] in the head, P_i e, e = E_i[word] (w), in tail i; then as every embedding
 *   output  over the head's words and k entries, which stand for the tails: p = softmax(h [E_0; C]^T)
 *           of a word of tail i: p(entry i) softmax(P_i^T h E_i^T)_word
 *   loss    -log p: cross-entropy of the head, in every row, and of the tail, in rows whose target it has
 *
 * Input and output share words and projections; only the output has the entries C (k, D). In files: embed.weight
 * (cut[0], D), embed.entry.weight (k, D), embed.tail.i.weight (words, w), embed.tail.i.project.weight (D, w), i = 1 ..
 * k. Untied, the output has separate tensors: output.weight, output.entry.weight (in place of embed.entry.weight),
 * output.tail.i.weight, output.tail.i.project.weight, with the same shapes and starting values. Without tails this is
 * the plain model, and no code of this file runs.
 *
 * Source: Grave et al. 2017, sections 4.2, 4.3; Baevski, Auli 2019, sections 3 and 4, factor 4, tied
 * embeddings and projections. Here the head has no projection, and labels are not smoothed.
 *
 * Rows are sorted by cluster on the host, so that each cluster's products are dense. Where steps are recorded, clusters are filled up to few numbers of rows (filled.c). The kernel `embed`,
 * without scale and positions, gathers rows, and `embed_back` scatters them: there are no other kernels. */
#include <math.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "nn/model/engine.h"

/* ---- shapes ------------------------------------------------------------------------------------- */

int adaptive_check(const ModelConfig *c)
{
    size_t width = c->width;
    if (c->tails > TAILS_MOST)
        return error_set(ERR_INPUT, "adaptive: %zu cut-offs, where there can be at most %d",
                         c->tails, TAILS_MOST);
    if (c->tails && c->smoothing > 0)
        return error_set(ERR_INPUT, "adaptive: labels are not smoothed, as %g asks", c->smoothing);
    if (c->tails && c->factor < 1)
        return error_set(ERR_INPUT, "adaptive: a factor of 0 between widths");
    for (size_t i = 0; i < c->tails; i++)
        if (c->cut[i] <= (i ? c->cut[i - 1] : 0))
            return error_set(ERR_INPUT, "adaptive: cut-off %zu is not above %zu", c->cut[i],
                             i ? c->cut[i - 1] : 0);
    if (c->tails && c->cut[c->tails - 1] >= c->vocab)
        return error_set(ERR_INPUT, "adaptive: cut-off %zu is not below %zu, the number of words",
                         c->cut[c->tails - 1], c->vocab);
    for (size_t i = 0; i < c->tails; i++) {
        width /= c->factor;
        if (width == 0)
            return error_set(ERR_INPUT,
                             "adaptive: width %zu is too small for %zu tails, each %zu times as "
                             "narrow as the one before",
                             c->width, i + 1, c->factor);
    }
    return 0;
}

void adaptive_shapes(Model *m)
{
    const ModelConfig *c = &m->config;
    size_t width = c->width;
    m->out.rows = m->out.widest = c->tails ? c->cut[0] + c->tails : c->vocab;
    for (size_t i = 0; i < c->tails; i++) {
        size_t end = i + 1 < c->tails ? c->cut[i + 1] : c->vocab;
        width /= c->factor;
        m->tails.tail[i] = (Tail){.first = c->cut[i], .words = end - c->cut[i], .width = width};
        if (m->tails.tail[i].words > m->out.widest) m->out.widest = m->tails.tail[i].words;
    }
}

/* ---- rows by cluster ---------------------------------------------------------------------------- */

static size_t cluster_of(const Model *m, int32_t word)
{
    size_t i = 0;
    while (i < m->config.tails && (size_t)word >= m->tails.tail[i].first) i++;
    return i;
}

/* Counts rows by cluster of the words (N): c has the places at[c] .. at[c + 1]-1, in order, filled
 * up. The head, with `head`, is filled up to N: the shape depends on the tails alone. */
static void count_rows(const Model *m, const Pass *p, const int32_t *word, int head, size_t *at)
{
    size_t n[TAILS_MOST + 1] = {0};
    for (size_t r = 0; r < p->N; r++) n[cluster_of(m, word[r])]++;
    at[0] = 0;
    at[1] = !head ? 0 : filled_rows(m, p, n[0], p->N) > n[0] ? p->N : n[0];
    for (size_t c = 1; c <= m->config.tails; c++) at[c + 1] = at[c] + filled_rows(m, p, n[c], p->N);
}

static int32_t within(const Model *m, size_t cluster, int32_t word)
{
    return cluster ? word - (int32_t)m->tails.tail[cluster - 1].first : word;
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

/* Sorts the targets. The entries come behind the head's words, in order. */
static void sort_targets(const Model *m, const Batch *x, const size_t *out, int32_t *target,
                         int32_t *row, int32_t *in_tail)
{
    size_t next[TAILS_MOST + 1], words = m->out.rows - m->config.tails;
    for (size_t c = 0; c <= m->config.tails; c++) next[c] = out[c];
    for (size_t r = 0; r < x->N; r++) {
        size_t c = cluster_of(m, x->target[r]);
        target[r] = c ? (int32_t)(words + c - 1) : x->target[r];
        if (!c) continue;
        row[next[c]] = (int32_t)r;
        in_tail[next[c]++] = within(m, c, x->target[r]);
    }
}

static void send(const Model *m, const Batch *x, Pass *p)
{
    size_t most = filled_most(m);
    int32_t *list[5],
        *to[5] = {m->batch.input, m->tails.place, m->batch.target, m->tails.row, m->tails.within};
    for (size_t i = 0; i < 5; i++) list[i] = m->tails.sorted + i * most;
    count_rows(m, p, x->input, 1, p->in);
    count_rows(m, p, x->target, 0, p->out);
    size_t in = p->in[m->config.tails + 1], out = p->out[m->config.tails + 1];
    size_t size[5] = {in, x->N, x->N, out, out};
    filled_list(list[0], 0, in, NO_ROW);
    filled_list(list[3], 0, out, NO_ROW);
    filled_list(list[4], 0, out, FILLER);
    sort_inputs(m, x, p->in, list[0], list[1]);
    sort_targets(m, x, p->out, list[2], list[3], list[4]);
    for (size_t i = 0; i < 5; i++)
        if (size[i]) m->backend->send(to[i], list[i], size[i] * sizeof *list[i]);
}

static void *row_of(const Model *m, void *x, size_t cols, size_t r)
{
    return backend_at(m->backend, x, r * cols);
}

/* ---- input -------------------------------------------------------------------------------------- */

static void embed(const Model *m, const Pass *p, int side)
{
    const Mix *x = &m->tails.mix[MIX_EMBED];
    size_t D = m->config.width;
    if (p->in[1]) ends_gather(m, p->in[1], D, m->batch.input, data(m, m->embed), x->wide);
    for (size_t i = 0; i < m->config.tails; i++) {
        const Tail *t = &m->tails.tail[i];
        size_t at = p->in[i + 1], n = p->in[i + 2] - at, w = t->width;
        if (n == 0) continue;
        ends_gather(m, n, w, m->batch.input + at, data(m, t->embed), x->narrow);
        m->backend->gemm(0, 1, n, D, w, 1, x->narrow, w, data(m, t->project), w, 0,
                         row_of(m, x->wide, D, at), D);
    }
    ends_embed(m, p, side, m->tails.place, x->wide); /* the target, because there is no source */
}

static void embed_back(const Model *m, const Pass *p)
{
    const Backend *b = m->backend;
    const Mix *x = &m->tails.mix[MIX_BACK];
    size_t D = m->config.width, words = m->out.rows - m->config.tails;
    size_t rows = p->in[m->config.tails + 1];
    b->fill(x->wide, 0, rows * D);
    ends_embed_back(m, p, SIDE_TARGET, rows, m->tails.place, x->wide);
    if (p->in[1]) ends_scatter(m, p->in[1], D, words, m->batch.input, x->wide, grad(m, m->embed));
    for (size_t i = 0; i < m->config.tails; i++) {
        const Tail *t = &m->tails.tail[i];
        size_t at = p->in[i + 1], n = p->in[i + 2] - at, w = t->width;
        const void *dx = row_of(m, x->wide, D, at);
        if (n == 0) continue;
        ends_gather(m, n, w, m->batch.input + at, data(m, t->embed), x->narrow);
        b->gemm(1, 0, D, w, n, 1, dx, D, x->narrow, w, 1, grad(m, t->project), w);
        b->gemm(0, 0, n, w, D, 1, dx, D, data(m, t->project), w, 0, x->other, w);
        ends_scatter(m, n, w, t->words, m->batch.input + at, x->other, grad(m, t->embed));
    }
}

/* ---- output ------------------------------------------------------------------------------------- */

/* Computes z (n, words) = q E^T, q (., w) being rows from `at` on of narrow. */
static void tail_logits(const Model *m, const Tail *t, const void *narrow, size_t at, size_t n,
                        void *z)
{
    size_t w = t->width;
    m->backend->gemm(0, 1, n, t->words, w, 1, backend_at(m->backend, narrow, at * w), w,
                     data(m, t->output), w, 0, z, t->words);
}

/* Computes nll (N) of a tail in blocks, for n rows whose h P are in narrow, with their targets. With back it also
 * writes the adjoints of h P in other, and adds dE. */
static void tail_rows(const Model *m, const Tail *t, const int32_t *target, size_t n, void *nll,
                      int back)
{
    const Backend *b = m->backend;
    const Mix *x = &m->tails.mix[MIX_LOSS];
    size_t w = t->width, block = back ? m->out.dblock : m->out.block;
    void *z = back ? m->out.dlogits : m->out.logits;
    for (size_t at = 0, k; at < n; at += k) {
        k = n - at < block ? n - at : block;
        tail_logits(m, t, x->narrow, at, k, z);
        b->cross_entropy(k, t->words, z, target + at, (Labels){.hit = 1},
                         back ? &m->step->grad[GRAD_WORDS] : NULL, z, row_of(m, nll, 1, at));
        if (!back) continue;
        b->gemm(0, 0, k, w, t->words, 1, z, t->words, data(m, t->output), w, 0,
                row_of(m, x->other, w, at), w);
        b->gemm(1, 0, t->words, w, k, 1, z, t->words, row_of(m, x->narrow, w, at), w, 1,
                grad(m, t->output), w);
    }
}

/* Computes narrow (n, w) = h P for n rows h (n, D). */
static void tail_narrow(const Model *m, const Tail *t, size_t n, const void *h)
{
    size_t D = m->config.width, w = t->width;
    m->backend->gemm(0, 0, n, w, D, 1, h, D, data(m, t->output_project), w, 0,
                     m->tails.mix[MIX_LOSS].narrow, w);
}

/* Computes the loss of the rows whose target is in a tail. Backward: from the adjoints of h P, in other, dP += h^T
 * other, and h = other P^T, which is added to dhidden. */
static void tail_loss(const Model *m, const Pass *p, size_t i, int back)
{
    const Backend *b = m->backend;
    const Tail *t = &m->tails.tail[i];
    const Mix *x = &m->tails.mix[MIX_LOSS];
    void *h = x->wide;
    size_t D = m->config.width, w = t->width, from = p->out[i + 1], n = p->out[i + 2] - from;
    if (n == 0) return;
    ends_gather(m, n, D, m->tails.row + from, m->out.hidden, h);
    tail_narrow(m, t, n, h);
    tail_rows(m, t, m->tails.within + from, n, row_of(m, m->tails.nll, 1, from), back);
    if (!back) return;
    b->gemm(1, 0, D, w, n, 1, h, D, x->other, w, 1, grad(m, t->output_project), w);
    b->gemm(0, 1, n, D, w, 1, x->other, w, data(m, t->output_project), w, 0, h, D);
    ends_scatter(m, n, D, p->N, m->tails.row + from, h, m->out.dhidden);
}

static void loss(const Model *m, const Pass *p, int back)
{
    size_t tails = m->config.tails, all = p->out[tails + 1];
    const Labels one = {.hit = 1};
    ends_loss(m, p, &one, back);
    for (size_t i = 0; i < tails; i++) tail_loss(m, p, i, back);
    if (all) ends_scatter(m, all, 1, p->N, m->tails.row, m->tails.nll, m->out.nll);
}

/* ---- probabilities ------------------------------------------------------------------------------ */

/* Replaces z (n) by z - log sum e^z. */
static void log_softmax(size_t n, double *z)
{
    double top = z[0], sum = 0;
    for (size_t v = 1; v < n; v++) top = z[v] > top ? z[v] : top;
    for (size_t v = 0; v < n; v++) sum += exp(z[v] - top);
    for (size_t v = 0; v < n; v++) z[v] -= top + log(sum);
}

/* Writes log p. A tail's first word holds log p(entry) until its turn comes. */
static int logits(const Model *m, size_t at, size_t n, double *log_p)
{
    const Backend *b = m->backend;
    size_t D = m->config.width, V = m->config.vocab, words = m->out.rows - m->config.tails;
    SCOPED(memory_drop) double *room = memory_new(n, m->out.widest * sizeof *room);
    if (!room) return ERR_MEMORY;
    b->get(room, m->out.logits, n * m->out.rows);
    for (size_t r = 0; r < n; r++) {
        double *z = room + r * m->out.rows;
        log_softmax(m->out.rows, z);
        for (size_t v = 0; v < words; v++) log_p[r * V + v] = z[v];
        for (size_t i = 0; i < m->config.tails; i++)
            log_p[r * V + m->tails.tail[i].first] = z[words + i];
    }
    for (size_t i = 0; i < m->config.tails; i++) {
        const Tail *t = &m->tails.tail[i];
        tail_narrow(m, t, n, backend_at(b, m->out.hidden, at * D));
        tail_logits(m, t, m->tails.mix[MIX_LOSS].narrow, 0, n, m->out.logits);
        b->get(room, m->out.logits, n * t->words);
        for (size_t r = 0; r < n; r++) {
            double *z = room + r * t->words, *to = log_p + r * V + t->first, entry = *to;
            log_softmax(t->words, z);
            for (size_t v = 0; v < t->words; v++) to[v] = entry + z[v];
        }
    }
    return 0;
}

const Ends ends_adaptive = {send, embed, embed_back, NULL, loss, logits};
