/* waiting.h: threads that wait for each other spin for a shorter time while other programs want the processors.
 *
 * libgomp fixes at its start how often a waiting thread looks before it sleeps (start.c chooses). But where a process has
 * more threads than processors it looks a hundred times at most, and asks about that at every wait (Source: libgomp of
 * GCC 12, config/linux/wait.h, do_spin: gomp_managed_threads > gomp_available_cpus). So threads that only sleep, the ballast,
 * shorten the waiting of all others as long as they are there. Results do not depend on it.
 */
#ifndef TROTTER_WAITING_H
#define TROTTER_WAITING_H

/* Looks from now on, 20 times a second and from a thread of its own, how long the threads of this process wait for a
 * processor, and keeps ballast while that is long. team: threads that work; of 1 none waits, and nothing begins. Where a
 * thread cannot be had all stays as it was. */
void waiting_begin(int team);

/* Ballast for a team on so many processors: there from now on (1), or gone (0) once this returns. Of one thread at a time. */
void waiting_ballast(int there, int team, int processors);

/* 1 while there is ballast. */
int waiting_is_short(void);

#endif
