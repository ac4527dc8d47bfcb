/* predict.c: the error constant that theory predicts, to compare a measured one with.
 *
 * A scheme of order p makes at each step the error h^(p+1) d(y) + ..., with
 *     d(y) = sum over trees of order p + 1 of defect(t) F(t)(y),
 * and its global error is h^p e(T) + ..., with
 *     e' = J(y) e + d(y) / rho'(1),   e(0) = 0,   J = derivative of the field,
 * rho the polynomial of the update's state weights (rho'(1) = 1 for one-step schemes). A scheme of order 0
 * follows another field, a F + b G (+ c C): there e(T) is the difference of two flows.
 *
 * Elementary differentials are taken by differences (differential.c), whose step shrinks until two in a row
 * agree; `accuracy` says how well.
 *
 * Time: each operator has its own clock, one more coordinate, of speed 1 / weight (step.c). Where every stage is
 * H one colour is enough, 37 trees up to order 6 in place of 1202, or 11220 for a decoder. A W-method's trees have W, the
 * Jacobian where the run began, in which vertices of one child stand.
 * Source: Hairer, Norsett, Wanner 1993, II.8 (leading term of the global error), III.4 (multistep).
 */
#include "ode/field/differential.h"
#include "ode/measure/forecast.h"
#include "ode/field/system.h"
#include "ode/scheme/rationals.h"

#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"

enum { NODES_MIN = 32, NODES_MAX = 512 }; /* intervals between points where d is evaluated */
enum { STEPS_MAX = 8 };                   /* most steps of differences tried, */
enum { PASSES_MIN = 2 };                  /* and fewest, on one path */
const char work_prediction[] = "predicted constant";
static const double first_step = 0.08, step_ratio = 0.6;
static const double enough = 1e-4;     /* agreement asked for */
static const double usable = 0.02;     /* agreement below which there is a prediction at all */
static const double work_max = 0x1p29; /* values of fields, coordinate by coordinate */

typedef struct {
    Differ d;
    int order;            /* order of the trees of d */
    double *defect;       /* (count), 0 where not of that order */
    double part[COLOURS]; /* weights of the field */
    double root;          /* rho'(1) */
    double *vector;       /* (2, N) or NULL: where the errors themselves go, local, global */
    int pass;             /* how often d was evaluated everywhere, with other steps */
} Terms;

/* Computes d (N) = sum of defect F(t)(y). */
static void leading(Terms *m, double t, const double *y, double *d)
{
    differ_stand(&m->d, t, y);
    differ_evaluate(&m->d);
    memset(d, 0, m->d.N * sizeof *d);
    for (size_t i = 0; i < m->d.f->count; i++) {
        if (m->defect[i] == 0) continue;
        const double *v = differ_value(&m->d, i);
        for (size_t k = 0; k < m->d.N; k++) d[k] += m->defect[i] * v[k];
    }
}

/* ---- defects ---------------------------------------------------------------------------------------- */

static int find_defects(Terms *m, const Table *t)
{
    const Forest *f = m->d.f;
    TRY(theory_terms(f, t, m->order, m->defect));
    for (size_t i = 0; i < f->count; i++) {
        if (m->d.one && !tree_is_F(f, i)) m->defect[i] = 0;
        if (m->defect[i] != 0) differ_mark(&m->d, i);
    }
    return 0;
}

/* Returns rho'(1) = 1 + sum j v_j, where the weights v_j of y[-j] sum to 1; what is carried has such sums in it. */
static double root_slope(const Table *t)
{
    RATIONAL(time);
    table_row_time(t, &t->update, -1, time);
    return 1 - table_double(time);
}

static int terms_new(Terms *m, const Table *t, const System *s, const Forest *f)
{
    *m = (Terms){.order = f->max, .root = root_slope(t)};
    TRY(differ_new(&m->d, s, f, table_one_field(t)));
    if (!(m->defect = memory_new(f->count, sizeof(double)))) return ERR_MEMORY;
    for (int op = 0; op < t->colours; op++) {
        m->part[op] = table_double(t->weight[op]);
        m->d.speed[op] = m->part[op] != 0 ? 1 / m->part[op] : 0;
    }
    return find_defects(m, t);
}

