/* memory.c: aligned, zeroed, counted allocations; the counters are atomic, nothing else is shared.
 *
 * Large blocks ask for huge pages: the first touch costs a fifth, and products of large matrices miss
 * fewer translations. Where the system does not give them, nothing changes. */
#include "kernels/base/memory.h"
#include "kernels/base/error.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = 64, HUGE_PAGE = 2 << 20 };

static atomic_size_t live, calls, fail_at, refused;

static void *allocate(size_t bytes)
{
    size_t align = bytes < 8 * HUGE_PAGE ? LINE : HUGE_PAGE, whole = (bytes / align + 1) * align;
    void *p = aligned_alloc(align, whole);
    if (p && align == HUGE_PAGE) madvise(p, whole, MADV_HUGEPAGE);
    return p;
}

void *memory_new(size_t n, size_t size)
{
    size_t call = atomic_fetch_add(&calls, 1) + 1;
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX - HUGE_PAGE) {
        error_set(ERR_MEMORY, "out of memory: %zu objects of %zu bytes", n, size);
        return NULL;
    }
    void *p = call == atomic_load(&fail_at) ? NULL : allocate(bytes);
    if (!p) {
        atomic_fetch_add(&refused, 1);
        error_set(ERR_MEMORY, "out of memory: %zu bytes", bytes);
        return NULL;
    }
    atomic_fetch_add(&live, 1);
    return memset(p, 0, bytes);
}

void *memory_grow(void *p, size_t old, size_t n, size_t size)
{
    void *q = memory_new(n, size);
    if (!q) return NULL;
    if (p) memcpy(q, p, old * size);
    memory_free(p);
    return q;
}

int memory_more(void *list, size_t n, size_t size)
{
    void *p;
    if ((n & (n - 1)) != 0) return 0;
    memcpy(&p, list, sizeof p);
    p = memory_grow(p, n, n ? 2 * n : 1, size);
    if (!p) return ERR_MEMORY;
    memcpy(list, &p, sizeof p);
    return 0;
}

char *memory_string(const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = memory_new(n, 1);
    return copy ? memcpy(copy, s, n) : NULL;
}

void *memory_free(void *p)
{
    if (p) atomic_fetch_sub(&live, 1);
    free(p);
    return NULL;
}

void memory_free_list(size_t n, void *const p[])
{
    for (size_t i = 0; i < n; i++) memory_free(p[i]);
}

void memory_fail_at(size_t k)
{
    atomic_store(&fail_at, k ? atomic_load(&calls) + k : 0);
}

size_t memory_live(void)
{
    return atomic_load(&live);
}

size_t memory_refused(void)
{
    return atomic_load(&refused);
}

size_t memory_calls(void)
{
    return atomic_load(&calls);
}
