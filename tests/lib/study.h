/* study.h: parts for tests of commands that train many models (compare, sweep): a small corpus, cells of
 * their CSV, files with words replaced, several processes in one directory. */
#ifndef TROTTER_TEST_STUDY_H
#define TROTTER_TEST_STUDY_H

#include "tests/lib/program.h"

#define NETWORK                                                                     \
    " --width 8 --heads 2 --sequence 16 --batch-tokens 256 --rate 2e-2 --warmup 5 " \
    "--threads 1 "
#define MODEL NETWORK "--inner 16 --corpus text "
static char big[1 << 18];

/* Writes a corpus. `test` replaces test.txt unless it is NULL. */
static inline void write_corpus(const char *dir, const char *test)
{
    corpus_write(dir, 400, 40);
    if (test) file_text(formed("%s/test.txt", dir), test);
}

/* Returns the named cell of the row that begins with `start`. */
static inline const char *cell(const char *csv, const char *start, const char *name)
{
    return cell_of(csv, row_of(csv, start), name);
}

static inline double number(const char *csv, const char *start, const char *name)
{
    return number_in(csv, row_of(csv, start), name);
}

/* Checks that a study's log says something so many times. */
static inline void must_count(const char *dir, const char *words, int times)
{
    file_read(formed("%s/study.log", dir), big, sizeof big);
    int n = count_words(big, words);
    if (n != times) fail_msg("'%s' %d times, not %d: %s", words, n, times, big);
}

static inline pid_t start(const char *arguments, const char *log)
{
    return shell_start(log, "%s %s", program, arguments);
}

static inline void forget(const char *dir)
{
    shell_ok("rm -rf %s", dir);
}

/* Opens the folder and writes a corpus there, `text`. */
static inline int study_open(void **state)
{
    if (program_open(state) != 0) return -1;
    write_corpus("text", NULL);
    return 0;
}

/* Replaces the words `was` of a file by `is`. */
static inline void spoil(const char *name, const char *was, const char *is)
{
    static char old[1 << 14], new[1 << 14];
    file_read(name, old, sizeof old);
    char *at = strstr(old, was);
    assert_non_null(at);
    int n = snprintf(new, sizeof new, "%.*s%s%s", (int)(at - old), old, is, at + strlen(was));
    file_write(name, new, (size_t)n);
}

#endif
