/* reference.c: reference solutions by two independent means, and sub-flows without a closed form.
 *
 *   1. GSL's rk8pd, an embedded Runge-Kutta pair of orders 8(7), with its own step control
 *   2. Gragg's modified midpoint rule, extrapolated in h^2 over 2, 4, 6, ... substeps; all sums in
 *      long double, so that what remains is the rounding of the field itself
 *
 * They share only the field. Where a system has a closed solution that takes the place of 2, and 1 checks it as far as
 * it comes in CHECK_STEPS steps.
 *
 * Explicit steps cannot follow a stiff field far: their length is bound by its fastest rate and not by its solution.
 * Where rk8pd is seen to go on like that (grows_stiff), for up to STIFF_MOST unknowns, two other means go on from there,
 * or stand in its place:
 *
 *   1. GSL's bsimp, the extrapolated linearly implicit midpoint rule, order 2 k in k columns
 *   2. the linearly implicit Euler method, extrapolated in h over 1, 2, 3, ... substeps, in long double
 *
 * Both hold whatever the Jacobian is, so that it may come from differences: it bears on stability alone.
 *
 * M y' = f(y) with a mass matrix is solved by the second of these, and by the implicit Euler method, whose steps are solved
 * for to rounding, extrapolated in the same way (Deuflhard, Hairer, Zugck 1987).
 * Source: Prince, Dormand 1981; Gragg 1965; Bulirsch, Stoer 1966; Hairer, Norsett, Wanner 1993,
 * "Solving ordinary differential equations I", II.9; Bader, Deuflhard 1983; Deuflhard 1985; Hairer, Wanner 1996, IV.9.
 */
#include "ode/field/system.h"

#include <float.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_odeiv2.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/quiet.h"
#include "kernels/base/tick.h"
#include "ode/field/combine.h"

enum { COLUMNS = 9 };         /* columns of the extrapolation table: order 18 */
enum { MAX_STEPS = 1000000 }; /* most steps of rk8pd between two times */
enum { CHECK_STEPS = 3000 };
enum { STIFF_MOST = 256 }; /* unknowns of a matrix that is factorised at each step */
enum {
    STIFF_EVERY = 100,
    STIFF_HITS = 30,
    STIFF_WAY = 20000
}; /* rk8pd is asked at each 100th step, and leaves after 30 yes in a row, where 20,000 steps are left */
enum { EULERS = 14 }; /* columns of the linearly implicit Euler method */
static const double tightest = 1e-14;
/* The tolerance of the two means for stiff fields, whose sums cancel more digits. */
static const double tightest_stiff = 1e-13;
/* The tolerance of those for M y' = f where they do not come to an end with that: differences tell a Jacobian to some ten
 * digits, and it bears on what equations without derivatives determine. */
static const double looser_mass = 1e-11;
const char work_solution[] = "reference solution", work_check[] = "check of the reference";