static void close_terms(Terms *m, Forest *f)
{
    differ_free(&m->d);
    memory_free(m->defect);
    forest_free(f);
}

/* ---- e' = J e + d / rho'(1) -------------------------------------------------------------------------- */

/* Solution and d at t_end i / intervals, i = 0 .. intervals; the arrays are (intervals + 1, N). */
typedef struct {
    size_t intervals;
    double t_end;
    double *y, *d;
    double *e, *half, *quarter, *k, *z; /* (N) each: fine to coarse; (4, N); (N + COLOURS) */
} Path;

static void path_free(Path *p)
{
    memory_free_all(p->y, p->d, p->e);
}

static int path_new(Path *p, const Terms *m, const System *solved, double t_end, size_t intervals)
{
    double t[NODES_MAX + 1];
    size_t N = m->d.N;
    *p = (Path){.intervals = intervals, .t_end = t_end};
    p->y = memory_new(p->intervals + 1, N * sizeof(double));
    p->d = memory_new(p->intervals + 1, N * sizeof(double));
    p->e = memory_new(8, (N + COLOURS) * sizeof(double));
    if (!p->y || !p->d || !p->e) return ERR_MEMORY;
    p->half = p->e + N;
    p->k = p->half + N;
    p->z = p->k + 4 * N;
    p->quarter = p->z + N + COLOURS;
    for (size_t i = 0; i <= p->intervals; i++) t[i] = t_end * (double)i / (double)p->intervals;
    return reference_within(solved, 0, t, p->intervals + 1, p->y, NULL);
}

/* Computes k (N) = J e + d / rho'(1) at node i; z = (e, 0, 0, 0). */
static void error_slope(Terms *m, const Path *p, size_t i, double *k)
{
    differ_stand(&m->d, p->t_end * (double)i / (double)p->intervals, p->y + i * m->d.N);
    for (size_t c = 0; c < m->d.N; c++) k[c] = p->d[i * m->d.N + c] / m->root;
    for (int op = 0; op < (m->d.one ? 1 : m->d.colours); op++)
        if (m->part[op] != 0) differ_along(&m->d, op, m->part[op], p->z, k);
}

/* Computes e (N) at t_end by the classical Runge-Kutta method, a step over 2 `stride` intervals. */
static void integrate(Terms *m, const Path *p, size_t stride, double *e)
{
    static const double node[4] = {0, 1, 1, 2}, weight[4] = {1, 2, 2, 1};
    size_t N = m->d.N;
    double h = p->t_end * 2 * (double)stride / (double)p->intervals;
    memset(e, 0, N * sizeof *e);
    memset(p->z, 0, (N + COLOURS) * sizeof *p->z);
    for (size_t i = 0; i < p->intervals; i += 2 * stride) {
        for (int j = 0; j < 4; j++) {
            const double *last = p->k + (size_t)(j - 1) * N;
            for (size_t c = 0; c < N; c++) p->z[c] = e[c] + (j ? node[j] / 2 * h * last[c] : 0);
            error_slope(m, p, i + (size_t)node[j] * stride, p->k + (size_t)j * N);
        }
        for (size_t c = 0; c < N; c++)
            for (int j = 0; j < 4; j++) e[c] += h / 6 * weight[j] * p->k[(size_t)j * N + c];
    }
}

/* Tells the watch how far the work has come; share: of this pass. */
static void tell(const Terms *m, double share)
{
    const Watch *w = m->d.s->watch;
    if (w) w->tell(w->arg, work_prediction, (m->pass + share) / fmax(m->pass + 1, PASSES_MIN));
}

