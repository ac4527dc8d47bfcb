/* heap.h: the memory of the pretended device: a range of addresses for it alone. */
#ifndef TROTTER_CUDA_HOST_HEAP_H
#define TROTTER_CUDA_HOST_HEAP_H

#include <stddef.h>

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

/* heap_limit sets and heap_total returns the most bytes of all live allocations; heap_used
 * returns their bytes now, heap_live their number. */
void heap_limit(size_t bytes);
size_t heap_total(void);
size_t heap_used(void);
size_t heap_live(void);

#endif
