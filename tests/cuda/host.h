/* host.h: switches and counts of the stand-in for the CUDA runtime (tests/cuda/runtime.c) that only tests may use. It
 * has one OS thread: nothing here or in the stand-in may be called from two threads at a time. */
#ifndef TROTTER_CUDA_HOST_H
#define TROTTER_CUDA_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "tests/cuda/cuda_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the order in which the threads of a block and the blocks of a grid run: forward, reverse, or (any other value)
 * drawn from this seed, anew at every barrier, warp collective and block. A right kernel gives the same in every order
 * (sums of floats by atomicAdd: up to rounding). */
enum { CUDA_HOST_FORWARD = 0, CUDA_HOST_REVERSE = 1 };
void cuda_host_order(uint64_t seed);

/* 0 (default): work runs when it is submitted. 1: work waits until the host synchronises, so that a
 * host that reads (or frees, or overwrites) pinned memory too early gets wrong values. */
void cuda_host_lazy(int on);

/* Chooses among the orders that streams and events allow for lazy work, and edges for the nodes of graphs: the order of
 * submission (default), or one in which the newest stream, or the oldest, goes ahead until it must wait. So work that
 * lacks an event comes too early, or the work that should wait for it does. */
typedef enum { CUDA_HOST_AS_SUBMITTED, CUDA_HOST_NEWEST, CUDA_HOST_OLDEST } CudaHostStreams;
void cuda_host_streams(CudaHostStreams first);

/* 1: cudaStreamWaitEvent has no effect; in a capture the stream joins, and no edge is made. */
extern int cuda_host_deaf;

/* How a tf32 product treats its factors: their lower 13 bits are cut off (default, the worst that a device may do),
 * rounded to nearest even; or, for controls, 16 bits are cut off. */
typedef enum { CUDA_HOST_TF32_CUT, CUDA_HOST_TF32_NEAREST, CUDA_HOST_TF32_COARSE } CudaHostTf32;
extern CudaHostTf32 cuda_host_tf32;

/* The machine, which tests change. No device: calls fail with cudaErrorNoDevice. No driver, or one of an older major
 * version than the runtime: cudaErrorInsufficientDriver. */
typedef struct {
    int devices, driver;     /* 1; 13000, which is 13.0, or 0: no driver */
    int arch;                /* 90 */
    size_t memory;           /* 4 GiB; cudaMalloc fails beyond */
    size_t fail_malloc;      /* k: the k-th cudaMalloc from now fails, 1: the next */
    cudaError_t fail_all;    /* every call fails with this: a lost device */
    cudaError_t fail_launch; /* every launch does: an unsupported architecture */
    int fail_blas; /* every product of cuBLAS, and its start, returns this cublasStatus_t */
    int fail_lt;   /* 1: cuBLASLt has no kernel for any shape */
    int refuse_lt; /* 1: cuBLASLt refuses the kernels that it has named */
    int begins;    /* the device that a thread has which has chosen none */
} CudaHost;
extern CudaHost cuda_host;

/* Returns the first fault as a line that names kernel, block, thread and place; "" if there was none. The line also
 * went to stderr, and every call fails with its code until cuda_host_reset. */
const char *cuda_host_fault(void);

/* Forgets faults, errors, pending work and an unfinished capture, and mends the machine. Order, laziness, deafness and
 * tf32 stay as they are; allocations, streams, events and graphs live on. */
void cuda_host_reset(void);

/* The graph that was made last: nodes, edges between them, nodes of other streams than the one that began the capture,
 * and kernels that are launched early. */
typedef struct {
    size_t nodes, edges, beside, early;
} CudaHostNodes;

/* Counts, since the program began but for what lives. */
typedef struct {
    size_t live, live_bytes;   /* device allocations */
    size_t launches, products; /* that ran */
    size_t sends;              /* copies to the device that cudaMemcpyAsync was asked for */
    size_t asked;              /* searches of cuBLASLt for a kernel */
    size_t bytes; /* of device memory that kernels and products asked for; only with bytes.c */
    CudaHostNodes graph;
} CudaSeen;
extern CudaSeen cuda_seen;

#ifdef __cplusplus
}
#endif
#endif
