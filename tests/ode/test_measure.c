/* test_measure.c: measured orders against exact ones, for every scheme on every system. A wrong scheme, rounding,
 * coarse steps or a flattering system do not get the verdict. */
#include "tests/lib/test.h"

#include <unistd.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "tests/lib/schemes.h"

static Forest *forest;

static int set_up(void **state)
{
    return zoo_begin(state) != 0 || forest_new(6, 2, &forest) != 0;
}

static int tear_down(void **state)
{
    forest_free(forest);
    return zoo_end(state);
}

static Theory theory(const Table *t)
{
    Theory th;
    Table *frozen = table_freeze(t);
    assert_non_null(frozen);
    if (theory_find(forest, frozen, &th) != 0) fail_msg("%s: %s", t->name, error_text());
    table_free(frozen);
    return th;
}

static OrderStudy measure(const Table *t, const System *s, OrderOptions o, int expected, int stable)
{
    OrderStudy m;
    if (order_measure(t, s, &o, expected, stable, &m) != 0)
        fail_msg("%s on %s: %s", t->name, s->name, error_text());
    return m;
}

static const OrderOptions usual = {.halvings = 6};

/* Returns the verdict of a scheme on a system by default options. */
static int verdict(const Table *t, const char *system, int expected, int stable)
{
    System *s = make(system);
    OrderStudy m = measure(t, s, usual, expected, stable);
    order_free(&m);
    system_free(s);
    return m.verdict;
}

/* ---- every scheme on every system ---------------------------------------------------------------- */

/* Checks what holds for every study whatever its verdict. */
static void check_study(const OrderStudy *m, const System *s)
{
    for (size_t i = 0; i < m->points; i++) {
        const OrderPoint *p = &m->point[i];
        assert_true(fabs(p->h * (double)p->steps - s->t_end) <= 1e-15);
        assert_true(p->error >= 0 && p->seconds >= 0);
        if (i) assert_true(p->steps > p[-1].steps);
        if (p->used) assert_true(p->error > p->floor && !p->unstable && isfinite(m->slope));
        assert_true(p->floor > 0 && (p->floor < 1e-11 || !isfinite(p->error)));
    }
    assert_true(m->points >= 7);
    if (isfinite(m->slope)) assert_true(m->low <= m->slope && m->slope <= m->high);
}

/* The default system must give the exact order. More is allowed where a system lacks trees: linear systems, and those
 * of kick and drift, where F'F = G'G = 0. */
static void check_verdict(const OrderStudy *m, const Table *t, const System *s)
{
    int special = s->linear || strcmp(s->name, "kepler") == 0 || strcmp(s->name, "henon") == 0;
    int good = m->verdict == VERDICT_AGREE ||
               (special && (m->verdict == VERDICT_HIGHER || m->verdict == VERDICT_FLOOR));
    if (!good)
        fail_msg("%s on %s: order %d, measured %g in [%g, %g]: %s", t->name, s->name, m->expected,
                 m->slope, m->low, m->high, verdict_name(m->verdict));
}

static void study_everywhere(const Table *t)
{
    Theory th = theory(t);
    for (size_t k = 0; system_name(k); k++) {
        System *s = make(system_name(k));
        if (system_takes(s, t) != 0) {
            system_free(s);
            continue;
        }
        OrderStudy m = measure(t, s, usual, th.order, th.zero_stable);
        check_study(&m, s);
        if (th.order >= 1) check_verdict(&m, t, s);
        if (th.order >= 1 && m.unstable > 0) fail_msg("%s is unstable on %s", t->name, s->name);
        order_free(&m);
        system_free(s);
    }
}

TEST(test_zoo)
{
    for (size_t i = 0; i < zoo.count; i++) study_everywhere(zoo.scheme[i]);
}

/* Sub-flow solvers, blocks over L, words, which are compared with a F + b G, and stages on past slopes have their
 * orders. */
TEST(test_names)
{
    static const char *const names[] = {
        "lie-trotter:euler",
        "strang-marchuk:heun",
        "yoshida4:rk4",
        "rk4-layer",
        "leapfrog-layer",
        "word:fsf",
        "word:ssfsff:heun",
        "sandwich:3-1:rk4",
        "looped:3",
        "transformer-decoder",
        "macaron-decoder",
        "strang-decoder:heun",
        "rk4-decoder",
        "word:scfscfscf",
        "scheme two-step\nk1 = H(y + 1/2*k1[-1])\ny' = y + k1\n",
        "scheme look-back\nk1 = H(3/2*y - 1/2*y[-1])\ny' = y + k1\n"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Table *t = scheme(names[i]);
        assert_true(theory(t).order >= 1);
        study_everywhere(t);
        table_free(t);
    }
}

