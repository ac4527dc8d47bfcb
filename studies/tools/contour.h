/* contour.h: level lines of a function on a grid. */
#ifndef TROTTER_CONTOUR_H
#define TROTTER_CONTOUR_H

#include <stddef.h>

/* Called for every point of every line in order; `line` counts from 0 and changes where one begins. */
typedef void ContourPoint(void *context, size_t line, double x, double y);

/* Lines value = level of value (ny, nx) row-major at x0 + i dx, y0 + j dy, by linear interpolation on the
 * edges of the cells (marching squares, saddles split by the mean; Lorensen, Cline 1987 in the plane). A
 * value that is not finite counts as far above. */
int contour_find(const double *value, size_t nx, size_t ny, const double origin[2],
                 const double step[2], double level, ContourPoint *point, void *context);

#endif
