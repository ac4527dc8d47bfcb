/* backends.h: the backends that a test loops over: all that this machine has, or, in programs linked
 * for it (tests/cuda), those of one device alone. */
#ifndef TROTTER_TESTS_BACKENDS_H
#define TROTTER_TESTS_BACKENDS_H

#include "kernels/backend.h"
#include "kernels/error.h"
#include "tests/lib/test.h"

/* How the names of the backends to be tested begin, where a program defines it; else all are. */
extern const char tested_prefix[] __attribute__((weak));

static inline int is_tested(const char *name)
{
    return !tested_prefix || strncmp(name, tested_prefix, strlen(tested_prefix)) == 0;
}

/* Name i of those that can be had, or NULL past the end. */
static inline const char *tested_backend(size_t i)
{
    const Backend *b;
    for (size_t k = 0; backend_name(k); k++) {
        const char *name = backend_name(k);
        if (is_tested(name) && backend_find(name, NULL, &b) == 0 && i-- == 0) return name;
    }
    return NULL;
}

/* A test that is skipped, with the reasons, where a backend cannot be had here. */
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
