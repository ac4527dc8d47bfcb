/* arena.h: places pieces of memory so that pieces that do not live at the same time may overlap
 * (arena.c). */
#ifndef TROTTER_ARENA_H
#define TROTTER_ARENA_H

#include <stddef.h>

typedef struct {
    void **where;   /* for the caller: a pointer that will point at the piece */
    size_t size;    /* in any unit, may be 0 */
    int begin, end; /* first and last time of use, both included */
    int kind;       /* for the caller, from 0 */
    size_t offset;  /* out */
} Piece;

/* Gives every piece an offset, so that no two overlap while both live; returns the size of the whole.
 * It reorders the list. It compares at most P^2 / 2 pairs of P pieces. */
size_t arena_place(size_t count, Piece *piece);

/* Returns the largest sum of sizes that live at one time; no placement is smaller. by_kind (kinds),
 * out: that sum's parts. */
size_t arena_peak(size_t count, const Piece *piece, size_t kinds, size_t *by_kind);

#endif
