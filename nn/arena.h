/* arena.h: pieces of memory whose lives do not meet share a place (arena.c). */
#ifndef TROTTER_ARENA_H
#define TROTTER_ARENA_H

#include <stddef.h>

typedef struct {
    void **where;   /* for the caller: what is to point at the piece */
    size_t size;    /* any unit, > 0 or 0 */
    int begin, end; /* first and last time it is in use, both included */
    int kind;       /* for the caller, from 0 */
    size_t offset;  /* out */
} Piece;

/* Gives every piece its offset, so that no two overlap while both live; returns the size of the
 * whole. The list comes back in another order. At most P^2 / 2 looks for P pieces. */
size_t arena_place(size_t count, Piece *piece);

/* The largest sum of sizes that live at one time: no placement is smaller. by_kind (kinds), out: that
 * sum's parts. */
size_t arena_peak(size_t count, const Piece *piece, size_t kinds, size_t *by_kind);

#endif
