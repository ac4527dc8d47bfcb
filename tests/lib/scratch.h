/* scratch.h: a temporary folder for one test program, the files in it, and the failing allocator. */
#ifndef TROTTER_TESTS_SCRATCH_H
#define TROTTER_TESTS_SCRATCH_H

#include <limits.h>
#include <unistd.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "tests/lib/test.h"

extern char folder[256];

int scratch_open(void **state);
int scratch_close(void **state); /* takes away all that is in it */

/* The number of files there; with `clear`, they are taken away. */
int scratch_files(int clear);

/* The path of a file there; eight may be in use at a time. */
const char *file_path(const char *name);
const char *file_write(const char *name, const void *bytes, size_t count);
const char *file_text(const char *name, const char *text);
int file_exists(const char *name);

/* "" where there is none; cut off after `bytes` - 1. */
void file_read(const char *name, char *text, size_t bytes);

/* A file as a whole, which must be there, a zero behind it; the caller frees it. bytes: NULL or its size. */
char *file_slurp(const char *name, size_t *bytes);

/* Whether two files there hold the same bytes. */
int same_files(const char *a, const char *b);

/* Runs job with its first allocation failing, then the second, ... until none of them is reached.
 * Returns how many failures it met, or -1: something leaked, or a failure ended in another code than
 * ERR_MEMORY or `also` (0, where a library in between gets by without the memory). */
int fail_each(int (*job)(void), int also);

#endif
