/* test_step.c: the stepper against steps written out by hand and GSL's; every scheme of the zoo, and refusals. Embedded
 * pairs: their language and theory against published values and identities, and runs by tolerance against closed
 * solutions, a field that counts, and GSL's rkf45. */
#include "tests/lib/test.h"

#include <complex.h>
#include <gsl/gsl_odeiv2.h>

#include "tests/lib/distance.h"
#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

enum { MAX = 512 };

/* The order of sums makes differences: 10 operations a step, 8 steps, growth below e. */
static const double rounding = 10 * 8 * 2.8 * 2.3e-16;

/* ---- steps by hand ------------------------------------------------------------------------------- */

static void add_slope(const System *s, int op, double t, double h, double *y)
{
    double k[MAX];
    s->field[op](s, 1, t, y, k);
    for (size_t i = 0; i < s->n * s->d; i++) y[i] += h * k[i];
}

/* Computes the Macaron layer, eq. (14)-(16): half G, F, half G, each an Euler step by its clock. */
static void macaron(const System *s, double t, double h, double *y)
{
    add_slope(s, OP_G, t, h / 2, y);
    add_slope(s, OP_F, t, h, y);
    add_slope(s, OP_G, t + h / 2, h / 2, y);
}

static void sub_flow(const System *s, int op, double t, double h, double *y)
{
    if (s->flow[op])
        s->flow[op](s, 1, t, h, y);
    else
        assert_int_equal(reference_flow(s, op, 1, t, h, y, NULL), 0);
}

static void strang(const System *s, double t, double h, double *y)
{
    sub_flow(s, OP_G, t, h / 2, y);
    sub_flow(s, OP_F, t, h, y);
    sub_flow(s, OP_G, t + h / 2, h / 2, y);
}

static const char *const names[] = {"macaron", "strang-marchuk"};

static void refuse_steps(const Table *t, const System *s, const char *words)
{
    Stepper *st = NULL;
    assert_refused(stepper_new(t, s, &st), s->name, words);
}

/* Of y' = -y^2 + y, y and its flows over complex times are y / (1 + z y) and exp(z) y. */
TEST(complex_flows)
{
    static const double complex c[] = {.25 + .25 * I, .75 - .25 * I};
    OWN_SYSTEM *s = read_system("system a\nF1 = own -y1*y1\nG1 = y1\ninitial = 0.5", 0, 0);
    OWN_TABLE *t = frozen("flow (1/4 + i/4) F\nflow (1/4 + i/4) G\n"
                          "flow (3/4 - i/4) F\nflow (3/4 - i/4) G");
    double y = .5, h = .5, by_hand = .5;
    for (int step = 0; step < 3; step++) {
        double complex z = by_hand;
        for (int k = 0; k < 2; k++) z = cexp(c[k] * h) * z / (1 + c[k] * h * z);
        by_hand = creal(z);
    }
    assert_int_equal(walk(t, s, 0, h, 3, &y), 0);
    assert_true(fabs(y - by_hand) < 1e-13);
    static const char *const fields[] = {"G1 = abs(y1)", "G1 = t", "G1 = heaviside(y1)"};
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
        char text[100];
        snprintf(text, sizeof text, "system a\n%s\ninitial = 0.5", fields[k]);
        OWN_SYSTEM *other = read_system(text, 0, 0);
        refuse_steps(t, other, "without the time, abs and heaviside");
    }
    OWN_SYSTEM *numbers = make("fisher");
    refuse_steps(t, numbers, "as a text of formulas");
}

/* Returns the largest difference over 8 steps of scheme i and hand j. */
static double hand_error(const System *s, int i, int j)
{
    double y[MAX], x[MAX], h = 0.125;
    OWN_TABLE *t = frozen(names[i]);
    memcpy(x, s->initial, s->n * s->d * sizeof *x);
    memcpy(y, s->initial, s->n * s->d * sizeof *y);
    for (int k = 0; k < 8; k++) (j ? strang : macaron)(s, 0.25 + k * h, h, x);
    assert_int_equal(walk(t, s, 0.25, h, 8, y), 0);
    return relative_distance(y, x, s->n * s->d);
}