/* Schemes that are not consistent keep an error of size 1: order 0. */
TEST(test_inconsistent)
{
    Table *t = scheme("rk2-unit");
    assert_int_equal(verdict(t, "attention", 0, 1), VERDICT_INCONSISTENT);
    assert_int_equal(verdict(t, "attention", 1, 1), VERDICT_DISAGREE);
    table_free(t);
}

/* ---- negative controls --------------------------------------------------------------------------- */

static void shift(mpq_t c, long by)
{
    mpq_t d;
    mpq_init(d);
    mpq_set_si(d, by, 8);
    mpq_canonicalize(d);
    mpq_add(c, c, d);
    mpq_clear(d);
}

/* Adds 1/8 to the last slope weight of the deepest stage argument that has one, else to the last
 * weight of the update, else to the first flow. */
static void spoil(Table *t)
{
    for (size_t i = t->points; i-- > 0;) {
        Row *r = &t->point[i].row;
        if (r->terms && r->term[r->terms - 1].eval != TABLE_STATE) {
            shift(r->term[r->terms - 1].c, 1);
            return;
        }
    }
    if (t->flows)
        shift(t->flow[0].c, 1);
    else
        shift(t->update.term[t->update.terms - 1].c, 1);
}

/* One coefficient is off by 1/8. The measured order misses the claimed one and agrees with the new one. */
TEST(test_spoiled)
{
    int spoiled = 0;
    for (size_t i = 0; i < zoo.count; i++) {
        Table *t = table_freeze(zoo.scheme[i]);
        Theory before = theory(t);
        spoil(t);
        Theory after = theory(t);
        if (before.order >= 1 && after.order < before.order) {
            const char *system = t->linear ? "fisher" : "attention";
            spoiled++;
            if (verdict(t, system, before.order, 1) != VERDICT_DISAGREE)
                fail_msg("%s, spoiled, still passes for order %d", t->name, before.order);
            int met = after.order ? VERDICT_AGREE : VERDICT_INCONSISTENT;
            if (verdict(t, system, after.order, 1) != met)
                fail_msg("%s, spoiled, has not order %d", t->name, after.order);
        }
        table_free(t);
    }
    assert_true(spoiled >= 12);
}

/* A claim that is too low is found as well: rk4 is not of order 3. */
TEST(test_too_low)
{
    Table *t = scheme("rk4");
    assert_int_equal(verdict(t, "attention", 3, 1), VERDICT_HIGHER);
    assert_int_equal(verdict(t, "attention", 4, 1), VERDICT_AGREE);
    assert_int_equal(verdict(t, "attention", 5, 1), VERDICT_DISAGREE);
    table_free(t);
}

/* linear:commuting is no control. It flatters a splitting from order 2 to 4, and Lie's, whose sub-flows are exact, down
 * to rounding. */
TEST(test_flattery)
{
    Table *strang = scheme("strang-marchuk:rk4"), *lie = scheme("lie-trotter");
    assert_int_equal(verdict(strang, "linear", 2, 1), VERDICT_AGREE);
    assert_int_equal(verdict(strang, "linear:commuting", 2, 1), VERDICT_HIGHER);
    assert_int_equal(verdict(lie, "linear", 2, 1), VERDICT_DISAGREE);
    assert_int_equal(verdict(lie, "linear:commuting", 2, 1), VERDICT_FLOOR);
    table_free(strang);
    table_free(lie);
}

/* A scheme of order 3 by its trees, with roots 1 and -5, converges at no order. Its growth is seen even where the study
 * takes it for stable, but might be due to the steps then. A stable scheme that is said to be unstable does not
 * pass. */
