/* distance.h: distances of numbers from the numbers they should be. A NaN anywhere is infinitely
 * far. */
#ifndef TROTTER_TESTS_DISTANCE_H
#define TROTTER_TESTS_DISTANCE_H

#include <math.h>
#include <stddef.h>

/* Returns the larger of two distances. */
static inline double farther(double most, double e)
{
    if (e <= most) return most;
    return isnan(e) ? INFINITY : e;
}

/* Returns the largest |x - y|. */
static inline double distance(const double *x, const double *y, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = farther(most, fabs(x[i] - y[i]));
    return most;
}

/* Returns the largest |x - y| / (1 + |y|). */
static inline double relative_distance(const double *x, const double *y, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = farther(most, fabs(x[i] - y[i]) / (1 + fabs(y[i])));
    return most;
}

/* Returns |x - y| / |y| in the Euclidean norm. y is not 0. */
static inline double norm_distance(const double *x, const double *y, size_t n)
{
    double off = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        off += (x[i] - y[i]) * (x[i] - y[i]);
        norm += y[i] * y[i];
    }
    return farther(0, sqrt(off / norm));
}

#endif
