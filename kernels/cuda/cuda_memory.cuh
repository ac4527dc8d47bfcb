/* cuda_memory.cuh: device memory, copies between it and the host, recordings, and reports of failures. Part of cuda.cu.
 *
 * Every allocation has a record on the host (memory.h), so that leaks and failing allocations are counted and tested
 * like all others. Internal memory of this file (scratch, pinned buffers) lives as long as the process.
 */
#ifndef TROTTER_CUDA_MEMORY_CUH
#define TROTTER_CUDA_MEMORY_CUH

#include "kernels/cuda/cuda_branch.cuh"
#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "kernels/ranks.h"

#define MEGABYTE 1e6

/* ---- failures ----------------------------------------------------------------------------------- */

static int out_of_memory(size_t bytes)
{
    size_t free = 0, total = 0;
    (void)cudaGetLastError();
    (void)cudaMemGetInfo(&free, &total);
    (void)cudaGetLastError();
    return error_set(
        ERR_MEMORY,
        "out of device memory: %.1f MB more were needed, %.1f of %.1f MB are free: lower "
        "--batch-tokens or use --recompute",
        (double)bytes / MEGABYTE, (double)free / MEGABYTE, (double)total / MEGABYTE);
}

/* Tells whether every later call fails too after this error: the device is gone, or the documentation says that "any further
 * CUDA work will return the same error". Source: CUDA Runtime API 13.0, cudaError_t. Two have no name in older toolkits:
 * cudaErrorContained, cudaErrorTensorMemoryLeak. */
static int device_lost(cudaError_t code)
{
    static const cudaError_t lost[] = {cudaErrorDevicesUnavailable,
                                       cudaErrorECCUncorrectable,
                                       cudaErrorNvlinkUncorrectable,
                                       (cudaError_t)226,
                                       cudaErrorIllegalAddress,
                                       cudaErrorLaunchTimeout,
                                       cudaErrorAssert,
                                       cudaErrorHardwareStackError,
                                       cudaErrorIllegalInstruction,
                                       cudaErrorMisalignedAddress,
                                       cudaErrorInvalidAddressSpace,
                                       cudaErrorInvalidPc,
                                       cudaErrorLaunchFailure,
                                       (cudaError_t)721,
                                       cudaErrorMpsClientTerminated};
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
        if (code == lost[i]) return 1;
    return 0;
}

/* Return cuBLAS's name and words of cuda.blas. cuda_product.cuh. */
static const char *blas_status_name(void), *blas_status_words(void);
static int blas_short(void); /* 1: it failed for lack of memory */

#define SAVED "the last saved state is intact, use --resume"

static int failure_words(cudaError_t code, const char *where)
{
    if (!where) where = "?";
    if (strncmp(where, "cuda_", 5) == 0) where += 5;
    if (code == cudaErrorMemoryAllocation) return out_of_memory(cuda.wanted);
    if (cuda.mistyped)
        return error_set(ERR_MISUSE, "%s was given factors (bf16) where it takes numbers", where);
    if (device_lost(code))
        return error_set(ERR_SYSTEM, "the device was lost (%s: %s, seen in %s): " SAVED,
                         cudaGetErrorName(code), cudaGetErrorString(code), where);
    if (cuda.blas)
        return error_set(blas_short() ? ERR_MEMORY : ERR_SYSTEM,
                         "cuBLAS failed in %s (%s: %s): " SAVED, where, blas_status_name(),
                         blas_status_words());
    return error_set(ERR_SYSTEM, "CUDA failed in %s (%s: %s): " SAVED, where,
                     cudaGetErrorName(code), cudaGetErrorString(code));
}

/* Reports the first failure since the last report in words, and forgets it. Where ranks have joined it ends them all,
 * because they would wait for this one's part of their sums. */
static int cuda_tell(void)
{
    cudaError_t code = cuda.failed;
    if (code == cudaSuccess) return 0;
    cuda.failed = cudaSuccess;
    (void)cudaGetLastError();
    int told = failure_words(code, cuda.where);
    cuda.blas = cuda.mistyped = 0;
    if (cuda.ranks) ranks_end(cuda.ranks, told);
    return told;
}

/* Ends all ranks, where there are any, if one of their sums has failed. cuda_ranks.cuh. */
static void cuda_ranks_check(void);

/* Waits for an event or all streams (NULL); with ranks checks meanwhile whether one has left a sum. */
static cudaError_t cuda_reach(cudaEvent_t event)
{
    cudaError_t code = cudaErrorNotReady;
    device_here();
    if (!event) branch_join();
    if (!cuda.ranks)
        return event ? cudaEventSynchronize(event) : cudaStreamSynchronize(cuda.stream);
    while (code == cudaErrorNotReady) {
        cuda_ranks_check();
        code = event ? cudaEventQuery(event) : cudaStreamQuery(cuda.stream);
        if (code == cudaErrorNotReady) (void)cudaGetLastError(); /* not a failure */
    }
    return code;
}

