/* lease.h: gives a piece of work to one process at a time, among all that share a directory.
 *
 * A claim is a file. It is written under a separate name, locked, and then linked to the claimed name. link(2)
 * either makes the name or finds that it exists, so the file appears at once, whole and locked, and only one
 * of two processes gets it. The file names its holder: "HOST PID".
 *
 * The lock shows who is alive. It is an open-file-description lock (fcntl F_OFD_SETLK): the kernel drops it
 * when the last process that has the file open ends, however it ends. A training to which its parent passed
 * the claim counts (it may outlive the parent). Other programs started meanwhile do not: gnuplot at work does
 * not hold the directory of a training that was killed. A claim whose lock is free is left over, and another
 * process takes it over: at once if its holder was on this host; if the holder was on another, only after
 * LEASE_SILENCE seconds without a sign of life, in case the file system keeps locks on one host.
 *
 * On network file systems: link is atomic on NFS 2 and later, Lustre, GPFS, CephFS. Locks are seen by other
 * hosts on NFS 4 (the server drops those of a dead client when its lease ends, 90 s by default), on NFS 3 with
 * lockd (those of a dead client stay until it is back), on GPFS, CephFS, and on Lustre mounted with `flock`.
 * With `localflock` or `nolock` only the silence protects, and only where clients agree about the time of a
 * file to within a minute. Where locks are refused altogether, only one process still gets a claim, but a
 * left-over claim stays: remove the file by hand.
 *
 * Needed are that link is atomic and, with locks that are not seen, the clocks. Where link lets two have a name, both train
 * the run, and its log.csv, which both wrote, may be refused: remove the run's folder. The same holds on one machine where
 * everybody gets every lock. Where a machine goes on seeing a name as missing, a run may be trained again, to the same
 * network. All else is borne: a lost answer to link, locks that are refused or local, a clock an hour off where locks are
 * seen, a pause, a rename that is not atomic, O_EXCL that two win. An fsync that lies is seen only after a power cut, which
 * may then take a run's state (tests/faults/test_network.c, tests/studies/test_lease.c).
 */
#ifndef TROTTER_LEASE_H
#define TROTTER_LEASE_H

#include "studies/base/output.h"

enum { LEASE_BEAT = 20, LEASE_SILENCE = 180 }; /* seconds */

typedef struct {
    int fd; /* closed on exec, except after lease_pass */
    char path[OUTPUT_PATH];
    double beat; /* when the last sign of life was given */
    char who[128];
    char left_over[128]; /* who held it before and is gone; "" if nobody */
} Lease;

/* Takes a claim. *mine = 1: this process has it, until lease_drop or the end of the process; 0: another has
 * it, and c holds nothing. The directory must exist. `who`: "HOST PID ...". ERR_INPUT for a path that is too
 * long; ERR_SYSTEM with words. */
int lease_take(const char *path, const char *who, Lease *c, int *mine);

/* Gives a sign of life, when it is due and the claim is still ours: a process that was paused for longer than LEASE_SILENCE
 * may have lost it where locks are not seen. */
void lease_keep(Lease *c);

/* Passes the claim on, in a child between fork and exec: the program that it becomes has the claim too, until
 * it ends. */
void lease_pass(const Lease *c);

/* Removes the file, where the claim is still ours, and releases it. Where that cannot be told, the file is left over. */
void lease_drop(Lease *c);

/* Appends a line to a file, in one write: lines of several processes on one host do not mix (on
 * NFS they may). A line that cannot be written is left out. */
void lease_log(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
