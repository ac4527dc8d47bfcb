/* measure.c: measures the order that a scheme shows on a system.
 *
 * It takes global errors at t-end for steps h0, h0/2, ..., against the reference solution; fit.c finds the power of
 * h they follow and how far that can be trusted. Orders are whole numbers, so a slope agrees within its tolerance,
 * but at least 1/4 (nearer says nothing more) and at most 1/2 (farther is a neighbour). Where the tolerance stays
 * above 1/8, points are added: further halvings, or, where the floor is in the way, steps between the coarse ones.
 *
 * A step too large for the scheme's stability on the system says nothing of its order: the error is some
 * |R(h J)|^(t_end / h), which rises and falls by powers of ten with h. Such points are cut (find_unstable), and
 * every coarser one with them. Where too few are left the verdict is `unstable`.
 *
 * Every point has a floor, below which its error says nothing: the reference's own disagreement, the random walk of
 * rounding, and its drift, where errors rise at the finest points.
 *
 * Where the errors come near c h^p with a c that is known to be other than 0, that shows the order p, whatever a
 * line says through steps that are too coarse or too near to rounding for it (is_leading).
 *
 * The first steps of a scheme with history end in the reference solution, and it goes on from there, so there is no
 * starting error. The constant is that of the whole way, of which those steps are a share that vanishes with h. A study of
 * the local error takes one step after them. No state before t = 0 is asked for: back in time a stiff solution grows
 * beyond all use, and a scheme that damps what is stiff may still leave by it what it should follow.
 */
#include "ode/measure/fit.h"
#include "ode/measure/forecast.h"
#include "ode/field/system.h"
#include "ode/scheme/rationals.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/base/clock.h"
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/tick.h"

enum { EXTRA = 8 }; /* most points added */
_Static_assert(HALVINGS_MAX + 1 + EXTRA <= FIT_MAX, "a study has more points than a fit takes");
static const double settled = 0.125;
static const double tolerance_min = 0.25, tolerance_max = 0.5;
static const double known = 0.15; /* relative error at most, for the constant to say anything */

/* Evaluations of the largest run that is added unasked; the second: with costly reference flows. */
enum { EVALS_MAX = 1 << 17, FLOWS_MAX = 1 << 12 };

const char work_steps[] = "steps";

static const char *const names[] = {
    [VERDICT_AGREE] = "agree",
    [VERDICT_HIGHER] = "higher",
    [VERDICT_DISAGREE] = "disagree",
    [VERDICT_DIVERGES] = "diverges",
    [VERDICT_FLOOR] = "floor",
    [VERDICT_UNSTABLE] = "unstable",
    [VERDICT_INCONSISTENT] = "inconsistent",
    [VERDICT_UNDECIDED] = "undecided",
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
    Weighted word;        /* the table's field, where that is another */
    const System *solved; /* the field of the reference */
    Stepper *stepper;
    size_t N;
    int local, repeats;
    double t_end, norm;
    double agreement;     /* agreement of the reference at t_end */
    double drift;         /* rounding a step that repeats itself */
    double reach;         /* how far the exact solution goes from its start; 0: not yet asked */
    StepCost cost;        /* set where somebody watches */
    double done, planned; /* seconds, by cost, of the points so far, of all that are planned */
    double *exact;        /* (N) at t_end, or after one step */
    double *given;        /* (history, N): the states in which its first steps end */
    double *times;        /* (history) of these */
} Runs;

static size_t given_steps(const Runs *r)
{
    return (size_t)stepper_history(r->stepper);
}

/* Finds the first states of a run of steps h; *agreement: theirs. */
static int solve_given(Runs *r, double h, double *agreement)
{
    size_t given = given_steps(r);
    *agreement = 0;
    for (size_t j = 0; j < given; j++) r->times[j] = (double)(j + 1) * h;
    return given ? reference_solve(r->solved, r->times, given, r->given, agreement) : 0;
}

static double cost_of(const Runs *r, size_t steps, double h)
{
    return step_cost_of(&r->cost, (double)steps, (double)steps * h);
}

