/* runtime.c: the CUDA runtime without a device: errors and devices.
 *
 * Kernels' source, compiled by g++, and the C code that drives it run here as they would on a device, so
 * that every kernel is compared with its plain twin on any machine. The parts:
 *     block.c   threads on stacks, barriers, warps           heap.c    the device's addresses
 *     launch.c  a grid, its arguments, illegal accesses      stream.c  streams, events, graphs
 *     blas.c    cuBLAS on OpenBLAS                           memory.c  allocations, copies
 *     matrix.h  warp-matrix instructions
 *
 * The stand-in finds: a missing barrier (wrong numbers in forward, reverse or a shuffled order of
 * threads; blocks are shuffled too); divergence at barriers and in warps; accesses outside an
 * allocation, of freed memory, of host memory given to a kernel, of device memory by the host;
 * uninitialised device and shared memory (NaN, 0xA5); calls that are illegal in a capture; and, with
 * cuda_host_lazy, a host that does not wait. A fault ends its launch, prints one line, and every
 * later call returns its code, as on a device.
 *
 * `make check-race` lets ThreadSanitizer watch the kernels and takes each CUDA thread of a block for a thread:
 * then any unordered pair of accesses within a block is reported with both lines, also those
 * that give the right numbers in every order.
 *
 * Costs, on 2 cores of an AMD EPYC (Zen 4), CPU time, 2026-11-21: 16 to 22 ns a switch at a barrier (64 to
 * 1024 threads a block, all orders), 40 to 90 ns a thread without barriers, 2 us an empty launch.
 *
 * The stand-in does not see:
 *     - atomicity, except by check-race: between two waits a thread is never interrupted, so an unprotected
 *       x += 1 by many threads comes out right, in one block and between blocks
 *     - the memory model: a missing __threadfence, races between blocks or streams (work runs in the
 *       order of submission), asynchronous copies into pageable memory
 *     - blocks that wait for each other (they run one after another: such a kernel hangs or faults)
 *     - registers, occupancy, static shared memory beyond 48 KiB, bank conflicts, any timing
 *     - misaligned float4 and the like, unless the compiler's own instruction traps
 *     - other rounding: libm for __expf, OpenBLAS for cuBLAS, no fused multiply-add; the order of a tensor core's sums
 *     - shared arrays in templates are not refilled with 0xA5 for each block (plain functions' are)
 *     - host memory reached by a kernel otherwise than through its arguments
 */
#include "tests/cuda/runtime.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE                                                                         \
    {                                                                                 \
        .devices = 1, .driver = CUDART_VERSION, .arch = 90, .memory = (size_t)4 << 30 \
    }

CudaHost cuda_host = WHOLE;
CudaSeen cuda_seen;
static cudaError_t last, sticky;
static char fault[600];

/* ---- errors ---------------------------------------------------------------------------------- */

cudaError_t host_last(cudaError_t e)
{
    if (e != cudaSuccess && e != cudaErrorNotReady) last = e;
    return e;
}

cudaError_t host_ready(void)
{
    if (cuda_host.fail_all != cudaSuccess) return host_last(cuda_host.fail_all);
    if (cuda_host.driver / 1000 < CUDART_VERSION / 1000)
        return host_last(cudaErrorInsufficientDriver);
    if (cuda_host.devices == 0) return host_last(cudaErrorNoDevice);
    return host_last(sticky);
}

cudaError_t host_fault(cudaError_t code, const char *format, ...)
{
    char line[sizeof fault];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "cuda stand-in: %s\n", line);
    if (!fault[0]) memcpy(fault, line, sizeof fault);
    if (sticky == cudaSuccess) sticky = code;
    return host_last(code);
}

void *host_new(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p) {
        fprintf(stderr, "cuda stand-in: no memory for %zu bytes\n", bytes);
        abort();
    }
    return p;
}

cudaError_t cudaGetLastError(void)
{
    host_ready();
    cudaError_t e = last;
    last = cudaSuccess;
    return e;
}

static const struct {
    cudaError_t code;
    const char *name, *text;
} errors[] = {
#define X(name, value, text) {name, #name, text},
    CUDA_HOST_ERRORS(X)
#undef X
};
enum { ERRORS = sizeof errors / sizeof *errors };

const char *cudaGetErrorString(cudaError_t error)
{
    for (size_t i = 0; i < ERRORS; i++)
        if (errors[i].code == error) return errors[i].text;
    return "unrecognized error code";
}

const char *cudaGetErrorName(cudaError_t error)
{
    for (size_t i = 0; i < ERRORS; i++)
        if (errors[i].code == error) return errors[i].name;
    return "unrecognized error code";
}

/* ---- devices --------------------------------------------------------------------------------- */

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 0;
    READY();
    *count = cuda_host.devices;
    return cudaSuccess;
}

static int is_device(int device)
{
    return device >= 0 && device < cuda_host.devices;
}

static __thread int current = -1; /* the device that this thread has chosen */

int host_device(void)
{
    return current < 0 ? cuda_host.begins : current;
}

cudaError_t cudaSetDevice(int device)
{
    READY();
    if (!is_device(device)) return host_last(cudaErrorInvalidDevice);
    current = device;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attr, int device)
{
    READY();
    if (!is_device(device)) return host_last(cudaErrorInvalidDevice);
    switch (attr) {
    case cudaDevAttrMultiProcessorCount: *value = 4; return cudaSuccess;
    case cudaDevAttrL2CacheSize: *value = 50 << 20; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor: *value = cuda_host.arch / 10; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor: *value = cuda_host.arch % 10; return cudaSuccess;
    case cudaDevAttrPciBusId: *value = device + 1; return cudaSuccess;
    case cudaDevAttrPciDeviceId:
    case cudaDevAttrPciDomainId: *value = 0; return cudaSuccess;
    }
    return host_last(cudaErrorInvalidValue);
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = cuda_host.driver;
    return cudaSuccess;
}

/* Kernels have code for sm_80, and for sm_90 and later. */
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, const void *kernel)
{
    READY();
    if (!kernel) return host_last(cudaErrorInvalidDeviceFunction);
    a->ptxVersion = cuda_host.arch < 90 ? 80 : 90;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

/* ---- switches of tests ----------------------------------------------------------------------- */

const char *cuda_host_fault(void)
{
    return fault;
}

void cuda_host_reset(void)
{
    cuda_host = (CudaHost)WHOLE;
    last = sticky = cudaSuccess;
    fault[0] = 0;
    stream_reset();
}
