/* adapt.c: runs an embedded pair, or formulas of several orders, with steps of such a length that the estimated error of each meets a tolerance.
 *
 * With the estimate e = y' - yhat = O(h^k), k = q + 1 for an estimate of order q, atol = absolute and rtol = relative, a step
 * from y_n to y_n+1 = y' is taken where
 *
 *     err = RMS over i of e_i / (atol + rtol max(|y_n,i|, |y_n+1,i|)) <= 1,
 *
 * and the next one is h (safety) err^(-0.7/k) err_before^(0.4/k): a PI controller, whose second factor keeps the steps
 * smooth where stability bounds them (Gustafsson 1991, section 4; Hairer, Wanner 1996, section IV.2). A rejected step
 * is done again with h (safety) err^(-1/k), and the one behind it does not grow. Where stages are found to a share of the
 * tolerance (implicit.c) the controller is that of RADAU5: with n of N turns of Newton's iteration
 *
 *     h_next = h (safety) (2N + 1)/(2N + n) min(err^(-1/k), err^(-1/k) h/h_before (err_before/err)^(1/k)),
 *
 * the second term predicting what err will be if it goes on as it went (Gustafsson 1994); while derivatives are kept, a
 * step that would be shorter, or longer by less than a fifth, keeps its length, and with it the factors of Newton's
 * matrix (SciPy's rule; RADAU5 lets it shrink); where the iteration does not end h is
 * halved. The first step is that of Hairer,
 * Norsett, Wanner 1993, section II.4: it takes two evaluations of the field. A step that is not finite is rejected.
 *
 * With error = O(h^p) at the end and h ~ tolerance^(1/k), the error goes like tolerance^(p/k): Shampine 1994 calls
 * p/k = 1, that of pairs that go on with the higher order, tolerance proportionality.
 *
 * A field that depends on t may have a pulse between two stages, which no estimate sees, and steps are the longer the less there is
 * before it. So behind a step whose estimate is rounding (err <= 1e-10) the next is at most a hundredth of the run, where AdaptOptions
 * does not say how long steps may be: a pulse as long as that is seen, and a field that moves the estimate costs nothing. (MATLAB's
 * solvers take no step above a tenth of the run, whatever the field.)
 *
 * A right side that jumps where the solution stays, as sign(y) at y = 0 in y' = 1/2 - sign(y), has no solution there but in Filippov's sense
 * (Filippov 1988): the solution slides, and each step crosses the jump, is rejected, and is taken again so short that the jump weighs nothing.
 * Explicit pairs come through in a million steps; those that solve for stages need more than anyone waits for, since Newton's iteration meets
 * the jump as well. A run ends for that (ADAPT_JUMPS) where of a fiftieth of the tries that AdaptOptions allow, 10,000 or more, one after the other, more than a tenth
 * were rejected, and the rest of the run, as fast as these, would take more than are allowed. Stability alone may reject as many (ark3 with explicit
 * stages, a third), so a jump has to be there: of the points (t, y) + x H (1, f), 0 <= x <= 1, with H = 1, 4, 16 or 64 steps, that half is taken nine times
 * between whose ends f changes more; of a jump there remains all of the change, of a field that is smooth to a sixteenth of a step and less 2^-9.
 *
 * Where a text has a second, coarser estimate e3 = O(h^j), err is |e|^2 / sqrt(|e|^2 + .01 |e3|^2) in these norms, as in DOP853 (Hairer, Norsett,
 * Wanner 1993, II.10, where e is of order 5 and e3 of order 3): it is O(h^(2k - j)), of e's kind where e alone is large, and so k is 2k - j.
 *
 * Backward differentiation formulas (backward.c) go on with the order of which the next step is longest, behind k + 1 equal
 * steps of order k (Shampine, Reichelt 1997), by h (c err)^(-1/(order + 1)) with the estimate of each order, c = 6, and 10 of an order
 * more (VODE's: Brown, Byrne, Hindmarsh 1989). With SciPy's h (safety) err^(-1/(order + 1)) every fifth step on van der Pol's equation was rejected. Their estimates
 * count backward_sharper = 100 fold (fewer near rounding): what they err by at the end is not what one step errs by but what adds up over hundreds to
 * thousands, and the manual of CVODE, whose formulas these are, advises tolerances of a hundredth of the error that is wanted
 * (Hindmarsh et al. 2005). With order 5 a step is shorter by 100^(1/6) = 2.2 for that. Newton's iteration leaves a tenth of
 * what a step may err by, as CVODE's does (Cohen, Hindmarsh 1996): d of the formula of order k may be off by 0.1 (k + 1)
 * tolerances over 100, and for every order the share is that of k = 1.
 *
 * States at times within a step come from its slopes (dense.c) where that is as good as a step: where their weights are
 * of order q at least, so that their error O(h^(q+1)) falls with the tolerance as the estimate does, where no stage is
 * solved for, and where no clock is set by @, of which the weights know nothing. Elsewhere another step from the same
 * state ends at the time asked for, or several where its own estimate does not pass, so that these states are as good
 * as those at the ends, and the steps of the run stay what they are.
 *
 * Weights of solved stages are not as good, because order conditions speak of h -> 0 for one field. Let y' = lambda (y
 * - g(t)) + g'(t), z = h lambda -> -inf. The step itself may be sure to come near g there, which is a matter of its own
 * weights (b A^-1 = (0 .. 0 1) in stiffly accurate methods); other weights b(theta) multiply slopes that have an error e
 * of the state as z e, or, where each is solved for, give y an error 1 - b(theta) A^-1 (1 .. 1)' times e, and the
 * values one of O(h^2), whatever their order, unless b(theta) A^-1 c^2 = theta^2 as well (Prothero, Robinson 1974;
 * Hairer, Wanner 1996, VI.3). Few methods have the stages for that. Collocation methods have: where the values go through
 * every point of the step they are the polynomial through these and y, bounded by them, and solve the equation up to
 * O(h^(s+1)) with s stages, however stiff it is. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/tick.h"
#include "ode/scheme/rationals.h"
#include "ode/step/backward.h"
#include "ode/step/events.h"

/* A look at each such part of the tries allowed, or at so many where these are more, since a transient has fewer; one in how many is
 * rejected. */
