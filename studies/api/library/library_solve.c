/* library_solve.c: implements solving of trotter.h: runs by tolerance and by steps of one length, with events and values
 * within steps; the reference. */
#include <math.h>
#include <string.h>

#include "ode/step/events.h"
#include "studies/api/library/library.h"
#include "studies/solve/convergence.h"

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
    memcpy(y, stepper_state(st), on->system->n * on->system->d * sizeof *y);
    return 0;
}

/* ---- values within steps ---------------------------------------------------------------------------- */

/* Every step has the polynomial through the scheme's own values at `nodes` places of it, Chebyshev's: its ends and some
 * between. */
struct TrotterWithin {
    size_t N, nodes, steps;
    double begin, sign;
    double end;   /* of the last step; times are counted from `begin` in the direction of the run */
    double *t;    /* (steps) where they begin */
    double *y;    /* (steps, nodes, N) */
    double *last; /* (N) the state at `end` */
};

static double place(const TrotterWithin *w, size_t k)
{
    return k + 1 == w->nodes ? 1 : (1 - cos(M_PI * (double)k / (double)(w->nodes - 1))) / 2;
}

/* Computes y (N) in a step at the share x of it, by the barycentric formula (Berrut, Trefethen 2004). */
static void interpolate(const TrotterWithin *w, size_t step, double x, double *y)
{
    const double *at = w->y + step * w->nodes * w->N;
    double sum = 0;
    memset(y, 0, w->N * sizeof *y);
    for (size_t k = 0; k < w->nodes; k++) {
        double off = x - place(w, k), sign = k % 2 ? -1 : 1;
        if (off == 0) {
            memcpy(y, at + k * w->N, w->N * sizeof *y);
            return;
        }
        double c = sign * (k == 0 || k + 1 == w->nodes ? 0.5 : 1) / off;
        sum += c;
        for (size_t i = 0; i < w->N; i++) y[i] += c * at[k * w->N + i];
    }
    for (size_t i = 0; i < w->N; i++) y[i] /= sum;
}

/* Computes y (N) at a time of the run. */
static int value_at(const TrotterWithin *w, double t, double *y)
{
    double after = w->sign * (t - w->begin);
    size_t low = 0, high = w->steps;
    if (!(after >= 0 && after <= w->end))
        return error_set(ERR_MISUSE, "t = %.17g is not within the run, from %g to %g", t, w->begin,
                         w->begin + w->sign * w->end);
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (w->t[middle] <= after)
            low = middle;
        else
            high = middle;
    }
    double end = high < w->steps ? w->t[high] : w->end;
    interpolate(w, low, (after - w->t[low]) / (end - w->t[low]), y);
    return 0;
}

int trotter_run_at(const TrotterRun *run, size_t times, const double *t, double *y)
{
    GIVEN(run);
    if (times) GIVEN(t, y);
    if (!run->within || run->within->steps == 0)
        return error_set(ERR_MISUSE, "the run kept no values within its steps");
    for (size_t k = 0; k < times; k++) TRY(value_at(run->within, t[k], y + k * run->within->N));
    return 0;
}

/* ---- what a run keeps ------------------------------------------------------------------------------- */

/* A run under way. Times are counted from its beginning, in its direction: `after`. */
typedef struct {
    const TrotterOptions *o;
    size_t N, room, filled; /* filled: times of o->t that it came by */
    double length, sign, h; /* h: of steps of one length; 0: by tolerance */
    TrotterRun *out;
} Keeper;

static double time_of(const Keeper *k, double after)
{
    return after == k->length ? k->o->end : k->o->begin + k->sign * after;
}

/* Makes room for one state more. */
static int room(Keeper *k)
{
    return memory_more(&k->out->y, k->out->count, k->N * sizeof *k->out->y);
}

/* Keeps the state that stands in the room. */
static int add(Keeper *k, double t)
{
    return memory_add(k->out->time, k->out->count, t);
}

static int add_state(Keeper *k, double t, const double *y)
{
    TRY(room(k));
    memcpy(k->out->y + k->out->count * k->N, y, k->N * sizeof *y);
    return add(k, t);
}

/* Keeps the values at the places within a step. */
static int add_step(TrotterWithin *w, double t0, double t1, const double *y1, EventState *at,
                    void *of)
{
    size_t last = w->nodes - 1, n = w->N;
    TRY(memory_more(&w->y, w->steps, w->nodes * n * sizeof *w->y));
    double *y = w->y + w->steps * w->nodes * n;
    memcpy(y, w->last, n * sizeof *y);
    for (size_t k = 1; k < last; k++) TRY(at(of, t0 + (t1 - t0) * place(w, k), y + k * n));
    memcpy(y + last * n, y1, n * sizeof *y);
    memcpy(w->last, y1, n * sizeof *y);
    w->end = t1;
    return memory_add(w->t, w->steps, t0);
}

