/* runtime.h: declarations that the files of the stand-in share. */
#ifndef TROTTER_CUDA_HOST_PRIVATE_H
#define TROTTER_CUDA_HOST_PRIVATE_H

#include "tests/cuda/host.h"

/* A piece of submitted work: run may be called many times (graphs), drop once. */
typedef struct Work Work;
struct Work {
    Work *next;
    cudaError_t (*run)(const void *data);
    void (*drop)(void *data); /* NULL: nothing to do */
    void *data;               /* allocated; freed after drop */
    cudaStream_t stream;
    cudaEvent_t after; /* waits for so many of its records; NULL: for nothing */
    size_t ticket;
    Work **after_nodes; /* in a graph: nodes that come before it */
    size_t afters;
    int followed, ran;
};

/* Remembers a failure for cudaGetLastError; returns it. */
cudaError_t host_last(cudaError_t e);

/* Returns an injected failure or a kept fault, cudaSuccess otherwise. Every call begins with
 * it. */
cudaError_t host_ready(void);
#define READY()                                   \
    do {                                          \
        cudaError_t ready_ = host_ready();        \
        if (ready_ != cudaSuccess) return ready_; \
    } while (0)

/* Reports a fault: prints a line on stderr, which cuda_host_fault keeps, and returns the code that
 * every call returns from now on. */
cudaError_t host_fault(cudaError_t code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns the device of the calling thread: the one that it chose, or cuda_host.begins. */
int host_device(void);

/* Allocates or dies: the stand-in's own memory is not under test. */
void *host_new(size_t bytes);

/* Returns 1 where n bytes from the address lie in memory of cudaMallocHost. */
int host_pinned(const void *p, size_t n);

/* Takes work, which owns data from now on, and runs, keeps or records it. */
cudaError_t stream_submit(cudaStream_t stream, cudaError_t (*run)(const void *),
                          void (*drop)(void *), void *data);

/* Tells whether the last work of a stream is a kernel, behind which another may be launched early; stream_launched: it
 * is now, launched early or not. */
int stream_takes_early(cudaStream_t stream);
void stream_launched(cudaStream_t stream, int early);

/* Runs the waiting work. */
cudaError_t stream_flush(void);

/* Spoils a capture and says so: for calls that are illegal while a stream captures. */
cudaError_t stream_forbid(void);
#define NOT_IN_CAPTURE()                            \
    do {                                            \
        cudaError_t forbid_ = stream_forbid();      \
        if (forbid_ != cudaSuccess) return forbid_; \
    } while (0)
int stream_captures(cudaStream_t stream);

/* Sets up shared memory and the handler of illegal accesses, before anything can go wrong. */
void launch_set_up(void);

/* Drops waiting work and an unfinished capture. */
void stream_reset(void);

enum { SHARED_MOST = 48 * 1024 }; /* bytes of dynamic shared memory */

/* ---- heap.c: the memory of the pretended device: a range of addresses for it alone ---- */

/* Returns `bytes` that end (rounded up to 256) at an inaccessible page, filled with 0xff (NaN as
 * float, double and bfloat16), 256-byte aligned; NULL when the device is full. */
void *heap_new(size_t bytes);

/* Frees memory of heap_new; its addresses are never given again. -1: no such allocation. */
int heap_free(void *p);

/* Returns 1 where all bytes lie in one live allocation. n = 0: also one past its end. */
int heap_holds(const void *p, size_t n);

/* Returns 1 where the address belongs to the device's range, allocated or not. */
int heap_owns(const void *p);

/* Writes a text like "16 bytes past the end of a device allocation of 1024 bytes" for an address
 * of the range. */
void heap_describe(const void *p, char *text, size_t bytes);

/* Opens the live allocation whose pages hold p to the processor; returns 1 where it
 * was shut. heap_close shuts all again. */
int heap_open(const void *p);
void heap_close(void);

/* Returns the address of an open allocation whose margins were written to, or NULL; call it
 * before heap_close. */
const void *heap_spoiled(void);

#endif
