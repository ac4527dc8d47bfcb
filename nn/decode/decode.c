/* decode.c: runs the plan a token at a time (search.h).
 *
 * Every instruction belongs to a side. decoding_begin runs those of the source once. Every step runs those of the
 * target on one row for each hypothesis, in the model's registers: all but attention works row by row, so the code is
 * that of a pass. Attention of the new row i of a hypothesis is
 *
 *   self    k_i, v_i = K(x_i) are written into the cache of this EVAL; out = attend(q(x_i); rows of the cache listed for
 *           the hypothesis)
 *   cross   KEYS of the slot has written its rows once; out = attend(q(x_i); all rows of the sentence)
 *
 * and equals that of a whole pass because a target's row sees no later one: existing rows do not change when the text
 * grows. An EVAL, not a slot, has a cache: in k1 = F(y), k2 = F(y + k1) one slot makes keys of y and of y + k1.
 *
 * The rows of the hypotheses of one step are neighbours in every cache, at the same place in all: `used` .. used + N - 1. */
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "nn/decode/decode.h"

#include <math.h>
#include <string.h>

DROP(Decoding, decoding)

/* ---- instructions -------------------------------------------------------------------------------- */

static int side_of(const Model *m, const PlanInstr *in)
{
    if (in->op == PLAN_GATE) return m->plan->gate[in->out].side;
    return m->plan->reg[in->out].side;
}

static size_t cells(const Decoding *d)
{
    return d->rows * d->length;
}

/* Computes y (N, n) = x (N, D) W^T + b, with the rows `from` .. of the slot's first matrix. */
static void project(const Model *m, const SlotParams *o, size_t N, size_t from, size_t n,
                    const void *x, void *y)
{
    size_t D = m->config.width;
    m->backend->linear(N, n, D, x, data(m, o->in_w + from * D), bias(m, o->in_b, from), y);
}

/* Computes queries of the new rows to w->in (N, A), and keys and values into the cache, own + key row * ld and `v` numbers
 * behind; all normed and turned as the model has them. */
static void project_heads(const Model *m, const PlanSlot *s, size_t N, const Work *w, void *own,
                          size_t v)
{
    const SlotParams *o = &m->slot[s - m->plan->slot];
    size_t A = m->A, W = key_width(m), ldk = m->config.head_norm ? W : 2 * W;
    project(m, o, N, 0, A, w->normed, m->config.head_norm ? w->raw : w->in);
    if (m->config.head_norm) {
        project(m, o, N, A, W, w->normed, element_at(m, w->raw, N * A));
        project(m, o, N, A + W, W, w->normed, element_at(m, own, v));
        sublayer_norm_heads(m, N, o, w, own);
    } else {
        project(m, o, N, A, 2 * W, w->normed, own);
    }
    turn_heads(m, s, N, m->config.heads, w->in, A, 0);
    turn_heads(m, s, N, W / m->E, own, ldk, 0);
}

/* Computes the attention of an EVAL, w->normed (N, D) to w->core (N, A). Keys of the cache are beside their values; with
 * norms of heads, whose rows have no gaps, the values are behind all keys. */
static void attend(const Pass *p, const PlanInstr *in, const Work *w)
{
    const Decoding *d = p->context;
    const Model *m = d->m;
    const Backend *b = m->backend;
    const SlotParams *o = &m->slot[in->slot];
    const ModelConfig *c = &m->config;
    size_t N = p->N, D = c->width, i = index_of(m, in);
    int cross = m->plan->slot[in->slot].kind == SLOT_CROSS;
    int relative = !cross && c->positions & POSITIONS_RELATIVE;
    const Lists *l = cross ? &d->cross : &d->self;
    size_t at =
        cross ? (size_t)d->memory_of[in->slot] * d->sources : (size_t)d->cache_of[i] * cells(d);
    size_t wide = cross ? D : key_width(m), ldk = c->head_norm ? wide : 2 * wide;
    size_t v = c->head_norm ? wide * cells(d) : wide;
    void *k = backend_at(b, cross ? d->memory : d->cache, at * 2 * wide);
    if (cross)
        project(m, o, N, 0, D, w->normed, w->in);
    else
        project_heads(m, &m->plan->slot[in->slot], N, w, backend_at(b, k, d->used * ldk), v);
    Listed a = {.N = N,
                .count = l->count,
                .key = l->key,
                .ld = l->ld,
                .D = m->A,
                .H = c->heads,
                .kv = cross ? 0 : c->kv_heads,
                .window = cross ? 0 : window_of(m, &m->plan->slot[in->slot]),
                .q = w->in,
                .k = k,
                .v = backend_at(b, k, v),
                .ldq = m->A,
                .ldk = ldk,
                .relative = relative ? data(m, o->relative) : NULL,
                .clip = relative ? c->clip : 0};
    b->attend(&a, w->out);
    core_factors(m, N, w);
}

