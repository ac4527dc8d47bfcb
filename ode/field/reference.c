/* reference.c: reference solutions by two independent means, and sub-flows without a closed form.
 *
 *   1. GSL's rk8pd, an embedded Runge-Kutta pair of orders 8(7), with its own step control
 *   2. Gragg's modified midpoint rule, extrapolated in h^2 over 2, 4, 6, ... substeps; all sums in
 *      long double, so that what remains is the rounding of the field itself
 *
 * They share only the field, and neither is for stiff fields. Where a system has a closed solution that
 * takes the place of 2, and 1 checks it as far as it comes in CHECK_STEPS steps.
 * Source: Prince, Dormand 1981; Gragg 1965; Bulirsch, Stoer 1966; Hairer, Norsett, Wanner 1993,
 * "Solving ordinary differential equations I", II.9.
 */
#include "ode/field/system.h"

#include <float.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_odeiv2.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/scoped.h"
#include "kernels/quiet.h"
#include "kernels/tick.h"
#include "ode/field/combine.h"

enum { COLUMNS = 9 };         /* columns of the extrapolation table: order 18 */
enum { MAX_STEPS = 1000000 }; /* most steps of rk8pd between two times */
enum { CHECK_STEPS = 3000 };
static const double tightest = 1e-14;
const char work_solution[] = "reference solution", work_check[] = "check of the reference";

/* A walk along y' = sum of the operators in `ops`, by either means. */
typedef struct {
    const System *s;
    int ops, set;
    double tolerance;      /* relative to |y| */
    size_t N, evals;       /* evals: of rk8pd */
    double *part, *y, *dy; /* (N) scratch of the field; argument and value of Gragg's rule */
    long double *z0, *z1, *state, *column; /* (N), (N), (N), (COLUMNS, N) */
    gsl_odeiv2_step *step;
    gsl_odeiv2_control *control;
    gsl_odeiv2_evolve *evolve;
    const char *what;      /* work_solution or work_check */
    double passed, length; /* way passed, whole way to all times */
    long checks;           /* steps left to check a closed solution with; -1: of no check */
    double apart;          /* distance from it where they ended */
} Walk;

/* Tells the watch how far the work has come; t: where this march, from 0, is. */
static void tell(const Walk *w, double t)
{
    const Watch *watch = w->s->watch;
    if (watch && w->length > 0) watch->tell(watch->arg, w->what, (w->passed + fabs(t)) / w->length);
}

static void begin(Walk *w, const char *what, double length)
{
    w->what = what;
    w->passed = 0;
    w->length = length;
    tell(w, 0);
}

static void slope(const Walk *w, double t, const double *y, double *dy)
{
    tick_of(w->passed + fabs(t), w->length);
    system_sum(w->s, w->ops, w->set, t, y, dy, w->part);
}

static void walk_close(Walk *w)
{
    memory_free(w->part);
    memory_free(w->z0);
    if (w->step) gsl_odeiv2_step_free(w->step);
    if (w->control) gsl_odeiv2_control_free(w->control);
    if (w->evolve) gsl_odeiv2_evolve_free(w->evolve);
}

static int open_gsl(void *walk)
{
    Walk *w = walk;
    w->step = gsl_odeiv2_step_alloc(gsl_odeiv2_step_rk8pd, w->N);
    w->control = gsl_odeiv2_control_y_new(w->tolerance, w->tolerance);
    w->evolve = gsl_odeiv2_evolve_alloc(w->N);
    return w->step && w->control && w->evolve ? 0 : error_set(ERR_MEMORY, "out of memory in GSL");
}

static int walk_open(Walk *w, const System *s, int ops, int set, double tolerance)
{
    size_t N = s->n * s->d;
    *w = (Walk){.s = s, .ops = ops, .set = set, .tolerance = tolerance, .N = N, .checks = -1};
    w->part = memory_new(3 * N, sizeof(double));
    w->z0 = memory_new((3 + COLUMNS) * N, sizeof(long double));
    if (!w->part || !w->z0 || quiet_call(open_gsl, w) != 0) return ERR_MEMORY;
    w->y = w->part + N;
    w->dy = w->y + N;
    w->z1 = w->z0 + N;
    w->state = w->z1 + N;
    w->column = w->state + N;
    return 0;
}

static int not_finite(double t)
{
    return error_set(ERR_NUMERIC, "the reference solution is not finite near t = %g", t);
}

/* ---- 1. rk8pd ------------------------------------------------------------------------------------ */

/* GSL_FAILURE makes the evolver halve its step. */
static int gsl_slope(double t, const double *y, double *dy, void *walk)
{
    Walk *w = walk;
    w->evals++;
    slope(w, t, y, dy);
    return combine_finite(w->N, dy) ? GSL_SUCCESS : GSL_FAILURE;
}

/* Ends a check at time t: it cannot tell about later ones. y (N): the state, lost. */
static void end_check(Walk *w, double t, double *y)
{
    w->s->solution(w->s, t, w->y);
    w->apart = system_rms(w->N, y, w->y);
    y[0] = NAN;
}

