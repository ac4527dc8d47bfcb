/* ranks.h: the processes that train one model together, and their messages.
 *
 * A Ranks is a table of functions with their data, like a Backend; NULL stands for a process alone. Every
 * function is collective: all ranks call it, in the same order and with the same sizes; the values may differ.
 * Sums give the same bits on every rank. An engine that fails ends all ranks. mpi.c uses Open MPI, and loads
 * nothing of it in a process that mpirun did not start. cuda_ranks.cuh uses NCCL for memory on devices, beside
 * MPI for the rest.
 */
#ifndef TROTTER_RANKS_H
#define TROTTER_RANKS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct Ranks {
    int rank, size; /* rank < size, size > 1 */
    int machine;    /* the first rank of this machine */
    int local;      /* index among this machine's ranks, from 0 */
    int threads;    /* processors for each rank: the least number that any rank has to itself */
    /* Least numbers for which a sum is begun before backward ends; 0: 2^20, 4 MB of f32. */
    size_t worth;

    /* x (n) of element bytes (4: float, 8: double) += those of the other ranks; x lies where the joined backend
     * computes. `begin` returns at once, and x must not be touched until `wait`, which ends all sums begun (on
     * a device: before the calls that follow); `push` makes progress, for engines that work only when they are
     * called. */
    void (*begin)(Ranks *r, void *x, size_t n, size_t element);
    void (*push)(Ranks *r);
    void (*wait)(Ranks *r);
    /* x (n) = the sums over the ranks. */
    void (*sum)(Ranks *r, double *x, size_t n);
    /* x (bytes) of every rank = that of rank `from`. */
    void (*send)(Ranks *r, int from, void *x, size_t bytes);
    /* Ends all ranks, whatever they do, with this exit status; does not return. */
    void (*abandon)(Ranks *r, int status);
    void (*close)(Ranks *r);
    /* Reports a failure by which one rank ends all; NULL: not reported. The caller sets it. */
    void (*tell)(int code);

    /* Bytes summed by `begin`, time in these functions; on a device its kernels' waits for sums. */
    uint64_t bytes;
    double seconds;
};

/* 1 where this build has MPI: without it ranks_open refuses the processes of mpirun. */
extern const int ranks_built;

/* *out = the ranks of this run of mpirun, or NULL where this process is alone. ERR_INPUT where there are others
 * and this build, or this machine, has no MPI. Caller: ranks_close (NULL allowed), once all ranks are done. */
int ranks_open(Ranks **out);
void ranks_close(Ranks *r);

/* Makes r sum memory of b from now on. Collective, with one outcome: ERR_INPUT where ranks have other backends,
 * or b's devices cannot sum (Backend.join). NULL: nothing to do. */
int ranks_join(Ranks *r, const Backend *b);

/* Ends all ranks with the failure `code`, of this rank alone, after reporting its words. Does not return. */
void ranks_end(Ranks *r, int code);

/* Tells whether a rank failed: 0, or the first one's code and words, on all. NULL: `code`. */
int ranks_agree(Ranks *r, int code);

/* Returns 1 where mpirun started this process as another rank than the first. */
int ranks_follows(void);

/* Removes from the environment what makes a child process take itself for a rank. */
void ranks_forget(void);

#ifdef __cplusplus
}
#endif
#endif
