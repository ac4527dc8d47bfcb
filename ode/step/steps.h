/* steps.h: one stepper for every table; steps by tolerance. */
#ifndef TROTTER_STEPS_H
#define TROTTER_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/base/scoped.h"
#include "ode/field/field.h"

/* ---- step.c: one stepper for every table -------------------------------------------------------- */

enum { START_GIVEN, START_NETWORK };

typedef struct Stepper Stepper;

/* Makes a stepper of a frozen table (borrowed) on a system (borrowed). After this only sub-flows
 * without a closed form allocate. */
int stepper_new(const Table *t, const System *s, Stepper **out);
void stepper_free(Stepper *st);
DROP(Stepper, stepper)
/* Begins at (t, y) with step h. START_GIVEN: the first steps end in the states `given`, y(t + j h) for
 * j = 1 .. stepper_history (n d doubles each), which are copied; past slopes are evaluated on them as the scheme would.
 * The step after them is the scheme's own first one. START_NETWORK: steps without enough history take table_start. */
int stepper_begin(Stepper *st, double t, double h, const double *y, int start, const double *given);
/* Returns how many states START_GIVEN needs. */
int stepper_history(const Stepper *st);
/* Takes one step; ERR_NUMERIC: the state is not finite, or implicit stages are not found. */
int stepper_step(Stepper *st);
/* Tries a step of length h from where the stepper is, and leaves it there. This takes the place of stepper_step, after
 * stepper_begin, for a stepper of Table.pair. stepper_tried: y' (n, d); stepper_error: y' - yhat, both borrowed until
 * the next try. stepper_accept takes the last try. Slopes that are known are not evaluated again. ERR_NUMERIC when y'
 * is not finite. */
int stepper_try(Stepper *st, double h);
void stepper_accept(Stepper *st);
/* Goes to (t, y), without history, and without derivatives of before: the next try begins there. */
void stepper_move(Stepper *st, double t, const double *y);
const double *stepper_tried(const Stepper *st);
const double *stepper_error(const Stepper *st);
const double *stepper_state(const Stepper *st); /* (n, d), borrowed */
/* Returns the evaluations of F and G so far. A flow counts one. With implicit stages every value of F, G or C that
 * solving for them took counts, those of derivatives by differences too. */
size_t stepper_evals(const Stepper *st);

/* stepper_h returns the step tried last. stepper_slope returns the value of evaluation e (n, d) in it, borrowed until
 * the next try, or NULL where evaluation e - 1, the other operator at its point, has both. */
double stepper_h(const Stepper *st);
const double *stepper_slope(const Stepper *st, size_t e);

/* ---- adapt.c: steps by tolerance ------------------------------------------------------------------ */

enum { ADAPT_DONE, ADAPT_UNDERFLOW, ADAPT_STEPS };
const char *adapt_outcome(int outcome); /* "done", "underflow", "too many steps" */

typedef struct {
    double absolute,
        relative; /* in coordinate i an error is compared with absolute + relative |y_i| */
    double t_end;
    int estimate_order; /* q >= 0 of theory_embedded */
    double first;       /* first step; 0: by Hairer's rule */
    size_t most;        /* steps, rejected ones included */
    /* States at these times, rising, 0 < at <= t_end. The steps are the same without. */
    size_t times;
    const double *at; /* (times) */
    double *states;   /* (times, N) out, up to where the run came */
} AdaptOptions;

typedef struct {
    int outcome; /* ADAPT_UNDERFLOW: steps fell below the spacing of numbers near t; ADAPT_STEPS: `most` were taken */
    double t;    /* reached: t_end, exactly, where it is done */
    double first; /* step tried first */
    size_t steps, rejected,
        evals; /* evals: of F, G and C, those of the first step's rule and of states within steps included */
    int dense; /* states within steps are of this order, by weights; 0: they are ends of steps, or not asked for */
} AdaptRun;

/* Runs a pair (t->pair) from the initial state at time 0; y (n, d) out: the state at out->t. ERR_INPUT: not a pair.
 * Source: Gustafsson 1991; Hairer, Norsett, Wanner 1993, II.4; Hairer, Wanner 1996, IV.2. */
int adapt_run(const Table *t, const System *s, const AdaptOptions *o, double *y, AdaptRun *out);

#endif
