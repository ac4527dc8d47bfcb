/* rationals.h: lists of rationals. Private to ode/. */
#ifndef TROTTER_RATIONALS_H
#define TROTTER_RATIONALS_H

#include <gmp.h>
#include <stddef.h>

#include "kernels/memory.h"

/* Makes n zeros; NULL: out of memory. */
static inline mpq_t *rationals_new(size_t n)
{
    mpq_t *list = memory_new(n, sizeof(mpq_t));
    for (size_t i = 0; list && i < n; i++) mpq_init(list[i]);
    return list;
}

/* NULL is allowed. */
static inline void rationals_free(mpq_t *list, size_t n)
{
    for (size_t i = 0; list && i < n; i++) mpq_clear(list[i]);
    memory_free(list);
}

#endif
