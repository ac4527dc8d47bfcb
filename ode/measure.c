/* measure.c: the order a scheme shows on a system.
 *
 * Global errors e at t-end for steps h0, h0/2, ..., then a straight line through (log h, log e). What
 * could fool it, and what is done about it:
 *
 *   rounding        Every point has a floor: the reference's own disagreement plus the random walk
 *                   of rounding. Points within MARGIN of it are cut, and what is left of the floor
 *                   in the others enters the tolerance through the weights of the fit.
 *   coarse steps    e = C h^p (1 + b h + c h^2 ...), so log e = log C + p log h + b h + O(h^2): the
 *                   fit has h as third regressor from 5 points on. Of all windows that end at the
 *                   finest usable point, the one with the least tolerance is taken.
 *   bias left over  It is O(h^2) (without the third regressor O(h)), so leaving the coarsest point
 *                   out, with ratio r of the two coarsest steps, divides it by r^2 (r): it is
 *                   estimated by r^2 / (r^2 - 1) times the change that makes, plus the difference
 *                   to the slope between the two finest points, the least biased pair.
 *
 * tolerance = 95 % t-interval of the fit + bias + floor. Orders are whole numbers, so a slope agrees
 * within the tolerance, but at least 1/4 (nearer says nothing more) and at most 1/2 (farther is a
 * neighbour). Where the tolerance stays above 1/8, points are added: further halvings, or, where the
 * floor is in the way, steps between the coarse ones.
 *
 * History comes from the reference solution at negative times: no starting error, whole interval.
 * Source: Draper, Smith 1998, "Applied regression analysis", chapter 1 (t-interval of a slope).
 */
#include "ode/system.h"

#include <float.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "kernels/error.h"
#include "kernels/memory.h"

enum { WINDOW = 4 };        /* fewest points of a fit */
enum { EXTRA = 8 };         /* most points added */
enum { HALVINGS_MAX = 24 }; /* of the options */
static const double margin = 32;
static const double settled = 0.125;
static const double tolerance_min = 0.25, tolerance_max = 0.5;

/* Evaluations of the largest run that is added unasked; by reference flows, which cost hundreds. */
enum { EVALS_MAX = 1 << 17, FLOWS_MAX = 1 << 10 };

static const char *const names[] = {
    [VERDICT_AGREE] = "agree",       [VERDICT_HIGHER] = "higher", [VERDICT_DISAGREE] = "disagree",
    [VERDICT_DIVERGES] = "diverges", [VERDICT_FLOOR] = "floor",
};

const char *verdict_name(int verdict)
{
    size_t i = (size_t)verdict;
    return i < sizeof names / sizeof *names ? names[i] : "unknown";
}

/* ---- one run ------------------------------------------------------------------------------------- */

typedef struct {
    Table *table; /* frozen */
    const System *system;
    Weighted word;        /* its field, where its weights are not 1, 1 */
    const System *solved; /* the field of the reference */
    Stepper *stepper;
    size_t N, capacity;
    double t_end, agreement, norm;
    double *exact; /* (N) at t_end */
    double *past;  /* (history, N) */
    double *times; /* (history) */
} Runs;

static double rms(size_t N, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < N; i++) sum += (a[i] - (b ? b[i] : 0)) * (a[i] - (b ? b[i] : 0));
    return sqrt(sum / (double)N);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int begin(Runs *r, double h)
{
    size_t history = (size_t)stepper_history(r->stepper);
    double agreement;
    for (size_t j = 0; j < history; j++) r->times[j] = -(double)(j + 1) * h;
    if (history) {
        TRY(reference_solve(r->solved, r->times, history, r->past, &agreement));
        r->agreement = fmax(r->agreement, agreement);
    }
    return stepper_begin(r->stepper, 0, h, r->system->initial, START_GIVEN, r->past);
}

