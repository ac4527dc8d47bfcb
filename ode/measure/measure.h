/* measure.h: measured orders, predicted constants, energies over a long time. */
#ifndef TROTTER_MEASURE_H
#define TROTTER_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "ode/step/steps.h"

/* ---- measure.c: measured order ------------------------------------------------------------------ */

/* agree: the slope is the expected one within its tolerance; higher: above it; floor: rounding hides it; unstable: too few
 * steps are small enough for the scheme to be stable; diverges: errors grow as h falls, though no step is unstable, or the
 * scheme is zero-unstable; inconsistent: the exact order is 0, so it converges to nothing that is asked for; undecided: the
 * slope's interval holds the order, but is wider than 1/2 to a side, or the slope is above the order while a term of it is seen
 * (`constant` is known not to be 0), which will lead at smaller steps; disagree: all else. */
enum {
    VERDICT_AGREE,
    VERDICT_HIGHER,
    VERDICT_DISAGREE,
    VERDICT_DIVERGES,
    VERDICT_FLOOR,
    VERDICT_UNSTABLE,
    VERDICT_INCONSISTENT,
    VERDICT_UNDECIDED
};
const char *verdict_name(int verdict);

typedef struct {
    double h;
    size_t steps, evals;
    double error;     /* RMS over coordinates at t-end; inf: not finite */
    double agreement; /* agreement of the references it is compared with and begins with */
    double floor;     /* part that may be rounding, or the reference's own error */
    double seconds;
    int unstable;         /* set by find_unstable (measure.c); no fit takes it */
    int used;             /* in the window of the fit */
    const double *vector; /* (N) the error itself, borrowed from the study */
} OrderPoint;

typedef struct {
    int expected;
    size_t points;
    OrderPoint *point;   /* (points), coarsest first; owned */
    size_t N;            /* coordinates */
    double size;         /* RMS of the solution at 0 or at t-end, where it is larger */
    double *vectors;     /* (most points, N); owned */
    double slope;        /* least squares over the window; NaN without one, or if unstable */
    double low, high;    /* 95 % interval, widened by what bias and floor may add (fit.c) */
    double *leading;     /* (N) error ~ leading * h^expected as h -> 0, from the window; owned */
    double constant;     /* its RMS; NaN without a window */
    double constant_off; /* RMS that `leading` may be off by, so |constant| too; inf without */
    /* Where the slope is above the order though its term leading * h^expected is seen: the term's share of the finest error that the fit
     * takes, else 0; and the step from which on it would be half of the error, 0 where such errors are rounding. */
    double hidden, leads;
    double unstable;  /* finest unstable step; 0: none, or the scheme diverges */
    int closed_flows; /* 0: some sub-flow came from the reference integrator */
    int verdict;
} OrderStudy;

typedef struct {
    double t_end, h0; /* 0: the system's default */
    int halvings;     /* points - 1; at least 4 */
    int local;        /* the error of the first step in place of that at t_end */
    int repeats;      /* runs of a short run, of which the shortest time counts; 0: none */
} OrderOptions;

/* Returns in *order the order to expect of a frozen table on a system: theory_order, and where M is singular that on equations of index 1
 * (assumptions_index_1), which is a lower bound. W-methods have 1 there where the field depends on t, since W tells nothing of df/dt; the order of
 * Rosenbrock methods is taken to hold, as that of the built-in ones does (Hairer, Wanner 1996, VI.4, has the conditions). */
int order_expected(const Table *t, const System *s, const Theory *theory, int *order);
/* Measures the global error of a table (symbols frozen inside) on a system over dyadic steps, the first of which end in
 * the reference solution where the scheme has history. The verdict compares its slope with the exact order `expected`.
 * With o->local it is the error of the first own step, which falls like h^(expected + 1), or not at all where the
 * update's state weights do not sum to 1; steps = t_end / h then. Caller: order_free. */
int order_measure(const Table *t, const System *s, const OrderOptions *o, int expected,
                  int zero_stable, OrderStudy *out);
void order_free(OrderStudy *o);

/* Returns whether the measured error is a predicted one, e (N) h^expected, whose RMS `predicted` is known to the
 * relative `accuracy`: VERDICT_AGREE, VERDICT_DISAGREE, or -1 where the two cannot be compared (predicted is NaN,
 * the slope is another, or the measured constant is known to no better than 15 %: it may be where the verdict is undecided). It compares vectors, so
 * direction and sign count: |leading - e| <= constant_off, at least 1 % of it, + accuracy * predicted. A higher
 * order, or a floor, agrees with a constant 0; a higher order disagrees with another constant only where that lies
 * outside of what is measured. */
int order_match(const OrderStudy *o, double predicted, double accuracy, const double *e);

/* ---- predict.c: the error constant of the theory ------------------------------------------------- */

/* As h -> 0 the global error at t-end is global * h^order, that of the first step local * h^(order+1)
 * (RMS over coordinates). 0: the leading term vanishes on this system; NaN: no prediction (no
 * expansion about y, a mass matrix, zero-unstable, order 8 or more, a field not smooth enough). */
typedef struct {
    double global, local;
    double accuracy; /* relative, estimated */
} Prediction;

/* Predicts the error constants. t_end = 0: the system's; vector (2, N) out, or NULL: the local and
 * global error over h^(order+1) and h^order. Source: predict.c. */
int order_predict(const Table *t, const System *s, double t_end, int order, int zero_stable,
                  Prediction *out, double *vector);

/* ---- drift.c: an invariant over a long time ------------------------------------------------------- */

typedef struct {
    double t, energy; /* end of a part of the run; largest relative error in it */
} DriftPoint;

typedef struct {
    size_t points;
    DriftPoint *point; /* (points); owned */
    double largest;    /* relative error of the energy */
    double growth;     /* last quarter over the first: near 1 bounded, 4 linear; NaN: lost */
    int lost;        /* 1: the energy is off by a tenth or more of itself, where errors saturate */
    double reversal; /* RMS of y - y_0 after running back; inf: not finite */
} Drift;

/* Runs steps of h to t_end, in `parts` (>= 4) equal parts, and back. ERR_INPUT: a system without an
 * energy, or steps out of range. Caller: drift_free. */
int order_drift(const Table *t, const System *s, double t_end, double h, size_t parts, Drift *out);
void drift_free(Drift *d);

#endif
