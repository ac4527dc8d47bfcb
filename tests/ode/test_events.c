/* test_events.c: where quantities of a solution pass 0: times in closed form, a Poincare section by SciPy, Arenstorf's
 * period, terminal events; by tolerance and with steps of one length, by weights, by further steps and by polynomials. */
#include "tests/lib/test.h"

#include "tests/lib/schemes.h"

static const double pi = 3.14159265358979323846;

static double quantity(const void *arg, double t, const double *y)
{
    return quantity_value(arg, t, y);
}

static Quantity *quantity_of(const System *s, const char *text)
{
    Quantity *q;
    const char *behind;
    if (quantity_read(text, "event", s, &behind, &q) != 0) fail_msg("%s: %s", text, error_text());
    assert_string_equal(behind, "");
    return q;
}

static System *system_of(const char *text)
{
    System *s;
    if (system_parse("text", text, strlen(text), 0, 0, 1, &s) != 0) fail_msg("%s", error_text());
    return s;
}

static const char oscillator[] = "system oscillator\nn 1\nd 2\nparam w = 1\nG1 = w*y2\nG2 = -w*y1\n"
                                 "initial = 1, 0\nexact = cos(t), -sin(t)\nt-end 20\nh0 1/8\n";

/* Runs by tolerance; returns the outcome. */
static int run_by(const char *name, const System *s, double tolerance, double t_end, Events *e,
                  double *y)
{
    OWN_TABLE *t = scheme(name);
    AdaptRun run;
    AdaptOptions o = within(tolerance, t_end, embedded_of(t).estimate_order);
    o.events = e;
    if (adapt_run(t, s, &o, y, &run) != 0) fail_msg("%s: %s", name, error_text());
    return run.outcome;
}

/* Runs with steps of one length; the first steps of multistep schemes end in the exact solution. */
static void take_steps(const char *name, const System *s, double h, Events *e)
{
    OWN_TABLE *t = scheme(name), *froze = freeze(t);
    double given[16];
    Stepper *st;
    assert_int_equal(stepper_new(froze, s, &st), 0);
    assert_int_equal(events_fixed(e, froze, s, (size_t)ceil(s->t_end / h - 0.5)), 0);
    for (int k = 0; k < stepper_history(st); k++) s->solution(s, (k + 1) * h, given + k * 2);
    assert_int_equal(stepper_begin(st, 0, h, s->initial, START_GIVEN, given), 0);
    events_begin(e, s->initial);
    for (int k = 0; k * h < s->t_end - h / 2 && !e->stopped; k++)
        assert_int_equal(events_take(e, st, k * h, h), 0);
    stepper_free(st);
}

/* ---- closed forms ----------------------------------------------------------------------------------- */

/* Crossings of cos t, each of both directions, of the rising ones and of the falling ones alone: a pair's with weights,
 * the collocation's, those of further steps. */
TEST(zeros_of_the_oscillator)
{
    static const char *const schemes[] = {
        "dormand-prince", "bogacki-shampine", "fehlberg", "radau-iia5",
        "rodas4",         "tr-bdf2",          "bdf",      "esdirk4"};
    OWN_SYSTEM *s = system_of(oscillator);
    Quantity *q = quantity_of(s, "y1*w");
    const Event list[] = {{quantity, q, 0, 0}, {quantity, q, 1, 0}, {quantity, q, -1, 0}};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        Events e;
        double y[2], tolerance = 1e-8;
        assert_int_equal(events_new(list, 3, 2, &e), 0);
        assert_int_equal(run_by(schemes[i], s, tolerance, 20, &e, y), ADAPT_DONE);
        assert_int_equal(e.found, 12); /* pi/2 + k pi below 20: six, each twice */
        size_t seen[3] = {0};
        for (size_t k = 0; k < e.found; k++) {
            const Crossing *c = &e.crossing[k];
            double number = (double)(k / 2), t = (number + .5) * pi;
            int rises = (k / 2) % 2;
            seen[c->event]++;
            if (!(fabs(c->t - t) <= 3000 * tolerance))
                fail_msg("%s: %.12g, not %.12g", schemes[i], c->t, t);
            assert_int_equal(c->rises, rises);
            assert_true(c->event == 0 || (c->event == 1) == rises);
            assert_true(fabs(e.state[2 * k]) <= 1e-12 &&
                        fabs(fabs(e.state[2 * k + 1]) - 1) <= 1e-5);
        }
        assert_true(seen[0] == 6 && seen[1] == 3 && seen[2] == 3);
        events_free(&e);
    }
    quantity_free(q);
}

