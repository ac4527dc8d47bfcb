/* arena.c: places pieces of memory by their lives: the largest first, each at the lowest place that
 * is free while it lives. Source: Pisarchyk, Lee 2020, "Efficient memory management for deep neural
 * net inference", algorithm 3 (greedy by size). */
#include "nn/model/arena.h"

#include <stdlib.h>
#include <string.h>

/* Sorts by falling size, ties by time, so that the order depends on the pieces alone. */
static int by_size(const void *x, const void *y)
{
    const Piece *a = x, *b = y;
    if (a->size != b->size) return a->size < b->size ? 1 : -1;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end) return a->end < b->end ? -1 : 1;
    return a->where < b->where ? -1 : a->where > b->where;
}

static int meet(const Piece *a, const Piece *b)
{
    return a->begin <= b->end && b->begin <= a->end;
}

/* Returns the lowest free place for p among `count` pieces in order of their offsets. */
static size_t lowest(size_t count, const Piece *placed, const Piece *p)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const Piece *q = &placed[i];
        if (!meet(p, q)) continue;
        if (q->offset >= at + p->size) break;
        if (q->offset + q->size > at) at = q->offset + q->size;
    }
    return at;
}

/* Moves piece[i] down to its place in the order of offsets. */
static void insert(Piece *piece, size_t i)
{
    Piece p = piece[i];
    for (; i > 0 && piece[i - 1].offset > p.offset; i--) piece[i] = piece[i - 1];
    piece[i] = p;
}

size_t arena_place(size_t count, Piece *piece)
{
    size_t whole = 0;
    if (count) qsort(piece, count, sizeof *piece, by_size);
    for (size_t i = 0; i < count; i++) {
        size_t end = (piece[i].offset = lowest(i, piece, &piece[i])) + piece[i].size;
        whole = end > whole ? end : whole;
        insert(piece, i);
    }
    return whole;
}

static size_t sum_at(int time, size_t count, const Piece *piece, size_t kinds, size_t *by_kind)
{
    size_t sum = 0;
    memset(by_kind, 0, kinds * sizeof *by_kind);
    for (size_t i = 0; i < count; i++) {
        if (piece[i].begin > time || time > piece[i].end) continue;
        by_kind[piece[i].kind] += piece[i].size;
        sum += piece[i].size;
    }
    return sum;
}

/* Looks only where a life begins: a sum can grow nowhere else. */
size_t arena_peak(size_t count, const Piece *piece, size_t kinds, size_t *by_kind)
{
    size_t most = 0;
    int time = 0;
    for (size_t i = 0; i < count; i++) {
        size_t sum = sum_at(piece[i].begin, count, piece, kinds, by_kind);
        if (sum > most) time = piece[i].begin;
        most = sum > most ? sum : most;
    }
    return sum_at(time, count, piece, kinds, by_kind);
}
