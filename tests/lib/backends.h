/* backends.h: the backends that a test loops over. These are all that this machine has, or those of
 * one device alone in programs linked for it (tests/cuda). */
#ifndef TROTTER_TESTS_BACKENDS_H
#define TROTTER_TESTS_BACKENDS_H

#include <float.h>

#include "kernels/backend.h"
#include "kernels/base/error.h"
#include "tests/lib/test.h"

/* The beginning of the names of the backends to be tested. Where no program defines it, all are
 * tested. */
extern const char tested_prefix[] __attribute__((weak));

static inline int is_tested(const char *name)
{
    return !tested_prefix || strncmp(name, tested_prefix, strlen(tested_prefix)) == 0;
}

/* Returns the i-th name of the tested backends that are here, or NULL past the end. */
static inline const char *tested_backend(size_t i)
{
    const Backend *b;
    for (size_t k = 0; backend_name(k); k++) {
        const char *name = backend_name(k);
        if (is_tested(name) && backend_find(name, NULL, &b) == 0 && i-- == 0) return name;
    }
    return NULL;
}

/* Tells whether models on a backend are tested with those on another: on the stand-in cuda-tf32 makes the calls of
 * cuda-f32. test_device.c has both. */
static inline int is_alike(const char *name)
{
    return tested_prefix && strcmp(name, "cuda-tf32") == 0;
}

static inline double eps_of(const Backend *b)
{
    return b->size == 4 ? (double)FLT_EPSILON : DBL_EPSILON;
}

/* Skips the test and prints the reasons where a tested backend is not here. */
static inline void all_backends_are_here(void **state)
{
    (void)state;
    const Backend *b;
    int missing = 0;
    for (size_t k = 0; backend_name(k); k++) {
        if (!is_tested(backend_name(k)) || backend_find(backend_name(k), NULL, &b) == 0) continue;
        printf("# skipped: %s\n", error_text());
        missing = 1;
    }
    if (missing) skip();
}

#endif
