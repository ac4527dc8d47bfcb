/* run.c: keeps the directory of a training run: state, log, vocabulary (run.h). */
#include "nn/run/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/hash.h"

/* ---- the state ---------------------------------------------------------------------------------- */

/* Prints doubles in hexadecimal, which is exact. */
static void print_progress(const Progress *p, int judged, int penalised, char line[RUN_LINE])
{
    int n = snprintf(line, RUN_LINE, "%" PRIu64 " %" PRIu64 " %ld %zu %zu %zu %zu %a %a %a %a %ld",
                     p->step, p->checked, p->epoch, p->batch, p->tokens, p->rows, p->sum_tokens,
                     p->sum_nll, p->grad_norm, p->seconds, p->best_ppl, p->best_epoch);
    if (judged) n += snprintf(line + n, RUN_LINE - (size_t)n, " %a", p->best_score);
    if (penalised) snprintf(line + n, RUN_LINE - (size_t)n, " %a", p->sum_penalty);
}

static int scan_progress(const char *line, int judged, int penalised, Progress *p)
{
    double more[2] = {0};
    int count = sscanf(
        line, "%" SCNu64 " %" SCNu64 " %ld %zu %zu %zu %zu %la %la %la %la %ld %la %la", &p->step,
        &p->checked, &p->epoch, &p->batch, &p->tokens, &p->rows, &p->sum_tokens, &p->sum_nll,
        &p->grad_norm, &p->seconds, &p->best_ppl, &p->best_epoch, &more[0], &more[1]);
    if (judged) p->best_score = more[0];
    if (penalised) p->sum_penalty = more[judged];
    return count == 12 + judged + penalised;
}

static int is_penalised(const Run *r)
{
    return model_plan(r->m)->network > 0;
}

static int hash_plan(const Plan *p, uint64_t *hash)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    if (f) plan_print(p, f);
    int failed = !f || fclose(f) != 0;
    *hash = hash_bytes(HASH_START, text, failed ? 0 : bytes);
    free(text);
    return failed ? error_set(ERR_MEMORY, "out of memory: a plan's text") : 0;
}

/* Writes what a resumed run must agree in, as far as the engine knows it: the layers and the text. */
static int print_recipe(Run *r)
{
    uint64_t plan;
    TRY(hash_plan(model_plan(r->m), &plan));
    snprintf(r->recipe, sizeof r->recipe, "network %016" PRIx64 ", corpus %016" PRIx64, plan,
             corpus_checksum(r->c));
    return 0;
}

/* A run that goes on needs its log as it is: the rows so far are nowhere else. */
static int log_failed(Run *r)
{
    int link = errno == ELOOP, opens = r->t->resume && !r->log;
    return error_set(link ? ERR_INPUT : ERR_SYSTEM, "%s: %s%s", run_file(r, "log.csv"),
                     link ? "it is a symbolic link, which is not followed" : strerror(errno),
                     opens
                         ? ": give a file that can be read and written, or remove it, and the run "
                           "goes on with a new one"
                         : "");
}

/* The rows of log.csv that the state counts are durable before it is. */
int run_save(Run *r)
{
    char line[RUN_LINE], epochs[32], most[32];
    if (!r->files) return 0;
    if (r->log && fsync(fileno(r->log)) != 0 && errno != EINVAL) return log_failed(r);
    print_progress(&r->p, r->t->judge != NULL, is_penalised(r), line);
    snprintf(epochs, sizeof epochs, "%ld", r->t->epochs);
    snprintf(most, sizeof most, "%" PRIu64, r->t->max_steps);
    StoreText meta[] = {{"progress", line},
                        {"recipe", r->recipe},
                        {"epochs", epochs},
                        {"max_steps", most},
                        {"options", (char *)r->t->options}};
    return store_save_state(r->m, run_file(r, "state.safetensors"), meta, r->t->options ? 5 : 4);
}

/* Returns 1 where two recipes have the same hash behind `words`. States of version 0.2 have more in their recipe, with these two
 * among it. */
static int same_hash(const char *a, const char *b, const char *words)
{
    enum { DIGITS = 16 };
    a = strstr(a, words);
    b = strstr(b, words);
    return a && b && strncmp(a, b, strlen(words) + DIGITS) == 0;
}

