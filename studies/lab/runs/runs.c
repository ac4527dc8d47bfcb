/* runs.c: finds the runs that exist, trains the others, each in a process, and reads what they leave. */
#include "studies/lab/runs/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "kernels/ranks.h"
#include "studies/base/process/lease.h"
#include "studies/model/train/rerun.h"
#include "studies/model/train/training.h"
#include "studies/base/process/worker.h"
#include "studies/base/command.h"

void runs_note(const Runs *r, const char *format, ...)
{
    char path[OUTPUT_PATH], words[800];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    if (output_path(path, r->dir, "study.log") == 0) lease_log(path, "%s: %s", r->who, words);
}

/* Sets the options that a study gives to every run. A run with an encoder has its own context. */
static int shared_options(const Options *o, int pairs, Options *out)
{
    const Option *p;
    const char *text;
    for (size_t i = 0; options_recorded(o, i, &p, &text); i++)
        if (options_known(out, p->name) && strcmp(p->name, "scheme") != 0 &&
            strcmp(p->name, "layers") != 0 && !(pairs && strcmp(p->name, "context") == 0))
            TRY(options_set(out, OPTION_FILE, "", p->name, text));
    return 0;
}

int runs_option(const char *where, const char *name, const char *text)
{
    SCOPED(options_drop) Options *train = NULL;
    TRY(options_new(train_groups, &train));
    if (!text && options_known(train, name)) return 0;
    return options_set(train, OPTION_ARGUMENT, where, name, text ? text : "");
}

/* Makes train's options for this run. */
static int run_options(const Options *o, const Spec *s, Options **out)
{
    TRY(options_new(train_groups, out));
    for (size_t i = 0; i < s->count; i++)
        TRY(options_set(*out, OPTION_ARGUMENT, "", s->option[i].name, s->option[i].text));
    return shared_options(o, spec_text(s, "encoder") != NULL, *out);
}

static int read_result(const char *dir, Frame *out, size_t row)
{
    char path[OUTPUT_PATH];
    SCOPED(frame_close) Frame c = {0};
    TRY(output_path(path, dir, "result.csv"));
    TRY(frame_read(&c, path));
    TRY(runs_result(&c, 0));
    frame_copy(out, row, &c, 0);
    return out->code;
}

/* ---- the process of a training --------------------------------------------------------------- */

/* Keeps requests to stop waiting, or lets them come. */
static void hold_stops(int on)
{
    sigset_t stops;
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    sigprocmask(on ? SIG_BLOCK : SIG_UNBLOCK, &stops, NULL);
}

/* Turns the child into the program. It has its own process group, as a Ctrl-C comes to the parent first and is passed
 * on once; the end of the parent stops it as an interrupt does. It calls only what may follow a fork. It is the
 * parent's program, even if a new one was built over it since: the parent's file then has no name any more. */
static void become(char *const argv[], char *const environment[], const char *program, pid_t parent,
                   const Lease *claim)
{
    signal(SIGINT, SIG_DFL); /* the handlers only take notes, which exec would wipe out */
    signal(SIGTERM, SIG_DFL);
    int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    lease_pass(claim);
    hold_stops(0);
    if (getppid() == parent) execve(program, argv, environment);
    if (getppid() == parent) execve("/proc/self/exe", argv, environment);
    _exit(127);
}

static int spawn(char *const argv[], const Lease *claim, pid_t *child)
{
    const char *program = command_program();
    ranks_forget(); /* the child trains alone, whoever started us */
    pid_t parent = getpid();
    size_t n = 0;
    while (environ[n]) n++;
    SCOPED(memory_drop) char **with = memory_new(n + 2, sizeof *with);
    if (!with) return ERR_MEMORY;
    memcpy(with, environ, n * sizeof *with);
    with[n] = (char *)command_setting; /* or NULL */
    hold_stops(1);
    *child = fork();
    if (*child == 0) become(argv, with, program, parent, claim);
    hold_stops(0);
    return *child < 0 ? error_set(ERR_SYSTEM, "%s: %s", program, strerror(errno)) : 0;
}

