/* waiting.h: shortens the time for which waiting threads spin while other programs want the processors.
 *
 * libgomp fixes at its start how often a waiting thread looks before it sleeps (start.c chooses). But where a process
 * has more threads than processors, it looks a hundred times at most; it checks that at every wait (Source: libgomp of
 * GCC 12, config/linux/wait.h, do_spin: gomp_managed_threads > gomp_available_cpus). So threads that only sleep, the
 * ballast, shorten the waiting of all others as long as they exist. Results do not depend on it.
 */
#ifndef TROTTER_WAITING_H
#define TROTTER_WAITING_H

/* Starts a thread that looks 20 times a second how often the threads of this process lose their processor, and keeps
 * ballast while that is often. team: threads that work; with 1 no thread waits, and nothing begins. Where the thread
 * cannot be started, all stays as it was. */
void waiting_begin(int team);

/* Starts (1) or ends (0) the ballast for a team on so many processors; it is done when the call returns. One thread at
 * a time may call it. */
void waiting_ballast(int there, int team, int processors);

/* Returns 1 while there is ballast. */
int waiting_is_short(void);

/* ---- parts of the watch, for tests ------------------------------------------------------------------- */

/* Returns how often the threads of this process have lost their processor so far. */
extern long (*waiting_lost)(void);

/* The looks of a watch so far; it begins with zeros. calm: looks in a row without a team that is held up; enough: so many
 * end the ballast. */
typedef struct {
    int calm, enough;
} WaitingLooks;

/* Takes a look: is a team held up (busy), is there ballast? Returns 1 where there is to be ballast. */
int waiting_look(WaitingLooks *l, int busy, int there);

#endif