static int all_steps(Runs *r, size_t steps)
{
    const Watch *w = r->system->watch;
    double h = r->t_end / (double)steps, all = fmax(r->planned, r->done + cost_of(r, steps, h));
    for (size_t k = 0; k < steps; k++) {
        if (w && all > 0) w->tell(w->arg, work_steps, (r->done + cost_of(r, k, h)) / all);
        TRY(stepper_step(r->stepper));
        tick();
    }
    return 0;
}

/* Takes p->steps steps, or one behind those that are given; counts their evaluations. */
static int run_steps(Runs *r, OrderPoint *p, double *seconds)
{
    size_t before = 0;
    TRY(stepper_begin(r->stepper, 0, p->h, r->system->initial, START_GIVEN, r->given));
    if (r->local) {
        for (size_t j = given_steps(r); j > 0; j--) TRY(stepper_step(r->stepper));
        before = stepper_evals(r->stepper);
    }
    double start = clock_now();
    int code = all_steps(r, r->local ? 1 : p->steps);
    *seconds = clock_now() - start;
    p->evals = stepper_evals(r->stepper) - before;
    return code;
}

/* Short runs are done again, for the time that nothing disturbed. */
static int timed_steps(Runs *r, OrderPoint *p)
{
    const double brief = 0.02;
    p->seconds = INFINITY;
    for (int i = 0; i <= r->repeats; i++) {
        double seconds = 0;
        int code = run_steps(r, p, &seconds);
        p->seconds = fmin(p->seconds, seconds);
        if (code != 0 || seconds > brief) return code;
    }
    return 0;
}

/* Runs one point. A state or history that is not finite: error = inf; of a state, it is unstable. */
static int run(Runs *r, OrderPoint *p, double *vector)
{
    p->h = r->t_end / (double)p->steps;
    p->error = INFINITY;
    if (!r->local && p->steps <= given_steps(r)) return 0;
    double start = 0, end = (double)(given_steps(r) + 1) * p->h;
    p->agreement = r->agreement;
    int code = r->local ? reference_solve(r->solved, &end, 1, r->exact, &p->agreement) : 0;
    if (code == 0) code = solve_given(r, p->h, &start);
    p->agreement = fmax(p->agreement, start);
    int begun = code == 0;
    if (begun) code = timed_steps(r, p);
    p->unstable = begun && !r->local; /* unless the error is finite, below */
    if (!isfinite(p->seconds)) p->seconds = 0;
    if (code != 0) return code == ERR_NUMERIC ? 0 : code;
    const double *y = stepper_state(r->stepper);
    for (size_t i = 0; i < r->N; i++) vector[i] = y[i] - r->exact[i];
    double error = system_rms(r->N, vector, NULL);
    if (!isfinite(error)) return 0;
    p->error = error;
    p->unstable = 0;
    return 0;
}

static void runs_close(Runs *r)
{
    stepper_free(r->stepper);
    table_free(r->table);
    memory_free_all(r->exact, r->given, r->times);
}

static int runs_open(Runs *r, const Table *t, const System *s, double t_end, int local)
{
    *r = (Runs){.system = s, .N = s->n * s->d, .t_end = t_end, .local = local};
    r->table = table_freeze(t);
    if (!r->table) return ERR_MEMORY;
    r->word = system_weigh(s, t);
    r->solved = r->word.same ? s : &r->word.system;
    TRY(stepper_new(r->table, s, &r->stepper));
    size_t history = (size_t)stepper_history(r->stepper);
    r->exact = memory_new(r->N, sizeof(double));
    r->given = memory_new(history, r->N * sizeof(double));
    r->times = memory_new(history, sizeof(double));
    if (!r->exact || !r->given || !r->times) return ERR_MEMORY;
    TRY(reference_solve(r->solved, &t_end, 1, r->exact, &r->agreement));
    r->norm = system_rms(r->N, r->exact, NULL);
    return 0;
}

/* Returns the floor of a point. Rounding of a step is some eps |y|, at random signs: eps
 * sqrt(steps) |y|; 2 covers the sums of a step and their growth along the solution (measured: 0.3
 * to 0.8, rk4 and ab5, 2^16 steps). */
static double floor_of(const Runs *r, const OrderPoint *p)
{
    double steps = r->local ? 1 : (double)p->steps;
    return p->agreement + 2 * DBL_EPSILON * sqrt(steps) * r->norm + r->drift * steps;
}

