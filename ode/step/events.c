/* events.c: finds where quantities of the solution pass 0 within steps (events.h). */
#include "ode/step/events.h"

#include <float.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_roots.h>
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/quiet.h"
#include "kernels/base/scoped.h"
#include "ode/theory/theory.h"

enum { TURNS = 100 };

int events_new(const Event *event, size_t count, size_t N, Events *out)
{
    *out = (Events){.event = event, .count = count, .N = N};
    out->g = memory_new(3 * count, sizeof *out->g);
    out->sign = memory_new(count, sizeof *out->sign);
    out->work = memory_new(3 * N, sizeof *out->work);
    if (out->g && out->sign && out->work) return 0;
    events_free(out);
    return ERR_MEMORY;
}

void events_free(Events *e)
{
    stepper_free(e->side);
    memory_free_all(e->crossing, e->state, e->g, e->sign, e->work, e->past);
    *e = (Events){0};
}

static int sign_of(double x)
{
    return (x > 0) - (x < 0);
}

void events_begin(Events *e, const double *y)
{
    e->found = e->kept = e->evals = 0;
    e->stopped = 0;
    e->t = 0;
    for (size_t i = 0; i < e->count; i++) {
        e->g[i] = e->event[i].value(e->event[i].arg, 0, y);
        e->sign[i] = sign_of(e->g[i]);
    }
    if (!e->past) return;
    memcpy(e->past, y, e->N * sizeof *y);
    e->kept = 1;
}

/* ---- one crossing ----------------------------------------------------------------------------------- */

typedef struct {
    const Event *event;
    EventState *at;
    void *arg;
    double low, high, g_low, g_high, *y;
    int code;
} Search;

/* Returns g at a time; the ends are known. */
static double search_value(double t, void *search)
{
    Search *s = search;
    if (t == s->low) return s->g_low;
    if (t == s->high) return s->g_high;
    int code = s->at(s->arg, t, s->y);
    if (code != 0) s->code = code;
    return code == 0 ? s->event->value(s->event->arg, t, s->y) : NAN;
}

static double run_brent(gsl_root_fsolver *brent, Search *s)
{
    gsl_function f = {search_value, s};
    double low = s->low, high = s->high, root = high;
    if (gsl_root_fsolver_set(brent, &f, low, high) != GSL_SUCCESS) return root;
    for (int turn = 0; turn < TURNS; turn++) {
        if (gsl_root_fsolver_iterate(brent) != GSL_SUCCESS) break;
        root = gsl_root_fsolver_root(brent);
        low = gsl_root_fsolver_x_lower(brent);
        high = gsl_root_fsolver_x_upper(brent);
        if (high - low <= 4 * DBL_EPSILON * fmax(fabs(low), fabs(high))) break;
    }
    return root;
}

/* Finds the time between low and high, where g has other signs. */
static int find_time(Search *s, double *t)
{
    *t = s->high;
    if (s->g_high == 0) return 0;
    quiet_begin();
    gsl_root_fsolver *brent = gsl_root_fsolver_alloc(gsl_root_fsolver_brent);
    if (brent) *t = run_brent(brent, s);
    if (brent) gsl_root_fsolver_free(brent);
    quiet_end();
    return brent ? s->code : ERR_MEMORY;
}

/* Adds a crossing and its state. */
static int add(Events *e, size_t i, double t, int rises, const double *y)
{
    if (e->found == e->room) {
        size_t room = e->room ? 2 * e->room : 16;
        Crossing *list = memory_new(room, sizeof *list);
        double *state = memory_new(room, e->N * sizeof *state);
        if (!list || !state) {
            memory_free_all(list, state);
            return ERR_MEMORY;
        }
        if (e->found) {
            memcpy(list, e->crossing, e->found * sizeof *list);
            memcpy(state, e->state, e->found * e->N * sizeof *state);
        }
        memory_free_all(e->crossing, e->state);
        e->crossing = list;
        e->state = state;
        e->room = room;
    }
    size_t at = e->found++;
    for (; at > 0 && e->crossing[at - 1].t > t; at--) {
        e->crossing[at] = e->crossing[at - 1];
        memcpy(e->state + at * e->N, e->state + (at - 1) * e->N, e->N * sizeof *y);
    }
    e->crossing[at] = (Crossing){i, t, rises};
    memcpy(e->state + at * e->N, y, e->N * sizeof *y);
    return 0;
}

/* ---- a part of a step ------------------------------------------------------------------------------- */

/* Returns in *sign that of g behind t1, where g is 0: a part of 1024 of the way from t0 further, or where there is no state or no g the other
 * one than before. */
static int look_further(const Events *e, size_t i, double t0, double t1, EventState *at, void *arg,
                        int *sign)
{
    double t = t1 + (t1 - t0) / 1024, g = NAN, *y = e->work + 2 * e->N;
    int code = at(arg, t, y);
    if (code && code != ERR_NUMERIC) return code;
    if (!code) g = e->event[i].value(e->event[i].arg, t, y);
    *sign = isfinite(g) ? sign_of(g) : -e->sign[i];
    return 0;
}

/* Looks for event i between two times, at the second of which g is now and the state y1. */
static int look(Events *e, size_t i, double t0, double t1, double now, const double *y1,
                EventState *at, void *arg)
{
    const Event *event = &e->event[i];
    int before = e->sign[i], sign = sign_of(now);
    Search s = {event, at, arg, t0, t1, e->g[i], now, e->work, 0};
    double t;
    if (!sign && before) TRY(look_further(e, i, t0, t1, at, arg, &sign));
    e->g[i] = now;
    if (!sign || sign == before) return 0;
    e->sign[i] = sign;
    if (!before) return 0;
    if (event->direction && event->direction != -before) return 0;
    TRY(find_time(&s, &t));
    if (t == t1) return add(e, i, t, -before > 0, y1);
    TRY(at(arg, t, e->work));
    return add(e, i, t, -before > 0, e->work);
}