static int cuda_wait(void)
{
    cuda_check(cuda_reach(NULL), __func__);
    return cuda_tell();
}

/* ---- scratch ------------------------------------------------------------------------------------ */

/* Memory that only grows. A block that became too small is kept, because recordings have its address. */
typedef struct {
    void *block;
    size_t size;
} Growing;

static void *grown(Growing *r, size_t bytes, int zero, CALLER)
{
    enum { LEAST = 1 << 16 };
    if (cuda.failed != cudaSuccess) return NULL;
    if (bytes <= r->size) return r->block;
    size_t size = 2 * r->size;
    if (size < LEAST) size = LEAST;
    if (size < bytes) size = bytes;
    void *p = NULL;
    device_here();
    cuda.wanted = size;
    cuda_check(cuda.recording ? cudaErrorStreamCaptureUnsupported : cudaMalloc(&p, size), where);
    if (!p) return NULL;
    if (zero) cuda_check(cudaMemsetAsync(p, 0, size, cuda_stream()), where);
    r->size = size;
    return r->block = p;
}

static void *cuda_scratch(size_t bytes)
{
    static Growing scratch[BRANCHES];
    return grown(&scratch[cuda.branch], bytes, 0);
}

static unsigned *cuda_tickets(size_t n)
{
    static Growing tickets[BRANCHES];
    return (unsigned *)grown(&tickets[cuda.branch], n * sizeof(unsigned), 1);
}

/* ---- allocations -------------------------------------------------------------------------------- */

typedef struct Allocation {
    struct Allocation *next;
    void *p;
    size_t bytes;
    int halves;     /* 1: factors, in bf16 (cuda_factor.cuh) */
    uint16_t *twin; /* (weights) the first numbers of this memory in bf16; NULL: it has no twin */
    size_t weights;
} Allocation;

static Allocation *allocations; /* the newest first */

/* Returns the allocation that holds an address, or NULL. */
static Allocation *allocation_of(const void *p)
{
    Allocation *a = allocations;
    while (a && ((const char *)p < (char *)a->p || (const char *)p >= (char *)a->p + a->bytes))
        a = a->next;
    return a;
}

/* Tells whether an address is in memory of factors, which is of bf16 (cuda_factor.cuh). */
static int is_factor(const void *p)
{
    const Allocation *a = allocation_of(p);
    return a && a->halves;
}

/* Tell whether no address is in memory of factors, which kernels of numbers would read as others, and write beyond. If one is,
 * the call fails, and nothing is launched. */
static int numbers_in(const char *)
{
    return 1;
}

template <class... P> static int numbers_in(const char *where, const void *x, P... more)
{
    if (!is_factor(x)) return numbers_in(where, more...);
    if (cuda.failed == cudaSuccess) cuda.mistyped = 1;
    cuda_check(cudaErrorInvalidValue, where);
    return 0;
}
#define NUMBERS(...) numbers_in(__func__, __VA_ARGS__)

/* Tell whether all addresses but NULLs are in memory of one form, factors or numbers; else the call fails. */
static int same_form(const char *, const void *)
{
    return 1;
}

template <class... P>
static int same_form(const char *where, const void *x, const void *y, P... more)
{
    if (!y || is_factor(x) == is_factor(y)) return same_form(where, x, more...);
    return numbers_in(where, is_factor(x) ? x : y);
}

static void *cuda_alloc(size_t n)
{
    size_t bytes = n * sizeof(float) + (n == 0);
    if (n > SIZE_MAX / 8) {
        error_set(ERR_MEMORY, "out of device memory: %zu numbers", n);
        return NULL;
    }
    Allocation *a = (Allocation *)memory_new(1, sizeof *a);
    if (!a) return NULL;
    device_here();
    if (cudaMalloc(&a->p, bytes) != cudaSuccess) {
        memory_free(a);
        out_of_memory(bytes);
        return NULL;
    }
    cuda_check(cudaMemsetAsync(a->p, 0, bytes, cuda_stream()), __func__);
    a->bytes = bytes;
    a->next = allocations;
    allocations = a;
    return a->p;
}

/* Reports that weights are written. cuda_factor.cuh. */
static void twin_written(const void *x, size_t bytes);

static void cuda_release(void *p)
{
    for (Allocation *a = allocations; a; a = a->next)
        if (a->twin == p) a->twin = NULL;
    for (Allocation **at = &allocations; p && *at; at = &(*at)->next) {
        Allocation *a = *at;
        if (a->p != p) continue;
        *at = a->next;
        memory_free(a);
        device_here();
        cuda_check(cudaFree(p), __func__);
        return;
    }
}