static int same_recipe(Run *r, const char *file)
{
    SCOPED(memory_drop) char *recipe = NULL;
    TRY(store_meta(file, "recipe", &recipe));
    int layers = same_hash(recipe, r->recipe, "network "),
        text = same_hash(recipe, r->recipe, "corpus ");
    if (layers && text) return 0;
    return error_set(ERR_INPUT, "%s is of another run: %s%s%s%s", file,
                     layers ? "" : "its layers compute something else now",
                     layers || text ? "" : "; ", text ? "" : r->c->name,
                     text ? "" : " is not the text it was trained on");
}

int train_saved_options(const char *file, char **text)
{
    return store_meta(file, "options", text);
}

int train_saved_step(const char *file, uint64_t *step)
{
    SCOPED(memory_drop) char *line = NULL;
    TRY(store_meta(file, "progress", &line));
    if (sscanf(line, "%" SCNu64, step) == 1) return 0;
    return error_set(ERR_INPUT, "%s: 'progress' is damaged", file);
}

/* Tells whether the numbers of a state are possible for this run, with its end still ahead; a file can hold any
 * numbers. The batch is behind the last one only until the epoch has its validation. */
static int is_progress(const Run *r)
{
    const Progress *p = &r->p;
    const double real[] = {p->sum_nll, p->grad_norm, p->seconds, p->best_ppl, p->sum_penalty};
    size_t n = r->c->dropout > 0 ? SIZE_MAX : batches_count(r->train);
    for (size_t i = 0; i < sizeof real / sizeof *real; i++)
        if (!(real[i] >= 0)) return 0;
    return p->step <= INT64_MAX && p->checked <= p->step && p->epoch >= 1 && p->epoch <= INT_MAX &&
           p->best_epoch >= 0 && p->best_epoch <= p->epoch &&
           (p->batch < n || (p->batch == n && p->checked < p->step));
}

static int load_state(Run *r)
{
    const char *file = run_file(r, "state.safetensors");
    SCOPED(memory_drop) char *line = NULL;
    TRY(same_recipe(r, file));
    TRY(store_meta(file, "progress", &line));
    if (!scan_progress(line, r->t->judge != NULL, is_penalised(r), &r->p) || !is_progress(r))
        return error_set(ERR_INPUT, "%s: 'progress' is damaged", file);
    return store_load_state(r->m, file);
}

/* ---- the log ------------------------------------------------------------------------------------ */

int run_has_pairs(const Run *r)
{
    return r->c->source[SPLIT_TRAIN].tokens > 0;
}

int run_has_exact(const Run *r)
{
    const Asking *ask = r->t->ask;
    return ask ? ask->label != NULL : run_has_pairs(r);
}

double run_bits(const Run *r, int split, double ppl)
{
    const Text *t = &r->c->text[split];
    return text_bits(t, text_predicted(t, r->c->vocab.eos, r->t->context), ppl);
}

int run_has_bits(const Run *r)
{
    return r->c->vocab.tokens && !run_has_pairs(r) && !r->t->ask;
}

double run_rate(const Run *r, uint64_t step)
{
    const TrainConfig *t = r->t;
    Schedule s = {t->schedule, t->rate, t->end_rate, t->warmup, r->steps};
    return schedule_rate(&s, step);
}

size_t run_epoch_steps(const TrainConfig *t, size_t batches)
{
    size_t K = t->accumulate > 1 ? t->accumulate : 1;
    return batches / K + (batches % K > 0);
}

double run_loss(Run *r)
{
    const Progress *p = &r->p;
    r->penalty = is_penalised(r) && p->sum_tokens ? p->sum_penalty / (double)p->sum_tokens : NAN;
    return p->sum_tokens ? p->sum_nll / (double)p->sum_tokens : NAN;
}

TrainReport run_report(const Run *r, double loss, double ppl, double exact, double score)
{
    const Progress *p = &r->p;
    return (TrainReport){.step = p->step,
                         .epoch = p->epoch,
                         .tokens = p->tokens,
                         .train_loss = loss,
                         .penalty = r->penalty,
                         .valid_ppl = ppl,
                         .valid_exact = exact,
                         .valid_score = score,
                         .rate = run_rate(r, p->step),
                         .grad_norm = p->grad_norm,
                         .tokens_per_s = p->seconds > 0 ? (double)p->tokens / p->seconds : 0};
}

/* Masked words are told apart: their perplexity compares with that of no other text. */
static int is_masked(const Run *r)
{
    return r->t->ask && r->t->ask->what == ASK_MASKED;
}