TEST(test_zero_unstable)
{
    Table *t = scheme("scheme wild\nk1 = H(y)\ny' = -4*y + 5*y[-1] + 4*k1 + 2*k1[-1]\n");
    Theory th = theory(t);
    assert_int_equal(th.order, 3);
    assert_int_equal(th.zero_stable, 0);
    for (size_t k = 0; system_name(k); k++) {
        int linear = strncmp(system_name(k), "nilpotent", 9) == 0;
        assert_int_equal(verdict(t, system_name(k), 3, 0), VERDICT_DIVERGES);
        if (!linear) assert_int_equal(verdict(t, system_name(k), 3, 1), VERDICT_UNSTABLE);
    }
    table_free(t);
    t = scheme("heun");
    assert_int_equal(verdict(t, "attention", 2, 0), VERDICT_DIVERGES);
    table_free(t);
    t = scheme("rk2-released"); /* multiplies the state by 5/2: no smaller step helps */
    System *s = make("attention");
    OrderStudy m = measure(t, s, usual, 0, 1);
    assert_int_equal(m.verdict, VERDICT_DIVERGES);
    assert_true(m.unstable == 0);
    order_free(&m);
    system_free(s);
    table_free(t);
}

/* ---- rounding and coarse steps ------------------------------------------------------------------- */

/* Steps far into rounding change nothing: the window ends above the floor. */
TEST(test_floor_is_cut)
{
    System *s = make("kuramoto");
    Table *t = scheme("rk4");
    OrderStudy m = measure(t, s, (OrderOptions){.halvings = 13}, 4, 1);
    const OrderPoint *last = &m.point[m.points - 1];
    assert_int_equal(m.verdict, VERDICT_AGREE);
    assert_true(fabs(m.slope - 4) <= 0.05);
    assert_false(last->used);
    assert_true(last->error < last->floor); /* the floor covers rounding after 2^15 steps */
    order_free(&m);
    table_free(t);
    system_free(s);
}

static void biased_drift(const System *s, int set, double t, double h, double *y)
{
    (void)set, (void)t;
    for (size_t i = 0; i < 4 * s->n; i++)
        y[i] = (y[i] + (i % 4 < 2 ? h * y[i + 2] : 0)) * (1 + 4e-15);
}

/* Rounding that is the same at every step adds up. It is cut as well, even where it is in most points. */
TEST(test_drift_is_cut)
{
    System *s = make("henon");
    Table *t = scheme("yoshida4");
    s->flow[OP_G] = biased_drift;
    for (int halvings = 5; halvings <= 12; halvings++) {
        OrderStudy m = measure(t, s, (OrderOptions){.halvings = halvings}, 4, 1);
        assert_int_equal(m.verdict, VERDICT_AGREE);
        assert_false(halvings > 8 && m.point[m.points - 1].used);
        order_free(&m);
    }
    table_free(t);
    system_free(s);
}

/* Where the first step is far too long, more points are added and the coarse ones are left out. */
TEST(test_coarse_start)
{
    System *s = make("attention");
    Table *t = scheme("ab5");
    OrderStudy m = measure(t, s, (OrderOptions){.h0 = 0.5, .halvings = 4}, 5, 1);
    assert_int_equal(m.verdict, VERDICT_AGREE);
    assert_true(m.points > 5 && !m.point[0].used);
    order_free(&m);
    table_free(t);
    system_free(s);
}

/* fisher blows up backwards in time, and coarse points without a history are left out. A leapfrog that swings itself up
 * shows the growth of its other root, of size h^3 or nothing at all, in place of its order, and does not agree. */
TEST(test_no_history)
{
    System *s = make("fisher");
    Table *t = scheme("ab5");
    OrderStudy m = measure(t, s, (OrderOptions){.t_end = 4, .h0 = 1, .halvings = 6}, 5, 1);
    assert_true(isinf(m.point[0].error) && !m.point[0].used);
    assert_int_equal(m.verdict, VERDICT_AGREE);
    order_free(&m);
    table_free(t);
    t = scheme("leapfrog");
    m = measure(t, s, (OrderOptions){.t_end = 8, .h0 = 1, .halvings = 6}, 2, 1);
    assert_int_not_equal(m.verdict, VERDICT_AGREE);
    order_free(&m);
    table_free(t);
    system_free(s);
}

