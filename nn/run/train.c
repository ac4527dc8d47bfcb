/* train.c: the training loop: batches, schedule, validation, and saving (run.h).
 *
 * Order of the files at an epoch's end: model (if best), log, state. A crash in between leaves a state
 * that is older than the other files. Then the log is cut back to it, and the epoch runs again to the
 * same model. */
#include "nn/run/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "kernels/base/clock.h"
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"

enum { ROWS_PER_EPOCH = 20 };

static int open_split(const Corpus *c, const TrainConfig *t, int split, uint64_t seed, Batches **b)
{
    return batches_new(&c->text[split], &c->source[split], &c->vocab,
                       t->ask ? &t->ask[split] : NULL, t->context, t->batch_tokens, t->sequence,
                       seed, b);
}

/* Opens the training text of an epoch; cut out: the corpus that has it, where merges are dropped. */
static int open_epoch(const Corpus *c, const TrainConfig *t, long epoch, Corpus *cut, Batches **b)
{
    *cut = (Corpus){0};
    *b = NULL;
    if (!(c->dropout > 0)) return open_split(c, t, SPLIT_TRAIN, t->seed, b);
    TRY(corpus_recut(c, t->seed, epoch, t->sequence, cut));
    return open_split(cut, t, SPLIT_TRAIN, t->seed, b);
}

/* Counts the steps of the whole run. Where a random cut makes one more batch in some epochs, a schedule
 * that ends counts them all; else the first epoch stands for all. */
static uint64_t steps_of_all(const TrainConfig *t, Batches *b)
{
    uint64_t steps = 0, epochs = (uint64_t)t->epochs, most = t->max_steps;
    for (uint64_t e = 1; e <= epochs && (!most || steps < most); e++) {
        batches_epoch(b, (long)e);
        steps += run_epoch_steps(t, batches_count(b));
        if (!schedule_ends(t->schedule)) {
            steps *= epochs;
            break;
        }
    }
    return most && most < steps ? most : steps;
}

static int at_step_limit(const Run *r)
{
    return r->t->max_steps && r->p.step >= r->t->max_steps;
}

static int epoch_over(const Run *r)
{
    return r->p.batch >= batches_count(r->train) || at_step_limit(r);
}

static void report(Run *r, double loss, double valid_ppl, double valid_exact, double valid_score,
                   int best)
{
    const Progress *p = &r->p;
    if (!r->t->report) return;
    uint64_t steps = r->steps > p->step ? r->steps : p->step;
    double left = steps > p->step ? (double)(steps - p->step) : 0;
    TrainReport t = run_report(r, loss, valid_ppl, valid_exact, valid_score);
    t.steps = steps;
    t.epochs = r->t->epochs;
    t.seconds_left = p->step ? left * p->seconds / (double)p->step : 0;
    t.best = best;
    t.within = valid_ppl > 0 && !epoch_over(r);
    r->t->report(r->t->arg, &t);
    r->reported = clock_now();
}

/* ---- the loop ----------------------------------------------------------------------------------- */

/* Tells whether a validation within an epoch is due after this step and not done yet. */
static int validation_due(const Run *r)
{
    const Progress *p = &r->p;
    return r->t->eval_every && p->step > 0 && p->step % r->t->eval_every == 0 &&
           p->checked != p->step && !epoch_over(r);
}

/* Adds to the words of a failure the place where it happened. */
static int failed_at(const Run *r, int code, uint64_t step)
{
    char words[RUN_LINE];
    snprintf(words, sizeof words, "%s", error_text());
    return error_set(code, "step %" PRIu64 ", epoch %ld: %s", step, r->p.epoch, words);
}

static int agree(const Run *r, int code)
{
    return ranks_agree(r->t->ranks, code);
}

/* Asks the backend, which may be steps behind, for the loss and norm so far. */
static int tally_own(Run *r, Step *s)
{
    int code = model_tally(r->m, s);
    if (code) return failed_at(r, code, code == ERR_NUMERIC ? s->fault_step : r->p.step);
    r->p.grad_norm = s->norm;
    return 0;
}

/* Exchanges losses between ranks after every step, and whether one failed or is to stop. */
static int tally_ranks(Run *r, int code, const Step *s)
{
    Ranks *k = r->t->ranks;
    double told[] = {code != 0, r->t->stop && *r->t->stop, code ? 0 : s->loss, model_penalty(r->m)};
    k->sum(k, told, sizeof told / sizeof *told);
    if (told[0] > 0) return agree(r, code);
    r->stop = told[1] > 0;
    r->p.sum_nll += told[2];
    r->p.sum_penalty += told[3];
    model_tally_set(r->m, 0, s->norm);
    return 0;
}

