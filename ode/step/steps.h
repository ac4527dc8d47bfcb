/* steps.h: one stepper for every table; steps by tolerance. A function that can fail returns 0 for done, or an ERR_* of
 * kernels/base/error.h (ode.h). */
#ifndef TROTTER_STEPS_H
#define TROTTER_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/base/scoped.h"
#include "ode/field/field.h"

/* ---- step.c: one stepper for every table -------------------------------------------------------- */

enum { START_GIVEN, START_NETWORK };

typedef struct Stepper Stepper;

/* Makes a stepper of a frozen table (table_freeze; borrowed) on a system (borrowed). After this only sub-flows
 * without a closed form allocate. ERR_MISUSE: not frozen. ERR_INPUT: the system cannot take the scheme (system_takes, mass_takes, mass_check). */
int stepper_new(const Table *t, const System *s, Stepper **out);
void stepper_free(Stepper *st);
DROP(Stepper, stepper)
/* Begins at (t, y) with step h. START_GIVEN: the first steps end in the states `given`, y(t + j h) for
 * j = 1 .. stepper_history (n d doubles each), which are copied; past slopes are evaluated on them as the scheme would.
 * The step after them is the scheme's own first one. `given` may be NULL where stepper_history is 0; else that is
 * ERR_MISUSE. START_NETWORK: steps without enough history take table_start, and `given` is not read. */
int stepper_begin(Stepper *st, double t, double h, const double *y, int start, const double *given);
/* Returns how many states START_GIVEN needs. Where something is carried, and the text does not say how it begins, its start is
 * found from them (step.c), and it runs along until the last. */
int stepper_history(const Stepper *st);
/* Returns what is carried besides y (carries, n d), borrowed until the next step; NULL: nothing is. */
const double *stepper_carried(const Stepper *st);
/* Takes one step; ERR_NUMERIC: the state is not finite, or implicit stages are not found. stepper_state is then still the
 * one before the step; another try needs stepper_begin, with a smaller h. */
int stepper_step(Stepper *st);
/* Tries a step of length h from where the stepper is, and leaves it there. This takes the place of stepper_step, after
 * stepper_begin, for a stepper that was made of t->pair, where t is the table of an embedded pair: stepper_new(t->pair,
 * s, &st), not of t itself, which has no stages for the estimate alone. stepper_tried: y' (n, d); stepper_error: y' -
 * yhat, both borrowed until the next try. stepper_accept takes the last try. Slopes that are known are not evaluated
 * again. ERR_NUMERIC when y' is not finite. */
int stepper_try(Stepper *st, double h);
void stepper_accept(Stepper *st);
/* Goes where another stepper of the same table and system stands, without history, and takes its slope there if it has one. */
void stepper_follow(Stepper *st, const Stepper *from);
const double *stepper_tried(const Stepper *st);
const double *stepper_error(const Stepper *st);
const double *stepper_coarse(const Stepper *st); /* the second estimate; NULL: there is none */
const double *stepper_state(const Stepper *st);  /* (n, d), borrowed */
/* Returns the evaluations of F and G so far. A flow counts one. With implicit stages every value of F, G or C that
 * solving for them took counts, those of derivatives by differences too. */
size_t stepper_evals(const Stepper *st);

/* Simplified Newton iterations of a stepper by tolerance (implicit.c). */
typedef struct {
    int turns, most; /* turns that the last step took, and may take */
    int kept; /* the derivatives are kept for the next step: one of the same length needs no new factors */
    size_t jacobians; /* derivatives taken so far, each at one state for all stages */
    size_t factors;   /* matrices factored so far */
} Newton;
typedef struct AdaptOptions AdaptOptions;
/* Lets tries find solved stages to a share of the tolerance of these options (borrowed) instead of to rounding, where the
 * estimate of the error is filtered by a stage solve(g W)(...), or is bounded on what is stiff; elsewhere nothing happens. It comes before stepper_begin. ERR_MEMORY. */
int stepper_loosen(Stepper *st, const AdaptOptions *o);
const Newton *stepper_newton(const Stepper *st); /* NULL: stages are found to rounding */

/* stepper_h returns the step tried last. stepper_slope returns the value of evaluation e (n, d) in it, borrowed until
 * the next try, or NULL where evaluation e - 1, the other operator at its point, has both. */
double stepper_h(const Stepper *st);
const double *stepper_slope(const Stepper *st, size_t e);