static int rk8pd_loop(Walk *w, double from, double to, double *y)
{
    gsl_odeiv2_system system = {gsl_slope, NULL, w->N, w};
    double t = from, h = (to - from) / 4;
    gsl_odeiv2_evolve_reset(w->evolve);
    for (long k = 0; t != to; k++) {
        if (k == MAX_STEPS)
            return error_set(ERR_ACCURACY, "rk8pd: no end after %d steps at t = %g", MAX_STEPS, t);
        if (w->checks == 0) break;
        w->checks -= w->checks > 0;
        if (gsl_odeiv2_evolve_apply(w->evolve, w->control, w->step, &system, &t, to, &h, y) != 0)
            return not_finite(t);
        tell(w, t);
    }
    if (!combine_finite(w->N, y)) return not_finite(t);
    if (t != to) end_check(w, t, y);
    return 0;
}

static int rk8pd(Walk *w, double from, double to, double *y)
{
    quiet_begin();
    int code = rk8pd_loop(w, from, to, y);
    quiet_end();
    return code;
}

/* ---- 2. Gragg's extrapolation -------------------------------------------------------------------- */

static void slope_long(Walk *w, double t, const long double *z)
{
    for (size_t i = 0; i < w->N; i++) w->y[i] = (double)z[i];
    slope(w, t, w->y, w->dy);
}

/* Computes z0 = S(n): n midpoint steps from `state`, smoothed; its error has even powers only. */
static void midpoint(Walk *w, double t, double H, int n)
{
    long double h = (long double)H / n;
    slope_long(w, t, w->state);
    for (size_t i = 0; i < w->N; i++) {
        w->z0[i] = w->state[i];
        w->z1[i] = w->state[i] + h * w->dy[i];
    }
    for (int m = 1; m < n; m++) {
        slope_long(w, (double)(t + m * h), w->z1);
        for (size_t i = 0; i < w->N; i++) {
            long double next = w->z0[i] + 2 * h * w->dy[i];
            w->z0[i] = w->z1[i];
            w->z1[i] = next;
        }
    }
    slope_long(w, t + H, w->z1);
    for (size_t i = 0; i < w->N; i++) w->z0[i] = (w->z0[i] + w->z1[i] + h * w->dy[i]) / 2;
}

/* Computes row k of Neville's table over n_j = 2 (j + 1), from row k - 1 in `column` and T_k0 = z0.
 * Returns the largest |T_kk - T_k,k-1|, or NaN. */
static double extrapolate(Walk *w, int k)
{
    double change = 0;
    for (size_t i = 0; i < w->N; i++) {
        long double T = w->z0[i], last = T;
        for (int j = 1; j <= k; j++) {
            long double ratio = (long double)(k + 1) / (k + 1 - j);
            long double *before = w->column + (size_t)(j - 1) * w->N + i; /* T_k-1,j-1 */
            long double next = T + (T - *before) / (ratio * ratio - 1);
            *before = last = T;
            T = next;
        }
        w->column[(size_t)k * w->N + i] = T;
        double d = (double)fabsl(T - last);
        if (!(d <= change)) change = d;
    }
    return change;
}

static double largest(const Walk *w)
{
    double m = DBL_MIN;
    for (size_t i = 0; i < w->N; i++) m = fmax(m, (double)fabsl(w->state[i]));
    return m;
}

/* Returns whether a field may have kinks: at looser tolerances. No column sees past one; a step is
 * given up where the table converges slowly, and the next is much smaller. */
static int has_kinks(const Walk *w)
{
    return w->tolerance > tightest;
}

/* Takes one big step into row k of `column`; returns k, or -1 where no column met the tolerance. */
static int big_step(Walk *w, double t, double H, int whole)
{
    double tolerance = fmax(4 * DBL_EPSILON, w->tolerance / 16) * largest(w), last = INFINITY;
    for (int k = 0; k < COLUMNS; k++) {
        midpoint(w, t, H, 2 * (k + 1));
        double change = extrapolate(w, k);
        if (k > 1 && change <= tolerance) return k;
        if (k > 2 && !whole && !(change <= last / 8)) return -1;
        last = change;
    }
    return -1;
}

/* Moves y by big steps. They are halved where the table does not converge and doubled where it does
 * early; a field with kinks ends at steps of 2^-16, taken as they are. */
static int gragg(Walk *w, double from, double to, double *y)
{
    const double H_min = 0x1p-16, H_max = 0.25;
    double t = from, H = 0.125;
    for (size_t i = 0; i < w->N; i++) w->state[i] = y[i];
    while (t != to) {
        tell(w, t);
        double left = to - t, step = fabs(left) <= H ? left : copysign(H, left);
        int k = big_step(w, t, step, H <= H_min || !has_kinks(w));
        if (k < 0 && H > H_min) {
            H = fmax(H / (has_kinks(w) ? 8 : 2), H_min);
            continue;
        }
        if (k < 0) k = COLUMNS - 1;
        memcpy(w->state, w->column + (size_t)k * w->N, w->N * sizeof *w->state);
        t = step == left ? to : t + step;
        if (k < COLUMNS - 3) H = fmin(2 * H, H_max);
    }
    for (size_t i = 0; i < w->N; i++) y[i] = (double)w->state[i];
    return combine_finite(w->N, y) ? 0 : not_finite(t);
}

