/* library_solve.c: implements solving of trotter.h: steps of one length, steps by tolerance, the reference. */
#include <math.h>
#include <string.h>

#include "studies/api/library/library.h"
#include "studies/solve/convergence.h"

static size_t size(const TrotterSystem *s)
{
    return s->system->n * s->system->d;
}

/* Makes a stepper that stands at the initial state; the first steps of a scheme with history end in the exact solution.
 * A run of such steps alone is not of the scheme. */
static int begin(const TrotterScheme *scheme, const System *s, double h, size_t steps, Stepper **st)
{
    if (!isfinite(h) || h == 0) return error_set(ERR_MISUSE, "a step of %g", h);
    TRY(stepper_new(scheme->frozen, s, st));
    size_t history = (size_t)stepper_history(*st);
    SCOPED(memory_drop) double *given = memory_new(history, s->n * s->d * sizeof *given);
    if (!given) return ERR_MEMORY;
    if (steps > 0 && steps <= history)
        return error_set(ERR_INPUT, "%s begins with %zu exact %s: take more steps than that",
                         scheme->frozen->name, history, history == 1 ? "step" : "steps");
    TRY(reference_start(s, h, steps ? history : 0, given));
    return stepper_begin(*st, 0, h, s->initial, START_GIVEN, given);
}

int trotter_solve(const TrotterScheme *s, const TrotterSystem *on, double h, size_t steps,
                  double *y)
{
    GIVEN(s, on, y);
    LOCKED(on);
    SCOPED(stepper_drop) Stepper *st = NULL;
    TRY(begin(s, on->system, h, steps, &st));
    for (size_t i = 0; i < steps; i++) TRY(stepper_step(st));
    memcpy(y, stepper_state(st), size(on) * sizeof *y);
    return 0;
}

int trotter_solve_path(const TrotterScheme *s, const TrotterSystem *on, double h, size_t steps,
                       double *y, TrotterRun *run)
{
    GIVEN(run);
    *run = (TrotterRun){.outcome = ""};
    GIVEN(s, on, y);
    LOCKED(on);
    SCOPED(stepper_drop) Stepper *st = NULL;
    TRY(begin(s, on->system, h, steps, &st));
    size_t N = size(on);
    int code = 0;
    memcpy(y, on->system->initial, N * sizeof *y);
    for (; run->steps < steps && (code = stepper_step(st)) == 0; run->steps++)
        memcpy(y + (run->steps + 1) * N, stepper_state(st), N * sizeof *y);
    run->outcome = code == 0 ? adapt_outcome(ADAPT_DONE) : "not finite";
    run->t = (double)run->steps * h;
    run->evaluations = stepper_evals(st);
    for (size_t i = (run->steps + 1) * N; i < (steps + 1) * N; i++) y[i] = NAN;
    return code == ERR_NUMERIC ? 0 : code;
}

/* ---- by tolerance -------------------------------------------------------------------------------- */

enum { STEPS = 10000000 };

static int check_times(size_t times, const double *t)
{
    for (size_t i = 0; i < times; i++)
        if (!(t[i] > (i ? t[i - 1] : 0)) || !isfinite(t[i]))
            return error_set(ERR_MISUSE, "expected times above 0 that rise, not %g", t[i]);
    return times ? 0 : error_set(ERR_MISUSE, "expected a time");
}

/* y (times, N) out. */
static int adapt(const Table *t, const System *s, AdaptOptions *o, double *y, TrotterRun *run)
{
    AdaptRun r;
    Embedded e;
    size_t N = s->n * s->d;
    SCOPED(memory_drop) double *end = memory_new(N, sizeof *end);
    if (!end) return ERR_MEMORY;
    TRY(theory_embedded(t, CONVERGENCE_TREES, &e));
    o->estimate_order = e.estimate_order < 0 ? 0 : e.estimate_order;
    TRY(adapt_run(t, s, o, end, &r));
    *run = (TrotterRun){adapt_outcome(r.outcome), r.t, r.steps, r.rejected, r.evals};
    for (size_t i = 0; i < o->times; i++)
        for (size_t k = 0; k < N && o->at[i] > r.t; k++) y[i * N + k] = NAN;
    if (r.outcome == ADAPT_DONE) memcpy(y + (o->times - 1) * N, end, N * sizeof *y);
    return 0;
}

int trotter_solve_adaptive(const TrotterScheme *s, const TrotterSystem *on, double absolute,
                           double relative, size_t times, const double *t, double *y,
                           TrotterRun *run)
{
    GIVEN(run);
    *run = (TrotterRun){.outcome = ""};
    GIVEN(s, on, t, y);
    LOCKED(on);
    TRY(check_times(times, t));
    AdaptOptions o = {.absolute = absolute,
                      .relative = relative,
                      .t_end = t[times - 1],
                      .most = STEPS,
                      .times = times,
                      .at = t,
                      .states = y};
    return adapt(s->table, on->system, &o, y, run);
}

/* ---- the reference ------------------------------------------------------------------------------- */

int trotter_references(const TrotterSystem *s, size_t count, const double *t, double *y,
                       double *agreement)
{
    double own;
    GIVEN(s);
    if (count) GIVEN(t, y);
    LOCKED(s);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(t[i])) return error_set(ERR_MISUSE, "a time of %g", t[i]);
    return reference_solve(s->system, t, count, y, agreement ? agreement : &own);
}

int trotter_reference(const TrotterSystem *s, double t, double *y)
{
    return trotter_references(s, 1, &t, y, NULL);
}