/* ---- mass.c: M y' = f ----------------------------------------------------------------------------- */

/* Returns in *singular whether M is, to rounding, so that some equations have no derivatives. ERR_MEMORY. */
int mass_singular(const System *s, int *singular);

/* ---- adapt.c: steps by tolerance ------------------------------------------------------------------ */

enum { ADAPT_DONE, ADAPT_UNDERFLOW, ADAPT_STEPS, ADAPT_EVENT, ADAPT_JUMPS };
const char *adapt_outcome(
    int outcome);             /* "done", "underflow", "too many steps", "event", "jumps" */
typedef struct Events Events; /* events.h */

/* Computes y (N) at time t within a step. */
typedef int EventState(void *arg, double t, double *y);

struct AdaptOptions {
    /* atol and rtol. A step from y_n to y_n+1, with the estimate e of its error, passes where the RMS over i of
     * e_i / (atol + rtol max(|y_n,i|, |y_n+1,i|)) is at most 1. */
    double absolute, relative;
    /* (n d) atol and rtol of each coordinate, each of which then takes the place of its number; borrowed. */
    const double *absolutes, *relatives;
    double t_end;
    int estimate_order; /* q >= 0 of a pair, which theory_embedded finds: Embedded.estimate_order */
    double first;       /* first step; 0: by Hairer's rule */
    /* Longest step; 0: as long as the estimate allows, and where it sees nothing a hundredth of the run (adapt.c). */
    double longest;
    size_t most; /* steps, rejected ones included; 0: none is taken, ADAPT_STEPS at t = 0 */
    /* States at these times, rising, 0 < at <= t_end. The steps are the same without. */
    size_t times;
    const double *at; /* (times) */
    double *states;   /* (times, N) out, up to where the run came */
    /* What to look for on the way, of events_new (events.h); NULL: nothing. The steps are the same. */
    Events *events;
};

/* Return atol_i, rtol_i, and atol_i + rtol_i size, with which an error of coordinate i of that size is compared. */
static inline double adapt_absolute(const AdaptOptions *o, size_t i)
{
    return o->absolutes ? o->absolutes[i] : o->absolute;
}
static inline double adapt_relative(const AdaptOptions *o, size_t i)
{
    return o->relatives ? o->relatives[i] : o->relative;
}
/* Returns the least rtol_i of N coordinates, or atol_i where that is 0. */
static inline double adapt_least(const AdaptOptions *o, size_t N)
{
    double least = INFINITY;
    for (size_t i = 0; i < N; i++) {
        double relative = adapt_relative(o, i);
        least = fmin(least, relative > 0 ? relative : adapt_absolute(o, i));
    }
    return least;
}
static inline double adapt_scale(const AdaptOptions *o, size_t i, double size)
{
    return adapt_absolute(o, i) + adapt_relative(o, i) * size;
}

typedef struct {
    int outcome; /* ADAPT_UNDERFLOW: steps fell below the spacing of numbers near t; ADAPT_STEPS: `most` were taken;
                  ADAPT_EVENT: a terminal event ended the run, and y is its state; ADAPT_JUMPS: the right side jumps where the solution
                  stays (adapt.c), and `most` steps would not have come to the end */
    double t;     /* reached: t_end, exactly, where it is done */
    double first; /* step tried first */
    /* evals: of F, G and C, those of the first step's rule, of derivatives by differences and of states within steps
     * included */
    size_t steps, rejected, evals;
    /* derivatives and factors of matrices that simplified Newton iterations took; 0 where stages are found to rounding */
    size_t jacobians, factors;
    int dense; /* states within steps are of this order, by weights; 0: they are ends of steps, or not asked for */
} AdaptRun;

/* Runs a pair (t->pair), or the formulas of a table with orders (backward.c), from the initial state at time 0; y (n, d) out: the state at out->t. The code is 0 for every
 * outcome, in which y and t are what the run came to. ERR_INPUT: not a pair, or the
 * system cannot take it. ERR_MISUSE: t_end not above 0 or not finite, a coordinate's tolerance below 0 or both 0,
 * estimate_order below 0.
 * Source: Gustafsson 1991; Hairer, Norsett, Wanner 1993, II.4; Hairer, Wanner 1996, IV.2. */
int adapt_run(const Table *t, const System *s, const AdaptOptions *o, double *y, AdaptRun *out);

#endif
