/* reference.c: reference solutions at many times, by two means of reference_walk.c, whose difference is what is known of them; and sub-flows
 * without a closed form. Where a system has a closed solution that takes the place of the second. */
#include "ode/field/reference_walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"

/* The tolerance of those for M y' = f where they do not come to an end with that: differences tell a Jacobian to some ten
 * digits, and it bears on what equations without derivatives determine. */
static const double looser_mass = 1e-11;
const char work_solution[] = "reference solution", work_check[] = "check of the reference";

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
    walk_begin(w, what, way(t, count));
    TRY(march(w, advance, t, order, count, 0, out));
    return march(w, advance, t, order, count, 1, out);
}

/* Solves in closed form, from 0 to each time anew; an exponential takes a time like |t|. */
static void close_all(Walk *w, const char *what, const double *t, size_t count, double *out)
{
    double length = 0;
    for (size_t i = 0; i < count; i++) length += fabs(t[i]);
    walk_begin(w, what, length);
    for (size_t i = 0; i < count; i++) {
        w->s->solution(w->s, t[i], out + i * w->N);
        w->passed += fabs(t[i]);
        walk_tell(w, 0);
    }
}

/* Marches by one of the two means for M y' = f. */
static int march_mass(Walk *w, int solved, const double *t, const size_t *order, size_t count,
                      double *out)
{
    w->solved = solved;
    w->euler = 0;
    return march_both(w, walk_euler, solved ? work_check : work_solution, t, order, count, out);
}

/* Solves for y by rk8pd, and for other (count, N; NULL: no check) by Gragg's rule, or in closed form, which
 * then is the answer; without a check it is where rk8pd takes more than WALK_CHECK_STEPS. */
static int solve(Walk *w, const double *t, const size_t *order, size_t count, double *y,
                 double *other, double *agreement)
{
    if (w->s->solution) w->checks = WALK_CHECK_STEPS;
    if (w->s->mass && !w->stiff) TRY(walk_turn_stiff(w));
    if (w->s->mass)
        TRY(march_mass(w, 0, t, order, count, y));
    else
        TRY(march_both(w, walk_rk8pd, work_solution, t, order, count, y));
    *agreement = w->apart;
    if (!other && w->checks == 0) close_all(w, work_solution, t, count, y);
    if (!other) return 0;
    if (w->s->solution)
        close_all(w, work_check, t, count, other);
    else if (w->s->mass)
        TRY(march_mass(w, 1, t, order, count, other));
    else
        TRY(march_both(w, w->stiff ? walk_euler : walk_gragg, work_check, t, order, count, other));
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
    return reference_within(s, WALK_TIGHTEST, t, count, y, agreement);
}

static int no_reference(const System *s)
{
    return error_set(
        ERR_INPUT,
        "system %s is M y' = f(y) of %zu coordinates, and the reference integrators take %d at most",
        s->name, s->n * s->d, WALK_STIFF_MOST);
}

/* each (count) out, or NULL. */
static int find_solution(const System *s, const Question *q, double *y, double *agreement,
                         double *each)
{
    SCOPED(walk_close) Walk w = {0};
    SCOPED(memory_drop) double *other = NULL;
    if (s->mass && !s->solution && s->n * s->d > WALK_STIFF_MOST) return no_reference(s);
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
        if (!isfinite(q->t[i])) return walk_not_finite(q->t[i]);
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
    const Question q = {fmax(tolerance, WALK_TIGHTEST), agreement != NULL, t, count, s->n * s->d};
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
    const Question q = {WALK_TIGHTEST, 1, t, count, s->n * s->d};
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
    TRY(walk_open(&w, s, 1 << op, set, WALK_TIGHTEST));
    int code = walk_rk8pd(&w, t, t + h, y);
    if (evals) *evals += w.evals;
    return code;
}
