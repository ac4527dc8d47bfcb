/* cli.h: runs the program as a user does, in a temporary directory, with files beside it; judges what
 * it says. The program is the one named by TROTTER (default build/trotter). */
#ifndef TROTTER_TEST_CLI_H
#define TROTTER_TEST_CLI_H

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/test.h"

static char program[4096]; /* absolute */
static char scratch[64] = "/tmp/trotter-cli-XXXXXX";

/* ---- running the program ------------------------------------------------------------------------- */

typedef struct {
    int status;
    char *out, *err; /* stdout, stderr */
} Outcome;

static inline char *slurp(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = NULL;
    size_t n = 0, got;
    do {
        text = realloc(text, n + 65536 + 1);
        assert_non_null(text);
        got = fread(text + n, 1, 65536, f);
        n += got;
    } while (got == 65536);
    fclose(f);
    text[n] = '\0';
    if (bytes) *bytes = n;
    return text;
}

/* `before` (shell words such as "ulimit -f 8;"), then the program with `args`, in the scratch
 * directory. */
static inline Outcome shell(const char *before, const char *args)
{
    char line[8192];
    int n = snprintf(line, sizeof line, "cd %s && { %s %s %s ; } >out.txt 2>err.txt </dev/null",
                     scratch, before, program, args);
    assert_in_range(n, 1, (int)sizeof line - 1);
    int status = system(line);
    assert_true(WIFEXITED(status));
    char path[128];
    Outcome o = {WEXITSTATUS(status), NULL, NULL};
    snprintf(path, sizeof path, "%s/out.txt", scratch);
    o.out = slurp(path, NULL);
    snprintf(path, sizeof path, "%s/err.txt", scratch);
    o.err = slurp(path, NULL);
    return o;
}

static inline Outcome run(const char *args)
{
    return shell("", args);
}

static inline void drop(Outcome *o)
{
    free(o->out);
    free(o->err);
}

static inline size_t lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++) n += *text == '\n';
    return n;
}

static inline const char *last_line(const char *text)
{
    const char *at = text;
    for (const char *c = text; *c; c++)
        if (*c == '\n' && c[1]) at = c + 1;
    return at;
}

/* Fails with what the program said. */
static inline void expect(const Outcome *o, int status, const char *args)
{
    if (o->status != status)
        fail_msg("'%s': status %d, not %d; stderr: %s", args, o->status, status, o->err);
}

static inline void run_ok(const char *args)
{
    Outcome o = run(args);
    expect(&o, 0, args);
    drop(&o);
}

/* ---- files --------------------------------------------------------------------------------------- */

static inline const char *at(const char *name)
{
    static char path[4][512];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", scratch, name);
    return path[next];
}

static inline void write_file(const char *name, const char *text, size_t bytes)
{
    FILE *f = fopen(at(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
}

static inline void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

static inline int same_files(const char *a, const char *b)
{
    size_t m, n;
    char *x = slurp(at(a), &m), *y = slurp(at(b), &n);
    int same = m == n && memcmp(x, y, m) == 0;
    free(x);
    free(y);
    return same;
}

static inline int exists(const char *name)
{
    return access(at(name), F_OK) == 0;
}

static inline void copy_file(const char *from, const char *to)
{
    size_t n;
    char *text = slurp(at(from), &n);
    write_file(to, text, n);
    free(text);
}

/* A small corpus whose lines repeat, so that a few steps beat the frequencies of words. */
static inline void write_corpus(const char *dir, const char *extra)
{
    static const char *const split[] = {"train", "valid", "test"};
    static const char *const line[] = {"the cat sat on the mat", "a dog ran in the park",
                                       "in the park a cat ran", "the dog sat"};
    mkdir(at(dir), 0777);
    for (int i = 0; i < 3; i++) {
        char name[256], text[65536] = "";
        size_t n = 0;
        for (int k = 0; k < (i ? 60 : 600); k++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s\n", line[(k * k + k / 3 + i) % 4]);
        if (i == 1) snprintf(text + n, sizeof text - n, "%s", extra);
        snprintf(name, sizeof name, "%s/%s.txt", dir, split[i]);
        write_text(name, text);
    }
}

#define TINY_NETWORK \
    " --width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 256 --rate 1e-2 --threads 1 "
#define TINY TINY_NETWORK "--warmup 10 "

/* ---- judging what it says ------------------------------------------------------------------------ */

/* Status 2, nothing on stdout, one line on stderr that begins with the program's name and has the
 * given words. 0: not so. */
static inline int refused(const Outcome *o, const char *words)
{
    return o->status == 2 && !*o->out && lines(o->err) == 1 && strncmp(o->err, "trotter", 7) == 0 &&
           strstr(o->err, words) != NULL;
}

static inline void must_refuse(const char *args, const char *words)
{
    Outcome o = run(args);
    if (!refused(&o, words))
        fail_msg("'%s': status %d, stdout '%.80s', stderr '%s', expected '%s'", args, o.status,
                 o.out, o.err, words);
    drop(&o);
}

/* ---- a group's set-up and tear-down ---------------------------------------------------------------- */

static inline int cli_begin(void **state)
{
    (void)state;
    const char *name = getenv("TROTTER");
    if (!realpath(name ? name : "build/trotter", program)) return -1;
    return mkdtemp(scratch) ? 0 : -1;
}

static inline int cli_end(void **state)
{
    (void)state;
    char line[128];
    snprintf(line, sizeof line, "rm -rf %s", scratch);
    return system(line);
}

#endif
