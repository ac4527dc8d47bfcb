/* progress.h: words on stderr while a command works.
 *
 * On a terminal one line is written again and again, cut to its width; in a log file there is a line now and then, and none with
 * TROTTER_PROGRESS=0 in the environment.
 */
#ifndef TROTTER_PROGRESS_H
#define TROTTER_PROGRESS_H

#include <stddef.h>

/* Returns 1 where progress_show would write now, so that a caller in a loop makes no words in vain. */
int progress_due(void);
/* Writes a line about the work in hand, which the next one replaces; on a terminal at most 5 times a second, else once
 * in 10 s. As long as the work ticks (kernels/base/tick.h), the line is shown again with the time taken so far and, where
 * the loop tells its share, the time left, once a second or once in 10 s. */
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Does so for a loop that has done so many of all its turns, with the time left. */
void progress_of(size_t done, size_t all, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Tells what makes the command's work less, as "lower --points"; the lines of its 5th to 25th second say it, and where
 * it has taken 1 GB, those before. NULL: nothing. */
void progress_faster(const char *how);
/* Writes a line that stays. */
void progress_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Wipes the line progress_show left, and ends the work in hand. */
void progress_clear(void);

/* Writes a time as "8 s", "2 min 05 s", "3 h 20 min"; "" where it is not finite, negative or above 1e9. */
void progress_time(double seconds, char out[32]);

#endif
