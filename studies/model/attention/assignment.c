/* assignment.c: finds an assignment by the Hungarian method with shortest augmenting paths.
 *
 * Prices u of rows and v of columns keep cost[i, j] - u[i] - v[j] >= 0, and 0 on the assigned pairs; by
 * duality such an assignment is optimal. Rows are added one by one. From the new row a tree of cheapest
 * paths grows (Dijkstra on the reduced costs), and the prices change with it, until it meets a free
 * column. Then the assignments along the path back to the root move by one. */
#include "studies/model/attention/attention_distance.h"

#include <math.h>

/* Rows and columns count from 1; 0 is none, and column 0 the root. */
typedef struct {
    size_t n;
    const double *cost;
    double u[ASSIGNMENT_MAX + 1], v[ASSIGNMENT_MAX + 1];
    size_t row[ASSIGNMENT_MAX + 1];  /* row of a column */
    size_t from[ASSIGNMENT_MAX + 1]; /* previous column on the path */
    double slack[ASSIGNMENT_MAX + 1];
    int done[ASSIGNMENT_MAX + 1];
} Prices;

/* Updates the slacks of the columns outside the tree by way of column j.
 * Returns the nearest of them. */
static size_t nearest(Prices *p, size_t j)
{
    size_t i = p->row[j], best = 0;
    for (size_t k = 1; k <= p->n; k++) {
        if (p->done[k]) continue;
        double reduced = p->cost[(i - 1) * p->n + k - 1] - p->u[i] - p->v[k];
        if (reduced < p->slack[k]) p->slack[k] = reduced, p->from[k] = j;
        if (!best || p->slack[k] < p->slack[best]) best = k;
    }
    return best;
}

static void move_prices(Prices *p, double by)
{
    for (size_t k = 0; k <= p->n; k++)
        if (p->done[k])
            p->u[p->row[k]] += by, p->v[k] -= by;
        else
            p->slack[k] -= by;
}

static void add_row(Prices *p, size_t i)
{
    size_t j = 0;
    for (size_t k = 0; k <= p->n; k++) p->slack[k] = INFINITY, p->done[k] = 0;
    p->row[0] = i;
    do {
        p->done[j] = 1;
        size_t next = nearest(p, j);
        move_prices(p, p->slack[next]);
        j = next;
    } while (p->row[j]);
    for (; j; j = p->from[j]) p->row[j] = p->row[p->from[j]];
}

double assignment_find(size_t n, const double *cost, size_t *to)
{
    Prices p = {.n = n, .cost = cost};
    double sum = 0;
    for (size_t i = 1; i <= n; i++) add_row(&p, i);
    for (size_t j = 1; j <= n; j++) to[p.row[j] - 1] = j - 1;
    for (size_t i = 0; i < n; i++) sum += cost[i * n + to[i]];
    return sum;
}
