/* runs.c: child processes of compare and what they leave behind. */
#include "studies/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "studies/command.h"
#include "studies/network.h"
#include "studies/output.h"

/* ---- where a run is, and whether it is done ------------------------------------------------------ */

static int run_directory(char out[OUTPUT_PATH], const char *dir, const Table *scheme, uint64_t seed)
{
    TRY(output_path(out, dir, "runs/%s-seed%llu", scheme->name, (unsigned long long)seed));
    for (char *c = out + strlen(dir) + strlen("/runs/"); *c; c++)
        if (*c == '/') *c = '_';
    return 0;
}

/* 1 where DIR/NAME holds exactly this text. */
static int holds(const char *dir, const char *name, const char *text)
{
    char path[OUTPUT_PATH], *now = NULL;
    size_t bytes;
    if (output_path(path, dir, "%s", name) != 0 || output_read(path, &now, &bytes) != 0) return 0;
    int same = strcmp(now, text) == 0;
    memory_free(now);
    return same;
}

static int exists(const char *dir, const char *name)
{
    char path[OUTPUT_PATH];
    return output_path(path, dir, "%s", name) == 0 && output_exists(path);
}

/* The corpus may have changed behind its name. */
static int same_corpus(const char *dir, const Corpus *c)
{
    char path[OUTPUT_PATH], *tokens;
    if (output_path(path, dir, "model.safetensors") != 0) return 0;
    if (store_meta(path, "corpus_tokens", &tokens) != 0) return 0;
    int same = strtoull(tokens, NULL, 10) == c->text[SPLIT_TRAIN].tokens;
    memory_free(tokens);
    return same;
}

/* train's options for this run. */
static int run_options(const Options *o, const Table *scheme, uint64_t seed, Options **out)
{
    const char *name, *text;
    char number[32];
    TRY(options_new(command_train.groups, out));
    for (size_t i = 0; options_recorded(o, i, &name, &text); i++)
        if (options_known(*out, name)) TRY(options_set(*out, OPTION_FILE, "", name, text));
    snprintf(number, sizeof number, "%llu", (unsigned long long)seed);
    TRY(options_set(*out, OPTION_ARGUMENT, "", "scheme", scheme->name));
    return options_set(*out, OPTION_ARGUMENT, "", "seed", number);
}

static int run_texts(const Options *o, const Table *scheme, uint64_t seed, char **config,
                     char **text)
{
    Options *t = NULL;
    int code = run_options(o, scheme, seed, &t);
    if (code == 0) code = network_config_text(t, config);
    if (code == 0) code = network_scheme_text(scheme, text);
    options_free(t);
    return code;
}

/* ---- the child ----------------------------------------------------------------------------------- */

/* Threads that wait in the kernel, not in a loop: on two busy cores a run was 4 to 10 times as fast so.
 * libgomp reads this before main begins, so that a program cannot set it for itself. */
static void wait_asleep(void)
{
    setenv("OMP_WAIT_POLICY", "passive", 0);
}

/* Its own process group: a Ctrl-C comes here first and is passed on once. */
static int spawn(char *const argv[], pid_t *child)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int failed = posix_spawn(child, command_program(), &files, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return failed ? error_set(ERR_SYSTEM, "%s: %s", command_program(), strerror(failed)) : 0;
}

static int wait_for(pid_t child)
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
        nanosleep(&pause, NULL);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    if (command_stop || (WIFEXITED(status) && WEXITSTATUS(status) == 130))
        return error_set(ERR_INTERRUPTED, "interrupted; the same command goes on from here");
    return error_set(ERR_CHECK, "a run failed");
}

static int run_train(const char *dir, int resume)
{
    char config[OUTPUT_PATH];
    pid_t child;
    wait_asleep();
    TRY(output_path(config, dir, "config.ini"));
    char *fresh[] = {(char[]){"trotter"},
                     (char[]){"train"},
                     (char[]){"--config"},
                     config,
                     (char[]){"--out"},
                     (char *)dir,
                     NULL};
    char *again[] = {(char[]){"trotter"}, (char[]){"train"}, (char[]){"--resume"},
                     (char[]){"--out"},   (char *)dir,       NULL};
    TRY(spawn(resume ? again : fresh, &child));
    return wait_for(child);
}

/* ---- results ------------------------------------------------------------------------------------- */

static int read_result(const char *dir, RunResult *r)
{
    char path[OUTPUT_PATH], *text;
    size_t bytes;
    TRY(output_path(path, dir, "result.csv"));
    TRY(output_read(path, &text, &bytes));
    const char *row = strchr(text, '\n');
    int n =
        row ? sscanf(row + 1, "%*[^,],%*[^,],%lf,%*[^,],%lf,%lf,%lf,%lf,%lf", &r->params,
                     &r->best_epoch, &r->valid_ppl, &r->test_ppl, &r->tokens_per_s, &r->peak_bytes)
            : 0;
    memory_free(text);
    return n == 6 ? 0 : error_set(ERR_INPUT, "%s: not a result of train", path);
}

static int train_one(const char *dir, const char *config, const char *scheme, const Corpus *c,
                     int *skipped)
{
    char path[OUTPUT_PATH];
    int same = holds(dir, "config.ini", config) && holds(dir, "scheme.txt", scheme);
    *skipped = same && exists(dir, "result.csv") && same_corpus(dir, c);
    if (*skipped) return 0;
    TRY(output_directory(dir));
    TRY(output_path(path, dir, "config.ini"));
    TRY(store_write(path, config, strlen(config)));
    return run_train(dir, same && exists(dir, "state.safetensors") && !exists(dir, "result.csv"));
}

int runs_train(const Options *o, const Table *scheme, uint64_t seed, const Corpus *c,
               const char *dir, RunResult *out, int *skipped)
{
    char run[OUTPUT_PATH], *config = NULL, *text = NULL;
    TRY(run_directory(run, dir, scheme, seed));
    int code = run_texts(o, scheme, seed, &config, &text);
    if (code == 0) code = train_one(run, config, text, c, skipped);
    if (code == 0) code = read_result(run, out);
    memory_free(config);
    memory_free(text);
    return code;
}

/* The next field of a CSV line without quotes, as a number; NaN for an empty one. */
static double next_number(char **line)
{
    char *field = strsep(line, ",");
    return field && *field ? strtod(field, NULL) : NAN;
}

int runs_log(const Table *scheme, uint64_t seed, const char *dir, RunRow **row, size_t *rows)
{
    char run[OUTPUT_PATH], path[OUTPUT_PATH], *text;
    size_t bytes, lines = 0;
    TRY(run_directory(run, dir, scheme, seed));
    TRY(output_path(path, run, "log.csv"));
    TRY(output_read(path, &text, &bytes));
    for (size_t i = 0; i < bytes; i++) lines += text[i] == '\n';
    *rows = 0;
    *row = memory_new(lines, sizeof **row);
    char *rest = text;
    strsep(&rest, "\n"); /* the header */
    for (char *line; *row && rest && *rest && (line = strsep(&rest, "\n"));) {
        RunRow *r = &(*row)[(*rows)++];
        r->step = next_number(&line);
        r->epoch = next_number(&line);
        r->tokens = next_number(&line);
        r->train_loss = next_number(&line);
        r->valid_ppl = next_number(&line);
    }
    memory_free(text);
    return *row ? 0 : ERR_MEMORY;
}
