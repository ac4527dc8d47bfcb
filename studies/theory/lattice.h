/* lattice.h: a splitting as a path in the plane of times spent under F and under G. */
#ifndef TROTTER_LATTICE_H
#define TROTTER_LATTICE_H

#include "ode/ode.h"
#include "studies/tools/sheet.h"

/* Draws DIR/NAME.csv, .gp, .svg, .png: the path of a table of flows against its chord. The area between
 * them is shaded by sign; its size and the brackets of degree 3 stand beside it. */
extern const Column lattice_columns[]; /* columns of the CSV */
int lattice_draw(const Table *t, const char *dir, const char *name);

#endif
