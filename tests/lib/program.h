/* program.h: runs the trotter beside a test program, in a temporary directory of the test's own. */
#ifndef TROTTER_TEST_PROGRAM_H
#define TROTTER_TEST_PROGRAM_H

#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/test.h"

static char program[PATH_MAX], folder[256];
static char out[1 << 18], err[1 << 14]; /* of the last run */

/* TROTTER names the program; without it, the one of the same build. */
static inline int program_open(void **state)
{
    (void)state;
    const char *name = getenv("TROTTER"), *tmp = getenv("TMPDIR");
    char beside[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", beside, sizeof beside - 32);
    beside[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(beside, '/');
    if (slash) strcpy(slash, "/../trotter");
    if (!realpath(name ? name : beside, program)) return -1;
    snprintf(folder, sizeof folder, "%s/trotter-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int program_close(void **state)
{
    (void)state;
    char line[sizeof folder + 8];
    snprintf(line, sizeof line, "rm -rf %s", folder);
    return system(line);
}

static inline const char *file_path(const char *name)
{
    static char path[4][PATH_MAX];
    static int turn;
    char *p = path[turn++ % 4];
    snprintf(p, PATH_MAX, "%s/%s", folder, name);
    return p;
}

static inline void file_write(const char *name, const void *bytes, size_t count)
{
    FILE *f = fopen(file_path(name), "wb");
    if (!f || fwrite(bytes, 1, count, f) != count || fclose(f) != 0) abort();
}

/* "" where there is none; cut off after `bytes` - 1. */
static inline void file_read(const char *name, char *text, size_t bytes)
{
    FILE *f = fopen(file_path(name), "rb");
    text[0] = '\0';
    if (!f) return;
    text[fread(text, 1, bytes - 1, f)] = '\0';
    fclose(f);
}

static inline int file_exists(const char *name)
{
    return access(file_path(name), F_OK) == 0;
}

/* Takes the result from the directory that `arguments` name last: train would spare it from other options. */
static inline void forget_result(const char *arguments)
{
    char name[256];
    const char *out_dir = NULL;
    for (const char *at = arguments; (at = strstr(at, "--out ")); at++) out_dir = at + 6;
    if (!out_dir) return;
    snprintf(name, sizeof name, "%.*s/result.csv", (int)strcspn(out_dir, " "), out_dir);
    unlink(file_path(name));
}

/* Exit status of `trotter ARGUMENTS` there; -1: it died. */
static inline int program_run(const char *arguments)
{
    char line[3 * PATH_MAX];
    snprintf(line, sizeof line, "cd %s && timeout 300 %s %s >out.txt 2>err.txt </dev/null", folder,
             program, arguments);
    int status = system(line);
    file_read("out.txt", out, sizeof out);
    file_read("err.txt", err, sizeof err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline int count_lines(const char *text)
{
    int n = 0;
    for (; *text; text++) n += *text == '\n';
    return n;
}

/* Whether the last run, of this status, said one line "trotter COMMAND: WORDS..." and no data. */
static inline int refused(int status, const char *command, const char *words)
{
    char begin[256];
    snprintf(begin, sizeof begin, "trotter %s: %s", command, words);
    return status == 2 && !*out && count_lines(err) == 1 && strncmp(err, begin, strlen(begin)) == 0;
}

#endif
