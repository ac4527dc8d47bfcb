/* bench_prefix.c: beam search without a cache: at each step the tokens of a hypothesis go through the network anew.
 *
 * Step t gives every hypothesis of t + 1 tokens (<eos>, then t of its output) the next one. All of them are a batch,
 * each with a copy of its source. Of the batch's rows only the last of each hypothesis goes on to logits, and the best
 * of these are found as in nn/decode/decode.c. A search over outputs of one length is that of beam.c with equal least and
 * greatest numbers of tokens: of a sentence's hypotheses and their tokens the `beam` best go on, and at the end the one
 * whose sum with that of <eos> is largest wins.
 *
 *   PREFIX_TARGET  the decoder's instructions at each step; keys and values of the source are kept, from the first step
 *   PREFIX_BOTH    all instructions at each step, the encoder's too
 *
 * The plan's KEYS write into registers that later instructions overwrite. For PREFIX_TARGET this file allocates
 * memory for these registers. */
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "nn/run/pass.h"
#include "studies/bench/bench.h"

typedef struct {
    double sum;
    size_t from;
    int32_t token;
} Candidate;

struct Prefix {
    Model *m;
    size_t S, K, T; /* sentences, beam, tokens of an output */
    int32_t eos;
    Batch x;                 /* batch of a step */
    int32_t *token[2];       /* (S K, T) outputs so far, of this step and the next */
    double *sum[2];          /* (S K) sums of log p */
    Candidate *candidate;    /* (K, K + 1) */
    int32_t *index, *ends;   /* (S K, K + 1), (S K) <eos> */
    double *value;           /* (S K, K + 1) */
    void *best, *best_value; /* the same in backend memory */
    void **few, **many,
        **own; /* (registers) of KEYS: each source once; one for each hypothesis; the model's */
};

/* ---- building --------------------------------------------------------------------------------------- */

static int allocate(Prefix *p)
{
    const Model *m = p->m;
    const Backend *b = m->backend;
    size_t R = p->S * p->K, N = R * (p->T + 1), M = m->config.max_source, word = sizeof(int32_t);
    size_t registers = m->plan->registers, D = m->config.width;
    const struct {
        void *to;
        size_t n, size;
    } list[] = {{&p->x.input, N, word},
                {&p->x.position, N, word},
                {&p->x.start, R + 1, sizeof(size_t)},
                {&p->x.source.input, M, word},
                {&p->x.source.position, M, word},
                {&p->x.source.start, R + 1, sizeof(size_t)},
                {&p->token[0], R, p->T * word},
                {&p->token[1], R, p->T * word},
                {&p->sum[0], R, sizeof(double)},
                {&p->sum[1], R, sizeof(double)},
                {&p->candidate, p->K, (p->K + 1) * sizeof(Candidate)},
                {&p->index, R, (p->K + 1) * word},
                {&p->ends, R, word},
                {&p->value, R, (p->K + 1) * sizeof(double)},
                {&p->few, registers, sizeof(void *)},
                {&p->many, registers, sizeof(void *)},
                {&p->own, registers, sizeof(void *)}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        void *made = memory_new(list[i].n, list[i].size);
        if (!made) return ERR_MEMORY;
        memcpy(list[i].to, &made, sizeof made);
    }
    p->x.target = p->x.input; /* nothing is predicted */
    p->best = b->alloc(backend_elements(b, R * (p->K + 1) * word));
    p->best_value = b->alloc(R * (p->K + 1));
    if (!p->best || !p->best_value) return ERR_MEMORY;
    for (size_t i = 0; i < m->plan->instrs; i++) {
        size_t r = (size_t)m->plan->instr[i].out;
        if (m->plan->instr[i].op != PLAN_KEYS) continue;
        p->own[r] = m->state[r];
        p->few[r] = b->alloc(M * 2 * D);
        p->many[r] = b->alloc(M * 2 * D);
        if (!p->few[r] || !p->many[r]) return ERR_MEMORY;
    }
    return 0;
}

int prefix_new(Model *m, size_t sentences, size_t beam, size_t length, int32_t eos, Prefix **out)
{
    const ModelConfig *c = &m->config;
    size_t rows = sentences * beam;
    if (m->plan->sides < 2 || m->training || rows * (length + 1) > c->max_tokens ||
        length >= c->max_length || beam >= c->vocab || c->tails)
        return error_set(ERR_MISUSE, "%zu outputs of %zu tokens, of which the model has no room",
                         rows, length);
    Prefix *p = memory_new(1, sizeof *p);
    if (!p) return ERR_MEMORY;
    p->m = m;
    p->S = sentences, p->K = beam, p->T = length;
    p->eos = eos;
    int code = allocate(p);
    if (code) {
        prefix_free(p);
        return code;
    }
    for (size_t r = 0; r < rows; r++) p->ends[r] = eos;
    *out = p;
    return 0;
}

