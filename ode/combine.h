/* combine.h: linear combinations of arrays, the stepper's half of the memory traffic. Private to
 * ode/. */
#ifndef TROTTER_COMBINE_H
#define TROTTER_COMBINE_H

#include <stddef.h>

/* out (N) = sum_m c_m x_m, terms added from left to right, in one pass; out overlaps no x. parts = 0:
 * out = 0. Returns 0 where every element of out is finite, else NaN. */
double combine(size_t N, size_t parts, const double *c, const double *const *x, double *out);

/* 1 where every element of x (N) is finite. */
int combine_finite(size_t N, const double *x);

#endif