enum { CHATTER = 50, CHATTER_LEAST = 10000, CHATTER_REJECTED = 10 };
static const double safety = 0.9, shrink = 0.2, grow = 5;
static const double grow_solved = 8, grow_orders = 10, halve = 0.5,
                    keep = 1.2;                         /* of Newton's steps */
static const double margin[] = {6, 6, 10};              /* of an order less, the same, one more */
static const double proportional = 0.7, integral = 0.4; /* over k */
/* Lower bounds of err and of err_before: a step without error is taken, and not remembered. */
static const double least = 1e-10, remembered = 1e-4, remembered_solved = 1e-2;

static const char *const outcomes[] = {[ADAPT_DONE] = "done",
                                       [ADAPT_UNDERFLOW] = "underflow",
                                       [ADAPT_STEPS] = "too many steps",
                                       [ADAPT_EVENT] = "event",
                                       [ADAPT_JUMPS] = "jumps"};

const char *adapt_outcome(int outcome)
{
    size_t i = (size_t)outcome;
    return i < sizeof outcomes / sizeof *outcomes ? outcomes[i] : "unknown";
}

/* A run under way. */
typedef struct {
    const AdaptOptions *o;
    const System *s; /* whose F, G and C are weighed as the scheme does */
    size_t N;
    double k;     /* the estimate is O(h^k) */
    double whole; /* time of the end of all */
    double blind; /* longest step behind one of which the estimate saw nothing; 0: any */
    int seen;     /* the estimate of the last step is above rounding */
    Stepper *st;
    Backward *backward; /* takes the steps in its place where the scheme has orders; else NULL */
    size_t filled;      /* of o->at */
    AdaptRun looked;    /* the run at the last look at how it goes (chatters) */
    Dense dense;        /* of order 0: no weights */
    /* takes steps to times within a step; NULL: weights do, or no time is asked for */
    Stepper *side;
    size_t aside; /* evaluations of `side` that do not count (Events) */
} Way;