/* Returns the drift, rounding that is the same at every step, or what an implicit step's iteration leaves: the finest errors, below
 * 1e-9 |y|, rise with the steps, as such do, or by up to 8 times that where a chaotic solution or the last bits make much of them. */
static double drift_of(const Runs *r, const OrderStudy *o)
{
    double drift = 0;
    for (size_t i = o->points - 1; i > 0 && !r->local; i--) {
        const OrderPoint *p = &o->point[i], *q = p - 1;
        double ratio = p->error / q->error * (double)q->steps / (double)p->steps;
        if (!(p->error > q->error && ratio < 8 && p->error < 1e-9 * r->norm)) break;
        drift = fmax(drift, p->error / (double)p->steps);
    }
    return drift;
}

/* ---- the study ----------------------------------------------------------------------------------- */

static int add_point(Runs *r, OrderStudy *o, size_t at, size_t steps)
{
    double *vector = o->vectors + o->points * o->N;
    OrderPoint p = {.steps = steps, .vector = vector};
    TRY(run(r, &p, vector));
    memmove(o->point + at + 1, o->point + at, (o->points - at) * sizeof p);
    o->point[at] = p;
    o->points++;
    r->done += cost_of(r, steps, p.h);
    return 0;
}

static int affordable(const OrderStudy *o, const OrderPoint *p)
{
    return 2 * p->evals <= (o->closed_flows ? EVALS_MAX : FLOWS_MAX);
}

/* Finds r->reach, the largest |y(t) - y(0)| (RMS) of the exact solution, to a few digits. */
static int find_reach(Runs *r)
{
    enum { TIMES = 16 };
    const double near = 1e-6;
    double t[TIMES];
    SCOPED(memory_drop) double *y = memory_new(TIMES, r->N * sizeof *y);
    if (!y) return ERR_MEMORY;
    for (size_t i = 0; i < TIMES; i++) t[i] = r->t_end * (double)(i + 1) / TIMES;
    TRY(reference_within(r->solved, near, t, TIMES, y, NULL));
    for (size_t i = 0; i < TIMES; i++)
        r->reach = fmax(r->reach, system_rms(r->N, y + i * r->N, r->system->initial));
    return 0;
}

/* Marks the points that are unstable. A point is unstable where the error is larger than the whole way of the exact
 * solution, and the next step's result is farther from it than that again: no number is being approached. (A scheme
 * that converges to another field's flow may err as much, but halving its step changes little; a stable one errs less
 * by then, or is so coarse that it is no loss.) All coarser ones are marked with them: a few long steps may not have
 * grown that far. A finest point is compared with the one before it. The error of one step alone has no stability. */
static int find_unstable(Runs *r, OrderStudy *o)
{
    double way = system_rms(r->N, r->exact, r->system->initial); /* at most the reach */
    o->unstable = 0;
    for (size_t i = 0; i < o->points && !r->local; i++) {
        OrderPoint *p = &o->point[i];
        const OrderPoint *next = i + 1 < o->points ? p + 1 : p - 1;
        if (isfinite(p->error) && p->error > way) {
            if (r->reach == 0) TRY(find_reach(r));
            double change =
                isfinite(next->error) ? system_rms(r->N, p->vector, next->vector) : INFINITY;
            p->unstable = p->error > r->reach && change > r->reach;
        }
        if (p->unstable) o->unstable = p->h;
    }
    for (size_t i = 0; i < o->points; i++)
        o->point[i].unstable |= o->point[i].h >= o->unstable && o->unstable > 0;
    return 0;
}

/* Writes the points for fit.c to p (points), after it finds the drift and the unstable ones. */
static int fit_points(Runs *r, OrderStudy *o, FitPoint *p)
{
    TRY(find_unstable(r, o));
    r->drift = drift_of(r, o);
    for (size_t i = 0; i < o->points; i++) {
        OrderPoint *q = &o->point[i];
        q->floor = floor_of(r, q);
        p[i] = (FitPoint){q->h, q->unstable ? INFINITY : q->error, q->floor};
    }
    return 0;
}

/* Returns the widest gap between usable steps, finest first; -1 where none is wider than 1.3. A gap
 * ends in steps a < b, between which (a + b) / 2 lies. */
