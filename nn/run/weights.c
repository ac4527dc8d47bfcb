/* weights.c: where attention looks. A pass keeps no weights (kernels work tile by tile), so they are computed again
 * here, in double precision, from the queries and keys that each evaluation of an attention sublayer leaves. This
 * serves looking at a model, not training it. */
#include "nn/run/pass.h"

#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"

typedef struct {
    double *qkv; /* (N, A + 2 K E) one evaluation (HeadsAt), turned where positions are rotary */
    double *relative; /* (2 clip + 1, E) its slot's */
    double *next;     /* weights of the next evaluation, (H, N, N) */
} Watch;

/* Returns q . (k + r) / sqrt(E) of a head; r NULL: none. */
static double score(const double *q, const double *k, const double *r, size_t E)
{
    double sum = 0;
    for (size_t e = 0; e < E; e++) sum += q[e] * (k[e] + (r ? r[e] : 0));
    return sum / sqrt((double)E);
}

/* Turns scores a (n) into weights of sum 1; a score of -inf gives 0. */
static void softmax(double *a, size_t n)
{
    double most = a[0], sum = 0;
    for (size_t j = 1; j < n; j++) most = fmax(most, a[j]);
    for (size_t j = 0; j < n; j++) sum += a[j] = exp(a[j] - most);
    for (size_t j = 0; j < n; j++) a[j] /= sum;
}

/* Computes w (N, N), the weights of head h of x->qkv. The key at distance j - i uses the relative row of that
 * distance (kernels/backend.h). */
static void head_weights(const Model *m, const Watch *x, const PlanSlot *s, size_t N, size_t h,
                         double *w)
{
    HeadsAt at = heads_at(m, N);
    size_t E = m->E, clip = m->config.clip;
    size_t key = at.k + h / attention_each(m->config.heads, m->config.kv_heads) * E;
    int causal = plan_causal(m->plan, SIDE_TARGET),
        relative = m->config.positions & POSITIONS_RELATIVE;
    size_t window = window_of(m, s);
    memset(w, 0, N * N * sizeof *w);
    for (size_t i = 0; i < N; i++) {
        const double *q = x->qkv + i * at.ldq + h * E;
        size_t end = causal ? i + 1 : N, first = window && end > window ? end - window : 0;
        for (size_t j = first; j < end; j++) {
            size_t back = j < i ? i - j : 0, ahead = j > i ? j - i : 0;
            size_t row = clip + (ahead < clip ? ahead : clip) - (back < clip ? back : clip);
            const double *r = relative ? x->relative + row * E : NULL;
            w[i * N + j] = score(q, x->qkv + j * at.ldk + key, r, E);
        }
        softmax(w + i * N + first, end - first);
    }
}

static void see(const Pass *p, size_t i, void *context)
{
    const Model *m = p->m;
    const PlanInstr *in = &m->plan->instr[i];
    const Backend *b = m->backend;
    Watch *x = context;
    if (m->plan->slot[in->slot].kind != SLOT_ATTENTION) return;
    b->get(x->qkv, m->work[i].in, p->N * m->slot[in->slot].I);
    if (m->config.positions & POSITIONS_RELATIVE)
        b->get(x->relative, backend_at(b, m->data, m->slot[in->slot].relative),
               (2 * m->config.clip + 1) * m->E);
    for (size_t h = 0; h < m->config.heads; h++, x->next += p->N * p->N)
        head_weights(m, x, &m->plan->slot[in->slot], p->N, h, x->next);
}

int model_attention(Model *m, size_t N, const int32_t *token, double *weights)
{
    Pass p;
    TRY(pass_tokens(m, N, token, &p));
    SCOPED(memory_drop) double *qkv = memory_new(N * 3, m->A * sizeof(double));
    SCOPED(memory_drop)
    double *relative = memory_new(2 * m->config.clip + 1, m->E * sizeof(double));
    if (!qkv || !relative) return ERR_MEMORY;
    Watch x = {qkv, relative, weights};
    p.see = see;
    p.context = &x;
    pass_forward(m, &p);
    return m->backend->wait();
}

/* ---- cross-attention ------------------------------------------------------------------------------ */

typedef struct {
    size_t M;
    double *q, *kv; /* (N, D), (M, 2 D) of the last evaluation */
    int seen;
} Across;

static void see_across(const Pass *p, size_t i, void *context)
{
    const Model *m = p->m;
    const PlanInstr *in = &m->plan->instr[i];
    Across *x = context;
    size_t D = m->config.width;
    if (m->plan->slot[in->slot].kind != SLOT_CROSS) return;
    m->backend->get(x->q, m->work[i].in, p->N * D);
    m->backend->get(x->kv, m->state[in->term[1].x], x->M * 2 * D);
    x->seen = 1;
}

static void add_across(const Model *m, const Across *x, size_t N, double *row, double *weights)
{
    size_t D = m->config.width, E = m->E, H = m->config.heads;
    for (size_t h = 0; h < H; h++)
        for (size_t i = 0; i < N; i++) {
            for (size_t j = 0; j < x->M; j++)
                row[j] = score(x->q + i * D + h * E, x->kv + j * 2 * D + h * E, NULL, E);
            softmax(row, x->M);
            for (size_t j = 0; j < x->M; j++) weights[i * x->M + j] += row[j] / (double)H;
        }
}

int model_cross_attention(Model *m, const Batch *b, double *weights)
{
    Pass p;
    size_t M = b->source.N, D = m->config.width;
    NEED(b->S == 1 && m->plan->sides > 1);
    TRY(pass_begin(m, b, 0, &p));
    SCOPED(memory_drop) double *room = memory_new(b->N * D + M * 2 * D + M, sizeof *room);
    if (!room) return ERR_MEMORY;
    Across x = {M, room, room + b->N * D, 0};
    pass_step(&p, 0, 0);
    p.see = see_across;
    p.context = &x;
    pass_forward(m, &p);
    TRY(m->backend->wait());
    if (!x.seen) return ERR_MISUSE;
    add_across(m, &x, b->N, x.kv + M * 2 * D, weights);
    return 0;
}