static void way_free(Way *w)
{
    dense_free(&w->dense);
    stepper_free(w->st);
    stepper_free(w->side);
    backward_free(w->backward);
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
        double e = x[i] / adapt_scale(o, i, fmax(fabs(y[i]), fabs(z[i])));
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

static int run(Way *w, AdaptRun *r);

/* Computes y (N) at a time behind t by steps from the state of the run at t. *outcome: that of the steps. */
static int reach(const Way *w, double t, double at, double *y, int *outcome)
{
    AdaptOptions there = *w->o;
    AdaptRun r = {.t = t, .first = at - t};
    Way way = {.o = &there, .s = w->s, .N = w->N, .k = w->k, .whole = w->whole, .st = w->side};
    there.t_end = at;
    there.times = 0;
    there.events = NULL;
    stepper_follow(w->side, w->st);
    TRY(run(&way, &r));
    memcpy(y, stepper_state(w->side), w->N * sizeof *y);
    *outcome = r.outcome;
    return 0;
}

/* Returns the state at the end of the step that is looked into. */
static const double *end_of(const Way *w)
{
    return w->backward ? backward_state(w->backward) : stepper_tried(w->st);
}

/* The step tried, from t to end. */
typedef struct {
    Way *w;
    double t, end;
    int outcome; /* of the last steps within it for an event */
} Tried;

/* Computes the state within it at a time; *outcome: of the steps that this takes. */
static int state_within(const Tried *s, double at, double *y, int *outcome)
{
    *outcome = ADAPT_DONE;
    if (at == s->end)
        memcpy(y, end_of(s->w), s->w->N * sizeof *y);
    else if (s->w->backward)
        backward_within(s->w->backward, (at - s->t) / (s->end - s->t), y);
    else if (s->w->side)
        return reach(s->w, s->t, at, y, outcome);
    else
        between(&s->w->dense, s->w->st, (at - s->t) / (s->end - s->t), s->w->N, y);
    return 0;
}

/* The same for events, which need a state. */
static int state_for_event(void *tried, double at, double *y)
{
    Tried *s = tried;
    Way *w = s->w;
    size_t before = w->side ? stepper_evals(w->side) : 0;
    TRY(state_within(s, at, y, &s->outcome));
    if (w->side && w->o->events->seeing && w->o->events->aside)
        w->aside += stepper_evals(w->side) - before;
    if (s->outcome == ADAPT_DONE) return 0;
    return error_set(ERR_NUMERIC, "no step to t = %.17g, where an event is looked for", at);
}

/* Fills in the states asked for within the step tried, up to a time, before it is taken. */
static int fill(const Tried *s, double stop, int *outcome)
{
    Way *w = s->w;
    const AdaptOptions *o = w->o;
    *outcome = ADAPT_DONE;
    for (; w->filled < o->times && o->at[w->filled] <= stop && *outcome == ADAPT_DONE; w->filled++)
        TRY(state_within(s, o->at[w->filled], o->states + w->filled * w->N, outcome));
    return 0;
}

/* Looks for events within the step tried, and fills in its states up to its end, or to a terminal event, which ends the
 * run; so do steps within it that come to no end, and their outcome is the run's. */
static int look_inside(Way *w, double end, AdaptRun *r)
{
    Events *e = w->o->events;
    Tried s = {w, r->t, end, ADAPT_DONE};
    if (e) {
        size_t parts = w->side || !e->count ? 1 : EVENT_PARTS;
        int code = events_step(e, end, end_of(w), parts, state_for_event, &s);
        if (code && s.outcome == ADAPT_DONE) return code;
        r->outcome = s.outcome;
        if (code) return 0;
    }
    int stopped = e && e->stopped;
    double stop = stopped ? e->crossing[e->found - 1].t : end;
    TRY(fill(&s, stop, &r->outcome));
    if (!stopped || r->outcome != ADAPT_DONE) return 0;
    r->outcome = ADAPT_EVENT;
    r->steps++;
    r->t = stop;
    return 0;
}

/* Returns the safety factor, which is the smaller the more turns Newton's iteration took (NULL: stages are not found by
 * tolerance). */
static double careful(const Newton *n)
{
    return n ? safety * (2 * n->most + 1) / (2 * n->most + n->turns) : safety;
}

/* Returns the factor of the next step; ratio: of the last step over the one before. */
static double predict(const Newton *n, double k, double err, double before, double ratio)
{
    double by_error = careful(n) * pow(fmax(err, least), -1 / k);
    return fmin(by_error, by_error * ratio * pow(before / fmax(err, least), 1 / k));
}

/* Returns whether the right side jumps between (t, y) and (t, y) + H (1, f) (above). work (6 N): f, then scratch. */
static int jumps_within(const System *s, double t, const double *y, double H, double *work)
{
    enum { HALVINGS = 9 };
    size_t N = s->n * s->d;
    double *f = work, *low = f + N, *high = low + N, *mid = high + N, *at = mid + N, *part = at + N;
    double from = 0, to = 1, left = 0;
    memcpy(low, f, N * sizeof *low);
    for (size_t i = 0; i < N; i++) at[i] = y[i] + H * f[i];
    system_sum(s, system_ops(s), 1, t + H, at, high, part);
    double whole = system_rms(N, low, high);
    for (int k = 0; k <= HALVINGS; k++) {
        double x = (from + to) / 2;
        for (size_t i = 0; i < N; i++) at[i] = y[i] + x * H * f[i];
        system_sum(s, system_ops(s), 1, t + x * H, at, mid, part);
        double below = system_rms(N, low, mid), above = system_rms(N, mid, high);
        left = fmax(below, above);
        memcpy(below > above ? high : low, mid, N * sizeof *mid);
        *(below > above ? &to : &from) = x;
    }
    return whole > 0 && isfinite(whole) && left > whole / 4;
}

/* Returns whether it does so near the state of the run, where steps of h are taken. Short of memory it does not. */
static int meets_jump(const Way *w, double t, double h)
{
    enum { LONGEST = 64 };
    const double *y = w->backward ? backward_state(w->backward) : stepper_state(w->st);
    SCOPED(memory_drop) double *work = memory_new(6 * w->N, sizeof *work);
    if (!work) return 0;
    system_sum(w->s, system_ops(w->s), 1, t, y, work, work + w->N);
    for (double H = h; H <= LONGEST * h; H *= 4)
        if (jumps_within(w->s, t, y, H, work)) return 1;
    return 0;
}

/* Returns whether the run, whose steps are of h, is caught at a jump of the right side (above). */
static int chatters(Way *w, const AdaptRun *r, double h)
{
    size_t rejected = r->rejected - w->looked.rejected,
           tries = r->steps - w->looked.steps + rejected;
    if (tries < CHATTER_LEAST || tries < w->o->most / CHATTER) return 0;
    double turns = (w->o->t_end - r->t) / (r->t - w->looked.t);
    w->looked = *r;
    return rejected > tries / CHATTER_REJECTED && turns * (double)tries > (double)w->o->most &&
           meets_jump(w, r->t, h);
}

/* Cuts the length *h of a step where it would pass the end, *end out. Returns 0 where the run ends before it; its outcome says why. */
static int begin_try(Way *w, AdaptRun *r, double *h, double *end)
{
    const AdaptOptions *o = w->o;
    tick_of(r->t, w->whole);
    if (o->longest > 0) *h = fmin(*h, o->longest);
    if (w->blind > 0 && !w->seen) *h = fmin(*h, w->blind);
    int last = r->t + 1.01 * *h >= o->t_end;
    if (last) *h = o->t_end - r->t;
    *end = last ? o->t_end : r->t + *h;
    r->outcome = r->steps + r->rejected == o->most ? ADAPT_STEPS
                 : chatters(w, r, *h)              ? ADAPT_JUMPS
                                                   : ADAPT_UNDERFLOW;
    return r->outcome == ADAPT_UNDERFLOW && *h > (last ? 0 : 16 * DBL_EPSILON * fabs(r->t));
}

/* Counts a step of length h that is taken again, and tells of it who sees steps. */
static int reject(const Way *w, AdaptRun *r, double h)
{
    const Events *e = w->o->events;
    r->rejected++;
    return e && e->rejected ? e->seen(e->arg, r->t, r->t + h, NULL, NULL, NULL) : 0;
}

/* Returns err of the step tried: |e|, or with a second estimate |e|^2 / sqrt(|e|^2 + .01 |e3|^2). */
static double estimate(const Way *w, const Stepper *st)
{
    const double *y = stepper_state(st), *z = stepper_tried(st), *coarse = stepper_coarse(st);
    double e = norm(w->o, w->N, stepper_error(st), y, z);
    double e3 = coarse ? norm(w->o, w->N, coarse, y, z) : 0;
    return e3 > 0 ? e * e / hypot(e, 0.1 * e3) : e;
}

static int run(Way *w, AdaptRun *r)
{
    const AdaptOptions *o = w->o;
    Stepper *st = w->st;
    const Newton *newton = stepper_newton(st);
    double h = r->first, h_before = INFINITY, before = 1, k = w->k, end;
    int rejected = 0;
    while (r->t < o->t_end) {
        if (!begin_try(w, r, &h, &end)) return 0;
        double err = INFINITY;
        int found = stepper_try(st, h) == 0;
        if (found) err = estimate(w, st);
        if (!(err <= 1)) { /* NaN too */
            TRY(reject(w, r, h));
            h *= isfinite(err)      ? within(shrink, careful(newton) * pow(err, -1 / k), 1)
                 : newton && !found ? halve
                                    : shrink;
            rejected = 1;
            continue;
        }
        TRY(look_inside(w, end, r));
        if (r->outcome != ADAPT_DONE) return 0;
        stepper_accept(st);
        w->seen = err > least;
        r->steps++;
        r->t = end;

        double factor =
            newton ? predict(newton, k, err, before, h / h_before)
                   : safety * pow(fmax(err, least), -proportional / k) * pow(before, integral / k);
        h_before = h;
        factor = within(shrink, factor, rejected ? 1 : newton ? grow_solved : grow);
        if (!newton || !newton->kept || factor >= keep) h *= factor;
        before = fmax(err, newton ? remembered_solved : remembered);
        rejected = 0;
    }
    r->outcome = ADAPT_DONE;
    return 0;
}

/* ---- by formulas of several orders ---------------------------------------------------------------- */

/* Returns the factor of the next step of the order `more` above or below, of 0 where there is none. */
static double factor_of(Way *w, int more, const double *y, const double *z)
{
    Backward *b = w->backward;
    const double *e = backward_error(b, more);
    if (!e) return 0;
    double err = fmax(backward_sharper(b) * norm(w->o, w->N, e, y, z), least);
    return pow(margin[more + 1] * err, -1.0 / (backward_order(b) + more + 1));
}

/* Chooses order and length of the next step, and returns its length. */
static double next_step(Way *w, double h)
{
    Backward *b = w->backward;
    const double *y = backward_state(b);
    double best = 0;
    int more = 0;
    if (backward_equal(b) <= backward_order(b)) return h;
    for (int i = -1; i <= 1; i++) {
        double factor = factor_of(w, i, y, y);
        if (factor <= best) continue;
        best = factor;
        more = i;
    }
    backward_set_order(b, backward_order(b) + more);
    return h * fmin(best, grow_orders);
}

/* Tries a step; *factor out: of the length of another try. Returns whether it passes. */
static int try_order(Way *w, double *factor)
{
    Backward *b = w->backward;
    *factor = halve;
    if (backward_try(b) != 0) return 0;
    const double *y = backward_state(b), *z = backward_tried(b);
    double err = backward_sharper(b) * norm(w->o, w->N, backward_error(b, 0), y, z);
    w->seen = err > least;
    *factor = within(shrink, factor_of(w, 0, y, z), 1);
    return err <= 1;
}

static int run_orders(Way *w, AdaptRun *r)
{
    const AdaptOptions *o = w->o;
    Backward *b = w->backward;
    double h = r->first, tried = h, factor, end;
    while (r->t < o->t_end) {
        if (!begin_try(w, r, &h, &end)) return 0;
        if (h != tried) backward_resize(b, h);
        tried = h;
        if (!try_order(w, &factor)) {
            TRY(reject(w, r, h));
            h *= factor;
            continue;
        }
        backward_accept(b);
        TRY(look_inside(w, end, r));
        if (r->outcome != ADAPT_DONE) return 0;
        r->steps++;
        r->t = end;
        h = next_step(w, h);
    }
    r->outcome = ADAPT_DONE;
    return 0;
}

/* ---- all ------------------------------------------------------------------------------------------- */

static int check_tolerances(const AdaptOptions *o, size_t N)
{
    for (size_t i = 0; i < N; i++) {
        double absolute = adapt_absolute(o, i), relative = adapt_relative(o, i);
        if (!(absolute >= 0 && relative >= 0 && absolute + relative > 0) ||
            !isfinite(absolute + relative))
            return error_set(ERR_MISUSE,
                             "tolerances of %g absolute, %g relative: expected numbers of 0 or "
                             "more, not both 0",
                             absolute, relative);
    }
    return 0;
}

static int check(const Table *t, const AdaptOptions *o, size_t N)
{
    if (!t->pair && !t->orders)
        return error_set(
            ERR_INPUT,
            "scheme %s has no estimate of its error, a line error = ...: take steps of one "
            "length, or another scheme",
            t->name);
    if (o->t_end > 0 && isfinite(o->t_end) && (o->estimate_order >= 0 || t->orders))
        return check_tolerances(o, N);
    return error_set(ERR_MISUSE, "an adaptive run needs a time above 0");
}

/* Returns whether the values by weights go through every point of the scheme, as those of collocation methods do, and
 * the pair has its stages first. */
static int goes_through(const Table *t, const Dense *d)
{
    RATIONAL(a);
    double off = 0;
    for (size_t e = 0; e < t->evals; e++) {
        const Point *p = eval_point(t, (int)e);
        if (p->phi || t->eval[e].op != t->pair->eval[e].op ||
            !row_equal(&p->row, &eval_point(t->pair, (int)e)->row))
            return 0;
        for (size_t i = 0; i < t->evals; i++) {
            row_weight(t, &p->row, (int)i, a);
            double value = dense_value(d, i, table_node(t, p, t->eval[e].op));
            off = fmax(off, fabs(value - table_double(a)));
        }
    }
    return off < 1e-12;
}

/* Finds the weights of values within a step where they are as good as a step. */
static int find_weights(const Table *t, int estimate_order, Dense *out)
{
    int solved = table_solves(t->pair), implicit = table_implicit(t);
    *out = (Dense){0};
    if ((solved && !implicit) || table_written(t->pair) || estimate_order > DENSE_MOST) return 0;
    TRY(dense_find(t, out));
    if (out->order < estimate_order ||
        (solved && (out->evals != t->evals || !goes_through(t, out))))
        dense_free(out);
    return 0;
}

static int prepare(const Table *t, const System *s, Way *w)
{
    if (t->orders) return backward_new(t, s, w->o, &w->backward);
    TRY(stepper_new(t->pair, s, &w->st));
    TRY(stepper_loosen(w->st, w->o));
    const Events *e = w->o->events;
    int asked = w->o->times || (e && (e->count || e->inside));
    if (asked) TRY(find_weights(t, w->o->estimate_order, &w->dense));
    if (!asked || w->dense.order) return 0;
    TRY(stepper_new(t->pair, s, &w->side));
    TRY(stepper_loosen(w->side, w->o));
    return stepper_begin(w->side, 0, 0, s->initial, START_GIVEN, NULL);
}

int adapt_run(const Table *t, const System *s, const AdaptOptions *o, double *y, AdaptRun *out)
{
    size_t N = s->n * s->d;
    *out = (AdaptRun){0};
    TRY(check(t, o, N));
    SCOPED(way_free)
    Way way = {.o = o, .N = N, .k = o->estimate_order + 1, .whole = o->t_end, .seen = 1};
    SCOPED(memory_drop) double *work = memory_new(4 * N, sizeof *work);
    Weighted word = system_weigh(s, t);
    if (!work) return ERR_MEMORY;
    const System *whole = word.same ? s : &word.system;
    way.s = whole;
    if (t->orders) way.k = 2;
    if (s->timed && o->longest == 0) way.blind = o->t_end / 100;
    TRY(prepare(t, s, &way));
    out->dense = t->orders ? t->orders : way.dense.order;
    out->first = o->first > 0 ? fmin(o->first, o->t_end) : first_step(o, whole, way.k, work);
    if (way.backward)
        backward_begin(way.backward, 0, out->first, s->initial);
    else
        TRY(stepper_begin(way.st, 0, out->first, s->initial, START_GIVEN, NULL));
    Events *e = o->events;
    if (e) events_begin(e, s->initial);
    TRY((way.backward ? run_orders : run)(&way, out));
    const double *last = out->outcome == ADAPT_EVENT ? e->state + (e->found - 1) * N
                         : way.backward              ? backward_state(way.backward)
                                                     : stepper_state(way.st);
    memcpy(y, last, N * sizeof *y);
    out->evals = (way.backward ? backward_evals(way.backward) : stepper_evals(way.st)) +
                 (o->first > 0 ? 0 : 2 * system_parts(s));
    const Newton *newton = way.backward ? backward_newton(way.backward) : stepper_newton(way.st);
    if (newton) out->jacobians = newton->jacobians, out->factors = newton->factors;
    if (way.side) out->evals += stepper_evals(way.side) - way.aside;
    return 0;
}