/* Runs p->steps steps; a state that is no longer finite is an outcome, error = inf. */
static int run(Runs *r, OrderPoint *p)
{
    int code = 0;
    p->h = r->t_end / (double)p->steps;
    TRY(begin(r, p->h));
    double start = now();
    for (size_t k = 0; k < p->steps && code == 0; k++) code = stepper_step(r->stepper);
    p->seconds = now() - start;
    p->evals = stepper_evals(r->stepper);
    p->error = code == 0 ? rms(r->N, stepper_state(r->stepper), r->exact) : INFINITY;
    if (!isfinite(p->error)) p->error = INFINITY;
    return code == ERR_NUMERIC ? 0 : code;
}

static void runs_close(Runs *r)
{
    stepper_free(r->stepper);
    table_free(r->table);
    memory_free(r->exact);
    memory_free(r->past);
    memory_free(r->times);
}

static int runs_open(Runs *r, const Table *t, const System *s, double t_end)
{
    *r = (Runs){.system = s, .N = s->n * s->d, .t_end = t_end};
    r->table = table_freeze(t);
    if (!r->table) return ERR_MEMORY;
    r->word = system_weigh(s, t);
    r->solved = r->word.weight[0] == 1 && r->word.weight[1] == 1 ? s : &r->word.system;
    TRY(stepper_new(r->table, s, &r->stepper));
    size_t history = (size_t)stepper_history(r->stepper);
    r->exact = memory_new(r->N, sizeof(double));
    r->past = memory_new(history, r->N * sizeof(double));
    r->times = memory_new(history, sizeof(double));
    if (!r->exact || !r->past || !r->times) return ERR_MEMORY;
    TRY(reference_solve(r->solved, &t_end, 1, r->exact, &r->agreement));
    r->norm = rms(r->N, r->exact, NULL);
    return 0;
}

/* Rounding of a step is some eps |y|, at random signs: eps sqrt(steps) |y|; 2 covers the sums of a
 * step and their growth along the solution (measured: 0.3 to 0.8, rk4 and ab5, 2^16 steps). */
static double floor_of(const Runs *r, const OrderPoint *p)
{
    return r->agreement + 2 * DBL_EPSILON * sqrt((double)p->steps) * r->norm;
}

/* ---- the fit ------------------------------------------------------------------------------------- */

typedef struct {
    size_t first, count;
    double slope, interval, tolerance;
} Fit;

/* x (n) minus its projection on u (n); returns the new x . x. */
static double project(size_t n, double *x, const double *u)
{
    double xu = 0, uu = 0, xx = 0;
    for (size_t i = 0; i < n; i++) xu += x[i] * u[i], uu += u[i] * u[i];
    for (size_t i = 0; i < n; i++) x[i] -= xu / uu * u[i], xx += x[i] * x[i];
    return xx;
}

enum { POINTS_MAX = HALVINGS_MAX + 1 + EXTRA };

/* Least squares of y = log e on 1, log h and, if `curved`, h. By Frisch and Waugh 1933 the slope is
 * that of y on what is left of log h after the others: weight_i = x_i / x.x, slope = weight . y. */
static double regress(size_t n, const OrderPoint *p, int curved, double *weight, double *residual)
{
    double one[POINTS_MAX] = {0}, h[POINTS_MAX], xx, slope = 0;
    for (size_t i = 0; i < n; i++) {
        one[i] = 1;
        h[i] = p[i].h;
        weight[i] = log(p[i].h);
        residual[i] = log(p[i].error);
    }
    project(n, h, one);
    project(n, residual, one);
    xx = project(n, weight, one);
    if (curved) {
        project(n, residual, h);
        xx = project(n, weight, h);
    }
    for (size_t i = 0; i < n; i++) weight[i] /= xx;
    for (size_t i = 0; i < n; i++) slope += weight[i] * residual[i];
    for (size_t i = 0; i < n; i++) residual[i] -= slope * weight[i] * xx;
    return slope;
}

/* Half the 95 % interval of a slope: t_{df} sqrt(residual^2 / df) |weight|. */
static double t_interval(size_t n, size_t df, const double *weight, const double *residual)
{
    double rr = 0, ww = 0;
    for (size_t i = 0; i < n; i++) rr += residual[i] * residual[i], ww += weight[i] * weight[i];
    return gsl_cdf_tdist_Pinv(0.975, (double)df) * sqrt(rr / (double)df * ww);
}