/* Yoshida's triple jump of the triple jump has order 6, with few points above rounding. */
TEST(test_order_six)
{
    static const char text[] =
        "scheme six\n"
        "let a = 1/(2-2^(1/3))\nlet b = 1-2*a\n"
        "let p = 1/(2-2^(1/5))\nlet q = 1-2*p\n"
        "flow (p*a/2) F\nflow (p*a) G\nflow (p*(a+b)/2) F\nflow (p*b) G\n"
        "flow (p*(a+b)/2) F\nflow (p*a) G\nflow ((p+q)*a/2) F\nflow (q*a) G\n"
        "flow (q*(a+b)/2) F\nflow (q*b) G\nflow (q*(a+b)/2) F\nflow (q*a) G\n"
        "flow ((p+q)*a/2) F\nflow (p*a) G\nflow (p*(a+b)/2) F\nflow (p*b) G\n"
        "flow (p*(a+b)/2) F\nflow (p*a) G\nflow (p*a/2) F\n";
    Table *t = scheme(text);
    assert_int_equal(verdict(t, "linear", 6, 1), VERDICT_AGREE);
    assert_int_equal(verdict(t, "forced", 6, 1), VERDICT_AGREE);
    assert_int_equal(verdict(t, "linear", 5, 1), VERDICT_HIGHER);
    assert_int_equal(verdict(t, "linear", 7, 1), VERDICT_DISAGREE);
    table_free(t);
}

/* ---- constants ----------------------------------------------------------------------------------- */

