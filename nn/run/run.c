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
#include "kernels/base/member.h"
#include "kernels/base/scoped.h"
#include "nn/text/hash.h"

/* ---- the state ---------------------------------------------------------------------------------- */

const char *run_file(Run *r, const char *name)
{
    sprintf(r->file, "%s/%s", r->t->out, name);
    return r->file;
}

/* Prints doubles in hexadecimal, which is exact. */
static void print_progress(const Progress *p, int judged, char line[RUN_LINE])
{
    int n = snprintf(line, RUN_LINE, "%" PRIu64 " %" PRIu64 " %ld %zu %zu %zu %zu %a %a %a %a %ld",
                     p->step, p->checked, p->epoch, p->batch, p->tokens, p->rows, p->sum_tokens,
                     p->sum_nll, p->grad_norm, p->seconds, p->best_ppl, p->best_epoch);
    if (judged) snprintf(line + n, RUN_LINE - (size_t)n, " %a", p->best_score);
}

static int scan_progress(const char *line, int judged, Progress *p)
{
    return sscanf(line, "%" SCNu64 " %" SCNu64 " %ld %zu %zu %zu %zu %la %la %la %la %ld %la",
                  &p->step, &p->checked, &p->epoch, &p->batch, &p->tokens, &p->rows, &p->sum_tokens,
                  &p->sum_nll, &p->grad_norm, &p->seconds, &p->best_ppl, &p->best_epoch,
                  &p->best_score) == 12 + judged;
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

/* Everything that decides a run, in one record. */
typedef struct {
    TrainConfig train;
    ModelConfig model;
    uint64_t plan, corpus; /* hashes */
    uint64_t steps;        /* steps of the whole run */
    int ends;              /* the rates depend on it */
    int judged;
    double dropped; /* BPE dropout */
} Facts;

/* The recipe has the words and the number of each fact whose `when` is above `above`. Facts that a plain run lacks
 * stand at the end and are left out of its recipe, so states from before such a fact existed still belong to their
 * runs: a new choice is a line at the end. */
#define OF(member) MEMBER(Facts, member)
static const struct {
    const char *words;
    Member member;
    enum { AS_NUMBER, AS_HASH, AS_SCHEDULE } as;
    Member when;
    int above;
} facts[] = {
    {"context ", OF(train.context)},
    {", batch tokens ", OF(train.batch_tokens)},
    {", sequence ", OF(train.sequence)},
    {", rate ", OF(train.rate)},
    {", warm-up ", OF(train.warmup)},
    {", beta ", OF(train.adam.beta1)},
    {" ", OF(train.adam.beta2)},
    {", eps ", OF(train.adam.eps)},
    {", clip ", OF(train.adam.clip)},
    {", seed ", OF(train.seed)},
    {" ", OF(model.seed)},
    {", dropout ", OF(model.dropout)},
    {", activation ", OF(model.act)},
    {", heads ", OF(model.heads)},
    {", positions ", OF(model.positions)},
    {", network ", OF(plan), AS_HASH},
    {", corpus ", OF(corpus), AS_HASH},
    {", schedule ", OF(train.schedule), AS_SCHEDULE, OF(train.schedule), SCHEDULE_INVERSE_SQRT},
    {" to ", OF(train.end_rate), .when = OF(ends)},
    {" at step ", OF(steps), .when = OF(ends)},
    {", accumulate ", OF(train.accumulate), .when = OF(train.accumulate), .above = 1},
    {", average ", OF(train.average), .when = OF(train.average), .above = 1},
    {", smoothing ", OF(model.smoothing), .when = OF(model.smoothing)},
    {", decay ", OF(train.adam.decay), .when = OF(train.adam.decay)},
    /* As many numbers as there are tails. */
    {", adaptive ", OF(model.cut), .when = OF(model.tails)},
    {" by ", OF(model.factor), .when = OF(model.tails)},
    {", attention dropout ", OF(model.attention_dropout), .when = OF(model.dropout_apart)},
    {", activation dropout ", OF(model.activation_dropout), .when = OF(model.dropout_apart)},
    {", judged ", OF(judged), .when = OF(judged)},
    {", masked ", OF(model.masked), .when = OF(model.masked)},
    {", classes ", OF(model.classes), .when = OF(model.classes)},
    {", segments ", OF(model.segments), .when = OF(model.segments)},
    {", first ReLU ", OF(model.first_relu), .when = OF(model.first_relu)},
    {", no final norm ", OF(model.no_final_norm), .when = OF(model.no_final_norm)},
    {", validated every ", OF(train.eval_every), .when = OF(train.eval_every)},
    {", plain input ", OF(model.plain_input), .when = OF(model.plain_input)},
    {", norm kind ", OF(model.norm), .when = OF(model.norm)},
    {", heads of keys ", OF(model.kv_heads), .when = OF(model.kv_heads)},
    {", rotary base ", OF(model.rotary_base), .when = OF(model.rotary_base)},
    {", norm epsilon ", OF(model.norm_eps), .when = OF(model.norm_eps)},
    {", merges dropped ", OF(dropped), .when = OF(dropped)},
};

static double member_value(const void *record, Member m)
{
    const void *at = (const char *)record + m.at;
    return m.type == MEMBER_INT    ? *(const int *)at
           : m.type == MEMBER_LONG ? (double)*(const long *)at
           : m.type == MEMBER_SIZE ? (double)*(const size_t *)at
                                   : *(const double *)at;
}

/* Prints doubles with enough digits to read back the same; a list has n numbers. */
static void print_member(FILE *f, const void *record, Member m, size_t n)
{
    const void *at = (const char *)record + m.at;
    if (m.type == MEMBER_INT) fprintf(f, "%d", *(const int *)at);
    if (m.type == MEMBER_LONG) fprintf(f, "%ld", *(const long *)at);
    if (m.type == MEMBER_SIZE) fprintf(f, "%zu", *(const size_t *)at);
    if (m.type == MEMBER_REAL) fprintf(f, "%.17g", *(const double *)at);
    for (size_t i = 0; m.type == MEMBER_SIZES && i < n; i++)
        fprintf(f, "%s%zu", i ? " " : "", ((const size_t *)at)[i]);
}

/* Prints everything that decides a run except its length (and that too, where the rates depend on it). */
static int print_recipe(Run *r)
{
    Facts s = {.train = *r->t,
               .model = *model_config(r->m),
               .corpus = corpus_checksum(r->c),
               .steps = r->steps,
               .ends = schedule_ends(r->t->schedule),
               .judged = r->t->judge != NULL,
               .dropped = r->c->dropout};
    TRY(hash_plan(model_plan(r->m), &s.plan));
    FILE *f = fmemopen(r->recipe, RUN_LINE, "w");
    if (!f) return error_set(ERR_MEMORY, "out of memory: a run's recipe");
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (facts[i].when.type && !(member_value(&s, facts[i].when) > facts[i].above)) continue;
        fputs(facts[i].words, f);
        if (facts[i].as == AS_HASH)
            fprintf(f, "%016" PRIx64, *(uint64_t *)(void *)((char *)&s + facts[i].member.at));
        else if (facts[i].as == AS_SCHEDULE)
            fputs(schedule_name(s.train.schedule), f);
        else
            print_member(f, &s, facts[i].member, s.model.tails);
    }
    fclose(f);
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
    print_progress(&r->p, r->t->judge != NULL, line);
    snprintf(epochs, sizeof epochs, "%ld", r->t->epochs);
    snprintf(most, sizeof most, "%" PRIu64, r->t->max_steps);
    StoreText meta[] = {
        {"progress", line}, {"recipe", r->recipe}, {"epochs", epochs}, {"max_steps", most}};
    return store_save_state(r->m, run_file(r, "state.safetensors"), meta, 4);
}

