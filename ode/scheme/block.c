/* block.c: finds which points of a table need one another's slopes: the strongly connected blocks of "reads a slope
 * of", numbered so that each reads those before it and itself alone. A stage of an explicit or of a diagonally implicit
 * method is a block by itself; the stages of Gauss's methods are one block.
 * Source: Tarjan 1972, "Depth-first search and linear graph algorithms". */
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/table.h"

int table_implicit(const Table *t)
{
    for (size_t p = 0; p < t->points; p++)
        for (size_t i = 0; i < t->point[p].row.terms; i++) {
            const Term *s = &t->point[p].row.term[i];
            if (s->eval >= 0 && !s->past && t->eval[s->eval].point >= (int)p) return 1;
        }
    return 0;
}

typedef struct {
    const Table *t;
    int *block, *solved; /* as in table_blocks; block -1: not yet known */
    int *number, *low;   /* order of visits from 1, 0: not visited; the earliest one reached */
    int *stack;
    int visited, held, blocks;
} Walk;

/* Makes the points from p on the stack a block. */
static void close_block(Walk *w, int p, int itself)
{
    int many = w->stack[w->held - 1] != p;
    for (int q = -1; q != p;) {
        q = w->stack[--w->held];
        w->block[q] = w->blocks;
    }
    w->solved[w->blocks++] = many || itself;
}

static void visit(Walk *w, int p)
{
    const Row *r = &w->t->point[p].row;
    int itself = 0;
    w->number[p] = w->low[p] = ++w->visited;
    w->stack[w->held++] = p;
    for (size_t i = 0; i < r->terms; i++) {
        if (r->term[i].eval < 0 || r->term[i].past) continue;
        int q = w->t->eval[r->term[i].eval].point;
        if (!w->number[q]) visit(w, q);
        itself |= q == p;
        if (w->block[q] < 0 && w->low[q] < w->low[p]) w->low[p] = w->low[q];
    }
    if (w->low[p] == w->number[p]) close_block(w, p, itself);
}

int table_blocks(const Table *t, int *block, int *solved, size_t *count)
{
    SCOPED(memory_drop) int *scratch = memory_new(3 * t->points, sizeof *scratch);
    if (!scratch) return ERR_MEMORY;
    Walk w = {.t = t, .block = block, .solved = solved, .number = scratch};
    w.low = scratch + t->points;
    w.stack = w.low + t->points;
    for (size_t p = 0; p < t->points; p++) block[p] = -1;
    for (size_t p = 0; p < t->points; p++)
        if (!w.number[p]) visit(&w, (int)p);
    *count = (size_t)w.blocks;
    return 0;
}