TEST(test_by_hand)
{
    for (size_t k = 0; system_name(k); k++) {
        OWN_SYSTEM *s = make(system_name(k));
        if (s->context) continue; /* texts, stiff ones among them */
        for (int i = 0; i < 2; i++) {
            double e = hand_error(s, i, i);
            if (!(e <= rounding)) fail_msg("%s on %s: off by %g", names[i], s->name, e);
        }
    }
    OWN_SYSTEM *s = make(system_default()); /* the control: the other hand is far off */
    assert_true(hand_error(s, 0, 1) > 1e-5);
}

/* ---- contract; histories by measured constants (test_predict.c), by plans (test_bridge.c) ------------- */

/* Computes reference states at h, 2 h, ... (count, N). */
static void first_states(const System *s, double h, int n, double *given)
{
    assert_int_equal(reference_start(s, h, (size_t)n, given), 0);
}

static size_t all_evals(const Table *t)
{
    size_t sum = 0;
    for (int op = 0; op < t->colours; op++) sum += table_evals(t, op);
    return sum;
}

/* Every scheme of the zoo counts its evaluations, of which implicit stages take more. It allocates nothing in a step
 * and begins anew. */
TEST(test_every_scheme)
{
    for (size_t i = 0; i < zoo.count; i++) {
        OWN_TABLE *t = table_freeze(zoo.scheme[i]);
        int free =
            t->special || table_phi(t); /* without time; phi functions evaluate as they need */
        OWN_SYSTEM *s = make(t->colours > 2 ? "linear" : free ? "fisher" : "forced");
        size_t N = s->n * s->d;
        OWN_STEPPER *st = stepper(t, s);
        double given[16 * MAX], y[MAX];
        int history = stepper_history(st);
        first_states(s, 0.0625, history, given);
        for (int again = 0; again < 2; again++) {
            size_t calls = memory_calls();
            size_t evals = 0;
            assert_int_equal(stepper_begin(st, 0, 0.0625, s->initial, START_GIVEN, given), 0);
            for (int k = -history; k < 5; k++) {
                if (k == 0) evals = stepper_evals(st);
                assert_int_equal(stepper_step(st), 0);
                if (k < 0) /* these end in the states that are given */
                    assert_memory_equal(stepper_state(st), given + (size_t)(k + history) * N,
                                        N * sizeof *y);
            }
            assert_int_equal(memory_calls(), calls);
            evals = stepper_evals(st) - evals;
            if (table_implicit(t))
                assert_true(evals > 5 * all_evals(t));
            else if (!table_phi(t))
                assert_int_equal(evals, 5 * all_evals(t));
            if (again) assert_memory_equal(stepper_state(st), y, N * sizeof *y);
            memcpy(y, stepper_state(st), N * sizeof *y);
        }
    }
}

TEST(test_refusals)
{
    Stepper *st = NULL;
    OWN_SYSTEM *s = make("henon");
    OWN_TABLE *gate = scheme("rk2-gate"), *decoder = scheme("strang-decoder"), *ab3 = frozen("ab3");
    assert_int_equal(stepper_new(gate, s, &st), ERR_MISUSE); /* symbols */
    assert_refused(stepper_new(decoder, s, &st), "strang-decoder", "has no memory");
    OWN_STEPPER *own = stepper(ab3, s);
    assert_int_equal(stepper_begin(own, 0, 0.1, s->initial, START_GIVEN, NULL), ERR_MISUSE);
    assert_int_equal(stepper_begin(own, 0, 1e3, s->initial, START_NETWORK, NULL), 0);
    int code = 0;
    for (int k = 0; k < 100 && code == 0; k++) code = stepper_step(own);
    assert_int_equal(code, ERR_NUMERIC);
    for (size_t i = 0; i < s->n * s->d; i++) assert_true(isfinite(stepper_state(own)[i]));
    stepper_free(NULL);
}

/* ---- embedded pairs -------------------------------------------------------------------------------------- */

/* ---- the language ---------------------------------------------------------------------------------- */