/* A walk along y' = sum of the operators in `ops`, by either means. */
typedef struct {
    const System *s;
    int ops, set;
    double tolerance; /* relative to |y| */
    size_t N, evals;  /* evals: of rk8pd */
    double *part, *y,
        *dy; /* (N), (N), (3, N) scratch of the field; argument and value of a slope */
    long double *z0, *z1, *state, *column; /* (N), (N), (N), (EULERS, N) */
    double euler;                          /* last big step of the Euler method; 0: none yet */
    int solved;                            /* the Euler method is the implicit one */
    int stiff, hits;       /* the other two means are used; yes in a row, of grows_stiff */
    double *J;             /* (N + 2, N) then, two rows of scratch behind J; NULL before */
    gsl_matrix *lu;        /* (N, N) */
    gsl_permutation *rows; /* (N) */
    gsl_odeiv2_step *step;
    gsl_odeiv2_control *control;
    gsl_odeiv2_evolve *evolve;
    const char *what;      /* work_solution or work_check */
    double passed, length; /* way passed, whole way to all times */
    long checks;           /* steps left to check a closed solution with; -1: of no check */
    double apart;          /* distance from it where they ended */
    double *each; /* (count) out: how far the two means differ at each time; NULL: nobody asks */
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
    memory_free(w->J);
    if (w->lu) gsl_matrix_free(w->lu);
    if (w->rows) gsl_permutation_free(w->rows);
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
    w->part = memory_new(5 * N, sizeof(double));
    w->z0 = memory_new((3 + EULERS) * N, sizeof(long double));
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

/* J (N, N) = the derivative of the slope at (t, y), by central differences. A cube root of the spacing of numbers is
 * their best step (its floor: a share of a coordinate near 1, as fields have them). */
static int gsl_jacobian(double t, const double *y, double *J, double *by_time, void *walk)
{
    const double share = cbrt(DBL_EPSILON), least = 1e-3;
    Walk *w = walk;
    size_t N = w->N;
    memcpy(w->y, y, N * sizeof *y);
    for (size_t k = 0; k < N; k++) {
        double h = share * fmax(fabs(y[k]), least);
        w->y[k] = y[k] + h;
        slope(w, t, w->y, w->dy);
        for (size_t i = 0; i < N; i++) J[i * N + k] = w->dy[i];
        w->y[k] = y[k] - h;
        slope(w, t, w->y, w->dy);
        w->y[k] = y[k];
        for (size_t i = 0; i < N; i++) J[i * N + k] = (J[i * N + k] - w->dy[i]) / (2 * h);
    }
    slope(w, t + share, w->y, by_time);
    slope(w, t - share, w->y, w->dy);
    for (size_t i = 0; i < N; i++) by_time[i] = (by_time[i] - w->dy[i]) / (2 * share);
    w->evals += 2 * N + 2;
    return combine_finite(N * N, J) ? GSL_SUCCESS : GSL_FAILURE;
}

/* Returns a lower bound of the field's Lipschitz constant at (t, y), by a few steps of the power method on differences
 * of its values: its fastest rate, where that is real. */
static double fastest_rate(Walk *w, double t, const double *y)
{
    enum { POWERS = 12 };
    const double share = sqrt(DBL_EPSILON);
    double rate = 0, size = system_rms(w->N, y, NULL);
    double *base = w->dy + w->N, *v = base + w->N;
    if (!(size > 0)) return 0;
    slope(w, t, y, base);
    memcpy(v, base, w->N * sizeof *v);
    for (int k = 0; k < POWERS; k++) {
        double length = system_rms(w->N, v, NULL), d = share * size;
        if (!(length > 0)) return rate;
        for (size_t i = 0; i < w->N; i++) w->y[i] = y[i] + d / length * v[i];
        slope(w, t, w->y, w->dy);
        for (size_t i = 0; i < w->N; i++) v[i] = (w->dy[i] - base[i]) / d;
        rate = system_rms(w->N, v, NULL);
    }
    return rate;
}

/* Returns whether rk8pd has been taking steps h for long whose h L is beyond `much`, and has a long way left of them: over a
 * short one it is the better of the two, as steps that are held by stability err by less than they may. A part of the solution that moves
 * at the rate L is followed to 1e-14 by h L < 1, since the error is some (h L)^9/9!; so nothing moves at that rate any
 * more, and only stability, which ends at 4 to 6, holds the steps. */
static int grows_stiff(Walk *w, long step, double t, double h, double left, const double *y)
{
    const double much = 2;
    if (w->stiff || w->s->solution || w->N > STIFF_MOST || step % STIFF_EVERY != 0) return 0;
    if (!(fabs(left) > STIFF_WAY * fabs(h))) return 0;
    w->hits = fabs(h) * fastest_rate(w, t, y) > much ? w->hits + 1 : 0;
    return w->hits == STIFF_HITS;
}

/* Puts bsimp in the place of rk8pd. */
static int turn_stiff(Walk *w)
{
    gsl_odeiv2_step_free(w->step);
    gsl_odeiv2_control_free(w->control);
    w->step = gsl_odeiv2_step_alloc(gsl_odeiv2_step_bsimp, w->N);
    w->control = gsl_odeiv2_control_y_new(fmax(w->tolerance, tightest_stiff),
                                          fmax(w->tolerance, tightest_stiff));
    w->J = memory_new(w->N * (w->N + 2), sizeof(double));
    w->lu = gsl_matrix_alloc(w->N, w->N);
    w->rows = gsl_permutation_alloc(w->N);
    w->stiff = 1;
    if (!w->J) return ERR_MEMORY;
    return w->step && w->control && w->lu && w->rows
               ? 0
               : error_set(ERR_MEMORY, "out of memory in GSL");
}

static int rk8pd_loop(Walk *w, double from, double to, double *y)
{
    gsl_odeiv2_system system = {gsl_slope, gsl_jacobian, w->N, w};
    double t = from, h = (to - from) / 4;
    gsl_odeiv2_evolve_reset(w->evolve);
    for (long k = 0; t != to; k++) {
        if (k == MAX_STEPS)
            return error_set(ERR_ACCURACY, "%s: no end after %d steps at t = %g",
                             w->stiff ? "bsimp" : "rk8pd", MAX_STEPS, t);
        if (w->checks == 0) break;
        w->checks -= w->checks > 0;
        if (gsl_odeiv2_evolve_apply(w->evolve, w->control, w->step, &system, &t, to, &h, y) != 0)
            return not_finite(t);
        tell(w, t);
        if (!grows_stiff(w, k, t, h, to - t, y)) continue;
        TRY(turn_stiff(w));
        gsl_odeiv2_evolve_reset(w->evolve);
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

/* Computes row k of Neville's table in h^power over n_j in proportion to j + 1, from row k - 1 in `column` and
 * T_k0 = z0. Returns the largest |T_kk - T_k,k-1|, or NaN. */
static double extrapolate(Walk *w, int k, int power)
{
    double change = 0;
    for (size_t i = 0; i < w->N; i++) {
        long double T = w->z0[i], last = T;
        for (int j = 1; j <= k; j++) {
            long double ratio = (long double)(k + 1) / (k + 1 - j);
            long double *before = w->column + (size_t)(j - 1) * w->N + i; /* T_k-1,j-1 */
            long double next = T + (T - *before) / ((power > 1 ? ratio * ratio : ratio) - 1);
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

/* Returns the same of the end of a step in row k of `column`: of a state at rest what it moves to is its size. */
static double largest_moved(const Walk *w, int k)
{
    double m = largest(w);
    for (size_t i = 0; i < w->N; i++) m = fmax(m, (double)fabsl(w->column[(size_t)k * w->N + i]));
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
        double change = extrapolate(w, k, 2);
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

/* ---- 2 of stiff fields: the linearly implicit Euler method, extrapolated -------------------------------- */

/* Takes a step (M - h J)(z' - z) = h f(t + h, z) from z0 to z0; of the implicit method further ones of Newton's iteration, M (z' - z) = h
 * f(t + h, z'), until they move z' by rounding, or no longer by less. Returns 0, or -1: the matrix is singular, or there is no end. */
static int euler_substep(Walk *w, double t, double h)
{
    enum { TURNS = 20 };
    gsl_vector_view b = gsl_vector_view_array(w->dy, w->N);
    double last = INFINITY;
    memcpy(w->z1, w->z0, w->N * sizeof *w->z0);
    for (int turn = 0; turn < TURNS; turn++) {
        double most = 0, size = DBL_MIN;
        slope_long(w, t, w->z0);
        for (size_t i = 0; i < w->N; i++) w->y[i] = (double)(w->z0[i] - w->z1[i]);
        system_mass(w->s, w->y, w->part);
        for (size_t i = 0; i < w->N; i++) w->dy[i] = h * w->dy[i] - w->part[i];
        if (gsl_linalg_LU_svx(w->lu, w->rows, &b.vector) != 0) return -1;
        for (size_t i = 0; i < w->N; i++) {
            w->z0[i] += w->dy[i];
            most = fmax(most, fabs(w->dy[i]));
            size = fmax(size, (double)fabsl(w->z0[i]));
        }
        if (!w->solved || most <= DBL_EPSILON * size) return 0;
        if (turn > 2 && !(most < last / 2)) return most < 1e-12 * size ? 0 : -1;
        last = most;
    }
    return -1;
}

/* Computes z0 = S(n): n steps from `state`. Returns 0, or -1: there is none. */
static int eulers(Walk *w, double t, double H, int n)
{
    double h = H / n;
    int sign;
    memset(w->y, 0, w->N * sizeof *w->y);
    for (size_t k = 0; k < w->N; k++) {
        w->y[k] = 1;
        system_mass(w->s, w->y, w->part);
        w->y[k] = 0;
        for (size_t i = 0; i < w->N; i++)
            gsl_matrix_set(w->lu, i, k, w->part[i] - h * w->J[i * w->N + k]);
    }
    if (gsl_linalg_LU_decomp(w->lu, w->rows, &sign) != 0) return -1;
    memcpy(w->z0, w->state, w->N * sizeof *w->z0);
    for (int m = 1; m <= n; m++)
        if (euler_substep(w, (double)(t + (long double)m * H / n), h) != 0) return -1;
    return 0;
}

/* Takes one big step into row k of `column`; returns k, or -1 as big_step does. */
static int euler_step(Walk *w, double t, double H)
{
    double tolerance = fmax(w->tolerance, tightest_stiff), last = INFINITY;
    double *at = w->J + w->N * (w->N + 1);
    for (size_t i = 0; i < w->N; i++) at[i] = (double)w->state[i];
    if (gsl_jacobian(t, at, w->J, at - w->N, w) != GSL_SUCCESS) return -1;
    for (int k = 0; k < EULERS; k++) {
        if (eulers(w, t, H, k + 1) != 0) return -1;
        double change = extrapolate(w, k, 1);
        if (k > 3 && change <= tolerance * largest_moved(w, k)) return k;
        if (!(change < INFINITY) || (k > 6 && change > last)) return -1;
        last = change;
    }
    return -1;
}

static int euler_loop(Walk *w, double from, double to, double *y)
{
    const double H_min = 0x1p-60 * (fabs(to) + fabs(from));
    double t = from, H = w->euler > 0 ? w->euler : fabs(to - from) / 64;
    for (size_t i = 0; i < w->N; i++) w->state[i] = y[i];
    for (long steps = 0; t != to; steps++) {
        tell(w, t);
        double left = to - t, step = fabs(left) <= H ? left : copysign(H, left);
        int k = euler_step(w, t, step);
        if (steps == MAX_STEPS || (k < 0 && fabs(step) <= H_min))
            return error_set(ERR_ACCURACY, "no end of the check of the reference at t = %g", t);
        if (k < 0) {
            H = fabs(step) / 2;
            continue;
        }
        memcpy(w->state, w->column + (size_t)k * w->N, w->N * sizeof *w->state);
        t = step == left ? to : t + step;
        w->euler = H;
        if (k < EULERS - 3) H *= 1.5;
    }
    for (size_t i = 0; i < w->N; i++) y[i] = (double)w->state[i];
    return combine_finite(w->N, y) ? 0 : not_finite(t);
}

static int euler(Walk *w, double from, double to, double *y)
{
    quiet_begin();
    int code = euler_loop(w, from, to, y);
    quiet_end();
    return code;
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

/* Marches by one of the two means for M y' = f. */
static int march_mass(Walk *w, int solved, const double *t, const size_t *order, size_t count,
                      double *out)
{
    w->solved = solved;
    w->euler = 0;
    return march_both(w, euler, solved ? work_check : work_solution, t, order, count, out);
}

/* Solves for y by rk8pd, and for other (count, N; NULL: no check) by Gragg's rule, or in closed form, which
 * then is the answer; without a check it is where rk8pd takes more than CHECK_STEPS. */
static int solve(Walk *w, const double *t, const size_t *order, size_t count, double *y,
                 double *other, double *agreement)
{
    if (w->s->solution) w->checks = CHECK_STEPS;
    if (w->s->mass && !w->stiff) TRY(turn_stiff(w));
    if (w->s->mass)
        TRY(march_mass(w, 0, t, order, count, y));
    else
        TRY(march_both(w, rk8pd, work_solution, t, order, count, y));
    *agreement = w->apart;
    if (!other && w->checks == 0) close_all(w, work_solution, t, count, y);
    if (!other) return 0;
    if (w->s->solution)
        close_all(w, work_check, t, count, other);
    else if (w->s->mass)
        TRY(march_mass(w, 1, t, order, count, other));
    else
        TRY(march_both(w, w->stiff ? euler : gragg, work_check, t, order, count, other));
    for (size_t i = 0; i < count; i++) {
        double d = system_rms(w->N, y + i * w->N, other + i * w->N);
        if (!isnan(y[i * w->N]) && !(d <= *agreement)) *agreement = d;
        if (w->each) w->each[i] = isnan(y[i * w->N]) ? w->apart : d;
    }
    if (w->s->solution) memcpy(y, other, count * w->N * sizeof *y);
    return 0;
}

int reference_solve(const System *s, const double *t, size_t count, double *y, double *agreement)
{
    return reference_within(s, tightest, t, count, y, agreement);
}

static int no_reference(const System *s)
{
    return error_set(
        ERR_INPUT,
        "system %s is M y' = f(y) of %zu coordinates, and the reference integrators take %d at most",
        s->name, s->n * s->d, STIFF_MOST);
}

/* each (count) out, or NULL. */
static int find_solution(const System *s, const Question *q, double *y, double *agreement,
                         double *each)
{
    SCOPED(walk_close) Walk w = {0};
    SCOPED(memory_drop) double *other = NULL;
    if (s->mass && !s->solution && s->n * s->d > STIFF_MOST) return no_reference(s);
    if (s->mass && s->solution) { /* it was checked where it was read */
        *agreement = 0;
        for (size_t i = 0; i < q->count; i++) {
            s->solution(s, q->t[i], y + i * q->N);
            if (each) each[i] = 0;
        }
        return 0;
    }
    TRY(walk_open(&w, s, system_ops(s), 1, q->tolerance));
    w.each = each;
    SCOPED(memory_drop) size_t *order = memory_new(q->count, sizeof *order);
    if (!order || (q->checked && !(other = memory_new(q->count, w.N * sizeof *other))))
        return ERR_MEMORY;
    for (size_t i = 0; i < q->count; i++) {
        order[i] = i;
        if (!isfinite(q->t[i])) return not_finite(q->t[i]);
    }
    qsort_r(order, q->count, sizeof *order, by_distance, (void *)q->t);
    int code = solve(&w, q->t, order, q->count, y, other, agreement);
    if (code != ERR_ACCURACY || !s->mass) return code;
    w.tolerance = fmax(w.tolerance, looser_mass);
    return solve(&w, q->t, order, q->count, y, other, agreement);
}

int reference_within(const System *s, double tolerance, const double *t, size_t count, double *y,
                     double *agreement)
{
    const Question q = {fmax(tolerance, tightest), agreement != NULL, t, count, s->n * s->d};
    double apart = 0;
    if (!solved_find(s->solved, &q, y, &apart)) {
        TRY(find_solution(s, &q, y, &apart, NULL));
        TRY(solved_keep(s->solved, &q, y, apart));
    }
    if (agreement) *agreement = apart;
    return 0;
}

/* Errors are told to three digits: where the reference is known to less than this share of the solution's size they would
 * be the reference's own in many a run. */
static const double known_share = 1e-6;

int reference_known(double apart, double size)
{
    return apart <= known_share * size;
}

int reference_each(const System *s, const double *t, size_t count, double *y, double *apart)
{
    const Question q = {tightest, 1, t, count, s->n * s->d};
    double agreement;
    return find_solution(s, &q, y, &agreement, apart);
}

int reference_start(const System *s, double h, size_t count, double *y)
{
    double apart;
    SCOPED(memory_drop) double *t = memory_new(count, sizeof *t);
    if (!t) return ERR_MEMORY;
    if (count == 0) return 0;
    for (size_t j = 0; j < count; j++) t[j] = (double)(j + 1) * h;
    TRY(reference_solve(s, t, count, y, &apart));
    double size = system_rms(count * s->n * s->d, y, NULL);
    if (reference_known(apart, size)) return 0;
    return error_set(
        ERR_ACCURACY,
        "the solution's first %zu steps of %g, with which the scheme begins, are known to %.2g "
        "alone: take smaller steps",
        count, h, apart);
}

int reference_flow(const System *s, int op, int set, double t, double h, double *y, size_t *evals)
{
    SCOPED(walk_close) Walk w = {0};
    TRY(walk_open(&w, s, 1 << op, set, tightest));
    int code = rk8pd(&w, t, t + h, y);
    if (evals) *evals += w.evals;
    return code;
}
