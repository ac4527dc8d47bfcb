/* ranks.h: the processes that train one model together, and what they say to each other.
 *
 * A Ranks is a table of functions and what they keep, as a Backend is; NULL stands for a process alone.
 * Every function is collective: all ranks call it, in the same order and with the same sizes, and the
 * values differ. Sums give the same bits on every rank. An engine that fails ends all ranks.
 * mpi.c: Open MPI, of which nothing is loaded by a process that mpirun did not start. cuda_ranks.cuh: NCCL
 * for what lies on devices, beside MPI for the rest.
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
    int local;      /* which of this machine's ranks, from 0 */
    int threads;    /* processors for each: the least that any rank has to itself */
    size_t worth; /* numbers for which a sum is begun before backward ends; 0: 2^20, 4 MB of f32 */

    /* x (n) of element bytes (4: float, 8: double) += those of the other ranks; x lies where the backend that
     * was joined computes. `begin` returns at once, and x is not touched until `wait`, which ends all that was
     * begun (on a device: before what it is given from then on); `push` moves it on, for engines that work only
     * when they are called. */
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
    /* Tells the words of a failure by which one rank ends all; NULL: nobody does. Set by the caller. */
    void (*tell)(int code);

    /* What has been summed by `begin`, and the time in the functions above; on a device, the time its
     * kernels wait for sums. */
    uint64_t bytes;
    double seconds;
};

/* 1 where this build has MPI: without it ranks_open refuses the processes of mpirun. */
extern const int ranks_built;

/* *out = the ranks that mpirun started this process as one of, or NULL where it is alone. ERR_INPUT where
 * there are others and this build, or this machine, has no MPI. Caller: ranks_close (NULL allowed), once
 * all ranks are done. */
int ranks_open(Ranks **out);
void ranks_close(Ranks *r);

/* Sums are of memory of b from now on. Collective; one outcome: ERR_INPUT where ranks have other backends, or
 * b's devices cannot sum (Backend.join). NULL: done. */
int ranks_join(Ranks *r, const Backend *b);

/* Ends all ranks with the failure `code`, of this rank alone, once its words are told. Does not return. */
void ranks_end(Ranks *r, int code);

/* Whether one of the ranks failed: 0, or the code of the first that did, with its words, on all ranks.
 * NULL: gives `code`. */
int ranks_agree(Ranks *r, int code);

/* 1 where mpirun started this process as another than the first. */
int ranks_follows(void);

/* Takes from the environment what tells a child that it is a rank. */
void ranks_forget(void);

#ifdef __cplusplus
}
#endif
#endif
