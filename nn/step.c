/* step.c: a step of training: gradient, its norm, Adam.
 *
 * On a backend that can record, the calls of a step are recorded when a second batch of the same shape
 * comes in a row, and replayed for every batch of that shape from then on; a batch of another shape is
 * run call by call. Batch, step number and rate are data of the backend (Step), sent before. The loss
 * stays there until somebody asks (model_tally), so that the backend may be steps behind. */
#include "nn/model_private.h"

#include <stddef.h>

#include "kernels/error.h"

void step_send(const Model *m, uint64_t step, double rate)
{
    Step s = {.step = step, .rate = rate};
    m->backend->send(m->step, &s, sizeof s);
}

static void update(const Model *m, const StepShape *s)
{
    const Backend *b = m->backend;
    b->norm2(m->size, m->grad, m->step);
    b->adam(m->size, m->data, m->grad, m->moment[0], m->moment[1], s->beta1, s->beta2, s->eps,
            s->clip, m->step);
}

static StepShape shape(const Pass *p, const AdamConfig *a)
{
    return (StepShape){p->N, p->S, a->beta1, a->beta2, a->eps, a->clip};
}

static int same(const StepShape *a, const StepShape *b)
{
    return a->N == b->N && a->S == b->S && a->beta1 == b->beta1 && a->beta2 == b->beta2 &&
           a->eps == b->eps && a->clip == b->clip;
}

static void run(const Model *m, const Pass *p, const StepShape *s)
{
    pass_gradient(m, p);
    update(m, s);
}

static int record(Model *m, const Pass *p, const StepShape *s)
{
    const Backend *b = m->backend;
    b->recording_free(m->recording);
    m->recording = NULL;
    TRY(b->record());
    run(m, p, s);
    TRY(b->recorded(&m->recording));
    m->recorded = *s;
    return 0;
}

int model_step(Model *m, const Batch *x, const AdamConfig *a, uint64_t step)
{
    const Backend *b = m->backend;
    Pass p;
    if (!m->training) return error_set(ERR_MISUSE, "the model was built without gradients");
    TRY(pass_begin(m, x, 1, &p));
    Step in = {.step = step, .rate = a->rate};
    b->send(m->step, &in, offsetof(Step, loss));
    StepShape s = shape(&p, a), last = m->last;
    m->last = s;
    int recorded = m->recording && same(&s, &m->recorded);
    if (!recorded && (!b->record || !same(&s, &last))) {
        run(m, &p, &s);
        return 0;
    }
    if (!recorded) TRY(record(m, &p, &s));
    return b->replay(m->recording);
}

/* What is left in Step, with words where something was not finite. */
static int read_step(const Model *m, Step *s)
{
    m->backend->receive(s, m->step, sizeof *s);
    TRY(m->backend->wait());
    if (!s->what) return 0;
    return error_set(ERR_NUMERIC, "the %s is not finite",
                     s->what == BAD_LOSS ? "loss" : "gradient");
}

int model_tally(Model *m, Step *s)
{
    return read_step(m, s);
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
    if (!m->training) return error_set(ERR_MISUSE, "the model was built without gradients");
    TRY(pass_begin(m, x, 1, &p));
    step_send(m, step, 0);
    pass_gradient(m, &p);
    int code = read_step(m, &s);
    *mean = s.loss / (double)p.N;
    return code;
}

int model_adam(Model *m, const AdamConfig *a, uint64_t step, double *grad_norm)
{
    Step s;
    if (!m->training) return error_set(ERR_MISUSE, "the model was built without gradients");
    StepShape how = shape(&(Pass){0}, a);
    step_send(m, step, a->rate);
    update(m, &how);
    int code = read_step(m, &s);
    if (grad_norm) *grad_norm = s.norm;
    return code;
}