/* Slope between two points: of all, the pair of finest ones has the least bias. */
static double finest_slope(const OrderPoint *p)
{
    return log(p[0].error / p[1].error) / log(p[0].h / p[1].h);
}

static Fit fit_window(const Runs *r, const OrderPoint *p, size_t first, size_t count)
{
    double weight[POINTS_MAX], residual[POINTS_MAX];
    int curved = count > WINDOW;
    Fit f = {.first = first, .count = count};
    p += first;
    double shorter = regress(count - 1, p + 1, curved, weight, residual);
    f.slope = regress(count, p, curved, weight, residual);
    f.interval = t_interval(count, count - 2 - (size_t)curved, weight, residual);
    double ratio = pow(p[0].h / p[1].h, 1 + curved);
    f.tolerance = f.interval + fabs(f.slope - shorter) * ratio / (ratio - 1);
    f.tolerance += fabs(f.slope - finest_slope(p + count - 2));
    for (size_t i = 0; i < count; i++)
        f.tolerance += fabs(weight[i]) * floor_of(r, &p[i]) / p[i].error;
    return f;
}

static int usable(const Runs *r, const OrderPoint *p)
{
    return isfinite(p->error) && p->error > margin * floor_of(r, p);
}

/* The last run of usable points without a gap: *first .. *end - 1. */
static void usable_range(const Runs *r, const OrderStudy *o, size_t *first, size_t *end)
{
    for (*end = o->points; *end > 0 && !usable(r, &o->point[*end - 1]); --*end) continue;
    for (*first = *end; *first > 0 && usable(r, &o->point[*first - 1]); --*first) continue;
}

/* The window with the least tolerance; count 0 where fewer than WINDOW points are usable. */
static Fit fit_best(const Runs *r, const OrderStudy *o)
{
    size_t first, end;
    Fit best = {.slope = NAN, .interval = NAN, .tolerance = INFINITY};
    usable_range(r, o, &first, &end);
    for (; first + WINDOW <= end; first++) {
        Fit f = fit_window(r, o->point, first, end - first);
        if (f.tolerance < best.tolerance) best = f;
    }
    return best;
}

/* ---- the study ----------------------------------------------------------------------------------- */

/* Adds a run of `steps` steps at index `at`. */
static int add_point(Runs *r, OrderStudy *o, size_t at, size_t steps)
{
    OrderPoint p = {.steps = steps};
    TRY(run(r, &p));
    memmove(o->point + at + 1, o->point + at, (o->points - at) * sizeof p);
    o->point[at] = p;
    o->points++;
    return 0;
}

static int affordable(const OrderStudy *o, const OrderPoint *p)
{
    return 2 * p->evals <= (o->closed_flows ? EVALS_MAX : FLOWS_MAX);
}

/* One more point where it helps most; *added = 0 where none does. */
static int refine(Runs *r, OrderStudy *o, int *added)
{
    const OrderPoint *last = &o->point[o->points - 1];
    size_t first, end;
    usable_range(r, o, &first, &end);
    *added = 1;
    if (end == o->points || !isfinite(last->error)) {
        if (affordable(o, last)) return add_point(r, o, o->points, 2 * last->steps);
        *added = 0;
        return 0;
    }
    for (size_t i = first; i + 1 < o->points && i < end; i++) {
        size_t a = o->point[i].steps, b = o->point[i + 1].steps, middle = (a + b) / 2;
        if (a < middle && 5 * b > 8 * a) return add_point(r, o, i + 1, middle);
    }
    *added = 0;
    return 0;
}

/* error = constant h^expected (1 + b h + ...): least squares of log error - expected log h on 1 and h
 * over the window, at h = 0. */
static double constant_of(const OrderStudy *o, const Fit *f)
{
    double z[POINTS_MAX], h[POINTS_MAX], n = (double)f->count, hz = 0, hh = 0, mean_h = 0, mean = 0;
    if (f->count == 0) return NAN;
    for (size_t i = 0; i < f->count; i++) {
        const OrderPoint *p = &o->point[f->first + i];
        h[i] = p->h;
        z[i] = log(p->error) - o->expected * log(p->h);
        mean_h += h[i] / n;
        mean += z[i] / n;
    }
    for (size_t i = 0; i < f->count; i++) {
        hz += (h[i] - mean_h) * (z[i] - mean);
        hh += (h[i] - mean_h) * (h[i] - mean_h);
    }
    return exp(mean - hz / hh * mean_h);
}