/* Computes both constants with one step of differences; *off: what the integration may be off. */
static void constants(Terms *m, Path *p, int global, Prediction *out, double *off)
{
    size_t N = m->d.N, last = global ? p->intervals : 0;
    for (size_t i = 0; i <= last; i++) {
        tell(m, (double)i / (double)(last + 1));
        leading(m, p->t_end * (double)i / (double)p->intervals, p->y + i * N, p->d + i * N);
    }
    m->pass++;
    out->local = system_rms(N, p->d, NULL);
    *off = 0;
    if (!global) return;
    integrate(m, p, 4, p->quarter);
    integrate(m, p, 2, p->half);
    integrate(m, p, 1, p->e);
    for (size_t c = 0; c < N; c++) p->quarter[c] -= p->half[c];
    for (size_t c = 0; c < N; c++) p->half[c] = p->e[c] - p->half[c];
    /* Half as long steps leave a sixteenth of the error; where they leave another share, the path is too coarse to know. */
    *off = system_rms(N, p->half, NULL);
    double before = system_rms(N, p->quarter, NULL);
    if (8 * *off <= before && before <= 64 * *off) {
        for (size_t c = 0; c < N; c++) p->e[c] += p->half[c] / 15;
        *off /= 15;
    }
    out->global = system_rms(N, p->e, NULL);
}

/* Returns the relative difference of a and b; both below `zero` count as agreed. */
static double apart(double a, double b, double zero)
{
    if (a < zero && b < zero) return 0;
    double r = fabs(a - b) / fmax(fabs(a), fabs(b));
    return isfinite(r) ? r : INFINITY;
}

/* Returns the size below which a result is nothing: the differences' rounding. */
static double nothing(const Terms *m, const Path *p)
{
    return 1e-8 * (1 + system_rms(m->d.N, p->y, NULL));
}

/* Shrinks the steps of differences. *coarse: the share of the accuracy that is the integration's. Where that alone is
 * too much, and `finer` says that a path of more intervals is to come, one step of differences shows it: a stiff error
 * equation is unstable on a coarse path. */
static void shrink_steps(Terms *m, Path *p, int global, int finer, Prediction *out, double *coarse)
{
    Prediction last, now = {NAN, NAN, INFINITY};
    double off, zero = nothing(m, p);
    *out = (Prediction){NAN, NAN, INFINITY};
    *coarse = 0;
    m->d.step = first_step;
    m->pass = 0;
    constants(m, p, global, &now, &off);
    if (global && now.global > zero) *coarse = off / now.global;
    if (finer && *coarse > usable) return;
    *coarse = 0;
    for (int i = 1; i < STEPS_MAX && !(out->accuracy - *coarse <= enough); i++) {
        last = now;
        m->d.step *= step_ratio;
        constants(m, p, global, &now, &off);
        now.accuracy = apart(now.local, last.local, zero);
        if (global) now.accuracy = fmax(now.accuracy, apart(now.global, last.global, zero));
        *coarse = global && now.global > zero ? off / now.global : 0;
        now.accuracy += *coarse;
        if (now.accuracy < out->accuracy) {
            *out = now;
            if (m->vector) memcpy(m->vector, p->d, m->d.N * sizeof(double));
            if (m->vector && global) memcpy(m->vector + m->d.N, p->e, m->d.N * sizeof(double));
        }
    }
    if (!(out->accuracy <= usable)) out->local = out->global = NAN;
    if (out->local < zero) out->local = 0;
    if (out->global < zero) out->global = 0;
}

/* ---- order 0 ----------------------------------------------------------------------------------------- */

/* Finds the field that a scheme which expands, but is not consistent, converges to. */
static Weighted limit_field(const Table *t, const System *s)
{
    Weighted w = system_weigh(s, t);
    RATIONAL(one);
    for (int op = 0; op < t->colours; op++) {
        double sum = 0;
        if (t->carries) {
            table_goes(t, op, one);
            w.weight[op] = table_double(one);
            continue;
        }
        for (int set = 1; set <= table_sets(t, op); set++) {
            table_weight(t, op, set, one);
            sum += table_double(one);
        }
        w.weight[op] = sum / root_slope(t);
    }
    return w;
}

