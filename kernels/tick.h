/* tick.h: long loops report that they still run; a listener may show it.
 *
 * A loop of the library that can take seconds calls tick() once a turn. Nothing happens unless the thread that
 * runs it has set tick_listener, which has to return quickly and must not fail. */
#ifndef TROTTER_TICK_H
#define TROTTER_TICK_H

extern _Thread_local void (*tick_listener)(void); /* NULL: no listener */

static inline void tick(void)
{
    if (tick_listener) tick_listener();
}

#endif
