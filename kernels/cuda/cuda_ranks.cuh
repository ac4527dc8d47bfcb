/* cuda_ranks.cuh: sums over ranks that have a device each, by NCCL (ranks.h; Backend.join). Part of cuda.cu.
 *
 * It is compiled against NCCL's header where the compiler finds it. The library is searched when ranks join,
 * so that all others need neither. Small data (losses, agreement) stay with the engine that started the
 * ranks.
 *
 * Sums run on a separate stream, so that backward goes on beside them: a sum waits for the calls that the
 * kernels' stream had when the sum was begun, and calls that the stream gets after `wait` wait for all sums.
 * The host waits for neither. `seconds` has the time between the end of backward and that of the sums, by the
 * device's clock. A failure of NCCL or of the device ends all ranks, with words: the others may be in a sum
 * that will never end.
 *
 * NCCL gives all ranks the same bits, and repeats them for the same numbers and ranks, except where switches
 * do the sums (NVLS), whose order is not fixed. That is switched off, unless NCCL_NVLS_ENABLE is set. Source:
 * NCCL user guide, "Using NCCL" (communicators, stream semantics, errors); NCCL's authors on NVLS:
 * github.com/NVIDIA/nccl, issue 1497.
 */
#ifndef TROTTER_CUDA_RANKS_CUH
#define TROTTER_CUDA_RANKS_CUH

#include "kernels/cuda/cuda_memory.cuh"
#include "kernels/ranks.h"

#if __has_include(<nccl.h>) && !defined(NO_NCCL)

#include <dlfcn.h>
#include <nccl.h>
#include <stdlib.h>

#include "kernels/base/clock.h"
#include "kernels/installed.h"

/* X(function) */
#define NCCL_LIST(X) \
    X(GetUniqueId)   \
    X(CommInitRank)  \
    X(CommDestroy) X(CommGetAsyncError) X(AllReduce) X(GetErrorString) X(GetLastError)

static struct {
#define X(name) decltype(&nccl##name) name;
    NCCL_LIST(X)
#undef X
    void *handle;
    ncclComm_t comm;
    cudaStream_t stream;
    /* Gradients are ready, sums are done; kernels wait between `from` and `until`. */
    cudaEvent_t ready, done, from, until;
    int timed; /* 1: from and until belong to a wait that is not in `seconds` */
    void (*sum)(Ranks *r, double *x, size_t n); /* sum of the engine that started the ranks */
    void (*close)(Ranks *r);
} nccl;

/* ---- failures ----------------------------------------------------------------------------------- */

static int nccl_words(ncclResult_t code, const char *where)
{
    if (code == ncclSuccess) return 0;
    const char *more = nccl.GetLastError(nccl.comm);
    return error_set(ERR_SYSTEM, "NCCL failed in %s: %s%s%s", where, nccl.GetErrorString(code),
                     more && *more ? ": " : "", more ? more : "");
}

static void nccl_check(ncclResult_t code, const char *where)
{
    if (code != ncclSuccess) ranks_end(cuda.ranks, nccl_words(code, where));
}

static void cuda_ranks_check(void)
{
    ncclResult_t code = ncclSuccess;
    if (!cuda.ranks) return;
    nccl_check(nccl.CommGetAsyncError(nccl.comm, &code), "CommGetAsyncError");
    nccl_check(code, "a sum");
}

/* ---- the functions of ranks.h -------------------------------------------------------------------- */

static void nccl_begin(Ranks *r, void *x, size_t n, size_t element)
{
    double begun = clock_now();
    branch_join();
    (void)NUMBERS(x);
    cuda_check(cudaEventRecord(nccl.ready, cuda_stream()), __func__);
    cuda_check(cudaStreamWaitEvent(nccl.stream, nccl.ready, 0), __func__);
    (void)cuda_tell(); /* does not return from a failure */
    nccl_check(nccl.AllReduce(x, x, n, ncclFloat32, ncclSum, nccl.comm, nccl.stream), "AllReduce");
    r->bytes += n * element;
    r->seconds += clock_now() - begun;
}

/* A device needs no pushing. */
static void nccl_push(Ranks *r)
{
    (void)r;
}

static void nccl_wait(Ranks *r)
{
    double begun = clock_now();
    device_here();
    cuda_check(cudaEventRecord(nccl.done, nccl.stream), __func__);
    cuda_check(cudaEventRecord(nccl.from, cuda_stream()), __func__);
    cuda_check(cudaStreamWaitEvent(cuda_stream(), nccl.done, 0), __func__);
    cuda_check(cudaEventRecord(nccl.until, cuda_stream()), __func__);
    (void)cuda_tell();
    nccl.timed = 1;
    r->seconds += clock_now() - begun;
}

/* Sums what ranks exchange after a step, when the device has done it. */
static void nccl_sum(Ranks *r, double *x, size_t n)
{
    float ms = 0;
    if (nccl.timed) {
        cuda_check(cuda_reach(nccl.until), __func__);
        cuda_check(cudaEventElapsedTime(&ms, nccl.from, nccl.until), __func__);
        (void)cuda_tell();
        r->seconds += 1e-3 * (double)ms;
    }
    nccl.timed = 0;
    nccl.sum(r, x, n);
}