/* Runs a KEYS as in pass.c, but into memory of the Decoding, because registers are overwritten. */
static int keys(void *arg, const PlanInstr *in)
{
    const Pass *p = arg;
    const Decoding *d = p->context;
    size_t at = (size_t)d->memory_of[in->slot] * d->sources * 2 * p->m->config.width;
    pass_keys(p, in, backend_at(p->m->backend, d->memory, at));
    return 0;
}

static int run(const Pass *p, int side)
{
    const Plan *plan = p->m->plan;
    for (size_t i = 0; i < plan_network(plan); i++) {
        const PlanInstr *in = &plan->instr[i];
        if (side_of(p->m, in) != side) continue;
        TRY((in->op == PLAN_KEYS ? keys : pass_op[in->op])((void *)p, in));
    }
    return 0;
}

/* ---- memory --------------------------------------------------------------------------------------- */

/* Numbers the EVALs of the target's self-attention and the slots of cross-attention. */
static void count_caches(const Model *m, int *cache_of, int *memory_of, size_t *caches,
                         size_t *memories)
{
    const Plan *p = m->plan;
    *caches = *memories = 0;
    for (size_t i = 0; i < plan_network(p); i++) {
        const PlanInstr *in = &p->instr[i];
        int self = in->op == PLAN_EVAL && p->slot[in->slot].kind == SLOT_ATTENTION &&
                   p->slot[in->slot].side == SIDE_TARGET;
        if (cache_of) cache_of[i] = self ? (int)*caches : -1;
        *caches += (size_t)self;
        if (in->op != PLAN_KEYS) continue;
        if (memory_of) memory_of[in->slot] = (int)*memories;
        (*memories)++;
    }
}

/* Elements of the backend's buffers, in the order in which they are allocated. */
enum { CACHE, MEMORY, SELF_KEY, SELF_COUNT, CROSS_KEY, CROSS_COUNT, INDEX, VALUE, BUFFERS };
static void sizes_of(const Model *m, size_t rows, size_t length, size_t best, size_t size[BUFFERS])
{
    const Backend *b = m->backend;
    size_t caches, memories, D = m->config.width, word = sizeof(int32_t);
    count_caches(m, NULL, NULL, &caches, &memories);
    size[CACHE] = caches * rows * length * 2 * key_width(m);
    size[MEMORY] = memories * m->config.max_source * 2 * D;
    size[SELF_KEY] = backend_elements(b, rows * length * word);
    size[CROSS_KEY] = backend_elements(b, rows * m->config.max_source_length * word);
    size[SELF_COUNT] = size[CROSS_COUNT] = backend_elements(b, rows * word);
    size[INDEX] = backend_elements(b, rows * best * word);
    size[VALUE] = rows * best;
}

size_t decoding_bytes(const Model *m, size_t rows, size_t length, size_t best)
{
    size_t size[BUFFERS], sum = 0;
    sizes_of(m, rows, length, best, size);
    for (int i = 0; i < BUFFERS; i++) sum += size[i] * m->backend->size;
    return sum;
}