static int widest_gap(const OrderStudy *o, size_t first, size_t end)
{
    int widest = -1;
    double best = 1.3;
    for (size_t i = first; i < end && i + 1 < o->points; i++) {
        double a = (double)o->point[i].steps, b = (double)o->point[i + 1].steps;
        if (b - a < 2 || b / a < best) continue;
        best = b / a;
        widest = (int)i;
    }
    return widest;
}

/* Adds one more point where it helps most: beyond the finest, or, where that is rounding, in the
 * widest gap. *added = 0 where none does. */
static int refine(Runs *r, OrderStudy *o, const FitPoint *p, int *added)
{
    const OrderPoint *last = &o->point[o->points - 1];
    size_t first, end;
    fit_range(p, o->points, &first, &end);
    if (end == o->points || !isfinite(p[o->points - 1].error)) {
        *added = affordable(o, last);
        return *added ? add_point(r, o, o->points, 2 * last->steps) : 0;
    }
    int i = widest_gap(o, first, end);
    *added = i >= 0;
    if (i < 0) return 0;
    return add_point(r, o, (size_t)i + 1, (o->point[i].steps + o->point[i + 1].steps) / 2);
}

/* Returns whether the finest run did worse by a factor 2 or more than the one before it, or left
 * the numbers. */
static int grows(const OrderStudy *o)
{
    const OrderPoint *last = &o->point[o->points - 1];
    FitPoint p = {last->h, last->error, last->floor};
    return !isfinite(p.error) || (fit_usable(&p) && p.error >= 2 * last[-1].error);
}

/* Returns whether rounding makes the slope wide: errors fall to it faster than by the order, or all
 * are near their floors and the interval is not below the order. */
static int is_hidden(const OrderStudy *o, const FitPoint *p, const Fit *f)
{
    const double near = 1e6; /* floors, in which four points of order 8 have room */
    const FitPoint *coarsest = &p[f->first];
    if (f->slope >= o->expected + tolerance_max) return 1;
    return f->slope + f->tolerance >= o->expected && coarsest->error <= near * coarsest->floor;
}

/* Returns whether from two steps or more to the finest one of the fit errors fall by a tenth of what the order says, or less. From one
 * alone it may be that its error is small by chance, where errors change their sign. */
static int falls_short(const OrderStudy *o, const FitPoint *p, const Fit *f)
{
    const FitPoint *finest = &p[f->first + f->count - 1];
    int short_of = 0;
    for (const FitPoint *q = p; q < finest; q++)
        short_of +=
            fit_usable(q) && 10 * q->error * pow(finest->h / q->h, o->expected) < finest->error;
    return short_of > 1;
}

/* Returns whether no error is more than rounding: even the coarsest step's is below 1e-10 of the solution, and the finest one's is none the
 * less. Sub-flows that are solved for have such errors, at random, where the scheme has none. */
static int is_rounding(const OrderStudy *o)
{
    const double small = 1e-10;
    for (size_t i = 0; i < o->points; i++)
        if (!(o->point[i].error <= small * o->size)) return 0;
    return o->point[o->points - 1].error >= o->point[0].error;
}

/* Returns whether errors are seen to have a term c h^p: c is known not to be 0, as it would be for a higher power. */
static int has_term(const OrderStudy *o, const Fit *f)
{
    return f->count > 0 && o->expected >= 1 && o->constant_off <= known * o->constant;
}

/* Returns the share of the term c h^p in the finest error used. */
static double share_of_term(const OrderStudy *o, const FitPoint *p, const Fit *f)
{
    const FitPoint *finest = &p[f->first + f->count - 1];
    return o->constant * pow(finest->h, o->expected) / finest->error;
}

/* Returns whether errors are seen to come near c h^p, within a factor 2. For a lower power c would grow. */
static int is_leading(const OrderStudy *o, const FitPoint *p, const Fit *f)
{
    double share = share_of_term(o, p, f);
    return share >= 0.5 && share <= 2;
}