/* The finest run did worse by a factor 2 or more than the one before it, or left the numbers. */
static int grows(const Runs *r, const OrderStudy *o)
{
    const OrderPoint *p = &o->point[o->points - 1];
    return !isfinite(p->error) || (usable(r, p) && p->error >= 2 * p[-1].error);
}

static int judge(const Runs *r, const OrderStudy *o, const Fit *f, int zero_stable)
{
    double tolerance = fmin(fmax(f->tolerance, tolerance_min), tolerance_max);
    if (!zero_stable || grows(r, o)) return VERDICT_DIVERGES;
    if (f->count == 0) return VERDICT_FLOOR;
    if (fabs(f->slope - o->expected) <= tolerance) return VERDICT_AGREE;
    return f->slope > o->expected ? VERDICT_HIGHER : VERDICT_DISAGREE;
}

/* Whether every sub-flow is the system's own closed one: step.c, sub_flow. */
static int flows_closed(const Table *t, const System *s)
{
    Weighted w = system_weigh(s, t);
    for (size_t i = 0; i < t->flows; i++) {
        int op = t->flow[i].op;
        if (!s->flow[op] || (s->timed && w.weight[op] != 1)) return 0;
    }
    return 1;
}

static int measure(Runs *r, OrderStudy *o, size_t steps, int halvings, int zero_stable)
{
    for (int i = 0; i <= halvings; i++) TRY(add_point(r, o, o->points, steps << i));
    Fit f = fit_best(r, o);
    for (int i = 0, added = 1; i < EXTRA && added && !(f.tolerance <= settled); i++) {
        TRY(refine(r, o, &added));
        f = fit_best(r, o);
    }
    for (size_t i = 0; i < f.count; i++) o->point[f.first + i].used = 1;
    o->slope = f.slope;
    o->low = f.count ? f.slope - f.tolerance : NAN;
    o->high = f.count ? f.slope + f.tolerance : NAN;
    o->constant = constant_of(o, &f);
    o->floor = floor_of(r, &o->point[o->points - 1]);
    o->verdict = judge(r, o, &f, zero_stable);
    return 0;
}

/* Number of coarsest steps: h0 is rounded so that t_end is a whole number of them. */
static int first_steps(const OrderOptions *o, double t_end, double h0, size_t *steps)
{
    double count = round(t_end / h0);
    if (!(t_end > 0 && t_end <= 1e6))
        return error_set(ERR_INPUT, "t-end %g: expected a number in (0, 1e6]", t_end);
    if (!(h0 > 0 && h0 <= t_end && count <= 1e6))
        return error_set(ERR_INPUT,
                         "h0 %g: expected a step of at most t-end = %g, and at least a "
                         "millionth of it",
                         h0, t_end);
    if (o->halvings < 4 || o->halvings > HALVINGS_MAX)
        return error_set(ERR_INPUT, "%d halvings: expected 4 to %d", o->halvings, HALVINGS_MAX);
    *steps = (size_t)count;
    return 0;
}

int order_measure(const Table *t, const System *s, const OrderOptions *o, int expected,
                  int zero_stable, OrderStudy *out)
{
    double t_end = o->t_end != 0 ? o->t_end : s->t_end, h0 = o->h0 != 0 ? o->h0 : s->h0;
    size_t steps = 0;
    Runs r;
    *out = (OrderStudy){.expected = expected, .closed_flows = flows_closed(t, s)};
    TRY(first_steps(o, t_end, h0, &steps));
    out->point = memory_new((size_t)o->halvings + 1 + EXTRA, sizeof *out->point);
    if (!out->point) return ERR_MEMORY;
    int code = runs_open(&r, t, s, t_end);
    if (code == 0) code = measure(&r, out, steps, o->halvings, zero_stable);
    runs_close(&r);
    if (code != 0) order_free(out);
    return code;
}

void order_free(OrderStudy *o)
{
    o->point = memory_free(o->point);
    o->points = 0;
}
