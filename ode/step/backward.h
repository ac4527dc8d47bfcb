/* backward.h: backward differentiation formulas of variable step and order. Private to ode/ (adapt.c). */
#ifndef TROTTER_BACKWARD_H
#define TROTTER_BACKWARD_H

#include "ode/step/steps.h"

typedef struct Backward Backward;

/* Returns how many times as large the estimates of a step's error count (adapt.c says why): 100, and with a mass matrix 8:
 * at 100 the transistor amplifier of the IVP test set ends in steps too short (test_implicit). Near rounding it is fewer, as few as 1:
 * at 100 Robertson's reaction took 37 times as many steps to 1e-13 as to 1e-12, and did not end to 1e-14 (test_radau). */
double backward_sharper(const Backward *b);

/* Prepares for a frozen table with orders (Table.orders; borrowed) on a system (borrowed), with stages found to a share
 * of the tolerance of these options (borrowed). */
int backward_new(const Table *t, const System *s, const AdaptOptions *o, Backward **out);
void backward_free(Backward *b);
DROP(Backward, backward)
/* Begins at (t, y) with order 1 and step h. */
void backward_begin(Backward *b, double t, double h, const double *y);
/* Goes on with another step, from the polynomial that the last one left. */
void backward_resize(Backward *b, double h);
/* Tries a step. ERR_NUMERIC: it was not found. Where it is not taken, backward_resize is next. */
int backward_try(Backward *b);
void backward_accept(Backward *b);
/* Returns how many equal steps were taken since backward_begin or backward_resize: order + 1 are needed to tell which one is next. */
int backward_equal(const Backward *b);
int backward_order(const Backward *b);
/* Sets the order, one more or less at most. */
void backward_set_order(Backward *b, int order);
/* Returns what the step tried, or behind backward_accept the one taken, errs by, estimated; of the order `more` above or
 * below (-1, 0, 1; 1 behind order + 1 equal steps, which are taken), NULL: there is no such order. Borrowed until the next call. */
const double *backward_error(Backward *b, int more);
const double *backward_state(const Backward *b); /* (N): taken last */
const double *backward_tried(const Backward *b);
/* Computes y (N) at theta h within the step taken last, 0 < theta <= 1. */
void backward_within(const Backward *b, double theta, double *y);
const Newton *backward_newton(const Backward *b);
size_t backward_evals(const Backward *b);

#endif
