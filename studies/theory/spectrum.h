/* spectrum.h: the largest stable step of schemes on a particle system, by the eigenvalues of its Jacobian. */
#ifndef TROTTER_SPECTRUM_H
#define TROTTER_SPECTRUM_H

#include "studies/tools/option.h"
#include "studies/tools/select.h"
#include "studies/tools/sheet.h"

/* The columns of steps.csv. */
extern const Column spectrum_columns[];

/* Makes a row for every scheme, number of --particles and value of --peclet of --system. With --out also writes
 * DIR/steps.csv and, where there are several Peclet numbers, the plot steps. More than 1024 coordinates,
 * decoders' schemes: ERR_INPUT. */
int spectrum_study(const Options *o, const Selection *schemes);

#endif