int run_log(Run *r, double valid_ppl, double valid_exact, double valid_score)
{
    Progress *p = &r->p;
    TrainReport t = run_report(r, run_loss(r), valid_ppl, valid_exact, valid_score);
    char ppl[32] = "", exact[40] = "", score[40] = "", bits[40] = "", penalty[40] = "";
    if (valid_ppl > 0) snprintf(ppl, sizeof ppl, "%.9g", valid_ppl);
    if (run_has_exact(r)) snprintf(exact, sizeof exact, ",");
    if (!isnan(valid_exact)) snprintf(exact, sizeof exact, ",%.9g", valid_exact);
    if (r->t->judge) snprintf(score, sizeof score, ",");
    if (!isnan(valid_score)) snprintf(score, sizeof score, ",%.9g", valid_score);
    if (run_has_bits(r)) snprintf(bits, sizeof bits, ",");
    if (run_has_bits(r) && valid_ppl > 0)
        snprintf(bits, sizeof bits, ",%.9g", run_bits(r, SPLIT_VALID, valid_ppl));
    if (is_penalised(r)) snprintf(penalty, sizeof penalty, ",%.9g", t.penalty);
    p->sum_nll = p->sum_penalty = 0;
    p->sum_tokens = 0;
    p->rows++;
    if (!r->log) return 0;
    fprintf(r->log, "%" PRIu64 ",%ld,%zu,%.9g,%s,%.9g,%.9g,%.1f%s%s%s%s%s\n", t.step, t.epoch,
            t.tokens, t.train_loss, ppl, t.rate, t.grad_norm, t.tokens_per_s, exact, score, bits,
            is_masked(r) ? ",masked" : "", penalty);
    return fflush(r->log) == 0 ? log_forms_follow(r) : log_failed(r);
}

/* Cuts the log behind the rows that the state counts. *there = 0: it is missing or has no whole line, and begins anew. */
static int log_cut(Run *r, int *there)
{
    FILE *f = run_fopen(run_file(r, "log.csv"), "r+", O_RDWR);
    *there = 0;
    if (!f) return errno == ENOENT ? 0 : log_failed(r);
    size_t lines = 0;
    long at = 0, end = 0;
    for (int c; lines <= r->p.rows && (c = getc(f)) != EOF;) {
        at++;
        if (c != '\n') continue;
        lines++;
        end = at;
    }
    *there = end > 0;
    int code = ferror(f) || (*there && ftruncate(fileno(f), end) != 0) ? log_failed(r) : 0;
    fclose(f);
    return code;
}

static int log_open(Run *r)
{
    const char *file = run_file(r, "log.csv");
    int append = 0;
    if (r->t->resume) TRY(log_cut(r, &append));
    r->log =
        run_fopen(file, append ? "a" : "w", O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC));
    if (!r->log) return log_failed(r);
    if (append) return 0;
    fprintf(r->log,
            "step,epoch,tokens,train_loss,valid_ppl,rate,grad_norm,tokens_per_s%s%s%s%s%s\n",
            run_has_exact(r) ? ",valid_exact" : "", r->t->judge ? ",valid_score" : "",
            run_has_bits(r) ? ",valid_bits" : "", is_masked(r) ? ",objective" : "",
            is_penalised(r) ? ",penalty" : "");
    return fflush(r->log) == 0 ? 0 : log_failed(r);
}

/* ---- epochs' ends -------------------------------------------------------------------------------- */

/* Names the file of an epoch's end. Each is written before the state that knows of it, and removed after one that
 * does not need it. So the files of the last epochs of any state exist. */
static const char *epoch_file(Run *r, long epoch)
{
    char name[48];
    snprintf(name, sizeof name, "epoch-%ld.safetensors", epoch);
    return run_file(r, name);
}

static int is_kept(const Run *r, long epoch)
{
    return r->t->keep > 0 && epoch % r->t->keep == 0;
}

int checkpoint_add(Run *r)
{
    if ((r->t->average < 2 && !is_kept(r, r->p.epoch)) || !r->files) return 0;
    return store_save(r->m, epoch_file(r, r->p.epoch), r->t->meta, r->t->meta_count);
}

/* Returns the last epoch that has an end, which may be the end of a run cut short. */
static long last_epoch(const Run *r)
{
    return r->p.batch ? r->p.epoch : r->p.epoch - 1;
}

