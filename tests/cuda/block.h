/* block.h: the threads of one block, as fibres: the order in which they run, barriers, warps, and
 * faults. */
#ifndef TROTTER_CUDA_HOST_BLOCK_H
#define TROTTER_CUDA_HOST_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "tests/cuda/thread.h"

/* Returns the order of threads and blocks; see cuda_host_order. block_random draws below n >= 1 from the same
 * sequence. */
uint64_t block_order_now(void);
uint32_t block_random(uint32_t n);

/* Runs all threads of the block `index` of a launch. Returns NULL, or the fault as a line that is
 * borrowed until the next call (divergence, a trap, an illegal access that block_fault
 * reported). */
const char *block_run(const CudaHostLaunch *launch, uint3 index);

/* Returns 1 where a kernel's thread is running. */
int block_inside(void);

/* Gives up the running thread from a signal handler: keeps the text as the launch's fault and tells
 * where to continue (a function and its stack). */
void block_fault(const char *text, uintptr_t *instruction, uintptr_t *stack);

/* Returns 1 where the address lies just below the running thread's stack. */
int block_overflowed(const void *address);

/* Writes "kernel NAME, block (x,y,z), thread (x,y,z)" of the running thread into text. */
void block_place(char *text, size_t bytes);

#endif