/* Judges an order. One that could not be shown, for want of points above the floor or of a narrow slope, does not agree, unless its
 * term is seen to lead. Nor does it disagree where the slope's interval holds it and errors fall as much: `undecided` says so, and that
 * a slope is above the order, though its term is there beside a larger one of a higher power; `disagree` that the slope is another, so
 * that it asks for smaller steps or a smoother field, `floor` that errors of smaller steps are rounding, and `unstable` that a scheme
 * that would converge has too few stable ones. */
static int judge(const OrderStudy *o, const FitPoint *p, const Fit *f, int zero_stable)
{
    double tolerance = fmin(fmax(f->tolerance, tolerance_min), tolerance_max);
    int converges = zero_stable && (o->expected >= 1 || !grows(o));
    int settles = f->tolerance <= tolerance_max, smaller = fit_usable(&p[o->points - 1]),
        near = fabs(f->slope - o->expected) <= tolerance, term = has_term(o, f);
    if (converges && o->unstable > 0 && !settles) return VERDICT_UNSTABLE;
    if (zero_stable && is_rounding(o)) return VERDICT_FLOOR;
    if (!zero_stable || grows(o)) return VERDICT_DIVERGES;
    if (f->count == 0) return smaller ? VERDICT_DISAGREE : VERDICT_FLOOR;
    if (near && settles) return o->expected < 1 ? VERDICT_INCONSISTENT : VERDICT_AGREE;
    if (!near && !settles && !smaller && is_hidden(o, p, f)) return VERDICT_FLOOR;
    if (term && is_leading(o, p, f)) return VERDICT_AGREE;
    if (f->slope - f->tolerance > o->expected) return term ? VERDICT_UNDECIDED : VERDICT_HIGHER;
    if (o->expected < 1 && f->slope + f->tolerance < tolerance_max) return VERDICT_INCONSISTENT;
    int other = f->slope + f->tolerance < o->expected || falls_short(o, p, f);
    return other && !near ? VERDICT_DISAGREE : VERDICT_UNDECIDED;
}

/* Finds from which step on a term that is seen but does not lead yet will. Its share r of the finest error is r / (1 - r) of the rest,
 * which falls faster by h^(slope - p), so that they are equal where h has fallen by (r / (1 - r))^(1 / (slope - p)). */
static void find_hidden(OrderStudy *o, const FitPoint *p, const Fit *f)
{
    if (o->verdict != VERDICT_UNDECIDED || !(f->slope - f->tolerance > o->expected)) return;
    const FitPoint *finest = &p[f->first + f->count - 1];
    double r = o->hidden = share_of_term(o, p, f);
    double h = finest->h * pow(r / (1 - r), 1 / (f->slope - o->expected));
    FitPoint then = {h, 2 * o->constant * pow(h, o->expected), finest->floor};
    o->leads = fit_usable(&then) ? h : 0;
}

/* Returns whether every sub-flow is the system's own closed one: step.c, sub_flow. */
static int flows_closed(const Table *t, const System *s)
{
    Weighted w = system_weigh(s, t);
    if (table_complex(t)) return 0;
    for (size_t i = 0; i < t->flows; i++) {
        int op = t->flow[i].op;
        if (t->flow[i].by) continue;
        if (!s->flow[op] || (s->timed && w.weight[op] != 1)) return 0;
    }
    return 1;
}

static int settle(Runs *r, OrderStudy *o, FitPoint *p, Fit *f)
{
    for (int i = 0, added = 1;; i++) {
        TRY(fit_points(r, o, p));
        *f = fit_order(p, o->points);
        if (f->tolerance <= settled || i == EXTRA) return 0;
        TRY(refine(r, o, p, &added));
        if (!added) return 0;
    }
}

static int find_constant(OrderStudy *o, const FitPoint *p, const Fit *f)
{
    const double *error[FIT_MAX];
    SCOPED(memory_drop) double *work = memory_new(f->count, o->N * sizeof *work);
    if (!work) return ERR_MEMORY;
    for (size_t i = 0; i < o->points; i++) error[i] = o->point[i].vector;
    fit_constant(p, error, o->N, f, o->expected, work, o->leading, &o->constant_off);
    o->constant = isfinite(o->constant_off) ? system_rms(o->N, o->leading, NULL) : NAN;
    return 0;
}

static int plan(Runs *r, size_t steps, int halvings)
{
    if (!r->system->watch) return 0;
    return study_cost(r->stepper, r->system->initial, r->N, steps, halvings, r->t_end, &r->cost,
                      &r->planned);
}

