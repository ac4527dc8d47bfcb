/* bench_script.c: a peer that is a script of its user's: run as a process, heard by its last line. */
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

#include "kernels/error.h"
#include "studies/tools/progress.h"

extern char **environ;

enum { ARGUMENTS = 64, LINE = 4096 };

/* Debian's torch belongs to Debian's interpreter. */
static const char *interpreter(void)
{
    const char *name = getenv("PYTHON");
    return name && *name ? name : "/usr/bin/python3";
}

/* A malloc that keeps freed pages (no page faults for the logits of each step) and one pool of
 * threads for torch and OpenBLAS. */
static const char *const tuned[] = {
    "MALLOC_MMAP_THRESHOLD_=4294967296", "MALLOC_TRIM_THRESHOLD_=17179869184",
    "MALLOC_TOP_PAD_=67108864",
    "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/openblas-openmp/libblas.so.3:"
    "/usr/lib/x86_64-linux-gnu/openblas-openmp/liblapack.so.3"};
enum { TUNED = sizeof tuned / sizeof *tuned };

/* Ways to run a script; the first of a device is as it stands. best: in the environment above. core: with the kernels that
 * OpenBLAS has for it, as those that it chooses on a processor newer than itself may be slow by a factor; of these ways only
 * the fastest is gone on with. */
#define CORETYPE "OPENBLAS_CORETYPE"
enum { WAY_ARGS = 2 };
static const struct {
    const char *name;
    int device, best;
    const char *core, *arg[WAY_ARGS];
} ways[SCRIPT_WAYS] = {{"stock", 0, 0, NULL, {0}},
                       {"tuned", 0, 1, NULL, {0}},
                       {"tuned-skylakex", 0, 1, CORETYPE "=SkylakeX", {0}},
                       {"tuned-haswell", 0, 1, CORETYPE "=Haswell", {0}},
                       {"tuned-zen", 0, 1, CORETYPE "=Zen", {0}},
                       {"plain", 1, 0, NULL, {0}},
                       {"compile", 1, 0, NULL, {"--compile"}},
                       {"graph", 1, 0, NULL, {"--graph"}},
                       {"compile-sdpa", 1, 0, NULL, {"--compile", "--sdpa"}},
                       {"graph-sdpa", 1, 0, NULL, {"--graph", "--sdpa"}}};

/* A user who names the kernels is not asked again. */
static int is_given(int w)
{
    return ways[w].core && getenv(CORETYPE);
}

static int start(char *const *argv, int out, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    int failed = posix_spawnp(child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed ? error_set(ERR_SYSTEM, "%s: %s", argv[0], strerror(failed)) : 0;
}

/* The last line that is not empty; reads to the end. */
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

static int finish(const char *file, pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return error_set(ERR_SYSTEM, "waitpid: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    return error_set(ERR_INPUT, "%s: the script failed", file);
}

static int run_way(const char *file, const Backend *b, int w, const char *const *args,
                   const char *key, double *value)
{
    const char *argv[ARGUMENTS] = {"env"};
    char line[LINE];
    size_t n = 1, most = ARGUMENTS - WAY_ARGS - 5; /* and NULL */
    int ends[2];
    pid_t child;
    for (size_t i = 0; ways[w].best && i < TUNED; i++) argv[n++] = tuned[i];
    if (ways[w].core) argv[n++] = ways[w].core;
    argv[n++] = interpreter();
    argv[n++] = file;
    for (size_t i = 0; args[i] && n < most; i++) argv[n++] = args[i];
    if (ways[w].device) argv[n++] = "--device", argv[n++] = "cuda";
    for (int i = 0; i < WAY_ARGS && ways[w].arg[i]; i++) argv[n++] = ways[w].arg[i];
    if (strcmp(b->name, "cuda-tf32") == 0) argv[n++] = "--tf32";
    if (pipe2(ends, O_CLOEXEC) != 0) return error_set(ERR_SYSTEM, "pipe: %s", strerror(errno));
    int code = start((char *const *)argv, ends[1], &child);
    close(ends[1]);
    if (code != 0) {
        close(ends[0]);
        return code;
    }
    code = hear(ends[0], line);
    TRY(finish(file, child));
    return code != 0 ? code : read_result(file, line, key, value);
}

/* Once each was run, by the first time. */
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

int script_run(const char *file, const Backend *b, const char *const *args, const char *key,
               ScriptSpeed *speed)
{
    int device = bench_on_device(b);
    if (strstr(b->name, "bf16")) return 0;
    for (int w = 0, first = 1; w < SCRIPT_WAYS; w++) {
        double value;
        if (ways[w].device != device || speed->without[w] || is_given(w)) continue;
        int code = run_way(file, b, w, args, key, &value);
        if (code && first) return code;
        if (code) progress_note("without %s: %s", ways[w].name, error_text());
        speed->without[w] = code != 0;
        if (code == 0) sample_add(&speed->speed[w], value);
        first = 0;
    }
    keep_fastest(speed);
    return 0;
}

void script_close(ScriptSpeed *s)
{
    for (int w = 0; w < SCRIPT_WAYS; w++) sample_close(&s->speed[w]);
}

double script_plain(const ScriptSpeed *s, const Backend *b)
{
    int w = 0;
    while (ways[w].device != bench_on_device(b)) w++;
    return s->speed[w].q[1];
}

double script_best(const ScriptSpeed *s)
{
    double best = NAN;
    for (int w = 0; w < SCRIPT_WAYS; w++) best = fmax(best, s->speed[w].q[1]);
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
