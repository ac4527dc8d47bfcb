/* train.c: the training loop: batches, schedule, log, validation, checkpoints, exact resume.
 *
 * A run is its Progress: everything the loop knows that is not in the model. Written beside the
 * parameters and moments it is the state file, and since dropout masks and batch orders are pure
 * functions of seed, step and epoch, a resumed run repeats the uninterrupted one bit for bit (with
 * the same threads).
 *
 * Order of the files at an epoch's end: model (if best), log, state. A crash in between leaves a
 * state that is older than the rest; the log is cut back to it, and the epoch runs again to the same
 * model. */
#include "nn/nn.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernels/error.h"
#include "kernels/memory.h"

enum { ROWS_PER_EPOCH = 20, LINE = 512 };

/* What state.safetensors keeps besides the model. */
typedef struct {
    uint64_t step;    /* steps done */
    uint64_t checked; /* step of the last validation */
    long epoch;       /* from 1 */
    size_t batch;     /* next batch of the epoch */
    size_t tokens;    /* trained so far */
    size_t rows;      /* rows of the log */
    size_t sum_tokens;
    double sum_nll; /* since the last row */
    double grad_norm;
    double seconds; /* of training alone */
    double best_ppl;
    long best_epoch; /* 0: none yet */
} Progress;

typedef struct {
    Model *m;
    const Corpus *c;
    const TrainConfig *t;
    Progress p;
    Batches *train, *valid;
    void *best; /* weights of the best epoch, where no directory keeps them */
    FILE *log;
    char *file;        /* room for a name in the run directory */
    char recipe[LINE]; /* what a resumed run must agree in */
    double reported;   /* time of the last report */
} Run;

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

/* ---- the state ---------------------------------------------------------------------------------- */

/* A name in the run directory; good until the next call. */
static const char *file_of(Run *r, const char *name)
{
    sprintf(r->file, "%s/%s", r->t->out, name);
    return r->file;
}

/* Doubles in hexadecimal: exact. */
static void print_progress(const Progress *p, char line[LINE])
{
    snprintf(line, LINE, "%" PRIu64 " %" PRIu64 " %ld %zu %zu %zu %zu %a %a %a %a %ld", p->step,
             p->checked, p->epoch, p->batch, p->tokens, p->rows, p->sum_tokens, p->sum_nll,
             p->grad_norm, p->seconds, p->best_ppl, p->best_epoch);
}

static int scan_progress(const char *line, Progress *p)
{
    return sscanf(line, "%" SCNu64 " %" SCNu64 " %ld %zu %zu %zu %zu %la %la %la %la %ld", &p->step,
                  &p->checked, &p->epoch, &p->batch, &p->tokens, &p->rows, &p->sum_tokens,
                  &p->sum_nll, &p->grad_norm, &p->seconds, &p->best_ppl, &p->best_epoch) == 12;
}

/* All that decides a run but its length. */
static void print_recipe(Run *r)
{
    const TrainConfig *t = r->t;
    const ModelConfig *c = model_config(r->m);
    snprintf(r->recipe, LINE,
             "context %d, batch tokens %zu, sequence %zu, rate %.17g, warm-up %" PRIu64
             ", beta %.17g %.17g, eps %.17g, clip %.17g, seed %" PRIu64 " %" PRIu64
             ", dropout %.17g, activation %d, heads %zu, positions %d, vocabulary %zu, tokens %zu",
             t->context, t->batch_tokens, t->sequence, t->rate, t->warmup, t->adam.beta1,
             t->adam.beta2, t->adam.eps, t->adam.clip, t->seed, c->seed, c->dropout, c->act,
             c->heads, c->positions, c->vocab, r->c->text[SPLIT_TRAIN].tokens);
}

static int save_state(Run *r)
{
    char line[LINE];
    if (!r->t->out) return 0;
    print_progress(&r->p, line);
    StoreText meta[] = {{"progress", line}, {"recipe", r->recipe}};
    return store_save_state(r->m, file_of(r, "state.safetensors"), meta, 2);
}

static int same_recipe(Run *r, const char *file)
{
    char *recipe;
    TRY(store_meta(file, "recipe", &recipe));
    int code = strcmp(recipe, r->recipe) == 0
                   ? 0
                   : error_set(ERR_INPUT, "%s is of a run with other options: %s; now %s", file,
                               recipe, r->recipe);
    memory_free(recipe);
    return code;
}

