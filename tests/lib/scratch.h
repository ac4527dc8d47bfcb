/* scratch.h: a temporary folder for one test program, and the failing allocator. */
#ifndef TROTTER_SCRATCH_H
#define TROTTER_SCRATCH_H

#include <dirent.h>
#include <unistd.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "tests/lib/test.h"

static char scratch[256];

static inline int scratch_open(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(scratch, sizeof scratch, "%s/trotter-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    return mkdtemp(scratch) ? 0 : -1;
}

/* Path of a file there; eight may be in use at a time. */
static inline const char *scratch_path(const char *name)
{
    static char path[8][1024];
    static int turn;
    char *p = path[turn++ % 8];
    snprintf(p, sizeof path[0], "%s/%s", scratch, name);
    return p;
}

static inline const char *scratch_write(const char *name, const void *bytes, size_t count)
{
    const char *path = scratch_path(name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, count, f) != count || fclose(f) != 0) abort();
    return path;
}

/* Number of files there; with `clear`, they are taken away. */
static inline int scratch_files(int clear)
{
    int n = 0;
    DIR *d = opendir(scratch);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        n++;
        if (clear) remove(scratch_path(e->d_name));
    }
    if (d) closedir(d);
    return n;
}

static inline int scratch_close(void **state)
{
    (void)state;
    scratch_files(1);
    return rmdir(scratch);
}

/* Runs job with its first allocation failing, then the second, ... until none of them is reached.
 * Returns how many failures it met, or -1: something leaked, or a failure ended in another code than
 * ERR_MEMORY or `also` (0, where a library in between gets by without the memory). */
static inline int fail_each(int (*job)(void), int also)
{
    size_t live = memory_live();
    for (size_t k = 1;; k++) {
        size_t calls = memory_calls();
        memory_fail_at(k);
        int code = job();
        memory_fail_at(0);
        if (memory_live() != live) return -1;
        if (memory_calls() - calls < k) return code == 0 ? (int)k - 1 : -1;
        if (code != ERR_MEMORY && code != also) return -1;
    }
}

#endif
