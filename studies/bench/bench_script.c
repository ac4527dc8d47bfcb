/* bench_script.c: runs a user's script as a peer: as a process, whose result is on its last line. */
#include "studies/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "studies/base/progress.h"

extern char **environ;

enum { ARGUMENTS = 64, NUMBERS = 12, LINE = 4096 };

/* The tuned environment: a malloc that keeps freed pages (no page faults for the logits of each step), and one pool of
 * threads for torch and OpenBLAS. */
static const char *const tuned[] = {
    "MALLOC_MMAP_THRESHOLD_=4294967296", "MALLOC_TRIM_THRESHOLD_=17179869184",
    "MALLOC_TOP_PAD_=67108864",
    ("LD_PRELOAD=/usr/lib/x86_64-linux-gnu/openblas-openmp/libblas.so.3:"
     "/usr/lib/x86_64-linux-gnu/openblas-openmp/liblapack.so.3")};
enum { TUNED = sizeof tuned / sizeof *tuned };

/* The ways to run a script; the first of a processor and the last of a device run it as it stands. Those of a device begin with the
 * fastest on an H100 (studies/results/bench). best: in the environment above. core: with
 * OpenBLAS's kernels for that processor. On a processor newer than itself OpenBLAS may choose kernels that are slow by
 * a factor. Of these ways only the fastest is kept. */
#define CORETYPE "OPENBLAS_CORETYPE"
enum { WAY_ARGS = 4 };
static const struct {
    const char *name;
    int device, best;
    const char *core, *arg[WAY_ARGS];
} ways[SCRIPT_WAYS] = {
    {"stock", 0, 0, NULL, {0}},
    {"tuned", 0, 1, NULL, {0}},
    {"tuned-skylakex", 0, 1, CORETYPE "=SkylakeX", {0}},
    {"tuned-haswell", 0, 1, CORETYPE "=Haswell", {0}},
    {"tuned-zen", 0, 1, CORETYPE "=Zen", {0}},
    {"tuned-compile", 0, 1, NULL, {"--fused", "--compile", "--sdpa"}},
    {"fused-compile-graph-sdpa", 1, 0, NULL, {"--fused", "--compile", "--graph", "--sdpa"}},
    {"fused-graph-sdpa", 1, 0, NULL, {"--fused", "--graph", "--sdpa"}},
    {"fused-compile-graph", 1, 0, NULL, {"--fused", "--compile", "--graph"}},
    {"fused-compile-sdpa", 1, 0, NULL, {"--fused", "--compile", "--sdpa"}},
    {"fused-sdpa", 1, 0, NULL, {"--fused", "--sdpa"}},
    {"plain", 1, 0, NULL, {0}}};
enum { PLAIN_ON_DEVICE = SCRIPT_WAYS - 1 };

