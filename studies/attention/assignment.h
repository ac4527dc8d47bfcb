/* assignment.h: finds the optimal assignment. */
#ifndef TROTTER_ASSIGNMENT_H
#define TROTTER_ASSIGNMENT_H

#include <stddef.h>

enum { ASSIGNMENT_MAX = 256 };

/* to (n) out: the permutation with the least sum_i cost[i, to[i]] of cost (n, n), finite numbers, n <=
 * ASSIGNMENT_MAX. Returns that sum. O(n^3). Source: Kuhn 1955, Munkres 1957, in the form of shortest
 * augmenting paths (Jonker, Volgenant 1987). */
double assignment_find(size_t n, const double *cost, size_t *to);

#endif
