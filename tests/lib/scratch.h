/* scratch.h: a temporary folder for one test program, the files in it, and the failing allocator. */
#ifndef TROTTER_TESTS_SCRATCH_H
#define TROTTER_TESTS_SCRATCH_H

#include <limits.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "tests/lib/test.h"

extern char folder[256];

int scratch_open(void **state);
int scratch_close(void **state); /* removes all that is in it */

/* Counts the files and folders there. With `clear` it removes them, and what is in them. */
int scratch_files(int clear);

/* Returns the path of a file there. Eight paths may be in use at a time. */
const char *file_path(const char *name);
const char *file_write(const char *name, const void *bytes, size_t count);
const char *file_text(const char *name, const char *text);
int file_exists(const char *name);

/* Reads a file into text, cut off after `bytes` - 1. text is "" where there is no file. */
void file_read(const char *name, char *text, size_t bytes);

/* Reads a whole file, which must be there, and ends it with a zero. bytes: NULL or its size. path_slurp: of any path,
 * NULL where there is none. */
char *file_slurp(const char *name, size_t *bytes);
char *path_slurp(const char *path, size_t *bytes);

/* Keeps a text that malloc made, as file_slurp does with its own: it is there until the 1024th that is kept after
 * it, and nobody frees it. */
char *kept_text(char *text);
/* Returns (kept_text) what the statements write to `file`: WRITTEN(f, fputs("a", f)). */
#define WRITTEN(file, ...)                                          \
    __extension__({                                                 \
        char *written_text = NULL;                                  \
        size_t written_bytes;                                       \
        FILE *file = open_memstream(&written_text, &written_bytes); \
        assert_non_null(file);                                      \
        __VA_ARGS__;                                                \
        assert_int_equal(fclose(file), 0);                          \
        kept_text(written_text);                                    \
    })

/* Returns a formatted text. Sixteen may be in use at a time. */
const char *formed(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Tells whether two files there hold the same bytes. */
int same_files(const char *a, const char *b);

/* Fails the test unless the text has each of these parts, but none that stands behind a '~'. */
#define HAS(text, ...) text_has(#text, text, (const char *const[]){__VA_ARGS__, NULL})
void text_has(const char *what, const char *text, const char *const *parts);

/* Tells whether the last error's text has these words. */
int error_has(const char *words);

/* Runs statements, which set `code` and leave nothing allocated, with their first allocation failing, then the second,
 * ... until none of them is reached: FAILURES(ERR_MEMORY, OWN_BPE *b; code = bpe_read(file, &b)). Returns how many
 * failures they met, or -1: something leaked, or a failure ended in another code than ERR_MEMORY or `also` (0, where a
 * library in between manages without the memory). fail_each does the same with a function. */
#define FAILURES(also, ...)                                  \
    __extension__({                                          \
        Starved starved_ = {0};                              \
        for (int code = 0; starve(&starved_, code, also);) { \
            __VA_ARGS__;                                     \
        }                                                    \
        starved_.met;                                        \
    })
typedef struct {
    size_t tries, calls, live;
    int met;
} Starved;
int starve(Starved *s, int code, int also); /* ends a try and begins the next; 0: there is none */
int fail_each(int (*job)(void), int also);

#endif