/* k2 and k4 serve the error alone. A step of fixed size has k1 and k3, with other numbers. */
TEST(test_stages)
{
    static const char text[] = "k1 = H(y)\nk2 = L(y + k1)\nk3 = H(y + 1/2*k1)\nk4 = F2(y + k3)\n"
                               "y' = y + k3\nerror = k1 - 1/2*k2 - 1/2*k4\n";
    OWN_TABLE *t = scheme(text), *fixed = scheme("k1 = H(y)\nk2 = H(y + 1/2*k1)\ny' = y + k2\n");
    OWN_TABLE *frozen = freeze(t), *again = reread(t), *copy = table_copy(t);
    assert_int_equal(t->stages, 2);
    assert_int_equal(table_whole(t)->stages, 4);
    assert_true(table_equal(frozen, fixed) && !table_equal(t, fixed));
    assert_true(table_equal(again, t) && table_equal(copy, t));
    assert_int_equal(table_sets(t, OP_F), 1); /* networks have no F2 */
    mpq_add(copy->pair->error.term[0].c, copy->pair->error.term[0].c, copy->pair->error.term[0].c);
    assert_false(table_equal(copy, t)); /* the control */
}

/* The update of every pair needs each of its evaluations, and its text comes back. Over L and F it keeps its
 * estimate, unless that is filtered. */
TEST(test_every_pair)
{
    int pairs = 0;
    for (size_t i = 0; i < zoo.count; i++) {
        const Table *t = zoo.scheme[i];
        if (!t->pair) continue;
        pairs++;
        char *used = calloc(t->evals, 1);
        for (size_t p = 0; p <= t->points; p++) {
            const Row *r = p < t->points ? &t->point[p].row : &t->update;
            for (size_t k = 0; k < r->terms; k++)
                if (r->term[k].eval >= 0) used[r->term[k].eval] = 1;
        }
        for (size_t e = 0; e < t->evals; e++) assert_true(used[e]);
        free(used);
        for (size_t k = 0; k < 5; k++) {
            static const char *const forms[] = {"", "-layer", "-F", "-G", "-decoder"};
            if (k >= 1 && k <= 3 && !table_over(t, OP_H)) continue;
            if (k == 4 && table_phi(t)) continue;
            const char *name = formed("%s%s", t->name, forms[k]);
            OWN_TABLE *over = scheme(name), *again = reread(over);
            if (k && table_unfiltered(t) == t) {
                assert_null(over->pair);
                continue;
            }
            assert_non_null(over->pair);
            assert_string_equal(over->pair->name, name);
            assert_true(over->pair->error.terms >= t->pair->error.terms / 2);
            assert_true(table_equal(over, again));
        }
    }
    assert_true(pairs > 0);
}

/* Orders, and the norm of the error terms of y' in one colour. Prince, Dormand 1981, table 2, and Bogacki, Shampine
 * 1989, table 1, give .0418, 3.36e-3, 9.48e-4 and 3.99e-4; heun-euler has the norm of Heun, 5/144 squared. */
static const struct {
    const char *name;
    int order, embedded;
    double norm, within;
} known[] = {{"heun-euler", 2, 1, 0.186339, 1e-5},
             {"bogacki-shampine", 3, 2, 0.0418, 5e-5},
             {"fehlberg", 5, 4, 3.36e-3, 5e-6},
             {"cash-karp", 5, 4, 9.48e-4, 5e-7},
             {"dormand-prince", 5, 4, 3.99e-4, 5e-7}};
enum { KNOWN = sizeof known / sizeof *known };

TEST(test_known_orders)
{
    for (size_t i = 0; i < KNOWN; i++) {
        OWN_TABLE *t = scheme(known[i].name);
        Theory th = theory_of(t, 6);
        Embedded e = embedded_of(t);
        assert_int_equal(th.order, known[i].order);
        assert_int_equal(e.order, known[i].embedded);
        assert_int_equal(e.estimate_order, known[i].embedded);
        assert_true(fabs(sqrt(th.error_norm2_one_colour) - known[i].norm) <= known[i].within);
    }
    OWN_TABLE *rk4 = scheme("rk4");
    Embedded e = embedded_of(rk4);
    assert_true(e.order == -1 && e.estimate_order == -1 && isnan(e.error_norm2));
}

/* ---- runs ------------------------------------------------------------------------------------------ */

static AdaptRun run_pair(const Table *t, const System *s, const AdaptOptions *o, double *y)
{
    AdaptRun r;
    assert_true(s->n * s->d <= MAX);
    if (adapt_run(t, s, o, y, &r) != 0) fail_msg("%s on %s: %s", t->name, s->name, error_text());
    return r;
}