/* ---- many times ---------------------------------------------------------------------------------- */

typedef int Advance(Walk *w, double from, double to, double *y);

static int by_distance(const void *a, const void *b, void *times)
{
    const double *t = times;
    double x = fabs(t[*(const size_t *)a]), y = fabs(t[*(const size_t *)b]);
    return (x > y) - (x < y);
}

/* Marches from 0 to all times of one sign, nearest first, into their rows of out. */
static int march(Walk *w, Advance *advance, const double *t, const size_t *order, size_t count,
                 int negative, double *out)
{
    const double *from = w->s->initial;
    double now = 0;
    for (size_t k = 0; k < count; k++) {
        size_t i = order[k];
        double *y = out + i * w->N;
        if ((t[i] < 0) != negative) continue;
        memcpy(y, from, w->N * sizeof *y);
        if (!isnan(y[0])) TRY(advance(w, now, t[i], y));
        from = y;
        now = t[i];
    }
    w->passed += fabs(now);
    return 0;
}

static double way(const double *t, size_t count)
{
    double ahead = 0, behind = 0;
    for (size_t i = 0; i < count; i++) {
        ahead = fmax(ahead, t[i]);
        behind = fmax(behind, -t[i]);
    }
    return ahead + behind;
}

static int march_both(Walk *w, Advance *advance, const char *what, const double *t,
                      const size_t *order, size_t count, double *out)
{
    begin(w, what, way(t, count));
    TRY(march(w, advance, t, order, count, 0, out));
    return march(w, advance, t, order, count, 1, out);
}

/* Solves in closed form, from 0 to each time anew; an exponential takes a time like |t|. */
static void close_all(Walk *w, const char *what, const double *t, size_t count, double *out)
{
    double length = 0;
    for (size_t i = 0; i < count; i++) length += fabs(t[i]);
    begin(w, what, length);
    for (size_t i = 0; i < count; i++) {
        w->s->solution(w->s, t[i], out + i * w->N);
        w->passed += fabs(t[i]);
        tell(w, 0);
    }
}

/* Solves for y by rk8pd, and for other (count, N; NULL: no check) by Gragg's rule, or in closed form, which
 * then is the answer; without a check it is where rk8pd takes more than CHECK_STEPS. */
static int solve(Walk *w, const double *t, const size_t *order, size_t count, double *y,
                 double *other, double *agreement)
{
    if (w->s->solution) w->checks = CHECK_STEPS;
    TRY(march_both(w, rk8pd, work_solution, t, order, count, y));
    *agreement = w->apart;
    if (!other && w->checks == 0) close_all(w, work_solution, t, count, y);
    if (!other) return 0;
    if (w->s->solution)
        close_all(w, work_check, t, count, other);
    else
        TRY(march_both(w, gragg, work_check, t, order, count, other));
    for (size_t i = 0; i < count; i++) {
        double d = system_rms(w->N, y + i * w->N, other + i * w->N);
        if (!isnan(y[i * w->N]) && !(d <= *agreement)) *agreement = d;
    }
    if (w->s->solution) memcpy(y, other, count * w->N * sizeof *y);
    return 0;
}

int reference_solve(const System *s, const double *t, size_t count, double *y, double *agreement)
{
    return reference_within(s, tightest, t, count, y, agreement);
}

static int find_solution(const System *s, const Question *q, double *y, double *agreement)
{
    SCOPED(walk_close) Walk w = {0};
    SCOPED(memory_drop) double *other = NULL;
    TRY(walk_open(&w, s, system_ops(s), 1, q->tolerance));
    SCOPED(memory_drop) size_t *order = memory_new(q->count, sizeof *order);
    if (!order || (q->checked && !(other = memory_new(q->count, w.N * sizeof *other))))
        return ERR_MEMORY;
    for (size_t i = 0; i < q->count; i++) {
        order[i] = i;
        if (!isfinite(q->t[i])) return not_finite(q->t[i]);
    }
    qsort_r(order, q->count, sizeof *order, by_distance, (void *)q->t);
    return solve(&w, q->t, order, q->count, y, other, agreement);
}

int reference_within(const System *s, double tolerance, const double *t, size_t count, double *y,
                     double *agreement)
{
    const Question q = {fmax(tolerance, tightest), agreement != NULL, t, count, s->n * s->d};
    double apart = 0;
    if (!solved_find(s->solved, &q, y, &apart)) {
        TRY(find_solution(s, &q, y, &apart));
        TRY(solved_keep(s->solved, &q, y, apart));
    }
    if (agreement) *agreement = apart;
    return 0;
}

int reference_flow(const System *s, int op, int set, double t, double h, double *y, size_t *evals)
{
    SCOPED(walk_close) Walk w = {0};
    TRY(walk_open(&w, s, 1 << op, set, tightest));
    int code = rk8pd(&w, t, t + h, y);
    if (evals) *evals += w.evals;
    return code;
}