static void forget(Run *r, long last)
{
    DIR *d = opendir(r->t->out);
    for (struct dirent *e; d && (e = readdir(d));) {
        long epoch;
        int end = 0;
        if (sscanf(e->d_name, "epoch-%ld.safetensors%n", &epoch, &end) == 1 && end &&
            e->d_name[end] == 0 && epoch <= last && !is_kept(r, epoch))
            unlink(epoch_file(r, epoch));
    }
    if (d) closedir(d);
}

void checkpoint_prune(Run *r)
{
    if (r->t->average > 1 && r->files) forget(r, last_epoch(r) - r->t->average);
}

int run_average(Run *r, long *count)
{
    long last = last_epoch(r), n = r->t->average < last ? r->t->average : last;
    SCOPED(memory_drop) char **file = memory_new((size_t)n, sizeof *file);
    int code = file ? 0 : ERR_MEMORY;
    for (long i = 0; i < n && code == 0; i++) {
        file[i] = memory_string(epoch_file(r, last - n + 1 + i));
        if (!file[i]) code = ERR_MEMORY;
    }
    if (code == 0) code = store_average(r->m, (const char *const *)file, (size_t)n);
    for (long i = 0; file && i < n; i++) memory_free(file[i]);
    *count = n;
    return code;
}

/* ---- ranks -------------------------------------------------------------------------------------- */

/* Sends x (n) from the first rank to all, through the host: the engine sends memory of the processor. */
static void send_numbers(Run *r, void *x, size_t n)
{
    enum { PIECE = 1 << 18 };
    static char room[PIECE];
    Ranks *k = r->t->ranks;
    const Backend *b = model_backend(r->m);
    for (size_t at = 0, bytes = n * b->size; at < bytes; at += PIECE) {
        size_t m = bytes - at < PIECE ? bytes - at : PIECE;
        if (k->rank == 0) b->receive(room, (char *)x + at, m);
        k->send(k, 0, room, m);
        if (k->rank != 0) b->send((char *)x + at, room, m);
    }
}

void run_send(Run *r)
{
    if (r->t->ranks) send_numbers(r, model_data(r->m), model_size(r->m));
}

/* Checks that all ranks agree. They stay one model only if all round in the same way. */
static int same_ranks(Run *r)
{
    Ranks *k = r->t->ranks;
    const Backend *b = model_backend(r->m);
    char line[RUN_LINE];
    int n = snprintf(line, sizeof line, "%s %s %d threads", b->name, b->kernel, backend_threads(0));
    const char *options = r->t->options ? r->t->options : "";
    uint64_t mine = hash_bytes(HASH_START, r->recipe, strlen(r->recipe)), first;
    mine = hash_bytes(mine, options, strlen(options));
    first = mine = hash_bytes(mine, line, (size_t)n);
    k->send(k, 0, &first, sizeof first);
    int code = first == mine
                   ? 0
                   : error_set(ERR_INPUT,
                               "rank %d has other options or text than rank 0, or computes "
                               "otherwise (%s)",
                               k->rank, line);
    return ranks_agree(k, code);
}

int ranks_check_same_run(Run *r)
{
    Ranks *k = r->t->ranks;
    if (!k) return 0;
    TRY(same_ranks(r));
    if (!r->t->resume) return 0;
    k->send(k, 0, &r->p, sizeof r->p);
    run_send(r);
    for (int i = 0; i < 2; i++) send_numbers(r, model_moment(r->m, i), model_size(r->m));
    return 0;
}

/* ---- the directory ------------------------------------------------------------------------------ */

/* Opens a run directory. It removes the state of an older run, which could be mistaken for
 * this run's; the model stays until there is a better one. */
int run_open(Run *r)
{
    TRY(print_recipe(r));
    if (!r->files) return 0;
    r->file = memory_new(strlen(r->t->out) + 64, 1);
    if (!r->file) return ERR_MEMORY;
    if (*r->t->out == 0) return error_set(ERR_INPUT, "the output directory has no name");
    if (r->t->resume) {
        TRY(load_state(r));
    } else {
        unlink(run_file(r, "state.safetensors"));
        forget(r, LONG_MAX); /* those of another run */
    }
    TRY(vocab_save(&r->c->vocab, r->c->bpe, r->t->out));
    TRY(log_open(r));
    return log_forms_open(r);
}