static int start(char *const *argv, int out, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    int failed = posix_spawnp(child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed ? error_set(ERR_SYSTEM, "%s: %s", argv[0], strerror(failed)) : 0;
}

/* Reads to the end and keeps the last line that is not empty. */
static int hear(int in, char last[LINE])
{
    char line[LINE];
    FILE *f = fdopen(in, "r");
    if (!f) return error_set(ERR_SYSTEM, "pipe: %s", strerror(errno));
    last[0] = '\0';
    while (fgets(line, sizeof line, f))
        if (line[0] != '\n') memcpy(last, line, sizeof line);
    fclose(f);
    return 0;
}

static int read_result(const char *file, const char *line, const char *key, double *value)
{
    json_t *o = json_loads(line, 0, NULL), *x = json_object_get(o, key);
    int found = json_is_number(x);
    if (found) *value = json_number_value(x);
    json_decref(o);
    return found ? 0 : error_set(ERR_INPUT, "%s: its last line has no %s", file, key);
}

static int finish(const char *file, const char *limit, pid_t child)
{
    enum { STOPPED = 124 }; /* by timeout */
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return error_set(ERR_SYSTEM, "waitpid: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == STOPPED)
        return error_set(ERR_INPUT, "%s: not done after %s s (--peer-limit)", file, limit);
    return error_set(ERR_INPUT, "%s: the script failed", file);
}

static int run_way(const char *file, const Backend *b, int w, const char *limit,
                   const char *const *args, const ScriptNumber *number, const char *key,
                   double *value)
{
    const char *argv[ARGUMENTS] = {"timeout", "-k", "5", limit, "env"},
               *type = strchr(b->name, '-');
    const char *python = getenv("PYTHON");
    char line[LINE], text[NUMBERS][24];
    size_t n = 5;
    int ends[2];
    pid_t child;
    for (size_t i = 0; ways[w].best && i < TUNED; i++) argv[n++] = tuned[i];
    if (ways[w].core) argv[n++] = ways[w].core;
    argv[n++] = python && *python ? python : "/usr/bin/python3"; /* which Debian's torch is of */
    argv[n++] = file;
    while (*args) argv[n++] = *args++;
    for (size_t i = 0; i < NUMBERS && number[i].name; i++) {
        snprintf(text[i], sizeof text[i], "%zu", number[i].value);
        argv[n++] = number[i].name, argv[n++] = text[i];
    }
    if (ways[w].device) argv[n++] = "--device", argv[n++] = "cuda";
    for (int i = 0; i < WAY_ARGS && ways[w].arg[i]; i++) argv[n++] = ways[w].arg[i];
    if (type && strcmp(type, "-tf32") == 0) argv[n++] = "--tf32";
    if (type && strcmp(type, "-bf16") == 0) argv[n++] = "--bf16";
    if (pipe2(ends, O_CLOEXEC) != 0) return error_set(ERR_SYSTEM, "pipe: %s", strerror(errno));
    int code = start((char *const *)argv, ends[1], &child);
    close(ends[1]);
    if (code != 0) {
        close(ends[0]);
        return code;
    }
    code = hear(ends[0], line);
    TRY(finish(file, limit, child));
    return code != 0 ? code : read_result(file, line, key, value);
}

/* Keeps the fastest of the tuned ways, by the first times, once each was run. */
static void keep_fastest(ScriptSpeed *s)
{
    int fastest = -1;
    for (int w = 0; w < SCRIPT_WAYS; w++)
        if (ways[w].best && s->speed[w].n &&
            (fastest < 0 || s->speed[w].x[0] > s->speed[fastest].x[0]))
            fastest = w;
    for (int w = 0; w < SCRIPT_WAYS; w++)
        if (ways[w].best && w != fastest) s->without[w] = 1;
}

static int run_ways(const Options *o, const Backend *b, const char *const *args,
                    const ScriptNumber *number, const char *key, ScriptSpeed *speed)
{
    const char *file = options_text(o, "peer");
    char limit[32];
    int device = bench_on_device(b), code = 0;
    size_t done = 0, most = device ? options_size(o, "peer-ways") : SCRIPT_WAYS;
    snprintf(limit, sizeof limit, "%zu", options_size(o, "peer-limit"));
    for (int w = 0; w < SCRIPT_WAYS && done < most; w++) {
        double value;
        int given = ways[w].core && getenv(CORETYPE); /* the user has named the kernels */
        if (ways[w].device != device || speed->without[w] || given) continue;
        code = run_way(file, b, w, limit, args, number, key, &value);
        if (code && !done && !device) return code;
        done += code == 0;
        speed->without[w] = code != 0;
        if (code) {
            progress_note("without %s: %s", ways[w].name, error_text());
            continue;
        }
        sample_add(&speed->speed[w], value);
        if (device) progress_note("%s: %.0f %s", ways[w].name, value, key);
    }
    return done ? 0 : code;
}

/* Runs the script. On a device this takes long, as it compiles, and gives a median, so it runs there only once. */
void script_run(BenchReport *out, const Options *o, const Backend *b, const char *const *args,
                const ScriptNumber *number, const char *key, ScriptSpeed *speed)
{
    if (speed->over) return;
    int code = run_ways(o, b, args, number, key, speed);
    if (code) bench_failed(out, code);
    speed->over = code != 0 || bench_on_device(b);
    keep_fastest(speed);
}

void script_close(ScriptSpeed *s)
{
    for (int w = 0; w < SCRIPT_WAYS; w++) sample_close(&s->speed[w]);
}

double script_plain(const ScriptSpeed *s, const Backend *b)
{
    int w = bench_on_device(b) ? PLAIN_ON_DEVICE : 0;
    return s->speed[w].q[1];
}

double script_best(const ScriptSpeed *s, const char **way)
{
    double best = NAN;
    for (int w = 0; w < SCRIPT_WAYS; w++)
        if (s->speed[w].n && !(s->speed[w].q[1] <= best)) {
            best = s->speed[w].q[1];
            if (way) *way = ways[w].name;
        }
    return best;
}

void script_rows(BenchReport *b, const char *variant, const char *prefix, const char *unit,
                 double own, const ScriptSpeed *s)
{
    for (int w = 0; w < SCRIPT_WAYS; w++) {
        double x = s->speed[w].q[1];
        if (isnan(x)) continue;
        bench_value(b, variant, x, unit, "%s.peer.%s", prefix, ways[w].name);
        bench_value(b, variant, own / x, "times", "%s.peer.%s.ratio", prefix, ways[w].name);
    }
}