static int tally(Run *r, int code)
{
    Step s = {0};
    double begun = clock_now();
    if (code == 0) code = tally_own(r, &s);
    if (r->t->ranks)
        code = tally_ranks(r, code, &s);
    else if (code == 0)
        r->p.sum_nll = s.loss, r->p.sum_penalty += model_penalty(r->m);
    r->p.seconds += clock_now() - begun;
    return code;
}

/* Sets the backend's sum of losses to that of the run; ranks begin a new sum after each step. */
static void tally_begin(Run *r)
{
    model_tally_set(r->m, r->t->ranks ? 0 : r->p.sum_nll, r->p.grad_norm);
}

static int interrupted(Run *r)
{
    TRY(agree(r, run_save(r)));
    return error_set(ERR_INTERRUPTED, "interrupted after step %" PRIu64 " in epoch %ld%s%s%s",
                     r->p.step, r->p.epoch, r->t->out ? ", state saved in " : "",
                     r->t->out ? r->t->out : "", r->t->out ? "; --resume goes on from there" : "");
}

/* Returns the parts of the next step, one a batch. */
static StepPart parts_of_step(const Run *r)
{
    size_t K = r->t->accumulate > 1 ? r->t->accumulate : 1;
    size_t left = batches_count(r->train) - r->p.batch;
    StepPart s = {.parts = K < left ? K : left, .most = K, .ranks = r->t->ranks};
    for (size_t i = 0; i < s.parts; i++) s.tokens += batches_asked(r->train, r->p.batch + i);
    return s;
}

/* Makes a step. Ranks take every part, even after a failure: others wait for the last's sums. */
static int gradient_step(Run *r)
{
    Batch x;
    int code = 0;
    Progress *p = &r->p;
    StepPart s = parts_of_step(r);
    AdamConfig adam = r->t->adam;
    adam.rate = run_rate(r, ++p->step);
    for (; s.part < s.parts && (code == 0 || s.ranks); s.part++) {
        int got = evaluate_batch(s.ranks, r->train, p->batch + s.part, &x, s.first);
        if (got != 0) x.N = 0;
        int made = model_step_part(r->m, &x, &s, &adam, p->step);
        if (code == 0) code = got ? got : made;
    }
    if (code) return failed_at(r, code, p->step);
    for (size_t i = 0; i < s.parts; i++) p->tokens += batches_tokens(r->train, p->batch + i);
    p->batch += s.parts;
    p->sum_tokens += s.tokens;
    return 0;
}

static int train_step(Run *r)
{
    double begun = clock_now();
    int code = gradient_step(r);
    r->p.seconds += clock_now() - begun;
    return code;
}

static size_t epoch_step(const Run *r)
{
    return run_epoch_steps(r->t, r->p.batch);
}

/* Tells whether to read the loss now: rarely on a device, which it would make wait. */
static int tally_due(const Run *r, size_t every)
{
    return r->t->ranks || !model_backend(r->m)->device || epoch_step(r) % every == 0 ||
           epoch_over(r) || validation_due(r) || clock_now() - r->reported >= r->t->log_seconds;
}

/* Writes the log and reports progress after a step that ended in `code`. */
static int after_step(Run *r, int code, size_t every)
{
    if (!tally_due(r, every)) return code;
    TRY(tally(r, code));
    double loss = run_loss(r);
    if (epoch_step(r) % every == 0 && !epoch_over(r) && !validation_due(r)) {
        TRY(agree(r, run_log(r, 0, NAN, NAN)));
        tally_begin(r);
    }
    if (clock_now() - r->reported >= r->t->log_seconds) report(r, loss, 0, NAN, NAN, 0);
    return 0;
}

/* Tells whether to stop. Ranks stop together: they exchanged it after the step. */
static int stopped(const Run *r)
{
    return r->t->ranks ? r->stop : r->t->stop && *r->t->stop;
}

static double ranks_seconds(const Run *r)
{
    return r->t->ranks ? r->t->ranks->seconds : 0;
}

static int keep_best(Run *r, double ppl, double score)
{
    r->p.best_ppl = ppl;
    r->p.best_score = score;
    r->p.best_epoch = r->p.epoch;
    if (r->t->out && !r->files) return 0;
    if (r->t->out)
        return store_save(r->m, run_file(r, "model.safetensors"), r->t->meta, r->t->meta_count);
    model_backend(r->m)->copy(r->best, model_data(r->m), model_size(r->m));
    return 0;
}