static int load_state(Run *r)
{
    const char *file = file_of(r, "state.safetensors");
    char *line;
    TRY(same_recipe(r, file));
    TRY(store_meta(file, "progress", &line));
    int read = scan_progress(line, &r->p);
    memory_free(line);
    if (!read) return error_set(ERR_INPUT, "%s: 'progress' is damaged", file);
    return store_load_state(r->m, file);
}

/* ---- the log ------------------------------------------------------------------------------------ */

/* Learning rate of a step. Source: Vaswani et al. 2017, equation 3, with the peak as the unit. */
static double rate_at(const TrainConfig *t, uint64_t step)
{
    double s = (double)step, w = (double)t->warmup;
    if (t->warmup == 0) return t->rate;
    return s <= w ? t->rate * s / w : t->rate * sqrt(w / s);
}

static double tokens_per_s(const Progress *p)
{
    return p->seconds > 0 ? (double)p->tokens / p->seconds : 0;
}

static double train_loss(const Progress *p)
{
    return p->sum_tokens ? p->sum_nll / (double)p->sum_tokens : NAN;
}

static int log_failed(Run *r)
{
    return error_set(ERR_SYSTEM, "%s: %s", file_of(r, "log.csv"), strerror(errno));
}

/* Begins a new mean as well. valid_ppl 0: not known here. */
static int log_row(Run *r, double valid_ppl)
{
    Progress *p = &r->p;
    char ppl[32] = "";
    if (valid_ppl > 0) snprintf(ppl, sizeof ppl, "%.9g", valid_ppl);
    double loss = train_loss(p);
    p->sum_nll = 0;
    p->sum_tokens = 0;
    p->rows++;
    if (!r->log) return 0;
    fprintf(r->log, "%" PRIu64 ",%ld,%zu,%.9g,%s,%.9g,%.9g,%.1f\n", p->step, p->epoch, p->tokens,
            loss, ppl, rate_at(r->t, p->step), p->grad_norm, tokens_per_s(p));
    return fflush(r->log) == 0 ? 0 : log_failed(r);
}

/* Leaves the header and the first `rows` whole lines after it. Gives 0 where nothing is left. */
static int log_cut(const char *file, size_t rows)
{
    FILE *f = fopen(file, "r");
    if (!f) return 0;
    size_t lines = 0;
    long at = 0, end = 0;
    for (int c; lines <= rows && (c = getc(f)) != EOF;) {
        at++;
        if (c != '\n') continue;
        lines++;
        end = at;
    }
    fclose(f);
    return end > 0 && truncate(file, end) == 0;
}