/* Writes what stands behind a fact's words in a recipe, up to the next fact; "none" where the recipe lacks it. */
static void recipe_value(const char *recipe, const char *words, char value[64])
{
    const char *at = strstr(recipe, words), *end;
    if (at) at += strlen(words);
    end = at ? strstr(at, ", ") : NULL;
    snprintf(value, 64, "%.*s", end ? (int)(end - at) : 63, at ? at : "none");
}

/* Adds what differs in one fact, in words; facts that go on with the value of the one before are compared with it. */
static void tell_fact(const Run *r, const char *recipe, size_t i, char *list)
{
    const char *words = facts[i].words, *name = words + 2 * (*words == ',');
    char there[64], now[64];
    size_t n = strlen(list);
    if (i > 0 && *words != ',') return;
    recipe_value(recipe, words, there);
    recipe_value(r->recipe, words, now);
    if (strcmp(there, now) == 0) return;
    if (n) n += (size_t)snprintf(list + n, RUN_LINE - n, "; ");
    if (facts[i].member.at == offsetof(Facts, corpus))
        snprintf(list + n, RUN_LINE - n, "%s is not the text it was trained on", r->c->name);
    else if (facts[i].member.at == offsetof(Facts, plan))
        snprintf(list + n, RUN_LINE - n, "its layers compute something else now");
    else
        snprintf(list + n, RUN_LINE - n, "%s%s, now %s", name, there, now);
}

