/* contour.c: level lines by marching squares. Every edge of the grid that a line crosses is a node with
 * at most two neighbours, one in each cell beside it. Lines are walked from node to node; open ones
 * come first and begin at an end. */
#include "studies/base/plot/contour.h"

#include <math.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"

/* Edge 2 p leads from grid point p to the right, 2 p + 1 upwards. */
typedef struct {
    const double *value;
    size_t nx, ny;
    double level, origin[2], step[2];
    size_t (*next)[2]; /* (2 nx ny): neighbours of an edge's node, plus 1; 0: none */
} Grid;

static int is_above(const Grid *g, size_t p)
{
    return !(g->value[p] <= g->level);
}

static void join(Grid *g, size_t a, size_t b)
{
    g->next[a][g->next[a][0] != 0] = b + 1;
    g->next[b][g->next[b][0] != 0] = a + 1;
}

/* Joins the crossed edges of the cell whose lower left corner is p. Corners and edges go round; edge k
 * begins at corner k. */
static void cross_cell(Grid *g, size_t p)
{
    size_t corner[4] = {p, p + 1, p + 1 + g->nx, p + g->nx};
    size_t edge[4] = {2 * p, 2 * (p + 1) + 1, 2 * (p + g->nx), 2 * p + 1}, hit[4];
    int n = 0;
    double mean = 0;
    for (int k = 0; k < 4; k++) {
        mean += g->value[corner[k]] / 4;
        if (is_above(g, corner[k]) != is_above(g, corner[(k + 1) % 4])) hit[n++] = edge[k];
    }
    if (n == 2) join(g, hit[0], hit[1]);
    if (n != 4) return;
    int shift = is_above(g, corner[0]) == !(mean <= g->level); /* cut off corners 1, 3 or 0, 2 */
    join(g, hit[shift ? 0 : 3], hit[shift ? 1 : 0]);
    join(g, hit[shift ? 2 : 1], hit[shift ? 3 : 2]);
}

/* Finds the point of an edge where the level is met. */
static void edge_point(const Grid *g, size_t edge, double out[2])
{
    size_t p = edge / 2, q = p + (edge % 2 ? g->nx : 1);
    double a = g->value[p] - g->level, b = g->value[q] - g->level;
    double u = isfinite(a) && isfinite(b) ? a / (a - b) : 0.5;
    out[0] = g->origin[0] + g->step[0] * ((double)(p % g->nx) + (edge % 2 ? 0 : u));
    out[1] = g->origin[1] + g->step[1] * ((double)(p / g->nx) + (edge % 2 ? u : 0));
}

/* Removes the link between a node and its neighbour. Returns the neighbour + 1, or 0. */
static size_t follow(Grid *g, size_t a)
{
    size_t k = g->next[a][0] ? 0 : 1, b = g->next[a][k];
    if (!b) return 0;
    g->next[a][k] = 0;
    g->next[b - 1][g->next[b - 1][0] == a + 1 ? 0 : 1] = 0;
    return b;
}

static void walk(Grid *g, size_t from, size_t line, ContourPoint *point, void *context)
{
    double x[2];
    for (size_t at = from + 1; at; at = follow(g, at - 1)) {
        edge_point(g, at - 1, x);
        point(context, line, x[0], x[1]);
    }
}

int contour_find(const double *value, size_t nx, size_t ny, const double origin[2],
                 const double step[2], double level, ContourPoint *point, void *context)
{
    Grid g = {value, nx, ny, level, {origin[0], origin[1]}, {step[0], step[1]}, NULL};
    size_t edges = 2 * nx * ny, line = 0;
    if (nx < 2 || ny < 2) return error_set(ERR_MISUSE, "contour_find: grid too small");
    if (!(g.next = memory_new(edges, sizeof *g.next))) return ERR_MEMORY;
    for (size_t j = 0; j + 1 < ny; j++)
        for (size_t i = 0; i + 1 < nx; i++) cross_cell(&g, j * nx + i);
    for (int closed = 0; closed < 2; closed++)
        for (size_t e = 0; e < edges; e++)
            if (g.next[e][0] && (closed || !g.next[e][1])) walk(&g, e, line++, point, context);
    memory_free(g.next);
    return 0;
}
