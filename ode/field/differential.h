/* differential.h: the working state of numerical derivatives of fields. Private to differential.c and
 * predict.c. */
#ifndef TROTTER_DIFFERENTIAL_H
#define TROTTER_DIFFERENTIAL_H

#include "ode/field/field.h"

enum { PAIRS = 5 };
enum {
    ORDER_MAX = 8
}; /* highest order of trees evaluated: derivatives of 7, which PAIRS of values still tell */

typedef struct {
    const System *s;
    const Forest *f; /* NULL: derivatives along directions alone */
    size_t N;
    int one;               /* one colour stands for the sum of all */
    int colours;           /* colours of the forest, which `one` sums */
    char *needed;          /* (count): trees that leading terms or differ_mark ask for */
    double speed[COLOURS]; /* speeds of the clocks */
    double weight[ORDER_MAX][PAIRS];
    double t, length, step; /* the point: time; size of y; step relative to it */
    const double *y;
    double *value;              /* (count, N + COLOURS): F(t)(y), clocks last */
    double *w, *x, *dx, *other; /* (N + COLOURS) scratch */
} Differ;

int differ_new(Differ *m, const System *s, const Forest *f, int one);
void differ_free(Differ *m);
/* Sets the point where derivatives are taken; y (N) is borrowed. The caller sets m->step. */
void differ_stand(Differ *m, double t, const double *y);
/* Marks this tree, and those that it is made of, as needed. */
void differ_mark(Differ *m, size_t tree);
/* Computes F(t)(y) of every needed tree. */
void differ_evaluate(Differ *m);
double *differ_value(const Differ *m, size_t tree); /* (N) */
/* Adds c times the derivative of the colour `op` along w (N + COLOURS) to out (N). */
void differ_along(Differ *m, int op, double c, const double *w, double *out);
/* Returns the values of fields that differ_evaluate takes. */
double differ_work(const Differ *m);

#endif
