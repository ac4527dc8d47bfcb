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

/* Allocates or dies: the stand-in's own memory is not under test. */
void *host_new(size_t bytes);

/* Returns 1 where n bytes from the address lie in memory of cudaMallocHost. */
int host_pinned(const void *p, size_t n);

/* Takes work, which owns data from now on, and runs, keeps or records it. */
cudaError_t stream_submit(cudaStream_t stream, cudaError_t (*run)(const void *),
                          void (*drop)(void *), void *data);

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

/* cuda_host_reset calls these, one for each file. */
void stream_reset(void);
void launch_reset(void);
void blas_reset(void);

enum { SHARED_MOST = 48 * 1024 }; /* bytes of dynamic shared memory */

#endif