/* ---- to and from the host ----------------------------------------------------------------------- */

/* Pinned memory, so that the device can copy what was sent while the host goes on. Its PARTS are used in turn; an event
 * tells when the device has copied all of a part. */
enum { PARTS = 4, PART_BYTES = 1 << 20 };

static struct {
    char *memory;
    cudaEvent_t taken[PARTS];
    size_t part, used;
} ring;

static int pack_ready(void);

static int ring_ready(void)
{
    if (ring.memory) return 0;
    cudaError_t code = cudaSuccess;
    for (int i = 0; i < PARTS && code == cudaSuccess; i++)
        code = cudaEventCreateWithFlags(&ring.taken[i], cudaEventDisableTiming);
    if (code == cudaSuccess) code = cudaMallocHost((void **)&ring.memory, PARTS * PART_BYTES);
    if (code == cudaSuccess) return pack_ready();
    (void)cudaGetLastError();
    return error_set(ERR_MEMORY, "out of pinned memory: %d bytes", PARTS * PART_BYTES);
}

/* Returns room for bytes <= PART_BYTES. The earlier content is sent before the room is given again. */
static char *ring_room(size_t bytes)
{
    if (ring.used + bytes > PART_BYTES) {
        cuda_check(cudaEventRecord(ring.taken[ring.part], cuda_stream()), __func__);
        ring.part = (ring.part + 1) % PARTS;
        ring.used = 0;
        cuda_check(cuda_reach(ring.taken[ring.part]), __func__);
    }
    char *room = ring.memory + ring.part * PART_BYTES + ring.used;
    ring.used += (bytes + 15) / 16 * 16;
    return room;
}

static void ring_send(void *x, const char *room, size_t bytes, const char *where)
{
    if (cuda.failed != cudaSuccess) return;
    cuda_check(cudaMemcpyAsync(x, room, bytes, cudaMemcpyHostToDevice, cuda_stream()), where);
    cuda_lap(where);
}

/* ---- several at once ---------------------------------------------------------------------------- */

/* A step sends small pieces, and a copy costs as much as a kernel. So they go in one copy, from neighbouring room in
 * the ring, to a block on the device, and one kernel moves them from there to their places. */
enum { PACK_PIECES = 16, PACK_BLOCKS = 8 }; /* most pieces; blocks for each */

typedef struct {
    uint32_t *to[PACK_PIECES];
    size_t from[PACK_PIECES], words[PACK_PIECES];
} Pieces;

static struct {
    int on, count;
    Pieces piece;
    char *room; /* room of the first piece */
    size_t bytes;
    uint32_t *block; /* (PART_BYTES) on the device */
} pack;

static int pack_ready(void)
{
    if (cudaMalloc((void **)&pack.block, PART_BYTES) == cudaSuccess) return 0;
    pack.block = NULL; /* then every piece goes alone */
    (void)cudaGetLastError();
    return 0;
}

static __global__ void pack_kernel(const uint32_t *block, Pieces p)
{
    CUDA_BEGIN();
    int k = (int)blockIdx.x / PACK_BLOCKS;
    size_t i = blockIdx.x % PACK_BLOCKS * blockDim.x + threadIdx.x;
    for (; i < p.words[k]; i += PACK_BLOCKS * blockDim.x) p.to[k][i] = block[p.from[k] + i];
}

static void pack_send(const char *where)
{
    if (pack.count) {
        ring_send(pack.block, pack.room, pack.bytes, where);
        RUN_FOR(where, pack_kernel, (size_t)pack.count * PACK_BLOCKS, BLOCK_THREADS, 0, pack.block,
                pack.piece);
    }
    pack.piece = Pieces{};
    pack.count = 0;
    pack.bytes = 0;
}

/* Tells whether the bytes can wait, behind those that wait already. */
static int pack_takes(const void *x, size_t bytes)
{
    return pack.on && pack.block && bytes % 4 == 0 && (size_t)x % 4 == 0 && bytes <= PART_BYTES;
}

/* Adds a piece. Waiting pieces go before the ring's next part, whose event covers earlier copies. */
static void pack_add(void *x, const void *host, size_t bytes, const char *where)
{
    if (pack.count == PACK_PIECES || ring.used + bytes > PART_BYTES) pack_send(where);
    char *room = ring_room(bytes);
    memcpy(room, host, bytes);
    if (pack.count == 0) pack.room = room;
    pack.piece.to[pack.count] = (uint32_t *)x;
    pack.piece.from[pack.count] = (size_t)(room - pack.room) / 4;
    pack.piece.words[pack.count++] = bytes / 4;
    pack.bytes = (size_t)(room - pack.room) + bytes;
}

static void cuda_pack(int on)
{
    pack_send(__func__);
    pack.on = on;
}