static int allocate(Decoding *d)
{
    const Model *m = d->m;
    size_t size[BUFFERS], caches, memories, R = d->rows, L = d->length;
    size_t sources = m->config.max_source_length;
    void **to[BUFFERS] = {&d->cache,
                          &d->memory,
                          (void **)&d->self.key,
                          (void **)&d->self.count,
                          (void **)&d->cross.key,
                          (void **)&d->cross.count,
                          (void **)&d->index,
                          &d->value};
    sizes_of(m, R, L, d->most, size);
    for (int i = 0; i < BUFFERS; i++) {
        if (size[i] == 0) continue;
        *to[i] = m->backend->alloc(size[i]);
        if (!*to[i]) return ERR_MEMORY;
        d->buffer[d->buffers++] = *to[i];
    }
    d->cache_of = memory_new(m->plan->instrs, sizeof *d->cache_of);
    d->memory_of = memory_new(m->plan->slots, sizeof *d->memory_of);
    d->start = memory_new(R + 1, sizeof *d->start);
    d->position = memory_new(R, sizeof *d->position);
    d->places = memory_new(R, sources * sizeof *d->places);
    d->sizes = memory_new(R, sizeof *d->sizes);
    for (int k = 0; k < 2; k++) {
        d->list[k] = memory_new(R, L * sizeof **d->list);
        d->count[k] = memory_new(R, sizeof **d->count);
        d->sentence[k] = memory_new(R, sizeof **d->sentence);
        if (!d->list[k] || !d->count[k] || !d->sentence[k]) return ERR_MEMORY;
    }
    if (!d->cache_of || !d->memory_of || !d->start || !d->position || !d->places || !d->sizes)
        return ERR_MEMORY;
    count_caches(m, d->cache_of, d->memory_of, &caches, &memories);
    return 0;
}

int decoding_new(Model *m, size_t rows, size_t length, size_t best, Decoding **out)
{
    const ModelConfig *c = &m->config;
    NEED(!m->training && best <= c->vocab);
    NEED(rows >= 1 && rows <= c->max_tokens && length >= 1 && length <= c->max_length);
    SCOPED(decoding_drop) Decoding *d = memory_new(1, sizeof *d);
    if (!d) return ERR_MEMORY;
    d->m = m;
    d->rows = rows;
    d->length = length;
    d->most = best;
    d->sources = c->max_source;
    TRY(allocate(d));
    *out = d;
    d = NULL;
    return 0;
}

void decoding_free(Decoding *d)
{
    if (!d) return;
    for (size_t i = 0; i < d->buffers; i++) d->m->backend->release(d->buffer[i]);
    for (int k = 0; k < 2; k++) {
        memory_free_all(d->list[k], d->count[k], d->sentence[k]);
    }
    void *list[] = {d->cache_of, d->memory_of, d->start, d->position, d->places, d->sizes, d};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) memory_free(list[i]);
}

/* ---- steps ---------------------------------------------------------------------------------------- */

int decoding_begin(Decoding *d, const Batch *x)
{
    const Model *m = d->m;
    int pairs = m->plan->sides > 1;
    NEED(!pairs || (x && x->S >= 1 && x->S <= d->rows));
    d->pass = (Pass){.m = m, .context = d};
    d->used = d->sentences = 0;
    if (!pairs) return 0;
    for (size_t s = 0; s < x->S; s++)
        NEED(x->source.start[s] < x->source.start[s + 1] &&
             x->source.start[s + 1] - x->source.start[s] <= m->config.max_source_length);
    TRY(pass_source(m, x));
    d->pass.S = d->sentences = x->S;
    d->pass.source.N = x->source.N;
    memcpy(d->start, x->source.start, (x->S + 1) * sizeof *d->start);
    m->ends->embed(m, &d->pass, SIDE_SOURCE);
    return run(&d->pass, SIDE_SOURCE);
}