/* The error constants are those of the oracles: RMS over d of T/2 y3 and T/6 y4. */
TEST(test_constant)
{
    static const struct {
        const char *scheme, *system;
        int order;
        double component; /* error / h^order in the only component with an error */
    } cases[] = {
        {"lie-trotter", "nilpotent", 1, 1.5},
        {"strang-marchuk", "nilpotent:4", 2, 2},
        {"strang-marchuk-fgf", "nilpotent:4", 2, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        System *s = make(cases[i].system);
        Table *t = scheme(cases[i].scheme);
        OrderStudy m = measure(t, s, usual, cases[i].order, 1);
        double expected = cases[i].component / sqrt((double)s->d);
        assert_true(fabs(m.constant - expected) <= 1e-12 * expected);
        assert_true(fabs(m.slope - cases[i].order) <= 1e-9);
        order_free(&m);
        table_free(t);
        system_free(s);
    }
}

/* ---- steps too large ----------------------------------------------------------------------------- */

static double rate; /* rate of the stiff systems */

static void rest(const System *s, int set, double t, const double *y, double *dy)
{
    (void)s, (void)set, (void)t, (void)y;
    dy[0] = 0;
}

static void decay(const System *s, int set, double t, const double *y, double *dy)
{
    (void)s, (void)set, (void)t;
    dy[0] = -rate * y[0];
}

/* This is the field of Prothero, Robinson 1974. The solution is cos t, however stiff. */
static void follow(const System *s, int set, double t, const double *y, double *dy)
{
    (void)s, (void)set;
    dy[0] = -rate * (y[0] - cos(t)) - sin(t);
}

/* Type of G in a system of one coordinate, which starts at 1. */
typedef void Rule(const System *s, int set, double t, const double *y, double *dy);

static System stiff(Rule *field, double h0)
{
    static double y0[1] = {1};
    return (System){.name = "stiff",
                    .n = 1,
                    .d = 1,
                    .initial = y0,
                    .field = {rest, field},
                    .t_end = 1,
                    .h0 = h0,
                    .timed = field == follow};
}

/* On y' = -rate y a step is found to be unstable if and only if it lies beyond the end of the scheme's stability
 * interval, which stability.c computes from the table. Methods that read past states begin with the first steps'
 * states: back in time the decay is exp(rate h) = 1e16. The test leaves out methods whose implicit stages read past
 * slopes: their history is ten steps, after which nothing of the decay is left to grow. */
TEST(test_unstable_steps)
{
    int found = 0, stable = 0;
    System s = stiff(decay, 0.125);
    for (rate = 30; rate <= 300; rate *= 10)
        for (size_t i = 0; i < zoo.count; i++) {
            double real, imag;
            Table *t = table_freeze(zoo.scheme[i]);
            Theory th = theory(t);
            assert_int_equal(stability_limits(t, &real, &imag), 0);
            int deep = table_implicit(t) && t->past_k > 0;
            if (table_over(t, OP_H) && th.order >= 1 && th.zero_stable && real < 0 && !deep) {
                OrderStudy m = measure(t, &s, usual, th.order, 1);
                for (size_t k = 0; k < m.points; k++) {
                    double ratio = m.point[k].h * rate / -real;
                    if (m.point[k].unstable != (ratio > 1))
                        fail_msg("%s: step %g, %g of the limit: %s", t->name, m.point[k].h, ratio,
                                 m.point[k].unstable ? "unstable" : "stable");
                    found += m.point[k].unstable;
                    stable += !m.point[k].unstable;
                }
                order_free(&m);
            }
            table_free(t);
        }
    assert_true(found >= 20 && stable >= 20);
}

/* These methods are stable at any step, so Prothero and Robinson's solution decides. Order and constant are met
 * although the solution back in time is far away, and a scheme of lower order does not pass. On the decay nothing is
 * left to fit. */
TEST(test_stiff_history)
{
    static const char *const texts[] = {
        "bdf2",
        "k1 = H(18/11*y - 9/11*y[-1] + 2/11*y[-2] + 6/11*k1)\n"
        "y' = 18/11*y - 9/11*y[-1] + 2/11*y[-2] + 6/11*k1",
    };
    for (int i = 0; i < 2; i++) {
        Table *t = scheme(texts[i]);
        System s = stiff(follow, 0.125);
        rate = 300;
        OrderStudy m = measure(t, &s, usual, 2 + i, 1);
        assert_int_equal(m.verdict, VERDICT_AGREE);
        assert_true(m.unstable == 0 && m.constant_off <= 0.01 * m.constant);
        order_free(&m);
        m = measure(t, &s, usual, 3 + i, 1);
        assert_int_equal(m.verdict, VERDICT_DISAGREE);
        order_free(&m);
        s = stiff(decay, 0.125);
        m = measure(t, &s, usual, 2 + i, 1);
        assert_int_equal(m.verdict, VERDICT_FLOOR);
        order_free(&m);
        table_free(t);
    }
}

/* Errors of A-stable schemes on the decay fall faster than any power until they are rounding. They have no order and no
 * `higher`. */
TEST(test_no_power)
{
    static const char *const names[] = {"trapezoid", "gauss4", "implicit-midpoint"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Table *t = scheme(names[i]);
        System s = stiff(decay, 0.125);
        rate = 300;
        OrderStudy m = measure(t, &s, usual, theory(t).order, 1);
        if (m.verdict != VERDICT_FLOOR)
            fail_msg("%s: %g, %s", names[i], m.slope, verdict_name(m.verdict));
        assert_true(isnan(m.slope) && isnan(m.constant));
        order_free(&m);
        table_free(t);
    }
}

/* A kink takes the order of rk4 from it far above rounding. The verdict is not `floor`, though the finest errors are
 * too near to the reference's for the fit. Euler's order survives the kink, and rk4 has its order where the path meets
 * no kink. */
TEST(test_kink)
{
    static const struct {
        const char *text, *scheme;
        int verdict;
    } cases[] = {
        {"G = abs(y-1)+0.3\ninitial = normal\nt-end 2\n", "rk4", VERDICT_DISAGREE},
        {"G = abs(y)-1\ninitial = normal\nt-end 4\n", "rk4", VERDICT_DISAGREE},
        {"G = abs(y)-1/2\ninitial = 0.3*i\n", "rk4", VERDICT_DISAGREE},
        {"G = abs(y-1)+0.3\ninitial = normal\nt-end 2\n", "euler", VERDICT_AGREE},
        {"G = abs(y-1)+0.3\ninitial = 1+i\nt-end 2\n", "rk4", VERDICT_AGREE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        System *s;
        int n = snprintf(text, sizeof text, "system s\nn 4\nd 2\n%s", cases[i].text);
        assert_int_equal(system_parse("text", text, (size_t)n, 0, 0, 1, &s), 0);
        Table *t = scheme(cases[i].scheme);
        OrderStudy m = measure(t, s, (OrderOptions){.halvings = 7}, theory(t).order, 1);
        if (m.verdict != cases[i].verdict)
            fail_msg("%s, %s: %s", cases[i].text, cases[i].scheme, verdict_name(m.verdict));
        order_free(&m);
        table_free(t);
        system_free(s);
    }
}

/* Unstable steps make no order. On the decay nothing is left to fit, as nothing of the solution is left at the end. On
 * Prothero and Robinson's system the stable steps show the order, and a spoilt scheme does not pass for it. Leapfrog
 * has no stable step at all. */
TEST(test_unstable)
{
    static const char *const names[] = {"euler", "heun", "midpoint", "rk3", "rk4", "ab2"};
    static const double rates[] = {100, 300};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < sizeof rates / sizeof *rates; k++) {
            Table *t = scheme(names[i]);
            System s = stiff(decay, 0.125);
            int order = theory(t).order;
            rate = rates[k];
            OrderStudy m = measure(t, &s, usual, order, 1);
            assert_int_equal(m.verdict, VERDICT_UNSTABLE);
            assert_true(m.unstable > 0 && isnan(m.slope) && isnan(m.constant));
            order_free(&m);
            s = stiff(follow, 0.125);
            m = measure(t, &s, (OrderOptions){.halvings = 9}, order, 1);
            if (m.verdict != VERDICT_AGREE || !(m.unstable > 0))
                fail_msg("%s, rate %g: %g +- %g, %s", names[i], rate, m.slope, m.high - m.slope,
                         verdict_name(m.verdict));
            order_free(&m);
            table_free(t);
        }
    rate = 100;
    System s = stiff(follow, 0.125);
    Table *t = scheme("k1 = H(y)\nk2 = H(y + 9/8*k1)\ny' = y + 1/2*k1 + 1/2*k2");
    OrderStudy m = measure(t, &s, (OrderOptions){.halvings = 9}, 2, 1);
    assert_int_equal(m.verdict, VERDICT_DISAGREE);
    order_free(&m);
    table_free(t);
    t = scheme("leapfrog");
    m = measure(t, &s, usual, 2, 1);
    assert_int_equal(m.verdict, VERDICT_UNSTABLE);
    assert_true(m.unstable == m.point[m.points - 1].h);
    order_free(&m);
    table_free(t);
}

static void growth(const System *s, int set, double t, const double *y, double *dy)
{
    (void)s, (void)set, (void)t;
    dy[0] = y[0];
}

/* On y' = y the global error of AB-p at 1 tends to c e h^p, c = 1/2, 5/12, 3/8, 251/720, 95/288. */
TEST(test_adams_constants)
{
    static const char *const names[] = {"euler", "ab2", "ab3", "ab4", "ab5"};
    static const double c[] = {1.0 / 2, 5.0 / 12, 3.0 / 8, 251.0 / 720, 95.0 / 288};
    double y0[1] = {1};
    System s = {.name = "growth",
                .n = 1,
                .d = 1,
                .initial = y0,
                .field = {growth, rest},
                .t_end = 1,
                .h0 = 0.125};
    for (int p = 1; p <= 5; p++) {
        Table *t = scheme(names[p - 1]);
        OrderStudy m = measure(t, &s, usual, p, 1);
        assert_int_equal(m.verdict, VERDICT_AGREE);
        /* b h is fitted; the rest is some (L h)^2 and a floor of at most 1/32, over 4 points */
        assert_true(fabs(m.constant / (c[p - 1] * exp(1)) - 1) <= 0.02);
        order_free(&m);
        table_free(t);
    }
}

/* ---- contract ------------------------------------------------------------------------------------ */

TEST(test_options)
{
    static const OrderOptions bad[] = {
        {.halvings = 3},
        {.halvings = 25},
        {.t_end = -1, .halvings = 5},
        {.t_end = NAN, .halvings = 5},
        {.t_end = INFINITY, .halvings = 5},
        {.h0 = -0.1, .halvings = 5},
        {.h0 = 2, .halvings = 5},
        {.h0 = NAN, .halvings = 5},
        {.h0 = 1e-9, .halvings = 5},
    };
    OrderStudy m;
    System *s = make("henon");
    Table *t = scheme("euler");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(order_measure(t, s, &bad[i], 1, 1, &m), ERR_INPUT);
        assert_null(m.point);
    }
    m = measure(t, s, (OrderOptions){.t_end = 1, .h0 = 0.3, .halvings = 5}, 1, 1);
    assert_int_equal(m.point[0].steps, 3); /* 0.3 becomes 1/3, and the study says so */
    assert_true(m.point[0].h == 1.0 / 3 && m.verdict == VERDICT_AGREE);
    order_free(&m);
    assert_string_equal(verdict_name(VERDICT_AGREE), "agree");
    assert_string_equal(verdict_name(VERDICT_FLOOR), "floor");
    assert_string_equal(verdict_name(-1), "unknown");
    table_free(t);
    system_free(s);
}