/* Keeps the states at the times asked for in a step that ends at t1. */
static int add_asked(Keeper *k, double t1, const double *y1, EventState *at, void *of)
{
    const TrotterOptions *o = k->o;
    for (; k->filled < o->times; k->filled++) {
        double after = k->sign * (o->t[k->filled] - o->begin);
        int end = fabs(after - t1) <= 1e-9 * k->h;
        if (!end && after > t1) break;
        TRY(room(k));
        double *y = k->out->y + k->out->count * k->N;
        if (end || after == t1)
            memcpy(y, y1, k->N * sizeof *y);
        else
            TRY(at(of, after, y));
        TRY(add(k, o->t[k->filled]));
    }
    return 0;
}

/* Sees a step: keeps its end, or the states at the times asked for, and with `dense` the values within it. Steps of one
 * length end where they should but for rounding. */
static int see(void *keeper, double t0, double t1, const double *y1, EventState *at, void *of)
{
    Keeper *k = keeper;
    TrotterWithin *w = k->out->within;
    if (fabs(t1 - k->length) <= 1e-9 * k->h) t1 = k->length;
    if (k->o->times)
        TRY(add_asked(k, t1, y1, at, of));
    else
        TRY(add_state(k, time_of(k, t1), y1));
    return w ? add_step(w, w->steps ? w->end : t0, t1, y1, at, of) : 0;
}

/* Keeps what there is at the beginning. */
static int see_first(Keeper *k, const System *s, int order)
{
    const TrotterOptions *o = k->o;
    TrotterWithin *w;
    if (!o->times) TRY(add_state(k, o->begin, s->initial));
    if (o->times && o->t[0] == o->begin) TRY(add_state(k, o->t[k->filled++], s->initial));
    if (!o->dense) return 0;
    w = k->out->within = memory_new(1, sizeof *w);
    if (!w) return ERR_MEMORY;
    *w = (TrotterWithin){.N = k->N,
                         .nodes = 1 + (size_t)(order > 1 ? order : 1),
                         .begin = o->begin,
                         .sign = k->sign,
                         .last = memory_new(k->N, sizeof *w->last)};
    if (!w->last) return ERR_MEMORY;
    memcpy(w->last, s->initial, k->N * sizeof *w->last);
    return 0;
}

/* ---- runs ------------------------------------------------------------------------------------------- */

enum { STEPS = 10000000 };

static int check(const TrotterOptions *o, size_t N)
{
    double length = o->end - o->begin, before = 0;
    if (!isfinite(length) || length == 0)
        return error_set(ERR_MISUSE, "a run from t = %g to %g", o->begin, o->end);
    for (size_t i = 0; i < N && o->initial; i++)
        if (!isfinite(o->initial[i]))
            return error_set(ERR_MISUSE, "an initial state with %g", o->initial[i]);
    if (o->times) GIVEN(o->t);
    for (size_t k = 0; k < o->times; k++) {
        double share = (o->t[k] - o->begin) / length;
        if (!(share >= before && share <= 1) || (k && o->t[k] == o->t[k - 1]))
            return error_set(ERR_MISUSE,
                             "expected times from t = %g to %g, each behind the one before, not %g",
                             o->begin, o->end, o->t[k]);
        before = share;
    }
    if (o->events) GIVEN(o->event);
    for (size_t i = 0; i < o->events; i++)
        if (!o->event[i].value || o->event[i].terminal < 0)
            return error_set(ERR_MISUSE, "event %zu has no function, or a count below 0", i + 1);
    if (!(o->first >= 0 && o->longest >= 0))
        return error_set(ERR_MISUSE, "a first step of %g, a longest one of %g", o->first,
                         o->longest);
    return 0;
}

/* An event along a run. */
typedef struct {
    const TrotterEvent *event;
    const Keeper *keeper;
} Along;

static double quantity(const void *along, double after, const double *y)
{
    const Along *a = along;
    return a->event->value(a->event->arg, time_of(a->keeper, after), y);
}

/* Computes what is watched for; along, event (o->events) out. */
static int watch(Keeper *k, Along *along, Event *event, Events *out)
{
    const TrotterOptions *o = k->o;
    for (size_t i = 0; i < o->events; i++) {
        along[i] = (Along){&o->event[i], k};
        event[i] = (Event){quantity, &along[i], o->event[i].direction, o->event[i].terminal};
    }
    TRY(events_new(event, o->events, k->N, out));
    out->seen = see;
    out->arg = k;
    out->inside = o->dense || o->times;
    return 0;
}

/* Takes steps of one length. */
static int walk(const TrotterScheme *s, const System *on, Keeper *k, Events *e)
{
    SCOPED(stepper_drop) Stepper *st = NULL;
    TrotterRun *run = k->out;
    size_t steps = k->o->steps;
    int code = 0;
    TRY(begin(s, on, k->h, steps, &st));
    TRY(events_fixed(e, s->frozen, on, steps));
    events_begin(e, on->initial);
    while (code == 0 && run->steps < steps && !e->stopped) {
        code = events_take(e, st, (double)run->steps * k->h, k->h);
        run->steps += code == 0;
    }
    run->outcome = code ? "not finite" : adapt_outcome(e->stopped ? ADAPT_EVENT : ADAPT_DONE);
    run->t = time_of(k, run->steps == steps ? k->length : (double)run->steps * k->h);
    run->evaluations = stepper_evals(st) + e->evals;
    return code == ERR_NUMERIC ? 0 : code;
}