/* With steps of one length a crossing is as good as the scheme: half the step makes its error 2^order less. One-step
 * schemes and splittings take a shorter step, multistep schemes have a polynomial. */
TEST(steps_of_one_length)
{
    static const struct {
        const char *scheme;
        int order;
    } known[] = {{"rk4", 4}, {"heun", 2}, {"strang-marchuk", 2}, {"gauss4", 4}, {"ab2", 2},
                 {"ab4", 4}, {"bdf2", 2}};
    OWN_SYSTEM *o = system_of(oscillator);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double error[2];
        Quantity *q = quantity_of(o, "y1 - 1/2 + 0*t");
        const Event list[] = {{quantity, q, 0, 0}};
        for (int k = 0; k < 2; k++) {
            Events e;
            assert_int_equal(events_new(list, 1, 2, &e), 0);
            take_steps(known[i].scheme, o, .1 / (k + 1), &e);
            assert_int_equal(e.found, 7);
            error[k] = fabs(e.crossing[4].t - (4 * pi + pi / 3));
            events_free(&e);
        }
        double order = log2(error[0] / error[1]);
        int exact = strcmp(known[i].scheme, "strang-marchuk") == 0 && error[0] < 1e-9;
        if (!exact && !(fabs(order - known[i].order) < .35))
            fail_msg("%s: %g, %g", known[i].scheme, error[0], error[1]);
        quantity_free(q);
    }
}

/* A ball falls from 10 m and hits the ground at sqrt(2 h / g), as fast as sqrt(2 g h); the run ends there, and states
 * asked for behind are not filled in. */
TEST(ball)
{
    OWN_SYSTEM *s =
        system_of("system ball\nn 1\nd 1\nparam g = 9.81\ny'' = -g\ninitial = 10, 0\nt-end 5\n");
    OWN_TABLE *t = scheme("dormand-prince");
    Quantity *ground = quantity_of(s, "y1"), *half = quantity_of(s, "y2 + g/2"),
             *never = quantity_of(s, "y1 + 1000");
    const Event list[] = {
        {quantity, ground, -1, 1}, {quantity, half, 0, 0}, {quantity, never, 0, 1}};
    Events e;
    double y[2], at[] = {.5, 1, 1.4, 1.5, 3}, states[10], hit = sqrt(20 / 9.81);
    for (int i = 0; i < 10; i++) states[i] = -7;
    AdaptRun run;
    AdaptOptions o = within(1e-9, 5, 4);
    assert_int_equal(events_new(list, 3, 2, &e), 0);
    o.events = &e, o.times = 5, o.at = at, o.states = states;
    assert_int_equal(adapt_run(t, s, &o, y, &run), 0);
    assert_int_equal(run.outcome, ADAPT_EVENT);
    assert_true(fabs(run.t - hit) <= 1e-9 && fabs(y[0]) <= 1e-9 && fabs(y[1] + 9.81 * hit) <= 1e-8);
    assert_int_equal(e.found, 2);
    assert_true(e.crossing[0].event == 1 && fabs(e.crossing[0].t - .5) <= 1e-9);
    assert_true(e.crossing[1].event == 0 && e.crossing[1].t == run.t);
    for (int i = 0; i < 5; i++)
        assert_true(i < 3 ? fabs(states[2 * i] - 10 + 9.81 / 2 * at[i] * at[i]) <= 1e-8
                          : states[2 * i] == -7);
    events_free(&e);
    const Event rising[] = {{quantity, ground, 1, 1}}; /* it falls: no event is no error */
    assert_int_equal(events_new(rising, 1, 2, &e), 0);
    assert_int_equal(run_by("dormand-prince", s, 1e-9, 5, &e, y), ADAPT_DONE);
    assert_int_equal(e.found, 0);
    events_free(&e);
    quantity_free(ground), quantity_free(half), quantity_free(never);
}

