/* functions.h: functions of derivatives in steps: phi functions of exponential integrators, the resolvents of Rosenbrock
 * methods and W-methods. Private to ode/ (step.c). */
#ifndef TROTTER_FUNCTIONS_H
#define TROTTER_FUNCTIONS_H

#include "ode/step/linear.h"

typedef struct Functions Functions;

/* Prepares for the stages phiJ(c A) and solve(c A) of a frozen table on a system; both are borrowed. whole: as for
 * implicit_new. Nothing is allocated after this. */
int functions_new(const Table *t, const System *s, size_t whole, Functions **out);
void functions_free(Functions *m);
/* Forgets all derivatives, so that a run does not depend on what was run before. */
void functions_begin(Functions *m);
/* Forgets the derivatives of fields, or with w those that W stands for, so that they are taken anew where asked for. */
void functions_forget(Functions *m, int w);
/* Gives J, of a pattern (linear.h), a derivative of all fields of `ops` that is taken elsewhere, for W, until it is given or
 * taken anew. Returns 1, or 0 where W stands for others, or is kept in another pattern, and nothing happened. */
int functions_give(Functions *m, int ops, const Pattern *pattern, const double *J);
/* Computes k (N) = phi_J(c h A) r / h, or (1 - c h A)^-1 (r + c h^2 sum of tau_op df_op/dt) / h, of evaluation e; r (N).
 * A and df/dt are those at (t, y), y (N), unless W is kept; tau_op is the row's node. For W there is no df/dt. k is NaN
 * where it was not found. Returns the values of fields taken. */
size_t functions_apply(Functions *m, const Eval *e, double t, double h, const double *y,
                       const double *r, double *k);
/* Returns whether the last k of a resolvent was not found, though r was finite. */
int functions_failed(const Functions *m);

#endif