static int other_flow(const Terms *m, const Table *t, const Path *p, Prediction *out)
{
    const System *s = m->d.s;
    size_t N = m->d.N;
    double agreement;
    if (table_phi(t)) return 0;
    Weighted w = limit_field(t, s);
    int code = reference_solve(&w.system, &p->t_end, 1, p->e, &agreement);
    if (code > 0) return 0; /* it leaves the numbers: no constant */
    TRY(code);
    for (size_t i = 0; i < N; i++) p->e[i] -= p->y[p->intervals * N + i];
    out->global = system_rms(N, p->e, NULL);
    if (m->vector) memcpy(m->vector + N, p->e, N * sizeof *p->e);
    return 0;
}

/* ---- the whole ---------------------------------------------------------------------------------------- */

static int predict_on(Terms *m, const Table *t, const System *s, double t_end, int global,
                      size_t intervals, int finer, Prediction *out, int *done)
{
    Weighted word = system_weigh(s, t);
    const System *solved = word.same ? s : &word.system;
    Path p;
    double coarse = 0;
    int code = path_new(&p, m, solved, t_end, intervals);
    if (code == 0) shrink_steps(m, &p, global && m->order > 1, finer, out, &coarse);
    if (code == 0 && global && m->order == 1) code = other_flow(m, t, &p, out);
    path_free(&p);
    *done = code != 0 || !(coarse > enough / 2);
    return code > 0 ? 0 : code;
}

static size_t points_of(const Terms *m, int global, size_t intervals)
{
    return global && m->order > 1 ? intervals + 1 : 1;
}

/* Returns the values of fields of a pass; infinite: too many, so there is no prediction. */
static double pass_values(const Terms *m, int global, size_t intervals)
{
    double values = differ_work(&m->d) * (double)points_of(m, global, intervals);
    return values * (double)m->d.N > work_max ? INFINITY : values;
}

static int predict(Terms *m, const Table *t, const System *s, double t_end, int global,
                   Prediction *out)
{
    for (size_t n = NODES_MIN, done = 0; !done && n <= NODES_MAX; n *= 2) {
        int over = 0, finer = n < NODES_MAX && isfinite(pass_values(m, global, 2 * n));
        if (!isfinite(pass_values(m, global, n))) return 0;
        TRY(predict_on(m, t, s, t_end, global, n, finer, out, &over));
        done = (size_t)over;
    }
    return 0;
}

/* Opens the terms of a frozen table, f below them, where there is a prediction; else *f = NULL. */
static int open_terms(const Table *t, const System *s, double t_end, int order, Terms *m,
                      Forest **f)
{
    int timed = s->timed && table_written(t);
    *f = NULL;
    *m = (Terms){0};
    if (order < 0 || order >= ORDER_MAX || !(t_end > 0) || s->mass) return 0;
    int colours = table_tree_colours(t);
    if (order >= forest_timed_most(colours, timed)) return 0;
    TRY(series_forest(t, order + 1, colours, timed, f));
    (*f)->w = table_has(t, HAS_W);
    int code = terms_new(m, t, s, *f);
    if (code == 0) return 0;
    close_terms(m, *f);
    *f = NULL;
    return code == ERR_ACCURACY ? 0 : code; /* no expansion about y */
}

int order_predict(const Table *t, const System *s, double t_end, int order, int zero_stable,
                  Prediction *out, double *vector)
{
    Terms m;
    Forest *f;
    TABLE(frozen);
    *out = (Prediction){NAN, NAN, INFINITY};
    if (t_end == 0) t_end = s->t_end;
    if (!(frozen = table_freeze(t))) return ERR_MEMORY;
    TRY(open_terms(frozen, s, t_end, order, &m, &f));
    if (!f) return 0;
    m.vector = vector;
    int code = predict(&m, frozen, s, t_end, zero_stable, out);
    close_terms(&m, f);
    return code == ERR_ACCURACY ? 0 : code;
}