/* Returns whether crossing k ends the run: it is the one of its event that is terminal. */
static int ends(const Events *e, size_t k)
{
    size_t event = e->crossing[k].event;
    int left = e->event[event].terminal;
    if (!left) return 0;
    for (size_t i = 0; i <= k; i++) left -= e->crossing[i].event == event;
    return left == 0;
}

/* Leaves out what lies behind the first terminal crossing of those from `first` on. */
static void stop(Events *e, size_t first)
{
    for (size_t k = first; k < e->found && !e->stopped; k++) {
        if (!ends(e, k)) continue;
        e->stopped = 1;
        e->found = k + 1;
    }
}

int events_step(Events *e, double t1, const double *y1, size_t parts, EventState *at, void *arg)
{
    double begin = e->t, *state = e->work + e->N;
    size_t first = e->found;
    for (size_t k = 1; k <= parts && !e->stopped && e->count; k++) {
        double from = e->t, to = k == parts ? t1 : begin + (t1 - begin) * (double)k / (double)parts;
        if (k < parts) TRY(at(arg, to, state));
        const double *y = k < parts ? state : y1;
        for (size_t i = 0; i < e->count; i++) {
            double now = e->event[i].value(e->event[i].arg, to, y);
            if (!isfinite(now))
                return error_set(ERR_NUMERIC, "event %zu is not finite at t = %g", i + 1, to);
            TRY(look(e, i, from, to, now, y, at, arg));
        }
        stop(e, first);
        e->t = to;
    }
    e->t = t1;
    if (!e->seen) return 0;
    if (e->stopped) {
        t1 = e->crossing[e->found - 1].t;
        y1 = e->state + (e->found - 1) * e->N;
    }
    e->seeing = 1;
    int code = e->seen(e->arg, begin, t1, y1, at, arg);
    e->seeing = 0;
    return code;
}

/* ---- steps of one length ---------------------------------------------------------------------------- */

/* Returns in *keeps how many states its polynomial goes through; 0: the scheme takes shorter steps. What is carried belongs to steps of one
 * length, even where the text makes it at the beginning and no state is given. */
static int find_keeps(const Stepper *st, const Table *t, size_t *keeps)
{
    enum { ORDER_MOST = 8 };
    Theory theory;
    int history = stepper_history(st);
    *keeps = history > 0 ? (size_t)history + 2 : 0;
    if (history > 0 || !stepper_carried(st)) return 0;
    TRY(theory_search(t, ORDER_MOST, &theory));
    *keeps = (size_t)(theory.order > 0 ? theory.order : 0) + 2;
    return 0;
}

int events_fixed(Events *e, const Table *t, const System *s, size_t steps)
{
    SCOPED(stepper_drop) Stepper *st = NULL;
    TRY(stepper_new(t, s, &st));
    TRY(find_keeps(st, t, &e->keeps));
    if (e->keeps > steps + 1) e->keeps = steps + 1;
    if (e->keeps == 0) {
        e->side = st;
        st = NULL;
        e->keeps = 2;
    }
    e->past = memory_new(e->keeps, e->N * sizeof *e->past);
    return e->past ? 0 : ERR_MEMORY;
}

/* The last step: from t by h. */
typedef struct {
    Events *e;
    double t, h;
} Last;

/* Computes y by a step from the state before. */
static int shorter(void *last, double t, double *y)
{
    const Last *l = last;
    TRY(stepper_begin(l->e->side, l->t, t - l->t, l->e->past + l->e->N, START_GIVEN, NULL));
    TRY(stepper_step(l->e->side));
    l->e->evals += stepper_evals(l->e->side);
    memcpy(y, stepper_state(l->e->side), l->e->N * sizeof *y);
    return 0;
}

/* Computes y by the polynomial through the states kept, by Lagrange's formula. */
static int through(void *last, double t, double *y)
{
    const Last *l = last;
    const Events *e = l->e;
    double x = (t - l->t) / l->h - 1; /* the state kept at place k stands at -k */
    memset(y, 0, e->N * sizeof *y);
    for (size_t k = 0; k < e->kept; k++) {
        double c = 1;
        for (size_t j = 0; j < e->kept; j++)
            if (j != k) c *= (x + (double)j) / ((double)j - (double)k);
        for (size_t i = 0; i < e->N; i++) y[i] += c * e->past[k * e->N + i];
    }
    return 0;
}

/* Puts a state before those kept. */
static void keep(Events *e, const double *y)
{
    size_t count = e->kept < e->keeps ? e->kept : e->keeps - 1;
    memmove(e->past + e->N, e->past, count * e->N * sizeof *y);
    memcpy(e->past, y, e->N * sizeof *y);
    e->kept = count + 1;
}

/* Looks at the steps that the states kept are of, once there are as many as the polynomial needs: all of them the first
 * time, then the last. */
static int look_through(Events *e, double t, double h)
{
    Last l = {e, t, h};
    size_t steps = e->keeps - 1;
    if (e->kept < e->keeps) return 0;
    for (size_t k = steps; k-- > 0 && !e->stopped;) {
        double end = t + h - (double)k * h;
        if (end > e->t + 0.5 * h)
            TRY(events_step(e, end, e->past + k * e->N, EVENT_PARTS, through, &l));
    }
    return 0;
}

int events_take(Events *e, Stepper *st, double t, double h)
{
    TRY(stepper_step(st));
    keep(e, stepper_state(st));
    if (!e->side) return look_through(e, t, h);
    Last l = {e, t, h};
    return events_step(e, t + h, stepper_state(st), 1, shorter, &l);
}
