/* train.c: the training loop: batches, schedule, validation, and when what is saved (run.h).
 *
 * Order of the files at an epoch's end: model (if best), log, state. A crash in between leaves a
 * state that is older than the rest; the log is cut back to it, and the epoch runs again to the same
 * model. */
#include "nn/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "kernels/error.h"
#include "kernels/memory.h"

enum { ROWS_PER_EPOCH = 20 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- evaluation --------------------------------------------------------------------------------- */

/* Mean nll over all batches as they stand; stop may be NULL. */
static int eval_batches(Model *m, Batches *b, const volatile int *stop, double *mean,
                        size_t *tokens)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < batches_count(b); i++) {
        Batch x;
        double batch_mean;
        if (stop && *stop) return error_set(ERR_INTERRUPTED, "interrupted");
        TRY(batches_get(b, i, &x));
        TRY(model_forward(m, &x, 0, 0, NULL, &batch_mean));
        sum += batch_mean * (double)x.N;
        count += x.N;
    }
    *mean = sum / (double)count;
    if (tokens) *tokens = count;
    return isfinite(*mean) ? 0 : error_set(ERR_NUMERIC, "the loss is not finite");
}

static int eval_text(Model *m, const Text *t, const Vocab *v, int context, size_t batch_tokens,
                     size_t sequence, const volatile int *stop, double *mean, size_t *tokens)
{
    Batches *b;
    TRY(batches_new(t, v, context, batch_tokens, sequence, 0, &b));
    batches_epoch(b, -1);
    int code = eval_batches(m, b, stop, mean, tokens);
    batches_free(b);
    return code;
}

int train_eval(Model *m, const Text *t, const Vocab *v, int context, size_t batch_tokens,
               size_t sequence, double *mean, size_t *tokens)
{
    return eval_text(m, t, v, context, batch_tokens, sequence, NULL, mean, tokens);
}

/* Steps of the whole run, as far as this epoch tells. */
static uint64_t steps_of_all(const Run *r)
{
    uint64_t steps = (uint64_t)r->t->epochs * batches_count(r->train);
    return r->t->max_steps && r->t->max_steps < steps ? r->t->max_steps : steps;
}

static void report(Run *r, double loss, double valid_ppl, int best)
{
    const Progress *p = &r->p;
    if (!r->t->report) return;
    uint64_t steps = steps_of_all(r);
    double left = steps > p->step ? (double)(steps - p->step) : 0;
    TrainReport t = {.step = p->step,
                     .steps = steps,
                     .epoch = p->epoch,
                     .epochs = r->t->epochs,
                     .tokens = p->tokens,
                     .train_loss = loss,
                     .valid_ppl = valid_ppl,
                     .rate = run_rate(r->t, p->step),
                     .grad_norm = p->grad_norm,
                     .tokens_per_s = run_speed(p),
                     .seconds_left = p->step ? left * p->seconds / (double)p->step : 0,
                     .best = best};
    r->t->report(r->t->arg, &t);
    r->reported = now();
}

/* ---- the loop ----------------------------------------------------------------------------------- */

static int at_step_limit(const Run *r)
{
    return r->t->max_steps && r->p.step >= r->t->max_steps;
}

static int epoch_over(const Run *r)
{
    return r->p.batch >= batches_count(r->train) || at_step_limit(r);
}

/* The failure so far, with the place where it happened. */
static int failed_at(const Run *r, int code, uint64_t step)
{
    char words[RUN_LINE];
    snprintf(words, sizeof words, "%s", error_text());
    return error_set(code, "step %" PRIu64 ", epoch %ld: %s", step, r->p.epoch, words);
}

/* Asks the backend, which may be steps behind, for the loss and norm so far. */
static int tally(Run *r)
{
    Step s;
    double begun = now();
    int code = model_tally(r->m, &s);
    r->p.seconds += now() - begun;
    if (code) return failed_at(r, code, code == ERR_NUMERIC ? s.bad : r->p.step);
    r->p.sum_nll = s.loss;
    r->p.grad_norm = s.norm;
    return 0;
}

static void tally_begin(Run *r)
{
    model_tally_set(r->m, r->p.sum_nll, r->p.grad_norm);
}

static int interrupted(Run *r)
{
    TRY(run_save(r));
    return error_set(ERR_INTERRUPTED, "interrupted after step %" PRIu64 " in epoch %ld%s%s",
                     r->p.step, r->p.epoch, r->t->out ? ", state saved in " : "",
                     r->t->out ? r->t->out : "");
}

static int gradient_step(Run *r, const Batch *x)
{
    Progress *p = &r->p;
    AdamConfig adam = r->t->adam;
    adam.rate = run_rate(r->t, ++p->step);
    int code = model_step(r->m, x, &adam, p->step);
    if (code) return failed_at(r, code, p->step);
    p->batch++;
    p->tokens += x->N;
    p->sum_tokens += x->N;
    return 0;
}

static int train_step(Run *r)
{
    Batch x;
    double begun = now();
    TRY(batches_get(r->train, r->p.batch, &x));
    TRY(gradient_step(r, &x));
    r->p.seconds += now() - begun;
    return 0;
}

/* A backend that records is asked rarely: it would wait for us, and we for it. */
static int tally_due(const Run *r, size_t every)
{
    return !model_backend(r->m)->record || r->p.batch % every == 0 || epoch_over(r) ||
           now() - r->reported >= r->t->log_seconds;
}

