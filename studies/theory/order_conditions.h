/* order_conditions.h: the order conditions of one-step schemes as formulas. */
#ifndef TROTTER_ORDER_CONDITIONS_H
#define TROTTER_ORDER_CONDITIONS_H

#include <stddef.h>
#include <stdint.h>

#include "ode/ode.h"

/* The condition of a rooted tree. */
typedef struct {
    const char *scheme, *condition, *left, *right, *tree; /* tree: as an elementary differential */
    int order, holds;
    uint64_t symmetry, density;
    const Forest *forest;
    size_t index; /* of the tree in it */
} ConditionRow;

/* Calls `take` with the row of each condition of order 1 .. degree, whose texts live as long as the call. A scheme whose
 * stages are all H, or a Rosenbrock method, has the trees of one colour, a W-method those of H and W, others those of two
 * or three. ERR_INPUT: a scheme with history, an exponential integrator, solve of one operator. */
typedef int ConditionTaker(void *to, const ConditionRow *row);
int conditions_each(const Table *t, int degree, ConditionTaker *take, void *to);

#endif
