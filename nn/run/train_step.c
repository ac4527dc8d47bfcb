/* train_step.c: a step of training: gradient, its norm, Adam.
 *
 * A step has parts, mostly one: the first zeroes the gradients, each adds to them, and after the last come
 * norm and Adam. On a device the calls of a part are recorded when a batch of its shape
 * comes for the second time in its role (the only, first, a middle, the last part), and replayed from then on
 * (recorded.c). With more than RECORDED_MOST shapes the least recently used one is forgotten. Batch, step
 * number, masks' number and rate are data of the backend, sent before. The loss stays there until model_tally
 * asks for it, so the backend may be steps behind. */
#include "nn/run/pass.h"

#include <stddef.h>

#include "kernels/base/error.h"

static void adam(const Model *m, const StepShape *s, size_t at, size_t n, double decay)
{
    const Backend *b = m->backend;
    b->adam(n, backend_at(b, m->data, at), backend_at(b, m->grad, at),
            backend_at(b, m->moment[0], at), backend_at(b, m->moment[1], at), s->beta1, s->beta2,
            s->eps, s->clip, decay, m->step);
}

/* Moves all parameters: in one call, or, where only weights decay, stretch by stretch. */
static void update(const Model *m, const StepShape *s)
{
    m->backend->norm2(m->size, m->grad, m->step);
    if (s->decay == 0) adam(m, s, 0, m->size, 0);
    for (size_t i = 0; s->decay != 0 && i < m->stretches; i++)
        adam(m, s, m->stretch[i].offset, m->stretch[i].size, m->stretch[i].decays ? s->decay : 0);
}

static StepShape shape(const Pass *p, const AdamConfig *a, int role)
{
    StepShape s = {.role = (size_t)role,
                   .beta1 = a->beta1,
                   .beta2 = a->beta2,
                   .eps = a->eps,
                   .clip = a->clip,
                   .decay = a->decay,
                   .square = p->m->config.classes == 1 ? heads_grad(p) : 0,
                   .pass = *p};
    s.pass.tokens = 0;
    s.pass.label_weight = 0;
    return s;
}

/* Runs a part. Ranks' sums begin during the last part, or are noted in the recording. */
static void run(const Model *m, Pass *p, const StepShape *s, Ranks *ranks, Recorded *recorded)
{
    Sums sums = {.ranks = ranks, .recorded = recorded};
    if (ranks && s->role & PART_LAST) p->sums = &sums;
    pass_gradient(m, p);
    p->sums = NULL;
    if (s->role & PART_LAST) update(m, s);
}

static int run_recorded(Model *m, Pass *p, const StepShape *s, Ranks *ranks)
{
    Recorded *r = recorded_find(m, s);
    int met = r->used > 0;
    r->used = ++m->recorded_clock;
    if (!met) {
        run(m, p, s, ranks, NULL);
        return 0;
    }
    if (!r->pieces) {
        TRY(recorded_begin(m, ranks));
        run(m, p, s, ranks, r);
        TRY(recorded_end(m, r, ranks));
    }
    return recorded_replay(m, r, ranks);
}

static int check_part(const Batch *x, const StepPart *part)
{
    size_t asked = batch_asked(x);
    NEED(part->part < part->parts && part->parts <= part->most && part->tokens >= asked);
    return 0;
}

/* Begins a part. A rank that has no rows, or cannot take them, still does what the others do, who would wait
 * for it. */
static int begin(const Model *m, const Batch *x, const StepPart *part, Pass *p)
{
    int code = x->N || !part->ranks ? pass_begin(m, x, 1, p) : 0;
    if (code != 0 || x->N == 0) *p = (Pass){.m = m, .train = 1};
    p->more = part->part > 0;
    p->tokens = part->tokens;
    p->first = part->first[SIDE_TARGET];
    p->source.first = part->first[SIDE_SOURCE];
    return code;
}

int model_step_part(Model *m, const Batch *x, const StepPart *part, const AdamConfig *a,
                    uint64_t step)
{
    const Backend *b = m->backend;
    Pass p;
    NEED(m->training);
    TRY(check_part(x, part));
    b->pack(1);
    int code = begin(m, x, part, &p);
    Step in = pass_inputs(&p, step, a->rate);
    b->send(m->step, &in, offsetof(Step, loss));
    pass_masks(m, (step - 1) * part->most + part->part + 1);
    b->pack(0);
    if (code != 0 && !part->ranks) return code;
    StepShape s =
        shape(&p, a,
              (p.more ? 0 : PART_FIRST) | (part->part + 1 == part->parts ? PART_LAST : 0) |
                  (part->ranks ? PART_RANKS : 0));
    if (b->device) {
        int failed = run_recorded(m, &p, &s, part->ranks);
        return code ? code : failed;
    }
    run(m, &p, &s, part->ranks, NULL);
    return code;
}

int model_step(Model *m, const Batch *x, const AdamConfig *a, uint64_t step)
{
    return model_step_part(m, x, &(StepPart){.parts = 1, .most = 1, .tokens = batch_asked(x)}, a,
                           step);
}

/* Reads the Step, and sets words where something was not finite. */
int model_tally(Model *m, Step *s)
{
    m->backend->receive(s, m->step, sizeof *s);
    TRY(m->backend->wait());
    if (!s->fault) return 0;
    return error_set(ERR_NUMERIC, "the %s is not finite",
                     s->fault == FAULT_LOSS ? "loss" : "gradient");
}

void model_tally_set(Model *m, double loss, double norm)
{
    Step s = {.loss = loss, .norm = norm};
    m->backend->send(m->step, &s, sizeof s);
}

int model_gradient(Model *m, const Batch *x, uint64_t step, double *mean)
{
    Pass p;
    Step s;
    NEED(m->training);
    TRY(pass_begin(m, x, 1, &p));
    pass_step(&p, step, 0);
    pass_gradient(m, &p);
    int code = model_tally(m, &s);
    *mean = p.tokens ? s.loss / (double)p.tokens : 0;
    return code;
}
