/* mpi.c: ranks by Open MPI (ranks.h). It is compiled against the header of Open MPI. The library is
 * searched only when mpirun started more than one process, so that all others neither need it nor wait
 * for it.
 *
 * Its predefined handles are the addresses of variables of the library, found by name like its functions.
 * Open MPI continues a sum only while one of its functions runs, hence `push`. Its algorithms decide the
 * order of sums, which depends only on the number of ranks and of numbers. Source: MPI 3.1, chapters 5.9
 * (Allreduce), 5.12 (Iallreduce), 6.4.2 (Comm_split_type).
 */
#include "kernels/ranks.h"

#include <stdlib.h>

#include "kernels/base/error.h"

/* Returns how many processes mpirun started; 1 without mpirun. */
static int started(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_SIZE");
    return text && atoi(text) > 1 ? atoi(text) : 1;
}

#ifndef HAVE_MPI

const int ranks_built = 0;

int ranks_open(Ranks **out)
{
    *out = NULL;
    if (started() == 1) return 0;
    return error_set(ERR_INPUT,
                     "%d processes of mpirun, and this build has no MPI (libopenmpi-dev was not "
                     "found when it was built)",
                     started());
}

#else

#include <dlfcn.h>
#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <string.h>

#include "kernels/base/clock.h"
#include "kernels/base/memory.h"

const int ranks_built = 1;

/* clang-format off */
#define CALLS(X)                                                                          \
    X(Init_thread) X(Comm_rank) X(Comm_size) X(Comm_split_type) X(Comm_free) X(Allreduce) \
    X(Iallreduce) X(Testall) X(Waitall) X(Bcast) X(Allgather) X(Abort) X(Finalize)
#define HANDLES(X)                                                   \
    X(MPI_Comm, ompi_mpi_comm_world) X(MPI_Datatype, ompi_mpi_float) \
    X(MPI_Datatype, ompi_mpi_double) X(MPI_Datatype, ompi_mpi_int)   \
    X(MPI_Datatype, ompi_mpi_byte) X(MPI_Op, ompi_mpi_op_sum)        \
    X(MPI_Op, ompi_mpi_op_min) X(MPI_Info, ompi_mpi_info_null)
/* clang-format on */

enum { PENDING = 64 };               /* sums on their way at a time */
static const size_t piece = 1 << 28; /* most numbers in a call, which counts in int */

typedef struct {
    Ranks ranks; /* first: a Ranks * is one of these */
    void *library;
#define X(name) __typeof__(MPI_##name) *name;
    CALLS(X)
#undef X
#define X(type, name) type name;
    HANDLES(X)
#undef X
    MPI_Request request[PENDING];
    int pending;
} Mpi;

/* ---- the functions of ranks.h -------------------------------------------------------------------- */

static void wait_all(Ranks *r)
{
    Mpi *m = (Mpi *)r;
    double begun = clock_now();
    m->Waitall(m->pending, m->request, MPI_STATUSES_IGNORE);
    m->pending = 0;
    r->seconds += clock_now() - begun;
}

static void begin(Ranks *r, void *x, size_t n, size_t element)
{
    Mpi *m = (Mpi *)r;
    double begun = clock_now();
    for (size_t at = 0; at < n; at += piece) {
        size_t count = n - at < piece ? n - at : piece;
        if (m->pending == PENDING) wait_all(r);
        m->Iallreduce(MPI_IN_PLACE, (char *)x + at * element, (int)count,
                      element == sizeof(float) ? m->ompi_mpi_float : m->ompi_mpi_double,
                      m->ompi_mpi_op_sum, m->ompi_mpi_comm_world, &m->request[m->pending++]);
    }
    r->bytes += n * element;
    r->seconds += clock_now() - begun;
}

static void push(Ranks *r)
{
    Mpi *m = (Mpi *)r;
    int done;
    double begun = clock_now();
    if (m->pending) m->Testall(m->pending, m->request, &done, MPI_STATUSES_IGNORE);
    r->seconds += clock_now() - begun;
}

static void sum(Ranks *r, double *x, size_t n)
{
    Mpi *m = (Mpi *)r;
    double begun = clock_now();
    m->Allreduce(MPI_IN_PLACE, x, (int)n, m->ompi_mpi_double, m->ompi_mpi_op_sum,
                 m->ompi_mpi_comm_world);
    r->seconds += clock_now() - begun;
}

