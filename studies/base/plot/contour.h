/* contour.h: level lines of a function on a grid. */
#ifndef TROTTER_CONTOUR_H
#define TROTTER_CONTOUR_H

#include <stddef.h>

/* Receives every point of every line in order; `line` counts from 0 and changes where a new line begins. */
typedef void ContourPoint(void *context, size_t line, double x, double y);

/* Finds the lines value = level of value (ny, nx), row-major, grid point (j, i) at origin + (i, j) step.
 * It interpolates linearly on the edges of the cells (marching squares; the mean of the corners splits
 * saddles; Lorensen, Cline 1987 in the plane). A value that is not finite counts as far above. ERR_MISUSE
 * where nx or ny is below 2; ERR_MEMORY. */
int contour_find(const double *value, size_t nx, size_t ny, const double origin[2],
                 const double step[2], double level, ContourPoint *point, void *context);

#endif