/* Finds the order of a scheme and that of its estimate, once. */
static int find_order(const TrotterScheme *s, int *order)
{
    Theory theory;
    LOCKED(s);
    if (*s->order < 0) TRY(theory_search(s->frozen, CONVERGENCE_TREES, &theory));
    if (*s->order < 0) *s->order = theory.order;
    *order = *s->order;
    return 0;
}

static int find_estimate(const TrotterScheme *s, int *order)
{
    Embedded e;
    LOCKED(s);
    if (*s->estimate < 0) TRY(theory_embedded(s->table, CONVERGENCE_TREES, &e));
    if (*s->estimate < 0) *s->estimate = e.estimate_order < 0 ? 0 : e.estimate_order;
    *order = *s->estimate;
    return 0;
}

static int adapt(const TrotterScheme *s, const System *on, Keeper *k, Events *e)
{
    const TrotterOptions *o = k->o;
    TrotterRun *run = k->out;
    AdaptRun r;
    int estimate;
    SCOPED(memory_drop) double *y = memory_new(k->N, sizeof *y);
    if (!y) return ERR_MEMORY;
    TRY(find_estimate(s, &estimate));
    AdaptOptions a = {.absolute = o->absolute,
                      .relative = o->relative,
                      .absolutes = o->absolutes,
                      .relatives = o->relatives,
                      .t_end = k->length,
                      .estimate_order = estimate,
                      .first = o->first,
                      .longest = o->longest,
                      .most = STEPS,
                      .events = e};
    TRY(adapt_run(s->table, on, &a, y, &r));
    run->outcome = adapt_outcome(r.outcome);
    run->t = time_of(k, r.t);
    run->steps = r.steps;
    run->rejected = r.rejected;
    run->evaluations = r.evals;
    run->jacobians = r.jacobians;
    run->factors = r.factors;
    return 0;
}

/* Hands over what was found. */
static int take_crossings(const Keeper *k, Events *e)
{
    TrotterRun *run = k->out;
    run->crossing = memory_new(e->found, sizeof *run->crossing);
    if (!run->crossing) return ERR_MEMORY;
    for (; run->crossings < e->found; run->crossings++) {
        const Crossing *c = &e->crossing[run->crossings];
        run->crossing[run->crossings] = (TrotterCrossing){c->event, time_of(k, c->t), c->rises};
    }
    run->crossing_y = e->state;
    e->state = NULL;
    if (e->stopped) run->t = run->crossing[e->found - 1].t;
    return 0;
}

static int run_along(const TrotterScheme *s, const System *on, Keeper *k)
{
    SCOPED(events_free) Events e = {0};
    SCOPED(memory_drop) Along *along = memory_new(k->o->events, sizeof *along);
    SCOPED(memory_drop) Event *event = memory_new(k->o->events, sizeof *event);
    int order = 0;
    if (!along || !event) return ERR_MEMORY;
    if (k->o->dense) TRY(find_order(s, &order));
    TRY(see_first(k, on, order));
    TRY(watch(k, along, event, &e));
    TRY(k->o->steps ? walk(s, on, k, &e) : adapt(s, on, k, &e));
    return take_crossings(k, &e);
}

void trotter_run_free(TrotterRun *run)
{
    if (!run) return;
    if (run->within) memory_free_all(run->within->t, run->within->y, run->within->last);
    memory_free_all(run->time, run->y, run->crossing, run->crossing_y, run->within);
    *run = (TrotterRun){.outcome = ""};
}

int trotter_run(const TrotterScheme *s, const TrotterSystem *on, const TrotterOptions *o,
                TrotterRun *run)
{
    GIVEN(run);
    *run = (TrotterRun){.outcome = ""};
    GIVEN(s, on, o);
    LOCKED(on);
    size_t N = on->system->n * on->system->d;
    System from = *on->system;
    Course course;
    TRY(check(o, N));
    SCOPED(memory_drop) double *initial = memory_new(N, sizeof *initial);
    if (!initial) return ERR_MEMORY;
    memcpy(initial, o->initial ? o->initial : from.initial, N * sizeof *initial);
    from.initial = initial;
    if (o->initial && !system_solves(&from, 0) && !system_solves(&from, o->begin))
        from.solution = NULL;
    Keeper k = {.o = o,
                .N = N,
                .length = fabs(o->end - o->begin),
                .sign = o->end < o->begin ? -1 : 1,
                .out = run};
    k.h = o->steps ? k.length / (double)o->steps : 0;
    system_course(&from, o->begin, k.sign < 0, &course);
    int code = run_along(s, k.sign < 0 || o->begin != 0 ? &course.system : &from, &k);
    if (code != 0) trotter_run_free(run);
    return code;
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
