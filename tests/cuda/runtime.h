/* runtime.h: what the files of the stand-in share. */
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

/* What every call begins with: an injected failure or a kept fault; cudaSuccess otherwise. */
cudaError_t host_ready(void);
#define READY()                                   \
    do {                                          \
        cudaError_t ready_ = host_ready();        \
        if (ready_ != cudaSuccess) return ready_; \
    } while (0)

/* A fault: a line on stderr, kept by cuda_host_fault, and the code that every call returns now. */
cudaError_t host_fault(cudaError_t code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Allocates or dies: the stand-in's own memory is not what is tested. */
void *host_new(size_t bytes);

/* 1 where the address lies in memory of cudaMallocHost, n bytes of it. */
int host_pinned(const void *p, size_t n);

/* Takes work (data is owned from now on) and runs, keeps or records it. */
cudaError_t stream_submit(cudaStream_t stream, cudaError_t (*run)(const void *),
                          void (*drop)(void *), void *data);

/* Runs what waits. */
cudaError_t stream_flush(void);

/* For calls that are illegal while a stream captures: spoils the capture and says so. */
cudaError_t stream_forbid(void);
#define NOT_IN_CAPTURE()                            \
    do {                                            \
        cudaError_t forbid_ = stream_forbid();      \
        if (forbid_ != cudaSuccess) return forbid_; \
    } while (0)
int stream_captures(cudaStream_t stream);

/* Shared memory and the handler of illegal accesses; before anything can go wrong. */
void launch_set_up(void);

/* cuda_host_reset, of each file. */
void stream_reset(void);
void launch_reset(void);
void blas_reset(void);

enum { SHARED_PLAIN = 48 * 1024, SHARED_OPTIN = 163 * 1024 };

#endif