/* Validates after the last step of an epoch or within one; files: model (if best), epoch's end, log. */
static int validate(Run *r)
{
    Progress *p = &r->p;
    double loss = run_loss(r);
    Evaluation e;
    int code = evaluate_batches(r->m, r->t->ranks, r->valid, r->t->stop, &e);
    if (code == ERR_INTERRUPTED) return interrupted(r);
    if (code) return failed_at(r, code, p->step);
    double ppl = exp(e.mean), exact = evaluation_exact(&e), score = NAN;
    if (r->t->judge) code = r->t->judge(r->t->arg, r->m, &score);
    if (code == ERR_INTERRUPTED) return interrupted(r);
    if (code) return failed_at(r, code, p->step);
    int best = p->best_epoch == 0 || (r->t->judge ? score > p->best_score : ppl < p->best_ppl);
    code = best ? keep_best(r, ppl, score) : 0;
    if (code == 0 && epoch_over(r)) code = checkpoint_add(r);
    if (code == 0) code = run_log(r, ppl, exact, score);
    TRY(agree(r, code));
    report(r, loss, ppl, exact, score, best);
    p->checked = p->step;
    return 0;
}

static int epoch_end(Run *r)
{
    Progress *p = &r->p;
    TRY(validate(r));
    if (p->batch >= batches_count(r->train)) {
        p->epoch++;
        p->batch = 0;
    }
    TRY(agree(r, run_save(r)));
    checkpoint_prune(r);
    return 0;
}

static int validate_within(Run *r)
{
    TRY(validate(r));
    TRY(agree(r, run_save(r)));
    tally_begin(r);
    return 0;
}

static int recut(Run *r)
{
    batches_free(r->train);
    corpus_recut_free(&r->cut);
    return open_epoch(r->c, r->t, r->p.epoch, &r->cut, &r->train);
}

static int epoch_steps(Run *r)
{
    if (r->c->dropout > 0) TRY(agree(r, recut(r)));
    batches_epoch(r->train, r->p.epoch);
    size_t every = run_epoch_steps(r->t, batches_count(r->train)) / ROWS_PER_EPOCH;
    if (every == 0) every = 1;
    tally_begin(r);
    while (!epoch_over(r)) {
        /* A run that was stopped during one does it here too. */
        if (validation_due(r)) TRY(validate_within(r));
        if (stopped(r)) {
            TRY(tally(r, 0));
            return interrupted(r);
        }
        double before = ranks_seconds(r);
        TRY(after_step(r, train_step(r), every));
        r->waited += ranks_seconds(r) - before;
    }
    return 0;
}

/* Tells whether enough whole epochs have passed since the best one. */
static int out_of_patience(const Run *r)
{
    const Progress *p = &r->p;
    return r->t->patience && p->batch == 0 && p->epoch - 1 - p->best_epoch >= r->t->patience;
}

static int all_epochs(Run *r)
{
    while (r->p.epoch <= r->t->epochs && !out_of_patience(r)) {
        TRY(epoch_steps(r));
        if (r->p.checked != r->p.step) TRY(epoch_end(r));
        if (at_step_limit(r)) break;
    }
    return 0;
}

/* ---- both ends of a run ------------------------------------------------------------------------- */

static int check_schedule(const TrainConfig *t)
{
    if (t->schedule < 0 || t->schedule >= SCHEDULES)
        return error_set(ERR_MISUSE, "no schedule has number %d", t->schedule);
    if (t->end_rate != 0 && !schedule_ends(t->schedule))
        return error_set(ERR_INPUT, "end rate %g: schedule %s has no end", t->end_rate,
                         schedule_name(t->schedule));
    if (!(t->end_rate >= 0 && t->end_rate <= t->rate))
        return error_set(ERR_INPUT, "end rate: %g is not from 0 to the peak %g", t->end_rate,
                         t->rate);
    return 0;
}

static int check_config(const Run *r)
{
    const TrainConfig *t = r->t;
    const ModelConfig *c = model_config(r->m);
    if (t->epochs < 1) return error_set(ERR_INPUT, "epochs: %ld is not at least 1", t->epochs);
    if (!(t->rate > 0)) return error_set(ERR_INPUT, "rate: %g is not positive", t->rate);
    TRY(check_schedule(t));
    TRY(evaluate_sides(r->m, r->c->name, run_has_pairs(r) && !t->ask));
    if (!t->ask != !model_plan(r->m)->bidirectional)
        return error_set(ERR_MISUSE, "an encoder alone has to be asked something, and no other");
    if (t->judge && t->ranks) return error_set(ERR_MISUSE, "a judge is of one process");
    if (t->average > 1 && !t->out)
        return error_set(ERR_INPUT, "the mean of epochs' ends needs an output directory");
    if (t->resume && !t->out)
        return error_set(ERR_INPUT, "only a run with an output directory can be resumed");
    size_t tokens =
        t->ranks ? share_most(t->batch_tokens, t->sequence, t->ranks->size) : t->batch_tokens;
    if (tokens > c->max_tokens || t->sequence > c->max_length)
        return error_set(ERR_MISUSE, "batches of %zu tokens, longest %zu, in a model for %zu, %zu",
                         tokens, t->sequence, c->max_tokens, c->max_length);
    return 0;
}

