/* parts.c: parts of a model by themselves, dropout off, on one sequence a side in host doubles: a sublayer, the plan
 * without its ends, an embedding. They serve the bridge, tests, and looking at a model. */
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "nn/run/pass.h"

/* Sends the places of one sequence's rows, by which heads are turned. */
static int send_places(const Model *m, size_t N, int32_t *to)
{
    NEED(N <= longest(m));
    SCOPED(memory_drop) int32_t *place = memory_new(N, sizeof *place);
    if (!place) return ERR_MEMORY;
    for (size_t i = 0; i < N; i++) place[i] = (int32_t)i;
    m->backend->send(to, place, N * sizeof *place);
    return 0;
}

/* Begins a pass over one sequence of N rows and, with two sides, one of M, without dropout. */
static int begin_rows(const Model *m, size_t N, size_t M, Pass *p)
{
    size_t begins[2] = {0, N}, source[2] = {0, M};
    NEED(N >= 1 && N <= m->config.max_tokens);
    m->backend->send(m->batch.begins, begins, sizeof begins);
    *p = (Pass){.m = m, .N = N, .S = 1};
    if (m->turns) TRY(send_places(m, N, m->batch.position));
    if (m->turns && m->plan->sides > 1) TRY(send_places(m, M, m->batch.place));
    if (m->plan->sides == 1) return 0;
    NEED(M >= 1 && M <= m->config.max_source);
    p->source.N = M;
    m->backend->send(m->batch.source_begins, source, sizeof source);
    return 0;
}

/* Returns the first instruction of a slot that has this op; NULL: there is none. */
static const PlanInstr *find_instr(const Model *m, int slot, int op)
{
    const Plan *p = m->plan;
    for (size_t i = 0; i < p->instrs; i++)
        if (p->instr[i].op == op && p->instr[i].slot == slot) return &p->instr[i];
    return NULL;
}

int model_sublayer(Model *m, int slot, size_t N, const double *x, size_t M, const double *memory,
                   double *y)
{
    Pass p;
    size_t D = m->config.width;
    int kind = slot >= 0 && (size_t)slot < m->plan->slots ? m->plan->slot[slot].kind : SLOT_KINDS;
    int cross = kind == SLOT_CROSS;
    NEED((memory != NULL) == cross);
    TRY(begin_rows(m, N, cross ? M : N, &p));
    const PlanInstr *in = find_instr(m, slot, kind == SLOT_NORM ? PLAN_NORM : PLAN_EVAL);
    const PlanInstr *keys = cross ? find_instr(m, slot, PLAN_KEYS) : NULL;
    NEED(in && (!cross || keys));
    if (cross) {
        m->backend->put(m->state[keys->term[0].x], memory, M * D);
        TRY(pass_op[PLAN_KEYS](&p, keys));
    }
    m->backend->put(m->state[in->term[0].x], x, N * D); /* keys stay in place, memory need not */
    TRY(pass_op[in->op](&p, in));
    m->backend->get(y, m->state[in->out], N * D);
    return m->backend->wait();
}

int model_run_pair(Model *m, size_t N, const double *x, size_t M, const double *source, double *y)
{
    Pass p;
    size_t D = m->config.width;
    TRY(begin_rows(m, N, M, &p));
    m->backend->put(m->state[SIDE_TARGET], x, N * D);
    if (m->plan->sides > 1) m->backend->put(m->state[SIDE_SOURCE], source, M * D);
    TRY(plan_walk(m->plan, pass_op, &p));
    m->backend->get(y, m->state[m->plan->output], N * D);
    return m->backend->wait();
}

int model_run_plan(Model *m, size_t N, const double *x, double *y)
{
    return model_run_pair(m, N, x, N, x + N * m->config.width, y);
}

int pass_tokens(const Model *m, size_t N, const int32_t *token, Pass *p)
{
    size_t begins[2] = {0, N};
    SCOPED(memory_drop) int32_t *position = memory_new(N, 2 * sizeof *position);
    if (!position) return ERR_MEMORY;
    int32_t *zeros = position + N;
    for (size_t i = 0; i < N; i++) position[i] = (int32_t)i;
    /* Nothing is predicted: the inputs stand for the targets too, and for the source. */
    Batch x = {.N = N,
               .S = 1,
               .longest = N,
               .input = (int32_t *)token,
               .target = (int32_t *)token,
               .position = position,
               .start = begins};
    if (m->plan->bidirectional) x.target = NULL, x.asked.masked = m->config.masked;
    if (m->plan->sides > 1) {
        x.source.N = x.source.longest = N;
        x.source.input = x.input;
        if (!batch_below(N, token, m->config.vocab)) x.input = x.target = zeros;
        x.source.position = position;
        x.source.start = begins;
    }
    return pass_begin(m, &x, 0, p);
}

int model_embed(Model *m, int side, size_t N, const int32_t *token, double *y)
{
    Pass p;
    TRY(pass_tokens(m, N, token, &p));
    m->ends->embed(m, &p, side);
    m->backend->get(y, m->state[side], N * m->config.width);
    return m->backend->wait();
}

int model_words(Model *m, int slot, size_t N, const int32_t *token, double *y)
{
    Pass p;
    const PlanInstr *in = find_instr(m, slot, PLAN_WORDS);
    NEED(in && token);
    TRY(pass_tokens(m, N, token, &p));
    TRY(pass_op[PLAN_WORDS](&p, in));
    m->backend->get(y, m->state[in->out], N * m->config.width);
    return m->backend->wait();
}