void prefix_free(Prefix *p)
{
    if (!p) return;
    const Backend *b = p->m->backend;
    for (size_t r = 0; p->few && p->many && r < p->m->plan->registers; r++) {
        b->release(p->few[r]);
        b->release(p->many[r]);
    }
    b->release(p->best);
    b->release(p->best_value);
    void *list[] = {p->x.input,
                    p->x.position,
                    p->x.start,
                    p->x.source.input,
                    p->x.source.position,
                    p->x.source.start,
                    p->token[0],
                    p->token[1],
                    p->sum[0],
                    p->sum[1],
                    p->candidate,
                    p->index,
                    p->ends,
                    p->value,
                    p->few,
                    p->many,
                    p->own,
                    p};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) memory_free(list[i]);
}

/* ---- a step of the network ----------------------------------------------------------------------------- */

/* Makes the batch of step t, where every sentence has k hypotheses: their tokens, and a copy of its source for each. */
static void make_batch(Prefix *p, const Batch *x, size_t t, size_t k)
{
    Batch *y = &p->x;
    y->S = p->S * k;
    y->longest = t + 1;
    y->N = y->source.N = 0;
    y->source.longest = x->source.longest;
    for (size_t r = 0; r < y->S; r++) {
        size_t s = r / k;
        y->start[r] = y->N;
        y->source.start[r] = y->source.N;
        for (size_t i = 0; i <= t; i++, y->N++) {
            y->input[y->N] = i ? p->token[0][r * p->T + i - 1] : p->eos;
            y->position[y->N] = (int32_t)i;
        }
        for (size_t i = x->source.start[s]; i < x->source.start[s + 1]; i++, y->source.N++) {
            y->source.input[y->source.N] = x->source.input[i];
            y->source.position[y->source.N] = x->source.position[i];
        }
    }
    y->start[y->S] = y->N;
    y->source.start[y->S] = y->source.N;
}

/* Runs the instructions of a side on its embedding. */
static int run_side(const Pass *p, int side)
{
    const Plan *plan = p->m->plan;
    p->m->ends->embed(p->m, p, side);
    for (size_t i = 0; i < plan->instrs; i++) {
        const PlanInstr *in = &plan->instr[i];
        int its = in->op == PLAN_GATE ? plan->gate[in->out].side : plan->reg[in->out].side;
        if (its == side) TRY(pass_op[in->op]((void *)(size_t)p, in));
    }
    return 0;
}

/* Makes the registers of KEYS those of the list. */
static void set_keys(Prefix *p, void *const *list)
{
    for (size_t r = 0; r < p->m->plan->registers; r++)
        if (p->own[r]) p->m->state[r] = list[r];
}

/* Copies keys and values of every source for each of its k hypotheses, whose batch exists. */
static void copy_keys(Prefix *p, const Batch *x, size_t k)
{
    const Backend *b = p->m->backend;
    size_t D = p->m->config.width;
    for (size_t r = 0; r < p->m->plan->registers; r++)
        for (size_t h = 0; p->own[r] && h < p->x.S; h++) {
            size_t from = x->source.start[h / k], n = x->source.start[h / k + 1] - from;
            b->copy(backend_at(b, p->many[r], p->x.source.start[h] * 2 * D),
                    backend_at(b, p->few[r], from * 2 * D), n * 2 * D);
        }
}

/* Computes out.hidden (R, D) of the last tokens of R hypotheses. */
static int run_step(Prefix *p, const Batch *x, int kind, size_t t, size_t k)
{
    const Model *m = p->m;
    const Backend *b = m->backend;
    size_t D = m->config.width;
    Pass pass;
    make_batch(p, x, t, k);
    TRY(pass_begin(m, &p->x, 0, &pass));
    if (kind == PREFIX_BOTH) {
        pass_forward(m, &pass);
    } else {
        if (t == 0) { /* one hypothesis a source */
            set_keys(p, p->few);
            TRY(run_side(&pass, SIDE_SOURCE));
        } else if (t == 1) {
            set_keys(p, p->many);
            copy_keys(p, x, k);
        }
        TRY(run_side(&pass, SIDE_TARGET));
        pass_end(m, &pass);
    }
    for (size_t r = 0; t > 0 && r < p->x.S; r++)
        b->copy(backend_at(b, m->out.hidden, r * D),
                backend_at(b, m->out.hidden, ((r + 1) * (t + 1) - 1) * D), D);
    return 0;
}

