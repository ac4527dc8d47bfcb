/* drift.c: measures what a scheme does to an invariant over a long time, and whether it runs back.
 *
 *   energy      largest |E(y_n) - E(y_0)| / |E(y_0)| in each of equal parts of the run
 *   reversal    after all steps the scheme runs with -h from where it is, a multistep scheme with some
 *               later states as its first ones: RMS of what is left of y - y_0, when it is back
 *
 * Where the energy is off by a tenth of itself the solution is lost: a planet that has left keeps the energy that it
 * left with, so that a growth near 1 would say nothing. For an energy that begins at 0 there is no such share.
 *
 * A symplectic or symmetric scheme keeps the energy within O(h^p) for long (Hairer, Lubich, Wanner 2006, IX.8 and
 * XI.3), so its growth is near 1; others drift: near 4 when linear. A symmetric scheme comes back to rounding.
 */
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/tick.h"
#include "ode/field/system.h"
#include "ode/measure/measure.h"

#include <math.h>
#include <string.h>

typedef struct {
    const System *s;
    Stepper *stepper;
    size_t N, history;
    double h, energy0;
    double *given; /* (history, N): the states in which the first steps end */
} Walk;

static double off(const Walk *w)
{
    double e = w->s->energy(w->s, stepper_state(w->stepper)) - w->energy0;
    return w->energy0 != 0 ? fabs(e / w->energy0) : fabs(e);
}

/* Runs one part; *largest: its largest error, inf where the state leaves the numbers. */
static int run_part(Walk *w, size_t steps, double *largest)
{
    for (size_t i = 0; i < steps; i++) {
        int code = stepper_step(w->stepper);
        if (code == ERR_NUMERIC) {
            *largest = INFINITY;
            return code;
        }
        TRY(code);
        tick_of((double)i, (double)steps);
        double e = off(w);
        if (!(e <= *largest)) *largest = isnan(e) ? INFINITY : e;
    }
    return 0;
}

/* Turns back where the scheme is after `history` steps more, whose states are its first ones on the way back; y (N):
 * scratch. */
static int turn(Walk *w, double *y)
{
    for (size_t j = w->history; j > 0; j--) {
        memcpy(w->given + (j - 1) * w->N, stepper_state(w->stepper), w->N * sizeof *y);
        TRY(stepper_step(w->stepper));
    }
    memcpy(y, stepper_state(w->stepper), w->N * sizeof *y);
    return stepper_begin(w->stepper, 0, -w->h, y, START_GIVEN, w->given);
}

static int run_back(Walk *w, size_t steps, double *reversal)
{
    SCOPED(memory_drop) double *y = memory_new(w->N, sizeof *y);
    *reversal = INFINITY;
    if (!y) return ERR_MEMORY;
    TRY(turn(w, y));
    for (size_t i = 0; i < steps + w->history; i++) {
        TRY(stepper_step(w->stepper));
        tick_of((double)i, (double)steps);
    }
    *reversal = system_rms(w->N, stepper_state(w->stepper), w->s->initial);
    return 0;
}

static int open_walk(Walk *w, const Table *t, const System *s, double h)
{
    *w = (Walk){.s = s, .N = s->n * s->d, .h = h, .energy0 = s->energy(s, s->initial)};
    TRY(stepper_new(t, s, &w->stepper));
    w->history = (size_t)stepper_history(w->stepper);
    w->given = memory_new(w->history, w->N * sizeof(double));
    if (!w->given) return ERR_MEMORY;
    TRY(reference_start(s, h, w->history, w->given));
    return stepper_begin(w->stepper, 0, h, s->initial, START_GIVEN, w->given);
}

static double largest_of(const DriftPoint *p, size_t n)
{
    double m = 0;
    for (size_t i = 0; i < n; i++) m = fmax(m, p[i].energy);
    return m;
}

static int run(Walk *w, size_t parts, size_t steps, Drift *out)
{
    int code = 0;
    for (size_t i = 0; i < parts; i++) {
        DriftPoint *p = &out->point[i];
        *p = (DriftPoint){(double)((i + 1) * steps) * w->h, code ? INFINITY : 0};
        if (code == 0) code = run_part(w, steps, &p->energy);
        if (code != 0 && code != ERR_NUMERIC) return code;
    }
    size_t quarter = parts / 4;
    out->largest = largest_of(out->point, parts);
    out->lost = !isfinite(out->largest) || (w->energy0 != 0 && out->largest >= 0.1);
    out->growth = out->lost ? NAN
                            : largest_of(out->point + parts - quarter, quarter) /
                                  largest_of(out->point, quarter);
    out->reversal = INFINITY;
    if (code == 0) code = run_back(w, parts * steps, &out->reversal);
    return code == ERR_NUMERIC ? 0 : code;
}

static void close_walk(Walk *w)
{
    stepper_free(w->stepper);
    memory_free(w->given);
}

static int walk(const Table *t, const System *s, double h, size_t parts, size_t steps, Drift *out)
{
    TABLE(frozen);
    SCOPED(close_walk) Walk w = {0};
    out->point = memory_new(parts, sizeof *out->point);
    if (!out->point || !(frozen = table_freeze(t))) return ERR_MEMORY;
    TRY(open_walk(&w, frozen, s, h));
    return run(&w, parts, steps, out);
}

int order_drift(const Table *t, const System *s, double t_end, double h, size_t parts, Drift *out)
{
    double steps = round(t_end / h / (double)parts);
    *out = (Drift){.points = parts};
    if (!s->energy) return error_set(ERR_INPUT, "system %s has no invariant", s->name);
    if (!(h > 0) || !(steps >= 1 && steps * (double)parts <= 1e8) || parts < 4)
        return error_set(ERR_INPUT, "t-end %g, h %g: expected %zu to 1e8 steps", t_end, h, parts);
    int code = walk(t, s, h, parts, (size_t)steps, out);
    if (code != 0) drift_free(out);
    return code;
}

void drift_free(Drift *d)
{
    d->point = memory_free(d->point);
    d->points = 0;
}
