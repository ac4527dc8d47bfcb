/* scoped.h: variables that free themselves where their scope ends, so that a function can return from anywhere.
 *
 *     SCOPED(memory_drop) char *text = memory_new(bytes, 1);
 *     SCOPED(poly_free) Poly p = {0};          poly_free(&p) is called
 *     SCOPED(series_drop) Series *s = NULL;    series_free(s), by DROP(Series, series)
 *
 * Such a variable has a value from its declaration on; to hand it over, set it to nothing. */
#ifndef TROTTER_SCOPED_H
#define TROTTER_SCOPED_H

#include <string.h>

#include "kernels/base/memory.h"

#define SCOPED(free) __attribute__((cleanup(free)))
#define DROP(type, name)                     \
    static inline void name##_drop(type **p) \
    {                                        \
        name##_free(*p);                     \
    }

/* Frees a pointer of any type, given its address. */
static inline void memory_drop(void *address)
{
    void *p;
    memcpy(&p, address, sizeof p);
    memory_free(p);
}

#endif
