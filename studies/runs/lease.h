/* lease.h: a piece of work that one process at a time has, among all that share a directory.
 *
 * A claim is a file. It is written under a name of its own, locked, and then linked to the claimed
 * name: link(2) either makes the name or finds it there, so the file appears at once, whole and
 * locked, and of two processes one gets it. The file tells who: "HOST PID".
 *
 * Who is alive is told by the lock, an open-file-description lock (fcntl F_OFD_SETLK): the kernel
 * drops it when the last process that has the file open ends, however it ends. A training to which its parent
 * passed the claim counts (it may outlive the parent), other programs started meanwhile do not: a plot that is
 * being drawn does not hold the directory of a training that was killed. A claim whose lock can
 * be had is left over and is taken over, at once if its holder was on this host; if it was on
 * another, only after LEASE_SILENCE seconds without a sign of life, in case the file system keeps
 * locks on one host.
 *
 * On network file systems: link is atomic on NFS 2 and later, Lustre, GPFS, CephFS. Locks are seen
 * by other hosts on NFS 4 (the server drops those of a dead client when its lease ends, 90 s by
 * default), on NFS 3 with lockd (those of a dead client stay until it is back), on GPFS, CephFS,
 * and on Lustre mounted with `flock`. With `localflock` or `nolock` only the silence protects; it
 * does where clients agree about the time of a file to within a minute. Where locks are refused
 * altogether a claim is still had by one only, but one that is left over stays: remove the file by
 * hand.
 */
#ifndef TROTTER_LEASE_H
#define TROTTER_LEASE_H

#include "studies/tools/output.h"

enum { LEASE_BEAT = 20, LEASE_SILENCE = 180 }; /* seconds */

typedef struct {
    int fd; /* closed on exec, but for lease_pass */
    char path[OUTPUT_PATH];
    double beat;         /* when the last sign of life was given */
    char left_over[128]; /* who held it before and is gone; "" if nobody */
} Lease;

/* *mine = 1: the claim is had, until lease_drop or the end of the process; 0: somebody else has
 * it, and c holds nothing. The directory must be there. `who`: "HOST PID ...". ERR_SYSTEM with
 * words. */
int lease_take(const char *path, const char *who, Lease *c, int *mine);

/* A sign of life, when it is due. */
void lease_keep(Lease *c);

/* In a child between fork and exec: the program that it becomes has the claim too, until it ends. */
void lease_pass(const Lease *c);

/* Takes the file away and lets go. */
void lease_drop(Lease *c);

/* Appends a line to a file, in one write: lines of several processes on one host do not mix (on
 * NFS they may). A line that cannot be written is left out. */
void lease_log(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
