/* forecast.h: the cost of the steps of an order study, found by trial. Private to ode/. */
#ifndef TROTTER_FORECAST_H
#define TROTTER_FORECAST_H

#include "ode/measure/measure.h"

enum { HALVINGS_MAX = 24 }; /* most halvings of a study */

/* n steps over a time T take n * step + T * time: a sub-flow that takes its own steps costs by the time it covers,
 * whatever the scheme's step is. */
typedef struct {
    double step, time; /* seconds */
} StepCost;

/* Finds the cost of a step, and *seconds, those of a study over t_end: runs of `steps` steps and of twice as many each
 * time, `halvings` times. It tries the finest step h and 2 h from the initial state of a system of N coordinates; a
 * step that fails counts by its time. ERR_MEMORY. */
int study_cost(Stepper *st, const double *initial, size_t N, size_t steps, int halvings,
               double t_end, StepCost *out, double *seconds);
double step_cost_of(const StepCost *c, double steps, double time);

/* Fills in the system's defaults and finds how many steps the coarsest run has; ERR_INPUT. */
int order_first_steps(const System *s, const OrderOptions *o, double *t_end, size_t *steps);

#endif
