/* await.h: waits for what another process or thread is to do, however long a busy machine takes over it.
 *
 *     AWAIT(file_exists("done"));
 *
 * A test tells by what happens, and in which order, and never by how fast. What does not happen at all ends the test
 * after AWAIT_SECONDS, with the condition's words. */
#ifndef TROTTER_TESTS_AWAIT_H
#define TROTTER_TESTS_AWAIT_H

#include <time.h>

#include "tests/lib/test.h"

enum { AWAIT_SECONDS = 300, AWAIT_LOOK_MS = 5 };

/* Sleeps until the next look; returns 0 where time is over. Begins with *end 0. */
static inline int await_look(time_t *end)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (*end == 0) *end = now.tv_sec + AWAIT_SECONDS;
    if (now.tv_sec > *end) return 0;
    nanosleep(&(struct timespec){.tv_nsec = AWAIT_LOOK_MS * 1000000L}, NULL);
    return 1;
}

#define AWAIT(condition)                                                                 \
    do {                                                                                 \
        time_t await_end = 0;                                                            \
        while (!(condition))                                                             \
            if (!await_look(&await_end))                                                 \
                fail_msg("this does not happen in %d s: %s", AWAIT_SECONDS, #condition); \
    } while (0)

#endif