static void cuda_send(void *x_, const void *host_, size_t bytes)
{
    char *x = (char *)x_;
    const char *host = (const char *)host_;
    if (pack_takes(x, bytes)) {
        pack_add(x, host, bytes, __func__);
        return;
    }
    pack_send(__func__); /* what waits goes first, as the ring gives its room again */
    for (size_t at = 0; at < bytes; at += PART_BYTES) {
        size_t n = least(bytes - at, PART_BYTES);
        char *room = ring_room(n);
        memcpy(room, host + at, n);
        ring_send(x + at, room, n, __func__);
    }
    twin_written(x, bytes);
}

static void cuda_put(void *x_, const double *host, size_t n)
{
    enum { PIECE = PART_BYTES / sizeof(float) };
    float *x = (float *)x_;
    if (!NUMBERS(x)) return;
    for (size_t at = 0; at < n; at += PIECE) {
        size_t m = least(n - at, PIECE);
        float *room = (float *)ring_room(m * sizeof *room);
        for (size_t i = 0; i < m; i++) room[i] = (float)host[at + i];
        ring_send(x + at, (const char *)room, m * sizeof *room, __func__);
    }
    twin_written(x, n * sizeof *x);
}

/* Copies bytes <= PART_BYTES from the device, now; zeros after a failure. */
static const char *ring_receive(const void *x, size_t bytes, const char *where)
{
    char *room = ring_room(bytes);
    if (cuda.failed == cudaSuccess)
        cuda_check(cudaMemcpyAsync(room, x, bytes, cudaMemcpyDeviceToHost, cuda_stream()), where);
    cuda_check(cuda_reach(NULL), where);
    if (cuda.failed != cudaSuccess) memset(room, 0, bytes);
    return room;
}

static void cuda_receive(void *host, const void *x, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PART_BYTES) {
        size_t n = least(bytes - at, PART_BYTES);
        memcpy((char *)host + at, ring_receive((const char *)x + at, n, __func__), n);
    }
}

/* Returns a number in bf16, which has the upper half of the bits of one in f32. */
static double half_value(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

static void cuda_get(double *host, const void *x_, size_t n)
{
    enum { PIECE = PART_BYTES / sizeof(float) };
    int halves = is_factor(x_);
    size_t each = halves ? sizeof(uint16_t) : sizeof(float);
    for (size_t at = 0; at < n; at += PIECE) {
        size_t m = least(n - at, PIECE);
        const char *room = ring_receive((const char *)x_ + at * each, m * each, __func__);
        for (size_t i = 0; i < m; i++)
            host[at + i] =
                halves ? half_value(((const uint16_t *)room)[i]) : (double)((const float *)room)[i];
    }
}

/* ---- recordings --------------------------------------------------------------------------------- */

struct Recording {
    cudaGraphExec_t graph;
};

static int cuda_record(void)
{
    branch_join();
    TRY(cuda_tell());
    cuda_check(cudaStreamBeginCapture(cuda_stream(), cudaStreamCaptureModeThreadLocal), __func__);
    TRY(cuda_tell());
    cuda.recording = 1;
    return 0;
}

/* Returns the bytes of device memory that are free, where they are told. */
static size_t graph_room(void)
{
    size_t free = 0, total = 0;
    if (cuda.tells) cuda_check(cudaMemGetInfo(&free, &total), __func__);
    return free;
}

/* Tells, as a line of CSV, what memory a graph took. */
static void graph_tell(size_t before)
{
    size_t after = graph_room();
    if (cuda.tells) fprintf(stderr, "graph,%zu\n", before > after ? before - after : 0);
}

static int cuda_recorded(Recording **out)
{
    cudaGraph_t graph = NULL;
    Recording *r = (Recording *)memory_new(1, sizeof *r);
    cuda.recording = 0;
    branch_join();
    cuda_check(cudaStreamEndCapture(cuda_stream(), &graph), __func__);
    size_t room = graph_room();
    if (r && cuda.failed == cudaSuccess)
        cuda_check(cudaGraphInstantiateWithFlags(&r->graph, graph, 0), __func__);
    graph_tell(room);
    if (graph) (void)cudaGraphDestroy(graph);
    if (r && cuda.failed == cudaSuccess) {
        *out = r;
        return 0;
    }
    memory_free(r);
    int code = cuda_tell();
    return code ? code : ERR_MEMORY;
}

static int cuda_replay(Recording *r)
{
    if (cuda.failed == cudaSuccess) cuda_check(cudaGraphLaunch(r->graph, cuda_stream()), __func__);
    return cuda_tell();
}

static void cuda_recording_free(Recording *r)
{
    if (r) (void)cudaGraphExecDestroy(r->graph);
    memory_free(r);
}

#endif
