/* runtable_plan.c: reads contrasts from a plan, and asks git whether it was committed before the data. */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "studies/lab/table/runtable.h"
#include "studies/base/output.h"
#include "studies/base/process/sealed.h"

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
    SCOPED(memory_drop) char *text = NULL;
    char where[OUTPUT_PATH + 32];
    size_t bytes, line = 0, contrasts = 0;
    TRY(output_read(plan, &text, &bytes));
    for (char *rest = text, *at; (at = strsep(&rest, "\n"));) {
        snprintf(where, sizeof where, "%s:%zu:", plan, ++line);
        at = strip(at);
        if (!*at) continue;
        TRY(runtable_contrast(t, where, at, planned, out));
        contrasts++;
    }
    if (contrasts > 0) return 0;
    return error_set(ERR_INPUT, "%s: expected contrasts, one a line; there is none", plan);
}

/* ---- git ----------------------------------------------------------------------------------------- */

/* Starts git in a folder, with its output at *out. The folder may be a stranger's, whose settings name programs: for
 * objects that a partial clone lacks (a promisor remote `ext::COMMAND`, `remote.NAME.uploadpack`), hooks, filters, monitors
 * of files, signatures. Git is told to fetch nothing by any means and to see no repository that lies among a folder's files,
 * as a clone may hold a bare one with settings of its own. Whatever it would run nevertheless, the kernel refuses.
 * Sources: git(1), GIT_ALLOW_PROTOCOL, GIT_NO_LAZY_FETCH; git-config(1), safe.bareRepository. */
static int start(const char *dir, char *const argv[], int *out, pid_t *child)
{
    int end[2];
    setenv("GIT_ALLOW_PROTOCOL", "none",
           1); /* stands above protocol.NAME.allow, wherever that stands */
    setenv("GIT_NO_LAZY_FETCH", "1", 1);
    setenv("GIT_TERMINAL_PROMPT", "0", 1);
    if (pipe2(end, O_CLOEXEC) != 0) return -1;
    int failed = sealed_start(dir, end[1], argv, child);
    close(end[1]);
    if (failed) close(end[0]);
    *out = end[0];
    return failed;
}

enum { LINE = 128 };

/* Reads to the end; line (LINE) out: the last line, without its end. */
static void read_last(int from, char *line)
{
    FILE *f = fdopen(from, "r");
    *line = '\0';
    while (f && fgets(line, LINE, f)) {}
    line[strcspn(line, "\n")] = '\0';
    if (f) fclose(f);
    if (!f) close(from);
}

/* Runs git with these words, up to NULL, in a file's folder; '@' at a word's end stands for the file. Returns its exit
 * status, -1 where it cannot be run; line (LINE) out: the last of its output. */
static int git(const char *file, const char *const *words, char *line)
{
    char path[PATH_MAX], last[PATH_MAX + 16];
    char *argv[24] = {"git", "--literal-pathspecs", "--no-optional-locks", "-c",
                      "safe.bareRepository=explicit"};
    int n = 5, out, status = -1;
    pid_t child;
    if (!realpath(file, path)) return -1;
    char *name = strrchr(path, '/');
    *name++ = '\0';
    for (; *words; words++) {
        size_t end = strlen(*words) - 1;
        argv[n] = (char *)*words;
        if ((*words)[end] == '@') {
            snprintf(last, sizeof last, "%.*s./%s", (int)end, *words, name);
            argv[n] = last;
        }
        n++;
    }
    argv[n] = NULL;
    if (start(*path ? path : "/", argv, &out, &child) != 0) return -1;
    read_last(out, line);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Why git cannot tell when a plan was committed; NULL with *time. */
static const char *plan_time(const char *plan, long long *time)
{
    static const char *const log[] = {"log", "-1", "--no-show-signature", "--format=%ct", "--",
                                      "@",   NULL},
                             *const committed[] = {"rev-parse", "--verify", "HEAD:@", NULL},
                             *const present[] = {"hash-object", "--no-filters", "--", "@", NULL};
    char line[LINE], hash[LINE];
    int code = git(plan, log, line);
    if (code == -1) return "git cannot be run";
    if (code != 0) return "the plan is in no git repository with a commit";
    if (!*line) return "the plan has no commit";
    *time = atoll(line);
    int failed = git(plan, committed, line) != 0 || git(plan, present, hash) != 0;
    return failed || strcmp(line, hash) != 0 ? "the plan was changed since its commit" : NULL;
}

const char *runtable_planned(const RunTable *t, const char *plan, const char **why)
{
    static const char *const log[] = {
        "log", "--follow", "--no-show-signature", "--format=%ct", "--", "@", NULL};
    char line[LINE];
    long long wrote = 0;
    int early = 1;
    *why = plan_time(plan, &wrote);
    for (size_t f = 0; !*why && f < t->files; f++) {
        if (git(t->file[f].file, log, line) != 0 || !*line)
            *why = "a file of the data has no commit";
        early &= !*why && wrote < atoll(line); /* the last line is the first commit's */
    }
    return *why ? "not shown" : early ? "yes" : "no";
}
