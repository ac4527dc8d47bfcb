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

/* 1: cudaStreamWaitEvent has no effect; in a capture the stream joins, and no edge is made. Default 0. */
void cuda_host_deaf(int on);

/* Makes the k-th cudaMalloc from now fail with cudaErrorMemoryAllocation (1: the next, 0: none). */
void cuda_host_fail_malloc(size_t k);

/* Sets the bytes that the device has; cudaMalloc fails beyond. Default 4 GiB. */
void cuda_host_memory(size_t bytes);

/* Makes every call fail with this code from now on (cudaErrorECCUncorrectable, cudaErrorLaunchFailure: a lost device);
 * cudaSuccess: none fails. */
void cuda_host_fail_all(cudaError_t code);

/* Makes every kernel launch fail with this code (cudaErrorNoKernelImageForDevice: an unsupported architecture);
 * cudaSuccess: none fails. */
void cuda_host_fail_launch(cudaError_t code);

/* Makes every product of cuBLAS, and its start, return this status (a cublasStatus_t; 0: none fails). */
void cuda_host_fail_blas(int status);

/* 1: cuBLASLt has no kernel for any shape that it is asked for. cuda_host_asked counts how often it was asked. */
void cuda_host_fail_lt(int on);
size_t cuda_host_asked(void);

/* Chooses how a tf32 product treats its factors: their lower 13 bits are cut off (default, the worst that a device may
 * do), rounded to nearest even; or, for controls, 16 bits are cut off. */
typedef enum { CUDA_HOST_TF32_CUT, CUDA_HOST_TF32_NEAREST, CUDA_HOST_TF32_COARSE } CudaHostTf32;
void cuda_host_tf32(CudaHostTf32 how);

/* Sets the machine: number of devices, driver's version (13000 = 13.0; 0: no driver), architecture. No device: calls
 * fail with cudaErrorNoDevice. No driver, or one of an older major version than the runtime:
 * cudaErrorInsufficientDriver. Default 1, 13000; 9, 0. */
void cuda_host_device(int count, int driver);
void cuda_host_arch(int major, int minor);

/* Returns the first fault as a line that names kernel, block, thread and place; "" if there was none. The line also
 * went to stderr, and every call fails with its code until cuda_host_reset. */
const char *cuda_host_fault(void);

/* Forgets faults, errors, pending work and an unfinished capture, and ends every failure that was asked for
 * (malloc, memory, fail_all, fail_launch, fail_blas, device, arch). Order and laziness stay as they
 * are; allocations, streams, events and graphs live on. */
void cuda_host_reset(void);

/* Return counts: live device allocations and their bytes; launches and cuBLAS calls that ran
 * since the program began; copies from the host to the device that cudaMemcpyAsync was asked for. */
size_t cuda_host_live(void);
size_t cuda_host_live_bytes(void);
size_t cuda_host_launches(void);
size_t cuda_host_products(void);
size_t cuda_host_sends(void);

/* Counts the graph that was made last: nodes, edges between them, nodes of other streams than the one that began the
 * capture, and kernels that are launched early. */
typedef struct {
    size_t nodes, edges, beside, early;
} CudaHostNodes;
CudaHostNodes cuda_host_graph(void);

/* Returns the bytes of device memory that kernels and products asked for so far; only in programs with bytes.c. */
size_t cuda_host_bytes(void);

#ifdef __cplusplus
}
#endif
#endif
