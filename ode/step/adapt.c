/* adapt.c: runs an embedded pair with steps of such a length that the estimated error of each meets a tolerance.
 *
 * With scale_i = absolute + relative max(|y_i|, |y'_i|) and the estimate e = y' - yhat = O(h^k), k = q + 1 for an
 * estimate of order q, a step is taken where
 *
 *     err = sqrt(mean_i (e_i / scale_i)^2) <= 1,
 *
 * and the next one is h (safety) err^(-0.7/k) err_before^(0.4/k): a PI controller, whose second factor keeps the steps
 * smooth where stability bounds them (Gustafsson 1991, section 4; Hairer, Wanner 1996, section IV.2). A rejected step
 * is done again with h (safety) err^(-1/k), and the one behind it does not grow. The first step is that of Hairer,
 * Norsett, Wanner 1993, section II.4: it takes two evaluations of the field. A step that is not finite is rejected.
 *
 * With error = O(h^p) at the end and h ~ tolerance^(1/k), the error goes like tolerance^(p/k): Shampine 1994 calls
 * p/k = 1, that of pairs that go on with the higher order, tolerance proportionality. dense.c has the values between
 * steps. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/scoped.h"
#include "kernels/tick.h"
#include "ode/step/steps.h"

static const double safety = 0.9, shrink = 0.2, grow = 5;
static const double proportional = 0.7, integral = 0.4; /* over k */
/* Lower bounds of err and of err_before: a step without error is taken, and not remembered. */
static const double least = 1e-10, remembered = 1e-4;

static const char *const outcomes[] = {
    [ADAPT_DONE] = "done", [ADAPT_UNDERFLOW] = "underflow", [ADAPT_STEPS] = "too many steps"};

const char *adapt_outcome(int outcome)
{
    size_t i = (size_t)outcome;
    return i < sizeof outcomes / sizeof *outcomes ? outcomes[i] : "unknown";
}

/* Computes y (N), the state at theta h of the step last tried and not yet accepted (stepper_try). */
static void between(const Dense *d, const Stepper *st, double theta, size_t N, double *y)
{
    memcpy(y, stepper_state(st), N * sizeof *y);
    for (size_t e = 0; e < d->evals; e++) {
        const double *f = stepper_slope(st, e);
        double c = dense_value(d, e, theta) * stepper_h(st);
        for (size_t i = 0; f && i < N; i++) y[i] += c * f[i];
    }
}

/* Returns the RMS of x / scale; z: the other state, whose size counts too. */
static double norm(const AdaptOptions *o, size_t N, const double *x, const double *y,
                   const double *z)
{
    double sum = 0;
    for (size_t i = 0; i < N; i++) {
        double e = x[i] / (o->absolute + o->relative * fmax(fabs(y[i]), fabs(z[i])));
        sum += e * e;
    }
    return sqrt(sum / (double)N);
}

/* Chooses the first step: Hairer, Norsett, Wanner 1993, II.4, (a) to (f); k = p + 1 there. */
static double first_step(const AdaptOptions *o, const System *s, double k, double *work)
{
    size_t N = s->n * s->d;
    double *f0 = work, *f1 = work + N, *y1 = work + 2 * N, *part = work + 3 * N;
    const double *y0 = s->initial;
    system_sum(s, system_ops(s), 1, 0, y0, f0, part);
    double d0 = norm(o, N, y0, y0, y0), d1 = norm(o, N, f0, y0, y0);
    double h0 = d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : 0.01 * d0 / d1;
    h0 = fmin(h0, o->t_end);
    for (size_t i = 0; i < N; i++) y1[i] = y0[i] + h0 * f0[i];
    system_sum(s, system_ops(s), 1, h0, y1, f1, part);
    for (size_t i = 0; i < N; i++) f1[i] -= f0[i];
    double d2 = norm(o, N, f1, y0, y0) / h0, d = fmax(d1, d2);
    double h1 = d <= 1e-15 ? fmax(1e-6, 1e-3 * h0) : pow(0.01 / d, 1 / k);
    double h = fmin(100 * h0, h1);
    return isfinite(h) && h > 0 ? fmin(h, o->t_end) : fmin(1e-6, o->t_end);
}

