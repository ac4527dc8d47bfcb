/* bench_script.c: a peer that is a script of its user's: run as a process, heard by its last line. */
#include "studies/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/error.h"

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

static int read_result(const char *file, const char *line, double *tokens_per_s)
{
    json_t *o = json_loads(line, 0, NULL), *x = json_object_get(o, "tokens_per_s");
    int found = json_is_number(x);
    if (found) *tokens_per_s = json_number_value(x);
    json_decref(o);
    return found ? 0 : error_set(ERR_INPUT, "%s: its last line has no tokens_per_s", file);
}

static int finish(const char *file, pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return error_set(ERR_SYSTEM, "waitpid: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    return error_set(ERR_INPUT, "%s: the script failed", file);
}

int bench_script(const char *file, int best, const char *const *args, double *tokens_per_s)
{
    const char *argv[ARGUMENTS] = {"env"};
    char line[LINE];
    size_t n = 1;
    int ends[2];
    pid_t child;
    for (size_t i = 0; best && i < TUNED; i++) argv[n++] = tuned[i];
    argv[n++] = interpreter();
    argv[n++] = file;
    for (size_t i = 0; args[i] && n + 1 < ARGUMENTS; i++) argv[n++] = args[i];
    if (pipe2(ends, O_CLOEXEC) != 0) return error_set(ERR_SYSTEM, "pipe: %s", strerror(errno));
    int code = start((char *const *)argv, ends[1], &child);
    close(ends[1]);
    if (code != 0) {
        close(ends[0]);
        return code;
    }
    code = hear(ends[0], line);
    TRY(finish(file, child));
    return code != 0 ? code : read_result(file, line, tokens_per_s);
}
