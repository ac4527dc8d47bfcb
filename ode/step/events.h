/* events.h: where a quantity g(t, y) of the solution passes 0 on the way: crossings, found between the ends of steps by
 * the scheme's own values there. A function that can fail returns 0 for done, or an ERR_* of kernels/base/error.h (ode.h).
 *
 * Over a step from t0 to t1 a crossing lies where g has another sign at the end than at the beginning. Where it is 0 at the end its sign is
 * that a little further on, as in CVODE (Hindmarsh et al. 2005), but with a distance that rounding does not hide: a g that goes through 0
 * there crosses there, once, and one that touches 0 and turns back does not cross. (SciPy counts both, and the former in both steps.) Where it is
 * 0 a little further too it keeps the side that it came from; where there is no state further on it has crossed. With values within steps by weights (dense.c) the step is looked at in EVENT_PARTS equal parts; a pair of
 * crossings within one part, or within a step elsewhere, is not seen, as by other solvers: shorter steps see more. A g
 * that is 0 where the run begins does not cross there. Brent's method (Brent 1973, chapter 4; GSL) then finds the time
 * between the two to 4 units of rounding of t, so what a crossing errs by is what the scheme's values do: for steps by
 * tolerance an error e of the state at the crossing makes one of about e |g_y| / |dg/dt| in its time. */
#ifndef TROTTER_EVENTS_H
#define TROTTER_EVENTS_H

#include "ode/step/steps.h"

enum { EVENT_PARTS = 8 };

/* What to look for. direction: 1 where g rises, -1 where it falls, 0 either. terminal: the run ends at the first one, or
 * where this is k at the k-th; 0: at none. */
typedef struct {
    double (*value)(const void *arg, double t, const double *y); /* g; y (n, d) */
    const void *arg;
    int direction, terminal;
} Event;

/* One crossing: of the event of this number, at time t. rises: g goes up. */
typedef struct {
    size_t event;
    double t;
    int rises;
} Crossing;

/* Sees a step from t0 to t1, at whose end the state is y1 (N), after events were looked for in it; a terminal one is its
 * end. at(of, t, y) computes states within it. Codes: those of `at`, and its own, which end the run. */
typedef int EventStep(void *arg, double t0, double t1, const double *y1, EventState *at, void *of);

/* Watches a run. Zeroed, it holds nothing. */
struct Events {
    const Event *event; /* (count) borrowed */
    size_t count, N;
    /* Sees every step; NULL: nobody does. inside: it asks for states within them. */
    EventStep *seen;
    void *arg;
    int inside;
    /* rejected: it sees steps by tolerance that were rejected too, with y1 and at NULL. aside: the states that it asks for do not
     * count as evaluations of a run by tolerance, as those of a picture. */
    int rejected, aside;
    size_t evals; /* out: of states within steps of one length */
    /* Out, in the order of time: crossings so far, their states (found, N), and whether a terminal one ended the run. */
    size_t found;
    Crossing *crossing;
    double *state;
    int stopped;
    /* The rest is private. */
    int seeing; /* it is at work */
    size_t room;
    double t, *g, *work;
    int *sign;
    Stepper *side; /* one-step schemes: takes steps to times within a step */
    size_t kept,
        keeps; /* others: states kept, at most `keeps`, (keeps, N), the last first, at h apart */
    double *past;
};

/* Prepares for a system of N coordinates; both lists are empty, and nobody sees steps. event: NULL where count is 0.
 * Caller: events_free. ERR_MEMORY. */
int events_new(const Event *event, size_t count, size_t N, Events *out);
void events_free(Events *e);
/* Begins a run at (0, y); crossings found before are forgotten. */
void events_begin(Events *e, const double *y);

/* Looks at the step from the time of the last call to t1, at whose end the state is y1 (N), in equal parts. Where a
 * terminal event is found, stopped is 1, it is the last crossing, and what lies behind is left out. Codes: those of `at`;
 * ERR_NUMERIC: g is not finite. */
int events_step(Events *e, double t1, const double *y1, size_t parts, EventState *at, void *arg);

/* For `steps` steps of one length of a frozen table on a system, both borrowed. Values within a step are those of a shorter step
 * from the same state; schemes that read the past, or carry quantities, have no such step and have the polynomial through
 * the last states, history + 2 of them or, where there is no history, order + 2, or all; it is of the scheme's order. Begin with
 * events_begin. */
int events_fixed(Events *e, const Table *t, const System *s, size_t steps);
/* Takes the next step, from t to t + h, by stepper_step, and looks at it. Codes: stepper_step's, events_step's. */
int events_take(Events *e, Stepper *st, double t, double h);

#endif