static double within(double low, double x, double high)
{
    return x < low ? low : x < high ? x : high;
}

/* Fills in the states asked for within the step tried, before it is taken. */
static void fill(const AdaptOptions *o, const Stepper *st, double t, double end, size_t N,
                 size_t *filled)
{
    for (; o->dense && *filled < o->times && o->at[*filled] <= end; ++*filled)
        between(o->dense, st, (o->at[*filled] - t) / (end - t), N, o->states + *filled * N);
}

static void run(const AdaptOptions *o, const System *s, double k, Stepper *st, AdaptRun *r)
{
    size_t N = s->n * s->d;
    double h = r->first, before = 1;
    int rejected = 0;
    size_t filled = 0;
    while (r->t < o->t_end) {
        tick_of(r->t, o->t_end);
        int last = r->t + 1.01 * h >= o->t_end;
        if (last) h = o->t_end - r->t;
        r->outcome = r->steps + r->rejected == o->most ? ADAPT_STEPS : ADAPT_UNDERFLOW;
        if (r->outcome == ADAPT_STEPS || (!last && h <= 16 * DBL_EPSILON * fabs(r->t)) || !(h > 0))
            return;
        double err = INFINITY;
        if (stepper_try(st, h) == 0)
            err = norm(o, N, stepper_error(st), stepper_state(st), stepper_tried(st));
        if (!(err <= 1)) { /* NaN too */
            h *= isfinite(err) ? within(shrink, safety * pow(err, -1 / k), 1) : shrink;
            rejected = 1;
            r->rejected++;
            continue;
        }
        double end = last ? o->t_end : r->t + h;
        fill(o, st, r->t, end, N, &filled);
        stepper_accept(st);
        r->steps++;
        r->t = end;

        double factor =
            safety * pow(fmax(err, least), -proportional / k) * pow(before, integral / k);
        h *= within(shrink, factor, rejected ? 1 : grow);
        before = fmax(err, remembered);
        rejected = 0;
    }
    r->outcome = ADAPT_DONE;
}

static int check(const Table *t, const AdaptOptions *o)
{
    if (!t->pair)
        return error_set(ERR_INPUT, "scheme %s has no estimate of its error: a line error = ...",
                         t->name);
    if (o->absolute >= 0 && o->relative >= 0 && o->absolute + o->relative > 0 && o->t_end > 0 &&
        isfinite(o->t_end) && o->estimate_order >= 0)
        return 0;
    return error_set(ERR_MISUSE, "an adaptive run needs a tolerance and a time above 0");
}

int adapt_run(const Table *t, const System *s, const AdaptOptions *o, double *y, AdaptRun *out)
{
    *out = (AdaptRun){0};
    TRY(check(t, o));
    SCOPED(stepper_drop) Stepper *st = NULL;
    size_t N = s->n * s->d;
    double k = o->estimate_order + 1;
    SCOPED(memory_drop) double *work = memory_new(4 * N, sizeof *work);
    Weighted word = system_weigh(s, t);
    if (!work) return ERR_MEMORY;
    TRY(stepper_new(t->pair, s, &st));
    out->first = o->first > 0 ? fmin(o->first, o->t_end)
                              : first_step(o, word.same ? s : &word.system, k, work);
    TRY(stepper_begin(st, 0, out->first, s->initial, START_GIVEN, NULL));
    run(o, s, k, st, out);
    memcpy(y, stepper_state(st), N * sizeof *y);
    out->evals = stepper_evals(st) + (o->first > 0 ? 0 : 2 * system_parts(s));
    return 0;
}
