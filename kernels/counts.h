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

/* One call: `call` is its name in backend.h; m, n, k are a product's; tensor: 1 where it runs at the rate of products;
 * copies: memory set or copied without a kernel. */
typedef struct {
    const char *call;
    int kind, tensor;
    size_t kernels, products, copies, m, n, k;
    double bytes, flops;
} CountedCall;

/* The calls of a step in order. `count` goes on beyond COUNTED_MOST, but no more are kept. */
enum { COUNTED_MOST = 4096 };
typedef struct {
    size_t count;
    CountedCall call[COUNTED_MOST];
} CountedList;

/* Returns the seconds of a call: `launch` for each kernel and product, plus the longer of bytes / bandwidth and
 * operations / rate. */
double counts_seconds(const CountedCall *c, const Speeds *s);

/* Returns the counting twin of cuda-f32, cuda-tf32 or cuda-bf16; NULL: another name. It lives as long as the program.
 * Buffers are only addresses: nothing may read or write them. Every sequence counts as long as the longest of its
 * batch; only the attention scores that are seen count. It serves one model at a time. */
const Backend *counts_backend(const char *name);

/* Begins anew: count (COUNTS) gets all calls until counts_end, *sends the copies from the host. Borrows all three.
 * Between them counts_list has the calls listed too, from now on; it borrows the list. */
void counts_begin(const Speeds *s, Count *count, size_t *sends);
void counts_list(CountedList *list);
void counts_end(void);

#endif
