/* nccl.c: NCCL for the stand-in of the CUDA runtime (tests/cuda/runtime.c): a library, libnccl.so.2, that a program
 * linked with the stand-in opens as it would open NCCL's. Ranks are processes of one machine; they meet in a file that
 * all map. A sum is work of its stream: when it runs, it waits for the other ranks, piece by piece, and each rank adds
 * up all pieces in the order of ranks, so that all get the same bits.
 *
 * TROTTER_NCCL=WHAT:N plants an error from the N-th sum on (1: the first):
 *     drop     the last rank's numbers are left out
 *     refuse   the last rank's call fails (ncclSystemError)
 *     lose     the last rank's sums fail later (ncclCommGetAsyncError)
 *     fault    the last rank's device is lost while it sums
 * Ranks whose calls differ in count are reported, and their sum fails. */
#include "tests/cuda/nccl.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/cuda/runtime.h"

enum { RANKS = 8, PIECE = 1 << 14 }; /* numbers a piece */

/* Memory that the ranks share; the file begins as zeros. */
typedef struct {
    atomic_uint arrived, left; /* of the current meeting */
    size_t count[RANKS];       /* of the current sum of each */
    float piece[RANKS][PIECE];
} Room;

struct NcclHost {
    Room *room;
    int rank, ranks;
    size_t sums; /* number of sums so far */
    ncclResult_t lost;
};

typedef struct {
    ncclComm_t comm;
    float *to;
    const float *from;
    size_t count, number;
} Sum;

static char last[160];

/* Returns whether sum `number` of this rank has the planted error `what`. */
static int spoiled(const struct NcclHost *c, const char *what, size_t number)
{
    const char *text = getenv("TROTTER_NCCL");
    size_t n = strlen(what);
    return text && strncmp(text, what, n) == 0 && text[n] == ':' && c->rank == c->ranks - 1 &&
           number >= (size_t)atol(text + n + 1);
}

static void wait_until(atomic_uint *x, unsigned value)
{
    while (atomic_load(x) != value) sched_yield();
}

/* Returns when all ranks are here; the next meeting begins when all have left this one. */
static void meet(const struct NcclHost *c)
{
    unsigned n = (unsigned)c->ranks;
    atomic_fetch_add(&c->room->arrived, 1);
    wait_until(&c->room->arrived, n);
    if (atomic_fetch_add(&c->room->left, 1) + 1 == n) {
        atomic_store(&c->room->arrived, 0);
        atomic_store(&c->room->left, 0);
    } else {
        wait_until(&c->room->left, 0);
    }
}

/* ---- sums ---------------------------------------------------------------------------------------- */

static int counts_differ(const struct NcclHost *c)
{
    for (int k = 1; k < c->ranks; k++)
        if (c->room->count[k] != c->room->count[0]) return 1;
    return 0;
}

static void add_piece(const Sum *s, size_t at, size_t n, int ranks)
{
    const Room *room = s->comm->room;
    for (size_t i = 0; i < n; i++) {
        float sum = room->piece[0][i];
        for (int k = 1; k < ranks; k++) sum += room->piece[k][i];
        s->to[at + i] = sum;
    }
}

static void run_pieces(const Sum *s)
{
    const struct NcclHost *c = s->comm;
    int silent = spoiled(c, "drop", s->number);
    for (size_t at = 0; at < s->count; at += PIECE) {
        size_t n = s->count - at < PIECE ? s->count - at : PIECE;
        memcpy(c->room->piece[c->rank], s->from + at, n * sizeof(float));
        if (silent) memset(c->room->piece[c->rank], 0, n * sizeof(float));
        meet(c);
        add_piece(s, at, n, c->ranks);
        meet(c);
    }
}

static cudaError_t run_sum(const void *data)
{
    const Sum *s = data;
    const struct NcclHost *c = s->comm;
    size_t bytes = s->count * sizeof(float);
    if (!heap_holds(s->to, bytes) || !heap_holds(s->from, bytes))
        return host_fault(cudaErrorIllegalAddress, "a sum of %zu numbers outside an allocation",
                          s->count);
    if (spoiled(c, "fault", s->number))
        return host_fault(cudaErrorLaunchFailure, "sum %zu faults", s->number);
    c->room->count[c->rank] = s->count;
    meet(c);
    int differ = counts_differ(c);
    meet(c);
    if (differ)
        return host_fault(cudaErrorLaunchFailure, "sum %zu: not of as many numbers on all ranks",
                          s->number);
    heap_open(s->to);
    heap_open(s->from);
    run_pieces(s);
    heap_close();
    return cudaSuccess;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    if (!comm || !stream || type != ncclFloat32 || op != ncclSum || !count)
        return ncclInvalidArgument;
    size_t number = ++comm->sums;
    if (spoiled(comm, "refuse", number)) {
        snprintf(last, sizeof last, "sum %zu was refused", number);
        return ncclSystemError;
    }
    if (spoiled(comm, "lose", number)) {
        comm->lost = ncclRemoteError;
        return ncclSuccess;
    }
    Sum *s = host_new(sizeof *s);
    *s = (Sum){comm, to, from, count, number};
    stream_submit(stream, run_sum, NULL, s); /* CUDA reports later failures */
    return ncclSuccess;
}

/* ---- communicators ------------------------------------------------------------------------------- */

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "/tmp/trotter-nccl-XXXXXX");
    int file = mkstemp(id->internal);
    if (file < 0 || ftruncate(file, sizeof(Room)) != 0) return ncclSystemError;
    close(file);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
    if (ranks < 1 || ranks > RANKS || rank < 0 || rank >= ranks) return ncclInvalidArgument;
    int file = open(id.internal, O_RDWR);
    void *room = mmap(NULL, sizeof(Room), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || room == MAP_FAILED) return ncclSystemError;
    close(file);
    *comm = host_new(sizeof **comm);
    **comm = (struct NcclHost){.room = room, .rank = rank, .ranks = ranks};
    meet(*comm);
    if (rank == 0) unlink(id.internal);
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    if (!comm) return ncclInvalidArgument;
    munmap(comm->room, sizeof(Room));
    free(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    *error = comm->lost;
    return ncclSuccess;
}

/* ---- words --------------------------------------------------------------------------------------- */

const char *ncclGetErrorString(ncclResult_t result)
{
    switch (result) {
#define X(name, value, text) \
    case name: return text;
        NCCL_HOST_RESULTS(X)
#undef X
    }
    return "unknown result code";
}

const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return last;
}
