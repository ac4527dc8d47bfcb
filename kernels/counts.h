/* counts.h: a backend without a device. It computes nothing and counts what a CUDA backend would do: kernels, products,
 * copies from the host, bytes that must pass through the device's memory, and operations. Any size costs nothing.
 */
#ifndef TROTTER_COUNTS_H
#define TROTTER_COUNTS_H

#include "kernels/backend.h"

/* Kinds of calls, by purpose. */
enum {
    COUNT_PRODUCT,
    COUNT_ROUND, /* rounding of factors of products to bf16 */
    COUNT_ATTENTION,
    COUNT_NORM,
    COUNT_LINEAR,
    COUNT_BIAS,
    COUNT_EMBED,
    COUNT_LOSS,
    COUNT_ADAM,
    COUNT_SET, /* buffers filled and copied */
    COUNTS
};
extern const char *const count_names[COUNTS];

/* Totals over all calls of a kind since counts_begin. seconds follow from counts_begin's speeds. */
typedef struct {
    size_t calls, kernels, products;
    double bytes, flops, seconds;
} Count;

/* A device's numbers: bytes/s of its memory; FLOP/s of matrix products in the backend's precision, and of f32 elsewhere;
 * seconds from one kernel to the next. */
typedef struct {
    double bandwidth, products, vector, launch;
} Speeds;

/* Returns the counting twin of cuda-f32, cuda-tf32 or cuda-bf16; NULL: another name. It lives as long as the program.
 * Buffers are only addresses: nothing may read or write them. Every sequence counts as long as the longest of its
 * batch; only the attention scores that are seen count. It serves one model at a time. */
const Backend *counts_backend(const char *name);

/* Begins anew: count (COUNTS) gets all calls until counts_end, *sends the copies from the host. A call takes `launch`
 * for each kernel and product, plus the longer of bytes / bandwidth and operations / rate. Borrows both. */
void counts_begin(const Speeds *s, Count *count, size_t *sends);
void counts_end(void);

#endif
