/* joined.h: a Runge-Kutta method, additive or not, without what no order condition tells apart: equal evaluations are joined
 * (Hundsdorfer, Spijker 1981), those without effect are marked. Private to structure.c and assumptions.c. */
#ifndef TROTTER_JOINED_H
#define TROTTER_JOINED_H

#include "ode/theory/theory.h"

/* A method of `evals` evaluations: row (evals, evals), weight (evals); joined: a (n, n), b (n), which have only coefficients
 * that the conditions read. */
typedef struct {
    const Table *t;
    int separable;
    size_t evals, n;
    int *colour; /* (evals) */
    mpq_t *row, *weight;
    int *of, *next; /* (evals): where an evaluation went */
    int *op, *used; /* (n) */
    mpq_t *a, *b;
} Joined;

/* Returns whether a frozen table is one: every row is y plus slopes, without history, of at most 256 evaluations. */
int joined_takes(const Table *t);
/* Makes the method of a table, or with `adjoint`, twice as large, its update less that of its adjoint, and joins it.
 * separable: evaluations of an operator do not tell what they read of that operator. ERR_MEMORY. */
int joined_new(const Table *t, int separable, int adjoint, Joined *s);
void joined_free(Joined *s);
/* Returns whether two coefficients differ by more than a table's rounding. */
int joined_differ(const Table *t, const mpq_t a, const mpq_t b);

#endif