static int check_step(const Decoding *d, size_t N, const int32_t *token, const int32_t *parent,
                      const int32_t *sentence)
{
    const Model *m = d->m;
    int pairs = m->plan->sides > 1;
    NEED(N >= 1 && N <= d->rows && N <= cells(d) - d->used);
    NEED(batch_below(N, token, m->config.vocab));
    NEED(!pairs || batch_below(N, sentence, d->sentences));
    for (size_t n = 0; n < N; n++) {
        int32_t p = parent[n];
        NEED(p == -1 || (p >= 0 && (size_t)p < d->pass.N));
        NEED(p < 0 || (size_t)d->count[0][p] < d->length);
        NEED(p < 0 || !pairs || sentence[n] == d->sentence[0][p]);
    }
    return 0;
}

static void list_own(Decoding *d, size_t N, const int32_t *parent)
{
    size_t ld = 1;
    for (size_t n = 0; n < N; n++) {
        int32_t count = 1 + (parent[n] < 0 ? 0 : d->count[0][parent[n]]);
        d->count[1][n] = count;
        d->position[n] = count - 1;
        if ((size_t)count > ld) ld = (size_t)count;
    }
    for (size_t n = 0; n < N; n++) {
        int32_t *to = d->list[1] + n * ld, old = d->count[1][n] - 1;
        if (old) memcpy(to, d->list[0] + (size_t)parent[n] * d->ld[0], (size_t)old * sizeof *to);
        to[old] = (int32_t)(d->used + n);
    }
    d->self.ld = d->ld[1] = ld;
}

static void list_sources(Decoding *d, size_t N, const int32_t *sentence)
{
    size_t ld = 1;
    for (size_t n = 0; n < N; n++) {
        size_t s = (size_t)sentence[n], count = d->start[s + 1] - d->start[s];
        d->sizes[n] = (int32_t)count;
        ld = count > ld ? count : ld;
    }
    for (size_t n = 0; n < N; n++)
        for (size_t j = 0; j < (size_t)d->sizes[n]; j++)
            d->places[n * ld + j] = (int32_t)(d->start[sentence[n]] + j);
    d->cross.ld = ld;
}

static void send_lists(const Decoding *d, size_t N)
{
    const Backend *b = d->m->backend;
    size_t word = sizeof(int32_t);
    b->send(d->self.key, d->list[1], N * d->self.ld * word);
    b->send(d->self.count, d->count[1], N * word);
    if (!d->sentences) return;
    b->send(d->cross.key, d->places, N * d->cross.ld * word);
    b->send(d->cross.count, d->sizes, N * word);
}

/* Makes this step's lists those of the step before. */
static void exchange(Decoding *d)
{
    int32_t *list = d->list[0], *count = d->count[0], *sentence = d->sentence[0];
    d->list[0] = d->list[1], d->count[0] = d->count[1], d->sentence[0] = d->sentence[1];
    d->list[1] = list, d->count[1] = count, d->sentence[1] = sentence;
    d->ld[0] = d->ld[1];
}

int decoding_step(Decoding *d, size_t N, const int32_t *token, const int32_t *parent,
                  const int32_t *sentence)
{
    const Model *m = d->m;
    TRY(check_step(d, N, token, parent, sentence));
    list_own(d, N, parent);
    if (d->sentences) {
        memcpy(d->sentence[1], sentence, N * sizeof *sentence);
        list_sources(d, N, sentence);
    }
    send_lists(d, N);
    d->pass.N = d->pass.asked = d->pass.tokens = N;
    d->pass.attend = attend;
    Batch x = {
        .N = N, .input = (int32_t *)token, .target = (int32_t *)token}; /* nothing is predicted */
    m->ends->send(m, &x, &d->pass);
    m->backend->send(m->batch.position, d->position, N * sizeof *d->position);
    m->ends->embed(m, &d->pass, SIDE_TARGET);
    TRY(run(&d->pass, SIDE_TARGET));
    pass_end(m, &d->pass);
    d->used += N;
    exchange(d);
    return 0;
}

/* ---- next tokens ---------------------------------------------------------------------------------- */

/* Finds the K largest of z (V), on the host; it sets those taken to -infinity. */
static void best_of_host(size_t V, size_t K, double *z, int32_t *index, double *value)
{
    for (size_t k = 0; k < K; k++) {
        size_t best = 0;
        for (size_t v = 1; v < V; v++)
            if (z[v] > z[best]) best = v;
        index[k] = (int32_t)best;
        value[k] = z[best];
        z[best] = -INFINITY;
    }
}

