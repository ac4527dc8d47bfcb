/* tick.c: the listener to long loops (tick.h). */
#include "kernels/base/tick.h"

#include <stddef.h>

_Thread_local void (*tick_listener)(void) = NULL;
_Thread_local double tick_share = 0;