static int same_recipe(Run *r, const char *file)
{
    SCOPED(memory_drop) char *recipe = NULL;
    char list[RUN_LINE] = "";
    TRY(store_meta(file, "recipe", &recipe));
    if (strcmp(recipe, r->recipe) == 0) return 0;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) tell_fact(r, recipe, i, list);
    return error_set(ERR_INPUT, "%s is of another run: %s", file, list);
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
    const double real[] = {p->sum_nll, p->grad_norm, p->seconds, p->best_ppl};
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
    if (!scan_progress(line, r->t->judge != NULL, &r->p) || !is_progress(r))
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

double run_loss(const Progress *p)
{
    return p->sum_tokens ? p->sum_nll / (double)p->sum_tokens : NAN;
}

TrainReport run_report(const Run *r, double loss, double ppl, double exact, double score)
{
    const Progress *p = &r->p;
    return (TrainReport){.step = p->step,
                         .epoch = p->epoch,
                         .tokens = p->tokens,
                         .train_loss = loss,
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
    TrainReport t = run_report(r, run_loss(p), valid_ppl, valid_exact, valid_score);
    char ppl[32] = "", exact[40] = "", score[40] = "", bits[40] = "";
    if (valid_ppl > 0) snprintf(ppl, sizeof ppl, "%.9g", valid_ppl);
    if (run_has_exact(r)) snprintf(exact, sizeof exact, ",");
    if (!isnan(valid_exact)) snprintf(exact, sizeof exact, ",%.9g", valid_exact);
    if (r->t->judge) snprintf(score, sizeof score, ",");
    if (!isnan(valid_score)) snprintf(score, sizeof score, ",%.9g", valid_score);
    if (run_has_bits(r)) snprintf(bits, sizeof bits, ",");
    if (run_has_bits(r) && valid_ppl > 0)
        snprintf(bits, sizeof bits, ",%.9g", run_bits(r, SPLIT_VALID, valid_ppl));
    p->sum_nll = 0;
    p->sum_tokens = 0;
    p->rows++;
    if (!r->log) return 0;
    fprintf(r->log, "%" PRIu64 ",%ld,%zu,%.9g,%s,%.9g,%.9g,%.1f%s%s%s%s\n", t.step, t.epoch,
            t.tokens, t.train_loss, ppl, t.rate, t.grad_norm, t.tokens_per_s, exact, score, bits,
            is_masked(r) ? ",masked" : "");
    return fflush(r->log) == 0 ? 0 : log_failed(r);
}

/* Opens the log; a symbolic link is not followed, as it may lead out of a folder of others. NULL: with errno. */
static FILE *log_file(const char *file, const char *mode, int flags)
{
    int fd = open(file, flags | O_NOFOLLOW | O_CLOEXEC, 0666);
    FILE *f = fd < 0 ? NULL : fdopen(fd, mode);
    if (fd >= 0 && !f) close(fd);
    return f;
}

/* Cuts the log behind the rows that the state counts. *there = 0: it is missing or has no whole line, and begins anew. A
 * FIFO is not waited for. */
static int log_cut(Run *r, int *there)
{
    FILE *f = log_file(run_file(r, "log.csv"), "r+", O_RDWR | O_NONBLOCK);
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
    r->log = log_file(file, append ? "a" : "w", O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC));
    if (!r->log) return log_failed(r);
    if (append) return 0;
    fprintf(r->log, "step,epoch,tokens,train_loss,valid_ppl,rate,grad_norm,tokens_per_s%s%s%s%s\n",
            run_has_exact(r) ? ",valid_exact" : "", r->t->judge ? ",valid_score" : "",
            run_has_bits(r) ? ",valid_bits" : "", is_masked(r) ? ",objective" : "");
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
    uint64_t mine = hash_bytes(HASH_START, r->recipe, strlen(r->recipe)), first;
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
    return log_open(r);
}
