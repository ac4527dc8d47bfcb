/* implicit.h: the slopes of a step whose stages name themselves. Private to ode/ (step.c). */
#ifndef TROTTER_IMPLICIT_H
#define TROTTER_IMPLICIT_H

#include "ode/step/functions.h"

typedef struct Implicit Implicit;

/* Prepares for a frozen table (read here and in implicit_loosen) on a system (borrowed). whole: unknowns, points of a block times coordinates,
 * up to which matrices are whole where no band is told (pattern_find). Nothing is allocated after this. */
int implicit_new(const Table *t, const System *s, size_t whole, Implicit **out);
void implicit_free(Implicit *m);
int implicit_by_action(const Implicit *m); /* 1: systems are not solved by factors */
/* Forgets derivatives kept from earlier steps, so that a run does not depend on what was run before. */
void implicit_begin(Implicit *m);
/* Tells which functions of derivatives stand among the stages (borrowed). */
void implicit_functions(Implicit *m, Functions *f);
/* Returns whether an estimate of the error, of stages over H, is bounded on what is stiff: z e (1 - z A)^-1 (1 .. 1)' for z -> -inf. */
int implicit_damps(const Implicit *m, const Row *error);
/* From now on stages are found to a share of the tolerance of these options (borrowed), by derivatives that are kept over steps (simplified Newton
 * iteration), and what newton says holds. ERR_MEMORY. */
int implicit_loosen(Implicit *m, const Table *t, const AdaptOptions *o);
/* Of a loosened table of one stage, at t + h: iterations begin at the state given to implicit_solve, which a predictor
 * has brought near the stage, and derivatives, taken there, are kept as long as iterations end. They end within
 * this share of the tolerance. It comes before implicit_loosen. */
void implicit_from_state(Implicit *m, double share);
const Newton *implicit_newton(const Implicit *m); /* NULL: stages are found to rounding */
/* The step found last is taken: the next one begins at its end. */
void implicit_accept(Implicit *m);
/* Behind implicit_move to where another one of the same table stands: takes its slope there. */
void implicit_follow(Implicit *m, const Implicit *from);
/* The next step begins elsewhere. */
void implicit_move(Implicit *m);
/* Finds k (evals, N), f_e of the step from (t, y) by h, y (N). known (points, N): the points' rows without slopes of
 * this step. *evals grows by the values of the fields taken. ERR_NUMERIC, in words, where they are not found. */
int implicit_solve(Implicit *m, double t, double h, const double *y, const double *known, double *k,
                   size_t *evals);

#endif