/* Where merges are dropped, the first epoch's text stands for all. */
int train_length(const Corpus *c, const TrainConfig *t, uint64_t *steps)
{
    SCOPED(corpus_recut_free) Corpus cut = {0};
    SCOPED(batches_drop) Batches *b = NULL;
    TRY(open_epoch(c, t, 1, &cut, &b));
    *steps = steps_of_all(t, b);
    return 0;
}

static int open_run(Run *r)
{
    const TrainConfig *t = r->t;
    TRY(check_config(r));
    TRY(open_epoch(r->c, t, 1, &r->cut, &r->train));
    TRY(open_split(r->c, t, SPLIT_VALID, t->seed, &r->valid));
    batches_epoch(r->valid, -1);
    r->steps = steps_of_all(t, r->train);
    r->files = t->out && (!t->ranks || t->ranks->rank == 0);
    if (t->out) return run_open(r);
    r->best = model_backend(r->m)->alloc(model_size(r->m));
    return r->best ? 0 : ERR_MEMORY;
}

static int load_best(Run *r)
{
    if (r->files) return store_load(r->m, run_file(r, "model.safetensors"));
    if (!r->t->out) model_backend(r->m)->copy(model_data(r->m), r->best, model_size(r->m));
    return 0;
}

static size_t peak_bytes(void)
{
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) == 0 ? (size_t)u.ru_maxrss * 1024 : 0;
}

static int take_average(Run *r, TrainResult *result)
{
    Evaluation e;
    TRY(agree(r, r->files ? run_average(r, &result->averaged) : 0));
    run_send(r);
    TRY(evaluate_batches(r->m, r->t->ranks, r->valid, r->t->stop, &e));
    result->best_epoch = r->p.batch ? r->p.epoch : r->p.epoch - 1;
    result->valid_ppl = exp(e.mean);
    result->valid_exact = evaluation_exact(&e);
    if (!r->files) return 0;
    return store_save(r->m, run_file(r, "model.safetensors"), r->t->meta, r->t->meta_count);
}

static int take_model(Run *r, TrainResult *result)
{
    Evaluation e;
    *result = (TrainResult){
        .best_epoch = r->p.best_epoch, .valid_ppl = r->p.best_ppl, .valid_exact = NAN};
    if (r->t->average > 1) return agree(r, take_average(r, result));
    TRY(agree(r, load_best(r)));
    run_send(r);
    if (!run_has_exact(r)) return 0;
    /* The progress of a run holds the best perplexity, but not the count of exact sequences. */
    TRY(evaluate_batches(r->m, r->t->ranks, r->valid, r->t->stop, &e));
    result->valid_exact = evaluation_exact(&e);
    return 0;
}

static int read_test(Run *r, TrainResult *result)
{
    const TrainConfig *t = r->t;
    Batches *b;
    Evaluation e;
    result->test_ppl = result->test_exact = NAN;
    if (!r->c->text[SPLIT_TEST].id) return 0;
    int code = open_split(r->c, t, SPLIT_TEST, 0, &b);
    TRY(agree(r, code));
    code = evaluate_batches(r->m, t->ranks, b, t->stop, &e);
    batches_free(b);
    if (code) return code;
    result->test_ppl = exp(e.mean);
    result->test_exact = evaluation_exact(&e);
    return 0;
}

/* Takes the final model and reads the test text, if there is one, for the only time. */
static int finish(Run *r, TrainResult *result)
{
    TRY(take_model(r, result));
    TRY(read_test(r, result));
    result->valid_bits = result->test_bits = NAN;
    if (run_has_bits(r)) {
        result->valid_bits = run_bits(r, SPLIT_VALID, result->valid_ppl);
        result->test_bits = run_bits(r, SPLIT_TEST, result->test_ppl);
    }
    result->tokens_per_s = run_report(r, 0, 0, 0, 0).tokens_per_s;
    result->peak_bytes = peak_bytes();
    result->steps = r->p.step;
    result->here.steps = r->p.step - r->begun.step;
    result->here.seconds = r->p.seconds - r->begun.seconds;
    result->here.waited = r->waited;
    return 0;
}

static void close_run(Run *r)
{
    if (r->log) fclose(r->log);
    log_forms_close(r);
    if (r->best) model_backend(r->m)->release(r->best);
    batches_free(r->train);
    batches_free(r->valid);
    corpus_recut_free(&r->cut);
    memory_free(r->file);
}

int train_run(Model *m, const Corpus *c, const TrainConfig *config, TrainResult *result)
{
    SCOPED(close_run) Run r = {.m = m, .c = c, .t = config, .p = {.epoch = 1}};
    int code = agree(&r, open_run(&r));
    if (code == 0) code = ranks_check_same_run(&r);
    r.begun = r.p;
    result->steps = r.steps;
    TRY(code);
    if (config->begin) config->begin(config->arg);
    TRY(all_epochs(&r));
    return finish(&r, result);
}
