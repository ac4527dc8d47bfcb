/* implicit.h: the slopes of a step whose stages name themselves. Private to ode/ (step.c). */
#ifndef TROTTER_IMPLICIT_H
#define TROTTER_IMPLICIT_H

#include "ode/ode.h"

typedef struct Implicit Implicit;

/* Of a frozen table (read here alone) on a system (borrowed). krylov: 1 to take the path of large systems. No allocation
 * after this. */
int implicit_new(const Table *t, const System *s, int krylov, Implicit **out);
void implicit_free(Implicit *m);
/* Unknowns, points of a block times coordinates, up to which systems are solved densely; krylov out: 1 where some block has
 * more. */
enum { IMPLICIT_DENSE = 600 };
int implicit_krylov(const Table *t, const System *s, int *krylov);
/* Forgets derivatives that were kept from earlier steps, so that a run does not depend on what was run before. */
void implicit_begin(Implicit *m);
/* k (evals, N) out: f_e of the step from time t by h; known (points, N): the points' rows without slopes of this step. *evals
 * grows by the values of the fields taken. ERR_NUMERIC where they are not found, in words. */
int implicit_solve(Implicit *m, double t, double h, const double *known, double *k, size_t *evals);

#endif