/* What is written after a step. */
static int after_step(Run *r, size_t every)
{
    if (!tally_due(r, every)) return 0;
    TRY(tally(r));
    double loss = run_loss(&r->p);
    if (r->p.batch % every == 0 && !epoch_over(r)) {
        TRY(run_log(r, 0));
        tally_begin(r);
    }
    if (now() - r->reported >= r->t->log_seconds) report(r, loss, 0, 0);
    return 0;
}

static int epoch_steps(Run *r)
{
    batches_epoch(r->train, r->p.epoch);
    size_t every = batches_count(r->train) / ROWS_PER_EPOCH;
    if (every == 0) every = 1;
    tally_begin(r);
    while (!epoch_over(r)) {
        if (r->t->stop && *r->t->stop) {
            TRY(tally(r));
            return interrupted(r);
        }
        TRY(train_step(r));
        TRY(after_step(r, every));
    }
    return 0;
}

static int keep_best(Run *r, double ppl)
{
    r->p.best_ppl = ppl;
    r->p.best_epoch = r->p.epoch;
    if (r->t->out)
        return store_save(r->m, run_file(r, "model.safetensors"), r->t->meta, r->t->meta_count);
    model_backend(r->m)->copy(r->best, model_data(r->m), model_size(r->m));
    return 0;
}

static int epoch_end(Run *r)
{
    Progress *p = &r->p;
    double mean, loss = run_loss(p);
    int code = eval_batches(r->m, r->valid, r->t->stop, &mean, NULL);
    if (code == ERR_INTERRUPTED) return interrupted(r);
    if (code) return failed_at(r, code, r->p.step);
    double ppl = exp(mean);
    int best = p->best_epoch == 0 || ppl < p->best_ppl;
    if (best) TRY(keep_best(r, ppl));
    TRY(run_log(r, ppl));
    report(r, loss, ppl, best);
    p->checked = p->step;
    if (p->batch >= batches_count(r->train)) {
        p->epoch++;
        p->batch = 0;
    }
    return run_save(r);
}

static int all_epochs(Run *r)
{
    while (r->p.epoch <= r->t->epochs) {
        TRY(epoch_steps(r));
        if (r->p.checked != r->p.step) TRY(epoch_end(r));
        if (at_step_limit(r)) break;
    }
    return 0;
}

/* ---- both ends of a run ------------------------------------------------------------------------- */

static int check_config(const Run *r)
{
    const TrainConfig *t = r->t;
    const ModelConfig *c = model_config(r->m);
    if (t->epochs < 1) return error_set(ERR_INPUT, "epochs: %ld is not at least 1", t->epochs);
    if (!(t->rate > 0)) return error_set(ERR_INPUT, "rate: %g is not positive", t->rate);
    if (t->resume && !t->out)
        return error_set(ERR_INPUT, "only a run with an output directory can be resumed");
    if (t->batch_tokens > c->max_tokens || t->sequence > c->max_length)
        return error_set(ERR_MISUSE, "batches of %zu tokens, longest %zu, in a model for %zu, %zu",
                         t->batch_tokens, t->sequence, c->max_tokens, c->max_length);
    return 0;
}

static int open_run(Run *r)
{
    const TrainConfig *t = r->t;
    const Vocab *v = &r->c->vocab;
    TRY(check_config(r));
    TRY(batches_new(&r->c->text[SPLIT_TRAIN], v, t->context, t->batch_tokens, t->sequence, t->seed,
                    &r->train));
    TRY(batches_new(&r->c->text[SPLIT_VALID], v, t->context, t->batch_tokens, t->sequence, t->seed,
                    &r->valid));
    batches_epoch(r->valid, -1);
    if (t->out) return run_open(r);
    r->best = model_backend(r->m)->alloc(model_size(r->m));
    return r->best ? 0 : ERR_MEMORY;
}

static int load_best(Run *r)
{
    if (r->t->out) return store_load(r->m, run_file(r, "model.safetensors"));
    model_backend(r->m)->copy(model_data(r->m), r->best, model_size(r->m));
    return 0;
}

static size_t peak_bytes(void)
{
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) == 0 ? (size_t)u.ru_maxrss * 1024 : 0;
}

/* The one reading of the test text, if there is one, with the best epoch's weights. */
static int finish(Run *r, TrainResult *result)
{
    const TrainConfig *t = r->t;
    double mean = NAN;
    const Text *test = &r->c->text[SPLIT_TEST];
    TRY(load_best(r));
    if (test->id)
        TRY(eval_text(r->m, test, &r->c->vocab, t->context, t->batch_tokens, t->sequence, t->stop,
                      &mean, NULL));
    *result = (TrainResult){.best_epoch = r->p.best_epoch,
                            .valid_ppl = r->p.best_ppl,
                            .test_ppl = exp(mean),
                            .tokens_per_s = run_speed(&r->p),
                            .peak_bytes = peak_bytes(),
                            .steps = r->p.step};
    return 0;
}

static void close_run(Run *r)
{
    if (r->log) fclose(r->log);
    if (r->best) model_backend(r->m)->release(r->best);
    batches_free(r->train);
    batches_free(r->valid);
    memory_free(r->file);
}

int train_run(Model *m, const Corpus *c, const TrainConfig *config, TrainResult *result)
{
    Run r = {.m = m, .c = c, .t = config, .p = {.epoch = 1}};
    int code = open_run(&r);
    if (code == 0 && config->begin) config->begin(config->arg);
    if (code == 0) code = all_epochs(&r);
    if (code == 0) code = finish(&r, result);
    close_run(&r);
    return code;
}
