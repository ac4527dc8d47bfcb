/* progress.h: words on stderr while a command works.
 *
 * On a terminal one line is written again and again, cut to its width; in a log file there is a line now and then.
 */
#ifndef TROTTER_PROGRESS_H
#define TROTTER_PROGRESS_H

#include <stddef.h>

/* 1 where progress_show would write now: who is asked often makes no words before. */
int progress_due(void);
/* A line of the work in hand, that the next one replaces; on a terminal at most 5 times a second, else once in 10 s. As
 * long as the work ticks (kernels/tick.h) it is shown again with the time it took so far, once a second or in 10 s. */
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A line that stays. */
void progress_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Called once, before the first line of either; NULL: nothing is. */
void progress_before(void (*call)(void));
/* Calls it now, if no line has come. */
void progress_flush(void);
/* Wipes the line progress_show left, and ends the work in hand. */
void progress_clear(void);

/* "8 s", "2 min 05 s", "3 h 20 min". Empty where it is not finite. */
void progress_time(double seconds, char out[32]);

#endif
