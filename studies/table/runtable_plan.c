/* runtable_plan.c: reads contrasts from a plan, and asks git whether it was committed before the data. */
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/table/runtable.h"
#include "studies/tools/output.h"

/* Ends a line before its comment and before blanks at its end; returns its first letter. */
static char *strip(char *line)
{
    char *from = line + strspn(line, " \t");
    for (char *at = from; *at; at++)
        if (*at == '#' && (at == from || at[-1] == ' ' || at[-1] == '\t')) *at-- = '\0';
    for (size_t n = strlen(from); n > 0 && strchr(" \t\r", from[n - 1]);) from[--n] = '\0';
    return from;
}

int runtable_plan(const RunTable *t, const char *plan, const char *planned, Sheet *out)
{
    char *text, where[OUTPUT_PATH + 32];
    size_t bytes, line = 0, contrasts = 0;
    int code = 0;
    TRY(output_read(plan, &text, &bytes));
    for (char *rest = text, *at; code == 0 && (at = strsep(&rest, "\n"));) {
        snprintf(where, sizeof where, "%s:%zu:", plan, ++line);
        at = strip(at);
        if (!*at) continue;
        code = runtable_contrast(t, where, at, planned, out);
        contrasts++;
    }
    memory_free(text);
    if (code == 0 && contrasts == 0)
        return error_set(ERR_INPUT, "%s: expected contrasts, one a line; there is none", plan);
    return code;
}

/* ---- git ----------------------------------------------------------------------------------------- */

/* Starts git, with its output at *out; no shell reads the words. */
static int start(char *const argv[], int *out, pid_t *child)
{
    extern char **environ;
    int end[2];
    posix_spawn_file_actions_t act;
    if (pipe2(end, O_CLOEXEC) != 0) return -1;
    posix_spawn_file_actions_init(&act);
    posix_spawn_file_actions_addopen(&act, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&act, end[1], 1);
    posix_spawn_file_actions_addopen(&act, 2, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(child, "git", &act, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&act);
    close(end[1]);
    if (failed) close(end[0]);
    *out = end[0];
    return failed ? -1 : 0;
}

/* Runs git with these words, up to NULL, about a file, in its folder. Returns its exit status, -1 where it cannot be run;
 * *least out: the least number that it printed, LLONG_MAX without one. */
static int git(const char *file, const char *const *words, long long *least)
{
    char path[PATH_MAX], *argv[24] = {"git", "--literal-pathspecs",  "--no-optional-locks",
                                      "-c",  "core.fsmonitor=false", "-C"};
    int n = 6, out, status = -1;
    long long x;
    pid_t child;
    *least = LLONG_MAX;
    if (!realpath(file, path)) return -1;
    char *name = strrchr(path, '/');
    *name++ = '\0';
    argv[n++] = *path ? path : "/";
    while (*words) argv[n++] = (char *)*words++;
    argv[n++] = "--";
    argv[n] = name;
    if (start(argv, &out, &child) != 0) return -1;
    FILE *f = fdopen(out, "r");
    while (f && fscanf(f, "%lld", &x) == 1)
        if (x < *least) *least = x;
    if (f) fclose(f);
    if (!f) close(out);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const char *runtable_planned(const RunTable *t, const char *plan, const char **why)
{
    static const char *const last[] = {"log", "-1", "--no-show-signature", "--format=%ct", NULL},
                             *const all[] = {"log", "--follow", "--no-show-signature",
                                             "--format=%ct", NULL},
                             *const changed[] = {"diff",          "--quiet", "--no-ext-diff",
                                                 "--no-textconv", "HEAD",    NULL};
    long long wrote, first, none;
    int code = git(plan, last, &wrote), early = 1;
    *why = code == -1           ? "git cannot be run"
           : code != 0          ? "the plan is in no git repository with a commit"
           : wrote == LLONG_MAX ? "the plan has no commit"
                                : NULL;
    if (!*why && git(plan, changed, &none) != 0) *why = "the plan was changed since its commit";
    for (size_t f = 0; !*why && f < t->files; f++) {
        if (git(t->file[f].file, all, &first) != 0 || first == LLONG_MAX)
            *why = "a file of the data has no commit";
        early &= wrote < first;
    }
    return *why ? "not shown" : early ? "yes" : "no";
}