/* Errors of all steps add up, and grow or fade with the solution. They stay within 100 tolerance^(p/(q+1)), which is
 * 100 times the tolerance where a pair goes on with its higher order. */
TEST(test_closed_solutions)
{
    int found = 0;
    double y[MAX], exact[MAX];
    for (size_t k = 0; system_name(k); k++) {
        OWN_SYSTEM *s = make(system_name(k));
        for (size_t i = 0; s->solution && i < zoo.count; i++) {
            const Table *t = zoo.scheme[i];
            if (!t->pair) continue;
            /* its published estimate has no linear terms */
            if (strcmp(t->name, "ros3p") == 0 && (s->special & 3) == 3) continue;
            for (double tolerance = 1e-3; tolerance > 1e-6; tolerance *= 1e-2) {
                int q = embedded_of(t).estimate_order;
                AdaptOptions o = within(tolerance, s->t_end, q);
                AdaptRun r = run_pair(t, s, &o, y);
                s->solution(s, s->t_end, exact);
                double error = distance(y, exact, s->n * s->d);
                double power = fmin(1, order_of(t) / (q + 1.));
                if (r.outcome != ADAPT_DONE) fail_msg("%s on %s: no end", t->name, s->name);
                assert_true(r.t == s->t_end);
                if (!(error <= 100 * pow(tolerance, power)))
                    fail_msg("%s on %s: %g at tolerance %g", t->name, s->name, error, tolerance);
                found++;
            }
        }
    }
    assert_true(found > 3);
}

/* Slopes at y are kept after a rejection, and where the last stage is the next step's first. A first step that is too
 * long makes rejections. */
TEST(test_evaluations)
{
    double y[MAX];
    OWN_SYSTEM *s = make("forced");
    System on = counting(s);
    for (size_t i = 0; i < KNOWN; i++)
        for (int given = 0; given < 2; given++) {
            OWN_TABLE *t = scheme(known[i].name);
            AdaptOptions o = within(1e-6, s->t_end, known[i].embedded);
            o.first = given ? s->t_end : 0;
            counted = 0;
            AdaptRun r = run_pair(t, &on, &o, y);
            int same = i == 1 || i == 4; /* bogacki-shampine, dormand-prince */
            size_t tries = r.steps + r.rejected, firsts = same ? 1 : r.steps;
            assert_int_equal(r.evals, counted);
            assert_true(r.rejected > 0 || !given);
            assert_int_equal(r.evals,
                             2 * (tries * (t->pair->stages - 1) + firsts) + (given ? 0 : 4));
        }
}

/* y2 is a line, so the second correction of a stage can be 0 while the derivative by it, 23/10 / cosh^2 y2, moves on: what one
 * iteration leaves is no bound for the next. y1 = 230/59 log cosh y2. */
TEST(test_contraction)
{
    static const char *const by[] = {"sdirk4",  "kvaerno3", "kvaerno5",   "esdirk4",
                                     "tr-bdf2", "bdf",      "radau-iia5", "rodas4"};
    OWN_SYSTEM *s =
        read_system("system bent\ny1' = 2.3*tanh(y2)\ny2' = 0.59\ninitial = 0, 0\nt-end 3\n", 0, 0);
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        OWN_TABLE *t = scheme(by[i]);
        double y[2];
        Embedded e = embedded_of(t);
        AdaptOptions o = within(1e-7, 3, t->orders ? 2 : e.estimate_order);
        AdaptRun r = run_pair(t, s, &o, y);
        double off = fabs(y[0] - 2.3 / 0.59 * log(cosh(1.77)));
        if (!(r.outcome == ADAPT_DONE && off < 1e-4 && r.rejected < 60))
            fail_msg("%s: off by %g, %zu steps, %zu rejected", by[i], off, r.steps, r.rejected);
    }
}

/* A solution that begins with -3 y^2 = -192 and calms down: with the W of its beginning ros34pw2 takes 10,000 steps, each of which may
 * err by a tolerance. */
