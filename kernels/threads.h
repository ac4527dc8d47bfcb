/* threads.h: the number of threads that processors and memory allow. */
#ifndef TROTTER_THREADS_H
#define TROTTER_THREADS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the number of processors that this process may run on, at least 1. */
int threads_processors(void);

/* Returns how many threads are made where `asked` >= 1 are asked for: as many, also more than there are
 * processors, since sums depend on the number of threads and a result of a larger machine must be had
 * again; but one a processor where it is more than THREADS_MOST, and more than the processors. Such a number is a mistake, and
 * libgomp, which keeps a team's list on the stack, ends with a signal at 100,000. */
enum { THREADS_MOST = 256 };
int threads_held(long asked);

/* Returns 0 where there is address space for n >= 1 threads, with all that the libraries map for each,
 * and for `bytes` more; else ERR_MEMORY, with words. It may be called before any library has begun;
 * later calls count as mapped what the libraries map when they begin. */
int threads_room(int n, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
