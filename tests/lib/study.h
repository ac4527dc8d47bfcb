/* study.h: tests of commands that train many models (compare, sweep): a small corpus, cells of their CSV,
 * several processes at one directory. */
#ifndef TROTTER_TEST_STUDY_H
#define TROTTER_TEST_STUDY_H

#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/lib/program.h"

/* A corpus whose lines repeat, so that a few steps beat the frequencies of words. */
#define NETWORK                                                                     \
    " --width 8 --heads 2 --sequence 16 --batch-tokens 256 --rate 2e-2 --warmup 5 " \
    "--threads 1 "
#define MODEL NETWORK "--inner 16 --corpus text "
static char big[1 << 18];

static inline void write_corpus(const char *dir, const char *test)
{
    static const char *const split[] = {"train", "valid", "test"};
    static const char *const line[] = {"the cat sat on the mat\n", "a dog ran in the park\n",
                                       "in the park a cat ran\n", "the dog sat\n"};
    mkdir(file_path(dir), 0777);
    for (int i = 0; i < 3; i++) {
        char name[64];
        size_t n = 0;
        for (int k = 0; k < (i ? 40 : 400); k++)
            n += (size_t)snprintf(big + n, sizeof big - n, "%s", line[(k * k + k / 3 + i) % 4]);
        if (i == 2 && test) n = (size_t)snprintf(big, sizeof big, "%s", test);
        snprintf(name, sizeof name, "%s/%s.txt", dir, split[i]);
        file_write(name, big, n);
    }
}

/* Plots take longer than these trainings: after the first test there is no gnuplot. */
static inline int undrawn(void **state)
{
    (void)state;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", program);
    return snprintf(program, sizeof program, "env PATH=/nowhere %.4000s", path) < 0;
}

static inline void run_ok(const char *arguments)
{
    int status = program_run(arguments);
    if (status != 0) fail_msg("trotter %s: status %d: %s", arguments, status, err);
}

static inline int count_words(const char *text, const char *words)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, words)); at += strlen(words)) n++;
    return n;
}

/* Column of a CSV by its name, from 0. */
static inline int column(const char *csv, const char *name)
{
    int n = 0;
    size_t length = strlen(name);
    for (const char *at = csv; *at && *at != '\n'; n++) {
        size_t w = strcspn(at, ",\n");
        if (w == length && strncmp(at, name, w) == 0) return n;
        at += w + (at[w] == ',');
    }
    fail_msg("no column %s in %.300s", name, csv);
    return -1;
}

/* The named cell of the row that begins with `start`. */
static inline const char *cell(const char *csv, const char *start, const char *name)
{
    static char word[4][256];
    static int turn;
    char *w = word[turn++ % 4];
    int k = column(csv, name);
    const char *row = csv;
    while ((row = strchr(row, '\n')) && strncmp(++row, start, strlen(start)) != 0) {}
    if (!row) fail_msg("no row %s in %s", start, csv);
    for (; k > 0; k--) row += strcspn(row, ",") + 1;
    snprintf(w, sizeof word[0], "%.*s", (int)strcspn(row, ",\n"), row);
    return w;
}

static inline double number(const char *csv, const char *start, const char *name)
{
    const char *w = cell(csv, start, name);
    return *w ? strtod(w, NULL) : NAN;
}

static inline pid_t start(const char *arguments, const char *log)
{
    pid_t child = fork();
    if (child == 0) {
        char line[2 * PATH_MAX];
        snprintf(line, sizeof line, "cd %s && exec %s %s >%s.out 2>%s.err </dev/null", folder,
                 program, arguments, log, log);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    return child;
}

static inline int finish(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline void forget(const char *dir)
{
    char line[PATH_MAX + 32];
    snprintf(line, sizeof line, "rm -rf %s", file_path(dir));
    assert_int_equal(system(line), 0);
}

static inline void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

#endif