TEST(test_old_matrix)
{
    OWN_TABLE *t = scheme("ros34pw2"), *other = scheme("dormand-prince");
    OWN_SYSTEM *s =
        read_system("system calm\ny1' = -y1^3 + sin(t)/10\ny2' = y1 - y2^3 + sin(1.6*t)\n"
                    "initial = 8, 0\nt-end 80\n",
                    0, 0);
    double y[2], exact[2];
    AdaptOptions o = within(1e-11, 80, 5);
    run_pair(other, s, &o, exact);
    o = within(1e-5, 80, 3);
    AdaptRun r = run_pair(t, s, &o, y);
    assert_int_equal(r.outcome, ADAPT_DONE);
    assert_true(r.steps < 4000);
    if (!(distance(y, exact, 2) < 1e-3)) fail_msg("%g", distance(y, exact, 2));
}

/* y' = y^2 from 1 has no solution at t = 2. y' = 1/2 - sign(y) slides along y = 0 from t = 2/3 on: a run that would take more steps than
 * are allowed ends soon. The same with a steep slope is smooth, and takes no more than they are. */
TEST(test_outcomes)
{
    OWN_TABLE *t = scheme("dormand-prince"), *plain = scheme("rk4");
    OWN_SYSTEM *s = read_system("system blow\nn 1\nd 1\nG = y*y\ninitial = 1\nt-end 2\n", 0, 0);
    double y[MAX];
    AdaptOptions o = within(1e-6, 2, 4);
    AdaptRun r = run_pair(t, s, &o, y);
    assert_int_equal(r.outcome, ADAPT_UNDERFLOW);
    assert_true(r.t < 1.01 && r.steps < 1000);
    assert_string_equal(adapt_outcome(r.outcome), "underflow");
    o.most = 3;
    r = run_pair(t, s, &o, y);
    assert_true(r.outcome == ADAPT_STEPS && r.steps + r.rejected == 3);
    assert_refused(adapt_run(plain, s, &o, y, &r), "rk4", "no estimate of its error");
    o.absolute = o.relative = 0;
    assert_int_equal(adapt_run(t, s, &o, y, &r), ERR_MISUSE);

    OWN_TABLE *ros2 = scheme("ros2");
    OWN_SYSTEM *slides =
        read_system("system slide\ny1' = 3/2 - 2*heaviside(y1)\ninitial = 1/3\nt-end 9\n", 0, 0);
    OWN_SYSTEM *steep =
        read_system("system steep\ny1' = 1/2 - tanh(1000*y1)\ninitial = 1/3\nt-end 9\n", 0, 0);
    o = within(1e-6, 9, 2);
    o.most = 200000;
    r = run_pair(ros2, slides, &o, y);
    assert_int_equal(r.outcome, ADAPT_JUMPS);
    assert_true(r.t > 2. / 3 && r.t < 1 && r.steps + r.rejected < 50000);
    assert_int_equal(run_pair(ros2, steep, &o, y).outcome, ADAPT_DONE);
    /* a stiff one, whose F is 0, so that ark3 takes explicit steps and rejects a third of them: that is no jump */
    OWN_TABLE *ark3 = scheme("ark3");
    OWN_SYSTEM *stiff = read_system(
        "system stiff\ny1' = -y2\ny2' = -3*y1^2 - y2^3\ninitial = -1/4, 0\nt-end 200\n", 0, 0);
    o = within(1e-7, 200, 3);
    o.most = 200000;
    AdaptRun long_way = run_pair(ark3, stiff, &o, y);
    assert_int_equal(long_way.outcome, ADAPT_STEPS);
    assert_true(long_way.rejected > long_way.steps / 5 && long_way.t < 100);
    o = within(1e-6, 9, 2);
    o.most = 200000;
    /* where steps are enough, it comes through */
    o.t_end = r.t;
    assert_int_equal(run_pair(ros2, slides, &o, y).outcome, ADAPT_DONE);
    /* A few rejected tries at the beginning are none, however few are allowed: this run takes 125 steps and rejects 27. */
    OWN_TABLE *radau = scheme("radau-iia5");
    OWN_SYSTEM *orbit = make("arenstorf");
    double four[4];
    o = within(1e-4, orbit->t_end, 3);
    o.most = 800;
    assert_int_equal(run_pair(radau, orbit, &o, four).outcome, ADAPT_DONE);
}

/* Of two estimates, of orders q > r, a step sees e^2 / e3 = O(h^(2q - r + 1)): dop853 (8 of 5 and 3) takes Arenstorf's orbit in SciPy's
 * steps (1.10, DOP853: 1,778 evaluations at 1e-8), where the finer estimate alone takes 1.6 times as many. */
