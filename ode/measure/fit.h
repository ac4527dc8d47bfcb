/* fit.h: the power of h that errors follow. Private to ode/ and its tests. */
#ifndef TROTTER_FIT_H
#define TROTTER_FIT_H

#include <stddef.h>

enum { FIT_WINDOW = 4 }; /* fewest points of a fit */
enum { FIT_MAX = 40 };   /* most points given */

/* Steps fall. error may be inf. floor > 0 is the part of error that may be rounding. */
typedef struct {
    double h, error, floor;
} FitPoint;

typedef struct {
    size_t first, count; /* window; count 0: no fit, slope NaN, tolerance inf */
    double slope, tolerance;
} Fit;

/* Returns whether an error is finite and far enough above its floor. */
int fit_usable(const FitPoint *p);

/* Finds the last run of usable points without a gap: *first .. *end - 1. */
void fit_range(const FitPoint *p, size_t n, size_t *first, size_t *end);

/* Finds the slope of log error over log h with its tolerance, over the best window; n <= FIT_MAX. */
Fit fit_order(const FitPoint *p, size_t n);

/* Finds constant (N) of the vectors error = h^order (constant + h c1 + h^2 c2 + ...), from those of
 * the window of f; error[i] (N) belongs to p[i]. *tolerance: RMS over N by which it may be off,
 * absolute. work (f->count, N): scratch. Without a window: constant untouched, *tolerance inf. */
void fit_constant(const FitPoint *p, const double *const *error, size_t N, const Fit *f, int order,
                  double *work, double *constant, double *tolerance);

#endif