static int log_open(Run *r)
{
    const char *file = file_of(r, "log.csv");
    int append = r->t->resume && log_cut(file, r->p.rows);
    r->log = fopen(file, append ? "a" : "w");
    if (!r->log) return log_failed(r);
    if (append) return 0;
    fputs("step,epoch,tokens,train_loss,valid_ppl,rate,grad_norm,tokens_per_s\n", r->log);
    return fflush(r->log) == 0 ? 0 : log_failed(r);
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
                     .rate = rate_at(r->t, p->step),
                     .grad_norm = p->grad_norm,
                     .tokens_per_s = tokens_per_s(p),
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
static int failed_at(const Run *r, int code)
{
    char words[LINE];
    snprintf(words, sizeof words, "%s", error_text());
    return error_set(code, "step %" PRIu64 ", epoch %ld: %s", r->p.step, r->p.epoch, words);
}

static int interrupted(Run *r)
{
    TRY(save_state(r));
    return error_set(ERR_INTERRUPTED, "interrupted after step %" PRIu64 " in epoch %ld%s%s",
                     r->p.step, r->p.epoch, r->t->out ? ", state saved in " : "",
                     r->t->out ? r->t->out : "");
}

static int gradient_step(Run *r, const Batch *x)
{
    Progress *p = &r->p;
    AdamConfig adam = r->t->adam;
    double mean;
    adam.rate = rate_at(r->t, ++p->step);
    int code = model_gradient(r->m, x, p->step, &mean);
    if (code == 0) code = model_adam(r->m, &adam, p->step, &p->grad_norm);
    if (code) return failed_at(r, code);
    p->batch++;
    p->tokens += x->N;
    p->sum_tokens += x->N;
    p->sum_nll += mean * (double)x->N;
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

static int epoch_steps(Run *r)
{
    batches_epoch(r->train, r->p.epoch);
    size_t every = batches_count(r->train) / ROWS_PER_EPOCH;
    if (every == 0) every = 1;
    while (!epoch_over(r)) {
        if (r->t->stop && *r->t->stop) return interrupted(r);
        TRY(train_step(r));
        double loss = train_loss(&r->p);
        if (r->p.batch % every == 0 && !epoch_over(r)) TRY(log_row(r, 0));
        if (now() - r->reported >= r->t->log_seconds) report(r, loss, 0, 0);
    }
    return 0;
}

static int keep_best(Run *r, double ppl)
{
    r->p.best_ppl = ppl;
    r->p.best_epoch = r->p.epoch;
    if (r->t->out)
        return store_save(r->m, file_of(r, "model.safetensors"), r->t->meta, r->t->meta_count);
    model_backend(r->m)->copy(r->best, model_data(r->m), model_size(r->m));
    return 0;
}

static int epoch_end(Run *r)
{
    Progress *p = &r->p;
    double mean, loss = train_loss(p);
    int code = eval_batches(r->m, r->valid, r->t->stop, &mean, NULL);
    if (code == ERR_INTERRUPTED) return interrupted(r);
    if (code) return failed_at(r, code);
    double ppl = exp(mean);
    int best = p->best_epoch == 0 || ppl < p->best_ppl;
    if (best) TRY(keep_best(r, ppl));
    TRY(log_row(r, ppl));
    report(r, loss, ppl, best);
    p->checked = p->step;
    if (p->batch >= batches_count(r->train)) {
        p->epoch++;
        p->batch = 0;
    }
    return save_state(r);
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

/* Makes a directory and those above it. */
static int make_directory(const char *path)
{
    char *copy = memory_string(path);
    if (!copy) return ERR_MEMORY;
    int made = 0;
    for (char *c = copy + 1;; c++) {
        char end = *c;
        if (end != '/' && end) continue;
        *c = 0;
        made = mkdir(copy, 0777) == 0 || errno == EEXIST;
        *c = end;
        if (!end || !made) break;
    }
    int error = errno;
    memory_free(copy);
    return made ? 0 : error_set(ERR_SYSTEM, "%s: %s", path, strerror(error));
}

/* A run directory: made if need be; of an older run the state goes, as it could be taken for this
 * one's, and the model stays until there is a better one. */
static int open_directory(Run *r)
{
    r->file = memory_new(strlen(r->t->out) + 32, 1);
    if (!r->file) return ERR_MEMORY;
    if (*r->t->out == 0) return error_set(ERR_INPUT, "the output directory has no name");
    if (r->t->resume) {
        TRY(load_state(r));
    } else {
        TRY(make_directory(r->t->out));
        unlink(file_of(r, "state.safetensors"));
    }
    TRY(vocab_write(&r->c->vocab, file_of(r, "vocab.txt")));
    return log_open(r);
}

static int open_run(Run *r)
{
    const TrainConfig *t = r->t;
    const Vocab *v = &r->c->vocab;
    TRY(check_config(r));
    print_recipe(r);
    TRY(batches_new(&r->c->text[SPLIT_TRAIN], v, t->context, t->batch_tokens, t->sequence, t->seed,
                    &r->train));
    TRY(batches_new(&r->c->text[SPLIT_VALID], v, t->context, t->batch_tokens, t->sequence, t->seed,
                    &r->valid));
    batches_epoch(r->valid, -1);
    if (t->out) return open_directory(r);
    r->best = model_backend(r->m)->alloc(model_size(r->m));
    return r->best ? 0 : ERR_MEMORY;
}

static int load_best(Run *r)
{
    if (r->t->out) return store_load(r->m, file_of(r, "model.safetensors"));
    model_backend(r->m)->copy(model_data(r->m), r->best, model_size(r->m));
    return 0;
}

static size_t peak_bytes(void)
{
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) == 0 ? (size_t)u.ru_maxrss * 1024 : 0;
}

/* The one reading of the test text, with the best epoch's weights. */
static int finish(Run *r, TrainResult *result)
{
    const TrainConfig *t = r->t;
    double mean;
    TRY(load_best(r));
    TRY(eval_text(r->m, &r->c->text[SPLIT_TEST], &r->c->vocab, t->context, t->batch_tokens,
                  t->sequence, t->stop, &mean, NULL));
    *result = (TrainResult){.best_epoch = r->p.best_epoch,
                            .valid_ppl = r->p.best_ppl,
                            .test_ppl = exp(mean),
                            .tokens_per_s = tokens_per_s(&r->p),
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
    if (code == 0) code = all_epochs(&r);
    if (code == 0) code = finish(&r, result);
    close_run(&r);
    return code;
}
