/* reference_walk.c: walks along a field by means that share the field alone, for reference solutions.
 *
 *   1. GSL's rk8pd, an embedded Runge-Kutta pair of orders 8(7), with its own step control
 *   2. Gragg's modified midpoint rule, extrapolated in h^2 over 2, 4, 6, ... substeps; all sums in
 *      long double, so that what remains is the rounding of the field itself
 *
 * They share only the field. Where a system has a closed solution that takes the place of 2, and 1 checks it as far as
 * it comes in WALK_CHECK_STEPS steps.
 *
 * Explicit steps cannot follow a stiff field far: their length is bound by its fastest rate and not by its solution.
 * Where rk8pd is seen to go on like that (grows_stiff), for up to WALK_STIFF_MOST unknowns, two other means go on from there,
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
#include "ode/field/reference_walk.h"

#include <float.h>
#include <gsl/gsl_errno.h>
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/quiet.h"
#include "kernels/base/tick.h"
#include "ode/field/combine.h"

enum { COLUMNS = 9 };         /* columns of the extrapolation table: order 18 */
enum { MAX_STEPS = 1000000 }; /* most steps of rk8pd between two times */
enum {
    STIFF_EVERY = 100,
    STIFF_HITS = 30,
    STIFF_WAY = 20000
}; /* rk8pd is asked at each 100th step, and leaves after 30 yes in a row, where 20,000 steps are left */
enum { EULERS = 14 }; /* columns of the linearly implicit Euler method */
/* The tolerance of the two means for stiff fields, whose sums cancel more digits. */
static const double tightest_stiff = 1e-13;

/* Tells the watch how far the work has come; t: where this march, from 0, is. */
void walk_tell(const Walk *w, double t)
{
    const Watch *watch = w->s->watch;
    if (watch && w->length > 0) watch->tell(watch->arg, w->what, (w->passed + fabs(t)) / w->length);
}

void walk_begin(Walk *w, const char *what, double length)
{
    w->what = what;
    w->passed = 0;
    w->length = length;
    walk_tell(w, 0);
}

static void slope(const Walk *w, double t, const double *y, double *dy)
{
    tick_of(w->passed + fabs(t), w->length);
    system_sum(w->s, w->ops, w->set, t, y, dy, w->part);
}

void walk_close(Walk *w)
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

int walk_open(Walk *w, const System *s, int ops, int set, double tolerance)
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

int walk_not_finite(double t)
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

/* Returns whether rk8pd has been taking steps h for long whose h L is beyond `much`, and has a long way left of them to the last of all times:
 * over a short one it is the better of the two, as steps that are held by stability err by less than they may. A part of the solution that moves
 * at the rate L is followed to 1e-14 by h L < 1, since the error is some (h L)^9/9!; so nothing moves at that rate any
 * more, and only stability, which ends at 4 to 6, holds the steps. */
static int grows_stiff(Walk *w, double t, double h, const double *y)
{
    const double much = 2;
    if (w->stiff || w->s->solution || w->N > WALK_STIFF_MOST || w->tried++ % STIFF_EVERY != 0)
        return 0;
    if (!(w->length - w->passed - fabs(t) > STIFF_WAY * fabs(h))) return 0;
    w->hits = fabs(h) * fastest_rate(w, t, y) > much ? w->hits + 1 : 0;
    return w->hits == STIFF_HITS;
}

/* Puts bsimp in the place of rk8pd. */
int walk_turn_stiff(Walk *w)
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
            return walk_not_finite(t);
        walk_tell(w, t);
        if (!grows_stiff(w, t, h, y)) continue;
        TRY(walk_turn_stiff(w));
        gsl_odeiv2_evolve_reset(w->evolve);
    }
    if (!combine_finite(w->N, y)) return walk_not_finite(t);
    if (t != to) end_check(w, t, y);
    return 0;
}

int walk_rk8pd(Walk *w, double from, double to, double *y)
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
    return w->tolerance > WALK_TIGHTEST;
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
int walk_gragg(Walk *w, double from, double to, double *y)
{
    const double H_min = 0x1p-16, H_max = 0.25;
    double t = from, H = 0.125;
    for (size_t i = 0; i < w->N; i++) w->state[i] = y[i];
    while (t != to) {
        walk_tell(w, t);
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
    return combine_finite(w->N, y) ? 0 : walk_not_finite(t);
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
        walk_tell(w, t);
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
    return combine_finite(w->N, y) ? 0 : walk_not_finite(t);
}

int walk_euler(Walk *w, double from, double to, double *y)
{
    quiet_begin();
    int code = euler_loop(w, from, to, y);
    quiet_end();
    return code;
}
