/* block.h: the threads of one block, as fibres: who runs next, barriers, warps, what goes wrong. */
#ifndef TROTTER_CUDA_HOST_BLOCK_H
#define TROTTER_CUDA_HOST_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "tests/cuda/thread.h"

/* Order of threads and blocks; see cuda_host_order. block_random is a draw below n >= 1 from the
 * same sequence. */
void block_order(uint64_t seed);
uint64_t block_order_now(void);
uint32_t block_random(uint32_t n);

/* Runs all threads of the block `index` of a launch. NULL, or what was wrong: a line borrowed until
 * the next call (divergence, a trap, an illegal access that block_fault reported). */
const char *block_run(const CudaHostLaunch *launch, uint3 index);

/* Is a kernel's thread running? */
int block_inside(void);

/* From a signal handler, inside: keeps the text as the launch's fault and tells where to continue
 * (a function and its stack) so that the thread is given up. */
void block_fault(const char *text, uintptr_t *instruction, uintptr_t *stack);

/* 1 where the address lies just below the running thread's stack. */
int block_overflowed(const void *address);

/* "kernel NAME, block (x,y,z), thread (x,y,z)" of the running thread, into text. */
void block_place(char *text, size_t bytes);

size_t block_switches(void);

#endif
