/* tick.h: long loops report that they still run; a listener may show it.
 *
 * A loop of the library that can take seconds calls tick() once a turn, or tick_of() where it knows how far it is. Nothing happens unless the thread that
 * runs it has set tick_listener, which has to return quickly and must not fail. */
#ifndef TROTTER_TICK_H
#define TROTTER_TICK_H

extern _Thread_local void (*tick_listener)(void); /* NULL: no listener */
extern _Thread_local double tick_share;           /* done of the work in hand; 0: not known */

static inline void tick(void)
{
    if (tick_listener) tick_listener();
}

/* done of all, in parts that take as long as one another */
static inline void tick_of(double done, double all)
{
    tick_share = done / all;
    tick();
}

#endif
