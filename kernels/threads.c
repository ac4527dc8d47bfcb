/* threads.c: processors, and the address space that a thread costs (threads.h).
 *
 * OpenBLAS maps a buffer for each thread when it begins and another when the thread first calls it,
 * and asks again for ever where it gets none. libgomp and oneDNN end the process then, in different
 * ways. So a program that may be short of memory has to look before they do. A limit on address space
 * (ulimit -v) or on data (ulimit -d), and a system that promises no more memory than it has, all
 * refuse a large mapping. So this file tries one and reads no limit. */
#include "kernels/threads.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "kernels/base/error.h"

/* OpenBLAS 0.3.21, common_x86_64.h, BUFFER_SIZE; glibc 2.36, arena.c, HEAP_MAX_SIZE; Linux's stack. */
static const size_t buffer = 128 << 20, arena = 64 << 20, stack = 8 << 20;

int threads_processors(void)
{
    cpu_set_t mine;
    if (sched_getaffinity(0, sizeof mine, &mine) != 0) return 1;
    return CPU_COUNT(&mine) > 1 ? CPU_COUNT(&mine) : 1;
}

int threads_held(long asked)
{
    int processors = threads_processors();
    return asked <= THREADS_MOST || asked <= processors ? (int)asked : processors;
}

int threads_room(int n, size_t bytes)
{
    static atomic_int begun;
    int had = atomic_load(&begun);
    size_t threads = (size_t)n, more = n > had ? (size_t)(n - had) : 0;
    size_t all = threads * (buffer + arena + stack) + more * buffer + bytes;
    void *p =
        mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return error_set(ERR_MEMORY,
                         "out of memory: this needs another %zu MB of address space with %d "
                         "thread%s, and less is left (ulimit -v)%s",
                         all >> 20, n, n > 1 ? "s" : "",
                         n > 1 ? "; fewer threads need less (OMP_NUM_THREADS)" : "");
    munmap(p, all);
    if (n > had) atomic_store(&begun, n);
    return 0;
}
