/* combine.h: linear combinations of arrays, the stepper's half of the memory traffic. Private to
 * ode/. */
#ifndef TROTTER_COMBINE_H
#define TROTTER_COMBINE_H

#include <stddef.h>

/* Computes elements at .. at + N - 1 of out = sum_m c_m x_m in one pass, adding terms from left to
 * right. out overlaps no x. parts = 0: out = 0. */
void combine(size_t at, size_t N, size_t parts, const double *c, const double *const *x,
             double *out);

/* Does the same; returns 1 where all of these elements of out are finite. */
int combine_checked(size_t at, size_t N, size_t parts, const double *c, const double *const *x,
                    double *out);

/* Returns 1 where every element of x (N) is finite. */
int combine_finite(size_t N, const double *x);

#endif