TEST(test_two_estimates)
{
    OWN_TABLE *t = scheme("dop853"), *one = table_copy(t), *again = reread(t);
    OWN_SYSTEM *s = make("arenstorf");
    double y[4];
    assert_true(table_equal(t, again));
    assert_int_equal(t->pair->coarse.terms, 16); /* eight slopes of F and G */
    row_free(&one->pair->coarse);
    assert_false(table_equal(t, one));
    assert_int_equal(embedded_of(t).estimate_order, 7);
    assert_int_equal(embedded_of(t).order, 5);
    assert_int_equal(embedded_of(one).estimate_order, 5);
    AdaptOptions both = within(1e-8, s->t_end, 7), finer = within(1e-8, s->t_end, 5);
    AdaptRun r = run_pair(t, s, &both, y), f = run_pair(one, s, &finer, y);
    assert_true(r.evals <= 1778 * 1.1 && f.evals > 1.2 * (double)r.evals);
    r = run_pair(t, s, &both, y);
    for (int i = 0; i < 4; i++) assert_true(fabs(y[i] - s->end[i]) < 1e-5);
}

static int gsl_field(double t, const double *y, double *dy, void *system)
{
    const System *s = system;
    double g[MAX];
    s->field[OP_F](s, 1, t, y, dy);
    s->field[OP_G](s, 1, t, y, g);
    for (size_t i = 0; i < s->n * s->d; i++) dy[i] += g[i];
    return 0;
}

/* A step of GSL's rkf45, which goes on with order 5 too, and its error, at a time that is not 0. */
TEST(test_gsl_steps)
{
    OWN_TABLE *t = scheme("fehlberg");
    for (size_t k = 0; system_name(k); k++) {
        OWN_SYSTEM *s = make(system_name(k));
        size_t N = s->n * s->d;
        double y[MAX], error[MAX], h = s->h0 / 4;
        gsl_odeiv2_system field = {gsl_field, NULL, N, s};
        gsl_odeiv2_step *step = gsl_odeiv2_step_alloc(gsl_odeiv2_step_rkf45, N);
        OWN_STEPPER *st = stepper(t->pair, s);
        memcpy(y, s->initial, N * sizeof *y);
        assert_int_equal(gsl_odeiv2_step_apply(step, 0.25, h, y, error, NULL, NULL, &field), 0);
        assert_int_equal(stepper_begin(st, 0.25, h, s->initial, START_GIVEN, NULL), 0);
        assert_int_equal(stepper_try(st, h), 0);
        double off = fmax(relative_distance(stepper_tried(st), y, N),
                          relative_distance(stepper_error(st), error, N));
        if (!(off <= 1e-14)) fail_msg("%s: %g", s->name, off);
        assert_true(norm_distance(error, y, N) > 1e-8); /* the control: far above the bound */
        gsl_odeiv2_step_free(step);
    }
}

TEST(test_gsl)
{
    System *s = make("attention");
    OWN_TABLE *t = scheme("fehlberg");
    size_t N = s->n * s->d;
    double y[MAX], exact[MAX], own[MAX], agreement, now;
    gsl_odeiv2_system field = {gsl_field, NULL, N, s};
    assert_int_equal(reference_solve(s, &s->t_end, 1, exact, &agreement), 0);
    for (double tolerance = 1e-5; tolerance > 1e-10; tolerance /= 100) {
        AdaptOptions o = within(tolerance, s->t_end, 4);
        AdaptRun r = run_pair(t, s, &o, own);
        gsl_odeiv2_driver *d = gsl_odeiv2_driver_alloc_y_new(&field, gsl_odeiv2_step_rkf45, r.first,
                                                             tolerance, tolerance);
        memcpy(y, s->initial, N * sizeof *y);
        now = 0;
        assert_int_equal(gsl_odeiv2_driver_apply(d, &now, s->t_end, y), 0);
        double ratio = distance(own, exact, N) / distance(y, exact, N);
        if (!(ratio > 0.1 && ratio < 10)) fail_msg("%g times GSL's error", ratio);
        assert_true(r.steps < 2 * d->e->count && 2 * r.steps > d->e->count);
        gsl_odeiv2_driver_free(d);
    }
    system_free(s);
}

TEST_MAIN(zoo_begin, zoo_end)
