/* region.h: the region |R| <= 1, in the plane of h lambda or of its two parts. R is the largest amplification of a step
 * on y' = lambda_F y + lambda_G y (ode/theory/theory.h). */
#ifndef TROTTER_STUDIES_REGION_H
#define TROTTER_STUDIES_REGION_H

#include <stdio.h>

#include "ode/ode.h"
#include "studies/base/plot/plot.h"
#include "studies/base/sheet.h"

/* The plane is that of z = h lambda in equal shares of all operators, or that of h lambda_F and h lambda_G,
 * both real. PLANE_STAR is that of z again, with |R(z) e^-z| in the place of |R|: the order star, whose
 * p + 1 sectors at 0 tell the order p (Wanner, Hairer, Norsett 1978). */
enum { PLANE_LAMBDA, PLANE_SPLIT, PLANE_STAR };

typedef struct {
    Table *const *table; /* frozen, (count), borrowed */
    size_t count;
    /* (count), borrowed: ends of the stability intervals from 0; NULL: a region that is a part of the imaginary axis
     * alone has no line */
    const double *real, *imag;
    /* (count), borrowed: place in real and imag; -1: the embedded method of the pair before it, whose line is dashed;
     * NULL: each has its own place */
    const int *of;
    int plane;
    size_t points;
    double origin[2],
        step[2];     /* grid of points by points: coordinates of its lower left corner, its steps */
    double *modulus; /* (count, points, points), rows upwards; NULL: not filled */
} Region;

/* Computes modulus, which the caller frees. ERR_INPUT where the work is too much, before it begins. */
int region_fill(Region *u);
/* Raises *far to the farthest zero of R from 0, where an order star's fingers end, and to `poles` times the farthest pole, around
 * which an implicit method is unstable. */
int region_reach(const Table *t, double poles, double *far);
/* Writes |R| on the grid as CSV: scheme, two coordinates, modulus. */
int region_write(const Region *u, FILE *f);
/* Writes DIR/stability.csv, contours.csv and plots; for a split plane split.csv, split-contours.csv and plots;
 * for order stars order-star.csv, order-star-contours.csv, order-star-roots.csv (zeros and poles of R) and plots. */
int region_save(const Region *u, const char *dir);

/* Writes DIR/FILE, the lines of all schemes (columns region_lines, or region_split_lines), and adds them to a plot. */
int region_overlay(const Region *u, const char *dir, const char *file, Plot *p);

/* Columns of these files: the grid, the lines of the boundaries, the number of stable schemes. */
extern const Column region_grid[], region_split_grid[], region_lines[], region_split_lines[],
    region_inside[], region_split_inside[], region_roots[];

#endif
