/* conditions_inside.h: what conditions.c and tree_weights.c share: a scheme as labels and rows. Private to both. */
#ifndef TROTTER_CONDITIONS_INSIDE_H
#define TROTTER_CONDITIONS_INSIDE_H

#include "ode/theory/theory.h"

/* A label is an evaluation, now or some steps ago, or a node of an exact flow's quadrature. */
typedef struct {
    size_t label;
    mpq_t c;
} LabelWeight;

/* base's row + sum c u[label] + sum state[j - 1] E_-j. */
typedef struct {
    int base; /* an earlier row, or -1 */
    size_t count;
    LabelWeight *w;
    mpq_t *state; /* (depth), or NULL: none */
} LabelRow;

typedef struct {
    const Table *t; /* borrowed; trees that vanish where it is special are left out */
    int estimate;   /* the update estimates an error: its series is compared with 0 */
    int colours;    /* of trees */
    size_t labels, depth, rows;
    size_t first[COLOURS + 1]; /* labels of colour c are first[c] .. first[c + 1] - 1 */
    size_t *row_of;            /* (labels) the row of an argument */
    mpq_t *node;               /* (labels) on the clock of its colour */
    LabelRow *row;             /* (rows), the last is the update */
    mpz_t divisor;             /* no prime that divides it serves */
    double turn, turns;        /* of passes over the trees of an order, for those who wait */
    double weights;            /* number of those of all rows */
    /* The numerator of a defect of order n is below 2^(digits[0] + n digits[1]) n!. */
    double digits[2];
} Method;

/* The defects d of all trees of one order, each divided by sigma, its symmetry. */
typedef struct {
    int zero;       /* all are 0: modulo the prime, or below 1e-80 */
    double largest; /* |d|; and the sums of d^2 of both norms */
    double norm2, one_colour;
} Defects;

/* Looks at the trees of an order: modulo a prime below 2^61, where it ends at the first defect that is not 0 and tells no
 * sizes, or for prime 0 in floats. f has the trees up to half of the order. */
int tree_weights(const Method *m, const Forest *f, int order, uint64_t prime, Defects *out);
/* Returns the number of trees of an order: without clocks, and with those that vanish. */
double tree_count(int colours, int order);

#endif
