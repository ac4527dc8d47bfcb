/* clock.h: a clock for measuring time. */
#ifndef TROTTER_CLOCK_H
#define TROTTER_CLOCK_H

#include <time.h>

/* Returns the seconds since some moment; never goes back. clock_gettime(2), CLOCK_MONOTONIC. */
static inline double clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