static int measure(Runs *r, OrderStudy *o, size_t steps, int halvings, int zero_stable)
{
    FitPoint p[FIT_MAX];
    Fit f;
    TRY(plan(r, steps, halvings));
    for (int i = 0; i <= halvings; i++) TRY(add_point(r, o, o->points, steps << i));
    TRY(settle(r, o, p, &f));
    TRY(find_constant(o, p, &f));
    o->verdict = judge(o, p, &f, zero_stable);
    find_hidden(o, p, &f);
    if (o->verdict == VERDICT_DIVERGES) o->unstable = 0; /* no step of it is stable */
    if (o->verdict == VERDICT_UNSTABLE || o->verdict == VERDICT_FLOOR) {
        f = (Fit){.slope = NAN, .tolerance = INFINITY};
        o->constant = NAN, o->constant_off = INFINITY;
    }
    for (size_t i = 0; i < f.count; i++) o->point[f.first + i].used = 1;
    o->slope = f.slope;
    o->low = f.count ? f.slope - f.tolerance : NAN;
    o->high = f.count ? f.slope + f.tolerance : NAN;
    return 0;
}

/* Returns the order a local error has: p + 1, or 0 where the update does not reproduce y. */
static int local_order(const Table *t, int order)
{
    RATIONAL(states);
    table_states(t, &t->update, states);
    double sum = t->flows ? 1 : table_double(states);
    return fabs(sum - 1) <= 1e-12 ? order + 1 : 0;
}

int order_expected(const Table *t, const System *s, const Theory *theory, int *order)
{
    int singular;
    *order = theory_order(theory, s);
    TRY(mass_singular(s, &singular));
    if (!singular) return 0;
    if (s->timed && table_has(t, HAS_W) && !table_implicit(t)) *order = 1;
    return assumptions_index_1(t, order);
}

int order_measure(const Table *t, const System *s, const OrderOptions *o, int expected,
                  int zero_stable, OrderStudy *out)
{
    double t_end;
    size_t steps = 0;
    Runs r;
    *out = (OrderStudy){.expected = expected, .closed_flows = flows_closed(t, s)};
    TRY(order_first_steps(s, o, &t_end, &steps));
    size_t most = (size_t)o->halvings + 1 + EXTRA;
    out->N = s->n * s->d;
    out->point = memory_new(most, sizeof *out->point);
    out->vectors = memory_new(most, out->N * sizeof(double));
    out->leading = memory_new(out->N, sizeof(double));
    if (!out->point || !out->vectors || !out->leading) {
        order_free(out);
        return ERR_MEMORY;
    }
    int code = runs_open(&r, t, s, t_end, o->local);
    r.repeats = o->repeats;
    if (code == 0) out->size = fmax(r.norm, system_rms(out->N, s->initial, NULL));
    if (code == 0 && o->local) out->expected = local_order(r.table, expected);
    if (code == 0) code = measure(&r, out, steps, o->halvings, zero_stable || o->local);
    runs_close(&r);
    if (code != 0) order_free(out);
    return code;
}

void order_free(OrderStudy *o)
{
    o->point = memory_free(o->point);
    o->vectors = memory_free(o->vectors);
    o->leading = memory_free(o->leading);
    o->points = 0;
}

int order_match(const OrderStudy *o, double predicted, double accuracy, const double *e)
{
    const double narrow = 0.01;
    double off = o->constant_off;
    int higher = o->verdict == VERDICT_HIGHER;
    if (isnan(predicted)) return -1;
    if (predicted == 0 && (higher || o->verdict == VERDICT_FLOOR)) return VERDICT_AGREE;
    if (predicted == 0 ||
        !(higher || o->verdict == VERDICT_AGREE || o->verdict == VERDICT_UNDECIDED))
        return -1;
    if (!higher && !(off <= known * o->constant)) return -1;
    double allowed = fmax(off, narrow * o->constant) + accuracy * predicted;
    if (!(system_rms(o->N, o->leading, e) <= allowed)) return VERDICT_DISAGREE;
    return higher
               ? -1
               : VERDICT_AGREE; /* a slope above the order, and a constant that may be the predicted one */
}