static void send(Ranks *r, int from, void *x, size_t bytes)
{
    Mpi *m = (Mpi *)r;
    for (size_t at = 0; at < bytes; at += piece)
        m->Bcast((char *)x + at, (int)(bytes - at < piece ? bytes - at : piece), m->ompi_mpi_byte,
                 from, m->ompi_mpi_comm_world);
}

static void abandon(Ranks *r, int status)
{
    Mpi *m = (Mpi *)r;
    m->Abort(m->ompi_mpi_comm_world, status);
    _Exit(status);
}

static void close_all(Ranks *r)
{
    Mpi *m = (Mpi *)r;
    m->Finalize();
    memory_free(m); /* the library stays, because it has handlers at the process's end */
}

/* ---- opening ------------------------------------------------------------------------------------- */

static int missing(void)
{
    return error_set(ERR_INPUT, "%d processes of mpirun, and no Open MPI here: %s", started(),
                     dlerror());
}

static int find(void *library, const char *name, void *where)
{
    void *symbol = dlsym(library, name);
    if (!symbol) return missing();
    memcpy(where, &symbol, sizeof symbol);
    return 0;
}

/* Loads the library with RTLD_GLOBAL, because its plugins look for its symbols among the program's. */
static int load(Mpi *m)
{
    m->library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
    if (!m->library) return missing();
#define X(name) TRY(find(m->library, "MPI_" #name, &m->name));
    CALLS(X)
#undef X
#define X(type, name) TRY(find(m->library, #name, &m->name));
    HANDLES(X)
#undef X
    return 0;
}

/* Returns this rank's processors: those allowed, divided by the ranks here that may use them. */
static int share(Mpi *m, MPI_Comm machine)
{
    cpu_set_t mine, common;
    int size, sharing = 0;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    m->Comm_size(machine, &size);
    cpu_set_t *all = memory_new((size_t)size, sizeof *all);
    if (!all) abandon(&m->ranks, 1);
    m->Allgather(&mine, sizeof mine, m->ompi_mpi_byte, all, sizeof mine, m->ompi_mpi_byte, machine);
    for (int i = 0; i < size; i++) {
        CPU_AND(&common, &mine, &all[i]);
        sharing += CPU_COUNT(&common) > 0;
    }
    memory_free(all);
    return CPU_COUNT(&mine) > sharing ? CPU_COUNT(&mine) / sharing : 1;
}

/* Finds the ranks of this machine: they share memory with this one, and keep the order of all. */
static void find_machine(Mpi *m)
{
    MPI_Comm machine;
    m->Comm_split_type(m->ompi_mpi_comm_world, MPI_COMM_TYPE_SHARED, 0, m->ompi_mpi_info_null,
                       &machine);
    m->ranks.machine = m->ranks.rank;
    m->Comm_rank(machine, &m->ranks.local);
    m->Bcast(&m->ranks.machine, 1, m->ompi_mpi_int, 0, machine);
    m->ranks.threads = share(m, machine);
    m->Comm_free(&machine);
}

static void start(Mpi *m)
{
    int provided;
    m->Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    m->ranks.begin = begin;
    m->ranks.push = push;
    m->ranks.wait = wait_all;
    m->ranks.sum = sum;
    m->ranks.send = send;
    m->ranks.abandon = abandon;
    m->ranks.close = close_all;
    m->Comm_rank(m->ompi_mpi_comm_world, &m->ranks.rank);
    m->Comm_size(m->ompi_mpi_comm_world, &m->ranks.size);
    find_machine(m);
    m->Allreduce(MPI_IN_PLACE, &m->ranks.threads, 1, m->ompi_mpi_int, m->ompi_mpi_op_min,
                 m->ompi_mpi_comm_world);
}

int ranks_open(Ranks **out)
{
    *out = NULL;
    if (started() == 1) return 0;
    Mpi *m = memory_new(1, sizeof *m);
    if (!m) return ERR_MEMORY;
    int code = load(m);
    if (code != 0) {
        memory_free(m);
        return code;
    }
    start(m);
    *out = &m->ranks;
    return 0;
}

#endif
