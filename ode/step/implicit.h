/* implicit.h: the slopes of a step whose stages name themselves. Private to ode/ (step.c). */
#ifndef TROTTER_IMPLICIT_H
#define TROTTER_IMPLICIT_H

#include "ode/step/steps.h"

typedef struct Implicit Implicit;

/* Prepares for a frozen table (read here alone) on a system (borrowed). dense: unknowns, points of a block times
 * coordinates, up to which systems are solved by factors; beyond they are by their action alone. Nothing is allocated after this. */
int implicit_new(const Table *t, const System *s, size_t dense, Implicit **out);
void implicit_free(Implicit *m);
/* Forgets derivatives kept from earlier steps, so that a run does not depend on what was run before. */
void implicit_begin(Implicit *m);
/* Finds k (evals, N), f_e of the step from time t by h. known (points, N): the points' rows without slopes of this
 * step. *evals grows by the values of the fields taken. ERR_NUMERIC, in words, where they are not found. */
int implicit_solve(Implicit *m, double t, double h, const double *known, double *k, size_t *evals);

#endif
