/* memory.c: cudaMalloc and related calls, copies and fills: see tests/cuda/runtime.c. */
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/runtime.h"

typedef struct Pinned Pinned;
struct Pinned {
    Pinned *next;
    char *p;
    size_t bytes;
};

typedef struct {
    void *dst;
    const void *src; /* NULL: a fill with `value` */
    size_t bytes;
    int value;
} Copy;

static Pinned *pinned;

cudaError_t cudaMalloc(void **p, size_t bytes)
{
    *p = NULL;
    READY();
    NOT_IN_CAPTURE();
    if (bytes == 0) return cudaSuccess;
    if (cuda_host.fail_malloc && --cuda_host.fail_malloc == 0)
        return host_last(cudaErrorMemoryAllocation);
    launch_set_up();
    *p = heap_new(bytes);
    return host_last(*p ? cudaSuccess : cudaErrorMemoryAllocation);
}

/* Waits for the device, as cudaFree does. Memory of a lost device is still freed. */
cudaError_t cudaFree(void *p)
{
    cudaError_t e = host_ready();
    if (!p) return e;
    NOT_IN_CAPTURE();
    if (e == cudaSuccess) e = stream_flush();
    return heap_free(p) == 0 ? e : host_last(cudaErrorInvalidValue);
}

cudaError_t cudaMallocHost(void **p, size_t bytes)
{
    *p = NULL;
    READY();
    NOT_IN_CAPTURE();
    if (bytes == 0) return cudaSuccess;
    Pinned *new = host_new(sizeof *new);
    new->p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!new->p) {
        free(new);
        return host_last(cudaErrorMemoryAllocation);
    }
    memset(new->p, 0xff, bytes);
    new->bytes = bytes;
    new->next = pinned;
    pinned = new;
    *p = new->p;
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *p)
{
    cudaError_t e = host_ready();
    if (!p) return e;
    NOT_IN_CAPTURE();
    if (e == cudaSuccess) e = stream_flush();
    for (Pinned **at = &pinned; *at; at = &(*at)->next)
        if ((*at)->p == (char *)p) {
            Pinned *gone = *at;
            *at = gone->next;
            free(gone->p);
            free(gone);
            return e;
        }
    return host_last(cudaErrorInvalidValue);
}

int host_pinned(const void *p, size_t n)
{
    const char *at = p;
    for (const Pinned *q = pinned; q; q = q->next)
        if (at >= q->p && n <= q->bytes && at <= q->p + (q->bytes - n)) return 1;
    return 0;
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *total)
{
    READY();
    *total = cuda_host.memory;
    *left = cuda_host.memory - cuda_seen.live_bytes;
    return cudaSuccess;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Returns whether device addresses lie inside live allocations, both at submission and when the work
 * runs. */
static int sound(const Copy *c)
{
    return (!heap_owns(c->dst) || heap_holds(c->dst, c->bytes)) &&
           (!c->src || !heap_owns(c->src) || heap_holds(c->src, c->bytes));
}

static cudaError_t run_copy(const void *data)
{
    const Copy *c = data;
    if (!sound(c))
        return host_fault(cudaErrorIllegalAddress,
                          "a copy or fill of %zu bytes outside a device allocation", c->bytes);
    heap_open(c->dst);
    heap_open(c->src);
    if (c->src)
        memmove(c->dst, c->src, c->bytes);
    else
        memset(c->dst, c->value, c->bytes);
    heap_close();
    return cudaSuccess;
}

static cudaError_t check_copy(const Copy *c, cudaMemcpyKind kind)
{
    int to = heap_owns(c->dst), from = heap_owns(c->src);
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDeviceToDevice)
        return cudaErrorInvalidMemcpyDirection;
    if (!c->dst || !c->src || !sound(c)) return cudaErrorInvalidValue;
    int wants_to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    int wants_from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    return to == wants_to && from == wants_from ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t submit(Copy c, cudaStream_t stream)
{
    Copy *kept = host_new(sizeof *kept);
    *kept = c;
    return stream_submit(stream, run_copy, NULL, kept);
}

/* The call may return before or after a copy of pageable memory. Here it copies at once unless
 * captured. */
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    READY();
    Copy c = {.dst = dst, .src = src, .bytes = bytes};
    if (bytes == 0) return cudaSuccess;
    cudaError_t e = check_copy(&c, kind);
    if (e != cudaSuccess) return host_last(e);
    cuda_seen.sends += heap_owns(dst) && !heap_owns(src);
    int pageable = (!heap_owns(dst) && !host_pinned(dst, bytes)) ||
                   (!heap_owns(src) && !host_pinned(src, bytes));
    e = submit(c, stream);
    return e == cudaSuccess && pageable && !stream_captures(stream) ? stream_flush() : e;
}

cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream)
{
    READY();
    Copy c = {.dst = p, .bytes = bytes, .value = value};
    if (bytes == 0) return cudaSuccess;
    if (!heap_holds(p, bytes)) return host_last(cudaErrorInvalidValue);
    return submit(c, stream);
}