/* Finds the best of rows at .. at+n-1, after ends_logits, in a model whose log p is computed on the host. */
static int best_with_tails(Decoding *d, size_t at, size_t n, size_t K, int32_t *index,
                           double *value, const int32_t *only, double *log_p)
{
    size_t V = d->m->config.vocab;
    SCOPED(memory_drop) double *z = memory_new(n, V * sizeof *z);
    if (!z) return ERR_MEMORY;
    TRY(d->m->ends->logits(d->m, at, n, z));
    for (size_t r = 0; r < n; r++) {
        if (only) log_p[at + r] = z[r * V + (size_t)only[at + r]];
        best_of_host(V, K, z + r * V, index + (at + r) * K, value + (at + r) * K);
    }
    return 0;
}

/* Adds probabilities (N, V) of the last step to those of sum, as logarithms; first: sum is not read. z (N, V): room. */
static int add_log_p(const Decoding *d, int first, double *z, double *sum)
{
    size_t N = d->pass.N, V = d->m->config.vocab;
    for (size_t at = 0, n; at < N; at += n) {
        n = ends_logits(d->m, &d->pass, at);
        TRY(d->m->ends->logits(d->m, at, n, z + at * V));
    }
    TRY(d->m->backend->wait());
    for (size_t r = 0; r < N; r++, z += V, sum += V) {
        double top = z[0], total = 0;
        for (size_t v = 1; v < V; v++) top = fmax(top, z[v]);
        for (size_t v = 0; v < V; v++) total += exp(z[v] - top);
        for (size_t v = 0; v < V; v++) {
            double x = z[v] - top - log(total), y = first ? -INFINITY : sum[v];
            sum[v] = fmax(x, y) + log1p(exp(-fabs(x - y)));
        }
    }
    return 0;
}

int decoding_mean(Decoding *const *d, size_t models, size_t K, int32_t *index, double *value,
                  const int32_t *only, double *log_p)
{
    size_t N = d[0]->pass.N, V = d[0]->m->config.vocab;
    SCOPED(memory_drop)
    double *z = memory_new(N, V * sizeof *z), *sum = memory_new(N, V * sizeof *sum);
    if (!z || !sum) return ERR_MEMORY;
    for (size_t k = 0; k < models; k++) TRY(add_log_p(d[k], k == 0, z, sum));
    for (size_t i = 0; i < N * V; i++) sum[i] -= log((double)models);
    for (size_t r = 0; r < N; r++) {
        if (only) log_p[r] = sum[r * V + (size_t)only[r]];
        best_of_host(V, K, sum + r * V, index + r * K, value + r * K);
    }
    return 0;
}

int decoding_best(Decoding *d, size_t K, int32_t *index, double *value, const int32_t *only,
                  double *log_p)
{
    const Model *m = d->m;
    const Backend *b = m->backend;
    size_t N = d->pass.N, V = m->config.vocab;
    NEED(K <= d->most);
    if (only && !m->config.tails) b->send(m->batch.target, only, N * sizeof *only);
    for (size_t at = 0, n; at < N; at += n) {
        n = ends_logits(m, &d->pass, at);
        if (m->config.tails) {
            TRY(best_with_tails(d, at, n, K, index, value, only, log_p));
            continue;
        }
        if (K) b->best(n, V, K, m->out.logits, d->index + at * K, backend_at(b, d->value, at * K));
        if (only)
            b->cross_entropy(n, V, m->out.logits, m->batch.target + at, (Labels){.hit = 1}, NULL,
                             NULL, backend_at(b, m->out.nll, at));
    }
    if (m->config.tails) return b->wait();
    if (K) b->receive(index, d->index, N * K * sizeof *index);
    if (K) b->get(value, d->value, N * K);
    if (only) b->get(log_p, m->out.nll, N);
    for (size_t n = 0; only && n < N; n++) log_p[n] = -log_p[n];
    return b->wait();
}