/* The same with steps of one length, which end at the ground. */
TEST(ball_by_steps)
{
    OWN_SYSTEM *s = system_of("system ball\nn 1\nd 1\ny'' = -9.81\ninitial = 10, 0\nt-end 5\n");
    Quantity *ground = quantity_of(s, "y1");
    const Event list[] = {{quantity, ground, 0, 1}};
    Events e;
    assert_int_equal(events_new(list, 1, 2, &e), 0);
    take_steps("rk4", s, .2, &e);
    assert_true(e.stopped && e.found == 1 && fabs(e.crossing[0].t - sqrt(20 / 9.81)) <= 1e-12);
    events_free(&e);
    quantity_free(ground);
}

/* Quantities that are 0 exactly where a step, or a part of one, ends: they cross where the sign changes, once, and touch elsewhere. y is t in all
 * digits, steps are 1/2 long. A quantity that stays 0 for a while crosses where it goes on to the other side. */
TEST(zero_at_the_end_of_a_step)
{
    static const char *const schemes[] = {"dormand-prince", "rodas4", "bdf", "rk4", "ab2"};
    static const struct {
        const char *text;
        int found, rises; /* at t = 1 */
    } known[] = {{"y1 - 1", 1, 1},
                 {"1 - t", 1, 0},
                 {"(t - 1)^2", 0, 0},
                 {"-(y1 - 1)^2", 0, 0},
                 {"(t - 1)^3", 1, 1},
                 {"(1 - y1)^3", 1, 0},
                 {"-abs(t - 1)", 0, 0},
                 {"(t - 1)*(1 - t)", 0, 0},
                 {"(t - 1)*heaviside(2 - t)", 1, 1},
                 {"(t - 1)*heaviside(1 - t) - heaviside(t - 3/2)", 0, 0},
                 {"(t - 1)*heaviside(1 - t) + heaviside(t - 3/2)", 1, 1}};
    enum { KNOWN = sizeof known / sizeof *known };
    OWN_SYSTEM *s = system_of(
        "system clock\nn 1\nd 2\nG1 = 1\nG2 = 0\ninitial = 0, 1\nexact = t, 1\nt-end 3\n");
    for (size_t k = 0; k < sizeof schemes / sizeof *schemes; k++)
        for (size_t i = 0; i < KNOWN; i++) {
            OWN_TABLE *t = scheme(schemes[k]);
            Quantity *q = quantity_of(s, known[i].text);
            const Event list[] = {{quantity, q, 0, 0}, {quantity, q, known[i].rises ? 1 : -1, 1}};
            Events e;
            AdaptRun run;
            double y[2];
            AdaptOptions o = within(1e-6, 3, t->pair ? embedded_of(t).estimate_order : 1);
            assert_int_equal(events_new(list, 2, 2, &e), 0);
            o.first = o.longest = 0.5, o.events = &e;
            if (t->pair || t->orders)
                assert_int_equal(adapt_run(t, s, &o, y, &run), 0);
            else
                take_steps(schemes[k], s, 0.5, &e);
            if ((int)e.found != 2 * known[i].found || e.stopped != known[i].found)
                fail_msg("%s, %s: %zu", schemes[k], known[i].text, e.found);
            double waits = strstr(known[i].text, "3/2") ? 0.5 : 0; /* 0 from 1 to 3/2 */
            for (size_t j = 0; j < e.found; j++)
                assert_true(e.crossing[j].rises == known[i].rises &&
                            fabs(e.crossing[j].t - 1 - waits / 2) <= waits / 2 + 1e-5);
            events_free(&e);
            quantity_free(q);
        }
}

/* ---- orbits ----------------------------------------------------------------------------------------- */

