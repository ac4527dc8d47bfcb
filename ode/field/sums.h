/* sums.h: the rows of a frozen table as lists of (double, slope or state, steps ago), ready to be formed by combine.c.
 * Private to ode/.
 */
#ifndef TROTTER_SUMS_H
#define TROTTER_SUMS_H

#include "ode/scheme/table.h"

typedef struct {
    int eval, past;
    double c;
} SumPart;

/* sum of c * (state or slope), at time node[op] * h; plain: it is y itself. */
typedef struct {
    size_t parts;
    SumPart *part;
    double node[COLOURS];
    int plain;
} Sum;

/* The sums of a table. */
typedef struct {
    size_t points, carries;
    Sum *point; /* (points) */
    Sum *carry; /* (carries) updates of what is carried */
    Sum update;
    Sum error, coarse; /* of a pair */
} Sums;

/* Makes the sums of a table. joined (t->evals): 1 where evaluation e and the next are one slope, kept in that of e.
 * ERR_MEMORY; sums_free then too. */
int sums_new(const Table *t, const int *joined, Sums *out);
void sums_free(Sums *p);

/* Leaves out the slopes of this step, which implicit.c adds. */
void sum_known(Sum *s);

/* Returns 1 where e and e + 1 are F and G of one set, point and time, which no row tells apart. */
int sums_joined(const Table *t, int e);

#endif
