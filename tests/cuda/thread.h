/* thread.h: one CUDA thread as kernels see it (through tests/cuda/device.h), and the events that it
 * may wait for. The scheduler is tests/cuda/block.c. */
#ifndef TROTTER_CUDA_HOST_THREAD_H
#define TROTTER_CUDA_HOST_THREAD_H

#include <stddef.h>

#include "tests/cuda/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    uint3 index;     /* threadIdx */
    unsigned linear; /* x + X (y + Y z) */
} CudaHostThread;

extern CudaHostThread *cuda_host_now; /* the running thread; NULL on the host */
extern uint3 cuda_host_block_index;
extern dim3 cuda_host_block_dim, cuda_host_grid_dim;
extern void *cuda_host_dynamic; /* dynamic shared memory, 16-byte aligned */

/* Waits for all threads of the block. All must stand at the same place in the source, and none may
 * have left. */
void cuda_host_barrier(const char *file, int line);

/* Operations of lanes on each other's words. arg: source lane, mask of xor. */
typedef enum { CUDA_HOST_SYNC, CUDA_HOST_SHUFFLE, CUDA_HOST_XOR } CudaHostWarp;

/* Waits for the lanes of `mask` that have not left, all with the same operation, mask and place. A lane that takes no
 * part counts as a word of all ones. */
unsigned long long cuda_host_warp(CudaHostWarp op, unsigned mask, unsigned long long value, int arg,
                                  const char *file, int line);

/* Ends the launch with a fault of this text (assertion, __trap). */
void cuda_host_trap(const char *file, int line) __attribute__((noreturn));

/* ---- launches, as CUDA_LAUNCH submits them ---- */
typedef struct {
    const char *name;
    const void *kernel;
    void (*thread)(const void *kernel, const void *args); /* runs one thread */
    void *args;                                           /* by value; freed by the stand-in */
    size_t args_bytes, shared;
    dim3 grid, block;
    int waits,
        early; /* waits: the kernel begins with CUDA_BEGIN; early: it may begin before the one behind which it is */
} CudaHostLaunch;

/* Waits for the kernel before. Until then a kernel that waits has no access to device memory. */
void cuda_host_wait(void);

/* Returns zeroed memory for arguments, freed after the launch. Dies when memory is short. */
void *cuda_host_args(size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