static void nccl_leave(void)
{
    cudaEvent_t *event[] = {&nccl.ready, &nccl.done, &nccl.from, &nccl.until};
    for (cudaEvent_t *e : event) {
        if (*e) (void)cudaEventDestroy(*e);
        *e = NULL;
    }
    if (nccl.stream) (void)cudaStreamDestroy(nccl.stream);
    nccl.stream = NULL;
    nccl.timed = 0;
    cuda.ranks = NULL;
}

static void nccl_close(Ranks *r)
{
    (void)cudaStreamSynchronize(nccl.stream);
    (void)nccl.CommDestroy(nccl.comm);
    nccl_leave();
    nccl.close(r);
}

/* ---- joining ------------------------------------------------------------------------------------ */

static int nccl_find(void)
{
    setenv("NCCL_NVLS_ENABLE", "0", 0);
    static const char *const names[] = {"libnccl.so.2", NULL};
    if (!nccl.handle) nccl.handle = installed_open(names);
    if (!nccl.handle)
        return error_set(
            ERR_INPUT, "several ranks on devices need NCCL, and there is none (in " INSTALLED_PLACES
                       "): libnccl.so.2");
#define X(name)                                                        \
    nccl.name = (decltype(nccl.name))dlsym(nccl.handle, "nccl" #name); \
    if (!nccl.name) return error_set(ERR_INPUT, "libnccl.so.2 has no nccl" #name);
    NCCL_LIST(X)
#undef X
    return 0;
}

static int nccl_streams(void)
{
    cudaError_t code = cudaStreamCreateWithFlags(&nccl.stream, cudaStreamNonBlocking);
    if (code == cudaSuccess) code = cudaEventCreateWithFlags(&nccl.ready, cudaEventDisableTiming);
    if (code == cudaSuccess) code = cudaEventCreateWithFlags(&nccl.done, cudaEventDisableTiming);
    if (code == cudaSuccess) code = cudaEventCreate(&nccl.from);
    if (code == cudaSuccess) code = cudaEventCreate(&nccl.until);
    (void)cudaGetLastError();
    if (code == cudaSuccess) return 0;
    return error_set(ERR_SYSTEM, "the device has no stream for sums (%s)", cudaGetErrorName(code));
}

/* Computes the device's place among all machines' devices, as a whole number that a double holds: machine <
 * 2^20 (a rank's number), PCI domain < 2^16, bus < 2^8, device < 2^5. */
static int place_of_device(const Ranks *r, double *place)
{
    int pci[3] = {0, 0, 0};
    const cudaDeviceAttr what[3] = {cudaDevAttrPciDomainId, cudaDevAttrPciBusId,
                                    cudaDevAttrPciDeviceId};
    for (int i = 0; i < 3; i++)
        if (cudaDeviceGetAttribute(&pci[i], what[i], cuda.device) != cudaSuccess) {
            (void)cudaGetLastError();
            return error_set(ERR_INPUT, "the NVIDIA device does not tell where it is");
        }
    *place = (((double)r->machine * 65536 + pci[0]) * 256 + pci[1]) * 32 + pci[2];
    return 0;
}

/* Checks that no other rank has this rank's device. place (size): of all ranks. */
static int alone(const Ranks *r, const double *place)
{
    for (int k = 0; k < r->size; k++)
        if (k != r->rank && place[k] == place[r->rank])
            return error_set(ERR_INPUT,
                             "ranks %d and %d have the same device (there %s %d): each rank takes "
                             "one of its own",
                             r->rank, k, cuda.devices == 1 ? "is" : "are", cuda.devices);
    return 0;
}

static int devices_differ(Ranks *r)
{
    double *place = (double *)memory_new((size_t)r->size, sizeof *place);
    int code = place ? place_of_device(r, &place[r->rank]) : ERR_MEMORY;
    code = ranks_agree(r, code);
    if (code == 0) {
        r->sum(r, place, (size_t)r->size);
        code = ranks_agree(r, alone(r, place));
    }
    memory_free(place);
    return code;
}

/* Prepares all ranks or none: they agree on each step before the next, except the last. */
static int prepare(Ranks *r, ncclUniqueId *id)
{
    TRY(ranks_agree(r, nccl_find()));
    TRY(devices_differ(r));
    TRY(ranks_agree(r, nccl_streams()));
    int code = r->rank == 0 ? nccl_words(nccl.GetUniqueId(id), "GetUniqueId") : 0;
    TRY(ranks_agree(r, code));
    r->send(r, 0, id, sizeof *id);
    return 0;
}

static int cuda_join(Ranks *r)
{
    ncclUniqueId id;
    int code = prepare(r, &id);
    if (code != 0) {
        nccl_leave();
        return code;
    }
    cuda.ranks = r;
    nccl_check(nccl.CommInitRank(&nccl.comm, r->size, id, r->rank), "CommInitRank");
    nccl.sum = r->sum;
    nccl.close = r->close;
    r->begin = nccl_begin;
    r->push = nccl_push;
    r->wait = nccl_wait;
    r->sum = nccl_sum;
    r->close = nccl_close;
    return 0;
}

#else

static void cuda_ranks_check(void) {}

static int cuda_join(Ranks *r)
{
    return error_set(ERR_INPUT,
                     "%d ranks on devices, and this build has no NCCL (nccl.h was not found when "
                     "it was built)",
                     r->size);
}

#endif
#endif