/* Arenstorf's satellite comes back after this period (Hairer, Norsett, Wanner 1993, II.0): y2 falls through 0 there. */
TEST(period_of_arenstorf)
{
    OWN_SYSTEM *s = make("arenstorf");
    Quantity *q = quantity_of(s, "y2");
    const Event list[] = {{quantity, q, -1, 0}};
    Events e;
    double y[4], nearest = INFINITY;
    assert_int_equal(events_new(list, 1, 4, &e), 0);
    assert_int_equal(run_by("dormand-prince", s, 1e-12, 17.5, &e, y), ADAPT_DONE);
    for (size_t k = 0; k < e.found; k++)
        nearest = fmin(nearest, fabs(e.crossing[k].t - 17.0652165601579625588917206249));
    assert_true(e.found >= 2 && nearest <= 1e-8);
    events_free(&e);
    quantity_free(q);
}

/* Henon and Heiles's system: the plane y1 = 0 seen upwards, by SciPy 1.10.1's DOP853 at 3e-14. */
TEST(section_of_henon_heiles)
{
    static const double known[][3] = {{6.799692654259, 0.020539269627, 0.157693067929},
                                      {13.548649756053, -0.054530153700, 0.122574956737},
                                      {20.319371491787, -0.096634434971, 0.114205452883},
                                      {27.165932816950, -0.109035301568, 0.148988321759},
                                      {34.119573684032, -0.070315240521, 0.220224589687},
                                      {41.107799916667, 0.024080450280, 0.267451883545},
                                      {48.032075655184, 0.101554191201, 0.265887310163},
                                      {54.906316220819, 0.129680422620, 0.240352888428}};
    OWN_SYSTEM *s =
        system_of("system henon-heiles\nn 1\nd 4\nG1 = y3\nG2 = y4\nG3 = -y1 - 2*y1*y2\n"
                  "G4 = -y2 - y1^2 + y2^2\ninitial = 0, 1/10, 7/20, 1/5\nt-end 60\n");
    Quantity *q = quantity_of(s, "y1");
    const Event list[] = {{quantity, q, 1, 0}};
    Events e;
    double y[4];
    assert_int_equal(events_new(list, 1, 4, &e), 0);
    assert_int_equal(run_by("dormand-prince", s, 1e-11, 60, &e, y), ADAPT_DONE);
    assert_int_equal(e.found, sizeof known / sizeof *known); /* that where it begins is none */
    for (size_t k = 0; k < e.found; k++)
        assert_true(fabs(e.crossing[k].t - known[k][0]) <= 1e-7 &&
                    fabs(e.state[4 * k + 1] - known[k][1]) <= 1e-7 &&
                    fabs(e.state[4 * k + 3] - known[k][2]) <= 1e-7);
    events_free(&e);
    quantity_free(q);
}

/* ---- expressions ------------------------------------------------------------------------------------ */

/* Coordinates have the names of solve's tables; parameters are those of the system; mistakes have their column. */
TEST(quantities)
{
    static const struct {
        const char *text, *message;
    } bad[] = {{"y1 + y3", "event:1:6: 'y3'"},
               {"y - 1", "expected y1, y2"},
               {"y1 + z1", "'z1' has no meaning in a quantity"},
               {"y1 + mu", "unknown name 'mu'"},
               {"", "expected a number"}};
    OWN_SYSTEM *s = system_of(oscillator), *many = sized("kuramoto", 0, 0, 1),
               *plane = make("vortex");
    OWN_REALS *y = numbers(many->n * many->d), *z = numbers(plane->n * plane->d);
    for (size_t i = 0; i < many->n * many->d; i++) y[i] = (double)i + 1;
    for (size_t i = 0; i < plane->n * plane->d; i++) z[i] = (double)i + 1;
    assert_int_equal(plane->d, 2);
    Quantity *a = quantity_of(s, "w*y2^2 + t"), *b = quantity_of(many, "y3"),
             *c = quantity_of(plane, "y3_2 - y1_1*10");
    assert_true(quantity_value(a, 4, (double[]){1, 3}) == 13);
    assert_true(quantity_value(b, 0, y) == 3);
    assert_true(quantity_value(c, 0, z) == -4);
    quantity_free(a), quantity_free(b), quantity_free(c);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *behind;
        assert_int_equal(quantity_read(bad[i].text, "event", s, &behind, &a), ERR_INPUT);
        if (!strstr(error_text(), bad[i].message)) fail_msg("%s: %s", bad[i].text, error_text());
    }
}

TEST_MAIN(zoo_begin, zoo_end)