static int wait_for(pid_t child, Lease *claim)
{
    const struct timespec pause = {0, 20000000};
    int status, told = 0;
    for (;;) {
        pid_t done = waitpid(child, &status, WNOHANG);
        if (done == child) break;
        if (done < 0 && errno != EINTR)
            return error_set(ERR_SYSTEM, "waitpid: %s", strerror(errno));
        if (command_stop && !told) kill(child, SIGINT);
        told = command_stop;
        lease_keep(claim);
        nanosleep(&pause, NULL);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    if (command_stop || (WIFEXITED(status) && WEXITSTATUS(status) == 130))
        return command_interrupted();
    return error_set(ERR_CHECK, "a run failed");
}

/* Runs `trotter train --config DIR/config.ini --out DIR --brief`, or `train --resume --out DIR --brief`, without --brief where
 * states are kept, waits for it, and keeps the
 * claim alive meanwhile. The child trains alone, even where this process is one of mpirun's. command_stop is passed on
 * to it. ERR_INTERRUPTED when it was stopped and has saved; ERR_CHECK for any other failure, whose line of words the
 * child has written on stderr. If this process ends in any way, the child gets a signal to save and end. */
static int child_train(const char *dir, int resume, int brief, Lease *claim)
{
    char config[OUTPUT_PATH], *argv[8];
    int n = 0;
    pid_t child;
    TRY(output_path(config, dir, "config.ini"));
    argv[n++] = (char *)"trotter";
    argv[n++] = (char *)"train";
    argv[n++] = (char *)(resume ? "--resume" : "--config");
    if (!resume) argv[n++] = config;
    argv[n++] = (char *)"--out";
    argv[n++] = (char *)dir;
    if (brief) argv[n++] = (char *)"--brief";
    argv[n] = NULL;
    TRY(spawn(argv, claim, &child));
    int code = wait_for(child, claim);
    /* A training that diverged has status 1 as well, and its result. */
    return code == ERR_CHECK && output_there(dir, "result.csv") ? 0 : code;
}

/* ---- one run --------------------------------------------------------------------------------- */

/* A run, its directory, and the options of its training. */
typedef struct {
    const Runs *runs;
    const RunSpec *spec;
    char name[512], dir[OUTPUT_PATH];
    Options *options; /* train's */
} Job;

/* Returns RERUN_* for the run in the directory; a shorter run of another corpus is RERUN_OTHER. */
static int run_there(const Job *j)
{
    int is = rerun_is(j->options, train_groups, j->spec->stacks, j->dir);
    if (is == RERUN_SHORTER && !rerun_same_corpus(j->dir, j->runs->checksum)) return RERUN_OTHER;
    return is;
}

static int is_done(const Job *j)
{
    return output_there(j->dir, "result.csv") && run_there(j) == RERUN_SAME &&
           rerun_same_corpus(j->dir, j->runs->checksum);
}

/* Returns 1 where another process failed in this run since this process began. */
static int has_failed(const Job *j)
{
    char path[OUTPUT_PATH];
    struct stat s;
    if (output_path(path, j->dir, "failed") != 0 || stat(path, &s) != 0) return 0;
    const struct timespec *t = &j->runs->begun;
    return s.st_mtim.tv_sec > t->tv_sec ||
           (s.st_mtim.tv_sec == t->tv_sec && s.st_mtim.tv_nsec >= t->tv_nsec);
}

static void mark_failed(const Job *j, int failed)
{
    char path[OUTPUT_PATH];
    if (output_path(path, j->dir, "failed") != 0) return;
    if (failed)
        (void)!file_replace(path, "", 0);
    else
        unlink(path);
}

static int write_config(const Job *j)
{
    char path[OUTPUT_PATH];
    SCOPED(memory_drop) char *text = NULL;
    TRY(output_path(path, j->dir, "config.ini"));
    TRY(network_config_text(j->options, &text));
    return file_replace(path, text, strlen(text));
}

/* Trains a run. It first removes the old results, and the state unless the run goes on from it; beside the new
 * config.ini, other processes would take them for the new run's. */
static int train(const Job *j, Lease *claim)
{
    static const char *const stale[] = {"result.csv", "state.safetensors"};
    char path[OUTPUT_PATH];
    int is = run_there(j), done = is == RERUN_SAME && output_there(j->dir, "result.csv");
    int resume = is != RERUN_OTHER && !done && rerun_has_state(j->dir);
    runs_note(j->runs, "%s %s%s%s", resume ? "goes on with" : "trains", j->name,
              *claim->left_over ? ", left over by " : "", claim->left_over);
    for (size_t i = 0; i < sizeof stale / sizeof *stale - (resume ? 1 : 0); i++) {
        TRY(output_path(path, j->dir, "%s", stale[i]));
        unlink(path);
    }
    TRY(write_config(j));
    if (strcmp(options_text(j->runs->options, "device"), "cpu") != 0)
        worker_device(backend_devices());
    return child_train(j->dir, resume, !options_flag(j->runs->options, "keep-states"), claim);
}

static void note_result(const Job *j, const Frame *f, size_t row)
{
    const double valid = frame_real(f, row, "valid_ppl"), test = frame_real(f, row, "test_ppl");
    if (spec_text(&j->spec->own, "untested"))
        runs_note(j->runs, "%s is done: validation perplexity %.4f; the test text was not opened",
                  j->name, valid);
    else
        runs_note(j->runs, "%s is done: validation perplexity %.4f; test text read once: %.4f",
                  j->name, valid, test);
}

/* Does a run that this process has claimed. */
static int do_claimed(const Job *j, Lease *claim, Frame *out, size_t row, int *state)
{
    *state = is_done(j) ? RUN_THERE : has_failed(j) ? RUN_FAILED : RUN_TRAINED;
    if (*state == RUN_FAILED) return 0;
    int code = *state == RUN_TRAINED ? train(j, claim) : 0;
    if (code == 0) code = read_result(j->dir, out, row);
    if (*state == RUN_TRAINED && code == 0) note_result(j, out, row);
    if (code == ERR_INTERRUPTED) runs_note(j->runs, "%s is interrupted", j->name);
    if (code != ERR_CHECK) {
        mark_failed(j, 0);
        return code;
    }
    runs_note(j->runs, "%s failed", j->name);
    mark_failed(j, 1);
    *state = RUN_FAILED;
    return 0;
}

static void job_close(Job *j)
{
    options_free(j->options);
}

static int job_open(Job *j, const Runs *r, const RunSpec *s)
{
    *j = (Job){.runs = r, .spec = s};
    TRY(runs_name(&s->own, j->name));
    TRY(runs_directory(r->dir, &s->own, j->dir));
    return run_options(r->options, &s->own, &j->options);
}

int runs_spare(const Runs *r, const RunSpec *s)
{
    SCOPED(job_close) Job j = {0};
    TRY(job_open(&j, r, s));
    if (is_done(&j) || run_there(&j) == RERUN_SHORTER) return 0;
    return rerun_refuse(j.options, train_groups, s->stacks, r->checksum, j.dir, 0);
}

/* Sets the options that a study with --tune chooses itself to the first values of its grid. */
static int forget_tuned(const Options *o, Options *train)
{
    char part[32];
    for (const char *const *name = runs_tuned; *name; name++)
        if (runs_part(o, *name, 0, part)) TRY(options_set(train, OPTION_ARGUMENT, "", *name, part));
    return 0;
}

/* Makes the options of these groups that all runs of the study share; the seeds are the runs' own. */
static int study_options(const OptionGroup *const *groups, const Options *o, const Options *tunes,
                         Options **out)
{
    TRY(options_new(groups, out));
    if (options_known(*out, "seed")) TRY(options_set(*out, OPTION_ARGUMENT, "", "seed", "1"));
    TRY(forget_tuned(tunes, *out));
    return shared_options(o, 0, *out);
}

int runs_same_study(const Runs *r, const Options *there)
{
    SCOPED(options_drop) Options *old = NULL, *now = NULL;
    char words[OPTION_WORDS];
    TRY(study_options(train_groups, there, r->options, &old));
    TRY(study_options(train_groups, r->options, r->options, &now));
    if (rerun_options(now, old, words) != RERUN_OTHER) return 0;
    return error_set(ERR_INPUT,
                     "%s holds a study of other options (%s): give another --out, or remove %s "
                     "first",
                     r->dir, words, r->dir);
}

int runs_study(const OptionGroup *const *groups, const char *dir, Options **there)
{
    *there = NULL;
    return output_there(dir, "config.ini") ? rerun_config(groups, dir, there) : 0;
}

int runs_warmup(Options *o, const Options *there)
{
    if (options_rank(o, "warmup") != OPTION_DEFAULT || options_rank(there, "warmup") != OPTION_FILE)
        return 0;
    return options_set(o, OPTION_FILE, "", "warmup", options_text(there, "warmup"));
}

int runs_do(const Runs *r, const RunSpec *s, Frame *out, size_t row, int *state)
{
    SCOPED(job_close) Job j = {0};
    SCOPED(lease_drop) Lease claim = {.fd = -1};
    char path[OUTPUT_PATH];
    int mine;
    TRY(job_open(&j, r, s));
    *state = RUN_THERE;
    if (is_done(&j) && !output_there(j.dir, "claim")) return read_result(j.dir, out, row);
    TRY(output_directory(j.dir));
    TRY(output_path(path, j.dir, "claim"));
    TRY(lease_take(path, r->who, &claim, &mine));
    *state = RUN_BUSY;
    return mine ? do_claimed(&j, &claim, out, row, state) : 0;
}

int runs_look(const Runs *r, const RunSpec *s, Frame *out, size_t row, int *there)
{
    SCOPED(job_close) Job j = {0};
    char dir[OUTPUT_PATH];
    *there = 0;
    if (runs_directory(r->dir, &s->own, dir) != 0 || !output_there(dir, "result.csv")) return 0;
    TRY(job_open(&j, r, s));
    *there = is_done(&j);
    return *there ? read_result(j.dir, out, row) : 0;
}

static int plan_of(const Options *o, const RunSpec *s, Plan **out)
{
    BridgeOptions bridge = network_bridge(o);
    const Table *decoder = s->stacks.layers, *encoder = s->stacks.encoder;
    bridge.layers = spec_size(&s->own, "layers");
    bridge.encoder_layers = spec_size(&s->own, "encoder-layers");
    return encoder ? bridge_plan_pair(encoder, decoder, &bridge, out)
                   : bridge_plan(decoder, &bridge, out);
}

int runs_plan(const Options *o, const RunSpec *s, Plan **out)
{
    SCOPED(options_drop) Options *own = NULL;
    TRY(run_options(o, &s->own, &own));
    return plan_of(own, s, out);
}

int runs_model(const Options *o, const RunSpec *s, const Vocab *v, const Backend *b, Model **out)
{
    SCOPED(options_drop) Options *own = NULL;
    Plan *plan;
    char words[900], design[512];
    TRY(run_options(o, &s->own, &own));
    TRY(network_check(own));
    TRY(plan_of(own, s, &plan));
    int code = network_model_of(own, plan, v, b, 0, 0, out);
    if (code == 0) return 0;
    runs_design(&s->own, design);
    snprintf(words, sizeof words, "%s", error_text());
    return error_set(code, "%s: %s", design, words);
}

int runs_check(const Options *o, const RunSpec *s, const Vocab *v, const Backend *b,
               size_t *numbers)
{
    SCOPED(model_drop) Model *m = NULL;
    TRY(runs_model(o, s, v, b, &m));
    if (numbers) *numbers = model_size(m);
    return 0;
}

int runs_open(Runs *r)
{
    char path[OUTPUT_PATH], who[128];
    struct stat s;
    r->checksum = corpus_checksum(r->corpus);
    TRY(output_path(path, r->dir, "runs"));
    TRY(output_directory(path));
    snprintf(who, sizeof who, "%s", r->who);
    for (char *c = who; *c; c++)
        if (*c == ' ' || *c == '/') *c = '-';
    TRY(output_path(path, r->dir, "runs/.begun-%s", who));
    TRY(file_replace(path, "", 0));
    if (stat(path, &s) != 0) return error_set(ERR_SYSTEM, "%s: %s", path, strerror(errno));
    r->begun = s.st_mtim;
    unlink(path);
    return 0;
}

/* ---- logs ------------------------------------------------------------------------------------ */

int runs_log(const char *dir, const Spec *s, RunRow **row, size_t *rows)
{
    char run[OUTPUT_PATH], path[OUTPUT_PATH];
    SCOPED(frame_close) Frame c = {0};
    TRY(runs_directory(dir, s, run));
    TRY(output_path(path, run, "log.csv"));
    TRY(frame_read(&c, path));
    SCOPED(memory_drop) RunRow *list = memory_new(c.rows, sizeof *list);
    if (!list) return ERR_MEMORY;
    for (size_t i = 0; i < c.rows; i++) TRY(frame_record(&c, i, log_columns, &list[i]));
    *rows = c.rows;
    *row = list;
    list = NULL;
    return 0;
}