/* Finds the K + 1 most probable tokens of each of the R rows of out.hidden; at the end log p of <eos>, value (R). */
static int find_best(Prefix *p, size_t R, int end)
{
    const Model *m = p->m;
    const Backend *b = m->backend;
    const Pass pass = {.m = m, .N = R, .asked = R};
    size_t V = m->config.vocab, K = p->K + 1, word = sizeof(int32_t);
    if (end) b->send(m->batch.target, p->ends, R * word);
    for (size_t at = 0, n; at < R; at += n) {
        n = ends_logits(m, &pass, at);
        if (end)
            b->cross_entropy(n, V, m->out.logits, m->batch.target + at, (Labels){.hit = 1}, NULL,
                             NULL, backend_at(b, m->out.nll, at));
        else
            b->best(n, V, K, m->out.logits, (int32_t *)p->best + at * K,
                    backend_at(b, p->best_value, at * K));
    }
    if (end) {
        b->get(p->value, m->out.nll, R);
    } else {
        b->receive(p->index, p->best, R * K * word);
        b->get(p->value, p->best_value, R * K);
    }
    return b->wait();
}

/* ---- the search --------------------------------------------------------------------------------------- */

static int by_sum(const void *x, const void *y)
{
    const Candidate *a = x, *b = y;
    if (a->sum != b->sum) return a->sum < b->sum ? 1 : -1;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    return (a->token > b->token) - (a->token < b->token);
}

/* Keeps the K best of a sentence's k hypotheses with t tokens, each extended by one token other than <eos>. */
static void extend(Prefix *p, size_t s, size_t t, size_t k)
{
    size_t n = 0, K = p->K;
    for (size_t r = s * k; r < (s + 1) * k; r++)
        for (size_t i = r * (K + 1), taken = 0; taken < K; i++) {
            if (p->index[i] == p->eos) continue;
            p->candidate[n++] = (Candidate){p->sum[0][r] + p->value[i], r, p->index[i]};
            taken++;
        }
    qsort(p->candidate, n, sizeof *p->candidate, by_sum);
    for (size_t i = 0; i < K; i++) {
        const Candidate *c = &p->candidate[i];
        int32_t *y = p->token[1] + (s * K + i) * p->T;
        memcpy(y, p->token[0] + c->from * p->T, t * sizeof *y);
        y[t] = c->token;
        p->sum[1][s * K + i] = c->sum;
    }
}

static int search(Prefix *p, const Batch *x, int kind, int32_t *token)
{
    size_t k = 1; /* hypotheses of a sentence */
    memset(p->sum[0], 0, p->S * sizeof *p->sum[0]);
    pass_masks(p->m, 0);
    for (size_t t = 0; t < p->T; t++, k = p->K) {
        TRY(run_step(p, x, kind, t, k));
        TRY(find_best(p, p->S * k, 0));
        for (size_t s = 0; s < p->S; s++) extend(p, s, t, k);
        int32_t *token_before = p->token[0];
        double *sum_before = p->sum[0];
        p->token[0] = p->token[1], p->sum[0] = p->sum[1];
        p->token[1] = token_before, p->sum[1] = sum_before;
    }
    TRY(run_step(p, x, kind, p->T, k));
    TRY(find_best(p, p->S * k, 1));
    for (size_t s = 0; s < p->S; s++) {
        size_t best = s * k;
        for (size_t r = best; r < (s + 1) * k; r++)
            if (p->sum[0][r] - p->value[r] > p->sum[0][best] - p->value[best]) best = r;
        memcpy(token + s * p->T, p->token[0] + best * p->T, p->T * sizeof *token);
    }
    return 0;
}

int prefix_search(Prefix *p, const Batch *x, int kind, int32_t *token)
{
    if (x->S != p->S || x->source.N * p->K > p->m->config.max_source)
        return error_set(ERR_MISUSE, "%zu sources of %zu tokens, for which there is no room", x->S,
                         x->source.N);
    int code = search(p, x, kind, token);
    set_keys(p, p->own);
    return code;
}
