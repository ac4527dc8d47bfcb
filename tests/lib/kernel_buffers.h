/* kernel_buffers.h: all backends of this machine, device buffers with guards around them, and
 * comparison. */
#ifndef TROTTER_TESTS_KERNEL_BUFFERS_H
#define TROTTER_TESTS_KERNEL_BUFFERS_H

#include "kernels/backend.h"
#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "kernels/base/random.h"
#include "kernels/processor.h"
#include "tests/lib/backends.h"
#include "tests/lib/test.h"

static const char *const kernels[] = {PROCESSOR_SETS};
enum { KERNELS = sizeof kernels / sizeof *kernels };
static const Backend *backends[16];
static size_t backend_count;

/* Adds a backend. This names a missing kernel; all_backends_are_here names a missing backend. */
static inline void find_backend(const char *name, const char *kernel)
{
    if (backend_find(name, kernel, backends + backend_count) == 0)
        backend_count++;
    else if (kernel)
        printf("# skipped: %s\n", error_text());
}

/* Finds every tested backend, the processor's once for each kernel that it runs. Missing ones are named,
 * not passed over in silence. */
static inline int find_backends(void **state)
{
    (void)state;
    for (size_t i = 0; backend_name(i); i++) {
        const char *name = backend_name(i);
        int cpu = strncmp(name, "cpu-", 4) == 0;
        for (size_t k = 0; is_tested(name) && k < (cpu ? KERNELS : 1); k++)
            find_backend(name, cpu ? kernels[k] : NULL);
    }
    return backend_count == 0;
}

/* ---- buffers with guards around them, freed together ---------------------------------------------- */

enum { GUARD = 16, LIVE = 1024 };
static const double GUARD_VALUE = -77.25;

/* Memory that is in use: guarded numbers of a backend, bytes of one (n: UNGUARDED), or the host's (b NULL). */
#define UNGUARDED SIZE_MAX
static struct {
    const Backend *b;
    void *p;
    size_t n;
} live[LIVE];
static size_t lives;

static inline void *kept_live(const Backend *b, void *p, size_t n)
{
    assert_true(p && lives < LIVE);
    live[lives].b = b, live[lives].p = p, live[lives++].n = n;
    return p;
}

static inline void *buffer_new(const Backend *b, size_t n, const double *host)
{
    char *base = b->alloc(n + 2 * GUARD);
    assert_non_null(base);
    b->fill(base, GUARD_VALUE, n + 2 * GUARD);
    void *p = backend_at(b, base, GUARD);
    if (host)
        b->put(p, host, n);
    else
        b->fill(p, NAN, n);
    return kept_live(b, p, n);
}

static inline int guards_intact(const Backend *b, const void *p, size_t n)
{
    double guard[2 * GUARD];
    const char *base = (const char *)p - GUARD * b->size;
    b->get(guard, base, GUARD);
    b->get(guard + GUARD, backend_at(b, p, n), GUARD);
    for (size_t i = 0; i < 2 * GUARD; i++)
        if (guard[i] != GUARD_VALUE) return 0;
    return 1;
}

/* Frees all but the first `mark` that are in use, and checks the guards of each. */
static inline void free_to(size_t mark)
{
    while (lives > mark) {
        const Backend *b = live[--lives].b;
        char *p = live[lives].p;
        size_t n = live[lives].n;
        if (!b)
            memory_free(p);
        else if (n == UNGUARDED)
            b->release(p);
        else
            assert_true(guards_intact(b, p, n)), b->release(p - GUARD * b->size);
    }
}

static inline void free_scope(const size_t *mark)
{
    free_to(*mark);
}

/* Frees at the end of the block what becomes live in it. */
#define SCOPE_AT(line) \
    __attribute__((cleanup(free_scope), unused)) const size_t scope_##line = lives
#define SCOPE_OF(line) SCOPE_AT(line)
#define SCOPE SCOPE_OF(__LINE__)

/* Returns memory of a backend for n numbers, or for bytes that it is sent, without guards. */
static inline void *plain_new(const Backend *b, size_t n)
{
    return kept_live(b, b->alloc(n + 1), UNGUARDED);
}

static inline void *sent(const Backend *b, const void *host, size_t bytes)
{
    void *p = plain_new(b, backend_elements(b, bytes));
    b->send(p, host, bytes);
    return p;
}

static inline void *host_bytes(size_t n, size_t size)
{
    return kept_live(NULL, memory_new(n, size), n);
}

static inline double *host_new(size_t n)
{
    return host_bytes(n, sizeof(double));
}

static inline double *fetch(const Backend *b, const void *p, size_t n)
{
    double *x = host_new(n);
    b->get(x, p, n);
    return x;
}

/* Returns a number in (-1.5, 1.5) that float holds exactly. */
static inline double sample(uint64_t stream, uint64_t i)
{
    return (double)(float)(3 * random_uniform(1234, stream, i) - 1.5);
}

static inline double *host_random(size_t n, uint64_t stream)
{
    double *x = host_new(n);
    for (size_t i = 0; i < n; i++) x[i] = sample(stream, i);
    return x;
}

/* ---- comparison ----------------------------------------------------------------------------------- */

static inline double largest(const double *x, size_t n)
{
    double m = 0;
    for (size_t i = 0; i < n; i++) m = fmax(m, fabs(x[i]));
    return m;
}

/* Tells whether max |x - ref| <= tol; a NaN makes it false. */
static inline int near(const double *x, const double *ref, size_t n, double tol)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(x[i] - ref[i]) <= tol)) return 0;
    return 1;
}

static inline int same(const double *x, const double *y, size_t n)
{
    return memcmp(x, y, n * sizeof *x) == 0;
}

#endif