TEST(test_closed_flows)
{
    static const struct {
        const char *scheme, *system;
        int closed;
    } cases[] = {{"strang-marchuk", "linear", 1},   {"strang-marchuk", "attention", 0},
                 {"strang-marchuk", "kuramoto", 0}, {"heun", "attention", 1},
                 {"word:fsf", "forced", 0},         {"strang-marchuk", "forced", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        System *s = make(cases[i].system);
        Table *t = scheme(cases[i].scheme);
        OrderStudy m = measure(t, s, (OrderOptions){.halvings = 4}, 2, 1);
        assert_int_equal(m.closed_flows, cases[i].closed);
        order_free(&m);
        table_free(t);
        system_free(s);
    }
}

/* ---- solutions that schemes share; the forecast of a study ----------------------------------------- */

static size_t values; /* calls of counted() */
static useconds_t pause_us;

/* Computes u' = -u, and sleeps pause_us where it is set. */
static void counted(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    values++;
    if (pause_us) usleep(pause_us);
    for (size_t i = 0; i < s->n * s->d; i++) dy[i] = -y[i];
}

static void nothing(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t, (void)y;
    memset(dy, 0, s->n * s->d * sizeof *dy);
}

static System counted_system(double *initial)
{
    return (System){.name = "counted",
                    .n = 1,
                    .d = 1,
                    .t_end = 1,
                    .h0 = 0.25,
                    .initial = initial,
                    .field = {counted, nothing}};
}

/* A remembered solution costs no value of the field and is the same to the bit. Other times, another tolerance, a
 * solution that nothing checks, and another field are computed anew. A solution that does not fit is not kept. */
TEST(test_solved)
{
    static const double t[] = {1, 0.5}, other[] = {1, 0.25};
    double initial = 1, a[2], b[2], agreement, again;
    System s = counted_system(&initial);
    Table *euler = scheme("euler");
    Weighted w;
    for (int fits = 0; fits <= 1; fits++) {
        assert_int_equal(solved_new(fits ? 1000 : 15, &s.solved), 0);
        assert_int_equal(reference_solve(&s, t, 2, a, &agreement), 0);
        values = 0;
        assert_int_equal(reference_solve(&s, t, 2, b, &again), 0);
        assert_true(fits == (values == 0));
        assert_memory_equal(a, b, sizeof a);
        assert_true(agreement == again);
        for (int i = 0; i < 4; i++) {
            values = 0;
            w = system_weigh(&s, euler);
            w.weight[OP_F] = 2;
            assert_int_equal(i == 0   ? reference_solve(&s, other, 2, b, &again)
                             : i == 1 ? reference_within(&s, 1e-6, t, 2, b, &again)
                             : i == 2 ? reference_within(&s, 0, t, 2, b, NULL)
                                      : reference_solve(&w.system, t, 2, b, &again),
                             0);
            assert_true(values > 0);
            assert_true(fabs(b[0] - exp(i < 3 ? -1 : -2)) < 1e-5);
        }
        solved_free(s.solved);
    }
    table_free(euler);
}

/* Euler's method over 4, 8, ... 64 steps takes 124 values of F, a millisecond each at least. Controls: a field that
 * costs nothing, and local errors, of five steps. */
TEST(test_forecast)
{
    double initial = 1;
    System s = counted_system(&initial);
    Table *t = scheme("euler");
    OrderOptions o = {.halvings = 4};
    Forecast slow, fast, local;
    pause_us = 1000;
    assert_int_equal(order_forecast(t, &s, &o, 1, 1, &slow), 0);
    o.local = 1;
    assert_int_equal(order_forecast(t, &s, &o, 1, 1, &local), 0);
    pause_us = 0;
    o.local = 0;
    assert_int_equal(order_forecast(t, &s, &o, 1, 1, &fast), 0);
    assert_true(slow.steps >= 0.05 && slow.prediction > 0);
    assert_true(fast.steps < slow.steps / 4 && local.steps < slow.steps / 4);
    o.halvings = 3;
    assert_int_equal(order_forecast(t, &s, &o, 1, 1, &fast), ERR_INPUT);
    table_free(t);
}

TEST(test_memory)
{
    System *s = make("henon");
    Table *t = scheme("leapfrog");
    size_t live = memory_live(), k = 1;
    for (int code = ERR_MEMORY; code != 0; k++) {
        OrderStudy m;
        memory_fail_at(k);
        code = order_measure(t, s, &(OrderOptions){.halvings = 4}, 2, 1, &m);
        memory_fail_at(0);
        assert_true(code == 0 || code == ERR_MEMORY);
        if (code == 0) order_free(&m);
        assert_int_equal(memory_live(), live);
        assert_true(k < 1000);
    }
    assert_true(k > 30);
    table_free(t);
    system_free(s);
}

TEST_MAIN(set_up, tear_down)
