/* test_measure.c: measured orders against exact ones, for every scheme on every system; and that the
 * verdict cannot be had by a wrong scheme, by rounding, by coarse steps or by a flattering system. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "tests/lib/schemes.h"

static Forest *forest;

static int set_up(void **state)
{
    return zoo_begin(state) != 0 || forest_new(6, &forest) != 0;
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

/* Verdict of a scheme on a system by default options. */
static int verdict(const Table *t, const char *system, int expected, int stable)
{
    System *s = make(system);
    OrderStudy m = measure(t, s, usual, expected, stable);
    order_free(&m);
    system_free(s);
    return m.verdict;
}

/* ---- every scheme on every system ---------------------------------------------------------------- */

/* What a study must satisfy whatever its verdict. */
static void check_study(const OrderStudy *m, const System *s)
{
    for (size_t i = 0; i < m->points; i++) {
        const OrderPoint *p = &m->point[i];
        assert_true(fabs(p->h * (double)p->steps - s->t_end) <= 1e-15);
        assert_true(p->error >= 0 && p->seconds >= 0);
        if (i) assert_true(p->steps > p[-1].steps);
        if (p->used) assert_true(p->error > m->floor / 32 && isfinite(m->slope));
    }
    assert_true(m->points >= 7 && m->floor > 0 && m->floor < 1e-11);
    if (isfinite(m->slope)) assert_true(m->low <= m->slope && m->slope <= m->high);
}

/* On the default system the exact order itself; elsewhere more is allowed where the system lacks
 * trees: linear ones, and those of kick and drift, where F'F = G'G = 0. */
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
        OrderStudy m = measure(t, s, usual, th.order, th.zero_stable);
        check_study(&m, s);
        if (th.order >= 1) check_verdict(&m, t, s);
        order_free(&m);
        system_free(s);
    }
}

static void test_zoo(void **state)
{
    (void)state;
    for (size_t i = 0; i < zoo.count; i++) study_everywhere(zoo.scheme[i]);
}

/* Sub-flow solvers, blocks over L, words compared with a F + b G, stages on past slopes. */
static void test_names(void **state)
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
        "scheme two-step\nk1 = H(y + 1/2*k1[-1])\ny' = y + k1\n",
        "scheme look-back\nk1 = H(3/2*y - 1/2*y[-1])\ny' = y + k1\n"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Table *t = scheme(names[i]);
        assert_true(theory(t).order >= 1);
        study_everywhere(t);
        table_free(t);
    }
}

/* Schemes that are not consistent keep an error of size 1: order 0. */
static void test_inconsistent(void **state)
{
    (void)state;
    Table *t = scheme("rk2-unit");
    assert_int_equal(verdict(t, "attention", 0, 1), VERDICT_AGREE);
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

/* One coefficient off by 1/8: the order claimed is missed, the order it has now is agreed with. */
static void test_spoiled(void **state)
{
    int spoiled = 0;
    (void)state;
    for (size_t i = 0; i < zoo.count; i++) {
        Table *t = table_freeze(zoo.scheme[i]);
        Theory before = theory(t);
        spoil(t);
        Theory after = theory(t);
        if (before.order >= 1 && after.order < before.order) {
            spoiled++;
            if (verdict(t, "attention", before.order, 1) != VERDICT_DISAGREE)
                fail_msg("%s, spoiled, still passes for order %d", t->name, before.order);
            if (verdict(t, "attention", after.order, 1) != VERDICT_AGREE)
                fail_msg("%s, spoiled, has not order %d", t->name, after.order);
        }
        table_free(t);
    }
    assert_true(spoiled >= 12);
}

/* A claim too low is told as well: rk4 is not of order 3. */
static void test_too_low(void **state)
{
    (void)state;
    Table *t = scheme("rk4");
    assert_int_equal(verdict(t, "attention", 3, 1), VERDICT_HIGHER);
    assert_int_equal(verdict(t, "attention", 4, 1), VERDICT_AGREE);
    assert_int_equal(verdict(t, "attention", 5, 1), VERDICT_DISAGREE);
    table_free(t);
}

/* Why linear:commuting is no control: it flatters a splitting from order 2 to 4, and one with exact
 * sub-flows down to rounding; it even passes one whose order of operators is that of Lie. */
static void test_flattery(void **state)
{
    (void)state;
    Table *strang = scheme("strang-marchuk:rk4"), *lie = scheme("lie-trotter");
    assert_int_equal(verdict(strang, "linear", 2, 1), VERDICT_AGREE);
    assert_int_equal(verdict(strang, "linear:commuting", 2, 1), VERDICT_HIGHER);
    assert_int_equal(verdict(lie, "linear", 2, 1), VERDICT_DISAGREE);
    assert_int_equal(verdict(lie, "linear:commuting", 2, 1), VERDICT_FLOOR);
    table_free(strang);
    table_free(lie);
}

/* Order 3 by its trees, roots 1 and -5: converges at no order, and is seen to grow without being
 * told; a stable scheme that is said to be unstable is not let pass. */
static void test_zero_unstable(void **state)
{
    (void)state;
    Table *t = scheme("scheme wild\nk1 = H(y)\ny' = -4*y + 5*y[-1] + 4*k1 + 2*k1[-1]\n");
    Theory th = theory(t);
    assert_int_equal(th.order, 3);
    assert_int_equal(th.zero_stable, 0);
    for (size_t k = 0; system_name(k); k++) {
        int linear = strncmp(system_name(k), "nilpotent", 9) == 0;
        assert_int_equal(verdict(t, system_name(k), 3, 0), VERDICT_DIVERGES);
        if (!linear) assert_int_equal(verdict(t, system_name(k), 3, 1), VERDICT_DIVERGES);
    }
    table_free(t);
    t = scheme("heun");
    assert_int_equal(verdict(t, "attention", 2, 0), VERDICT_DIVERGES);
    table_free(t);
}

/* ---- rounding and coarse steps ------------------------------------------------------------------- */

/* Steps far into rounding change nothing: the window ends above the floor. */
static void test_floor_is_cut(void **state)
{
    (void)state;
    System *s = make("kuramoto");
    Table *t = scheme("rk4");
    OrderStudy m = measure(t, s, (OrderOptions){.halvings = 13}, 4, 1);
    const OrderPoint *last = &m.point[m.points - 1];
    assert_int_equal(m.verdict, VERDICT_AGREE);
    assert_true(fabs(m.slope - 4) <= 0.05);
    assert_false(last->used);
    assert_true(last->error < m.floor); /* the floor covers rounding after 2^15 steps */
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

/* Rounding that is the same at every step adds up: cut as well, even where most points are of it. */
static void test_drift_is_cut(void **state)
{
    (void)state;
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

/* A first step far too long: more points are added, the coarse ones are left out. */
static void test_coarse_start(void **state)
{
    (void)state;
    System *s = make("attention");
    Table *t = scheme("ab5");
    OrderStudy m = measure(t, s, (OrderOptions){.h0 = 0.5, .halvings = 4}, 5, 1);
    assert_int_equal(m.verdict, VERDICT_AGREE);
    assert_true(m.points > 5 && !m.point[0].used);
    order_free(&m);
    table_free(t);
    system_free(s);
}

/* fisher blows up backwards in time: coarse points without a history are left out. A leapfrog that
 * swings itself up shows the growth of its other root, of size h^3 or nothing at all, in place of its
 * order: not agreed with. */
static void test_no_history(void **state)
{
    (void)state;
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

/* Yoshida's triple jump of the triple jump: order 6, few points above rounding. */
static void test_order_six(void **state)
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
    (void)state;
    Table *t = scheme(text);
    assert_int_equal(verdict(t, "linear", 6, 1), VERDICT_AGREE);
    assert_int_equal(verdict(t, "forced", 6, 1), VERDICT_AGREE);
    assert_int_equal(verdict(t, "linear", 5, 1), VERDICT_HIGHER);
    assert_int_equal(verdict(t, "linear", 7, 1), VERDICT_DISAGREE);
    table_free(t);
}

/* ---- constants ----------------------------------------------------------------------------------- */

/* The error constants of the oracles: RMS over d of T/2 y3 and T/6 y4; of Euler on y' = y. */
static void test_constant(void **state)
{
    static const struct {
        const char *scheme, *system;
        int order;
        double component; /* error / h^order in the one component that is off */
    } cases[] = {
        {"lie-trotter", "nilpotent", 1, 1.5},
        {"strang-marchuk", "nilpotent:4", 2, 2},
        {"strang-marchuk-fgf", "nilpotent:4", 2, 1},
    };
    (void)state;
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

static void growth(const System *s, int set, double t, const double *y, double *dy)
{
    (void)s, (void)set, (void)t;
    dy[0] = y[0];
}

static void rest(const System *s, int set, double t, const double *y, double *dy)
{
    (void)s, (void)set, (void)t, (void)y;
    dy[0] = 0;
}

/* y' = y: global error of AB-p at 1 tends to c e h^p, c = 1/2, 5/12, 3/8, 251/720, 95/288. */
static void test_adams_constants(void **state)
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
    (void)state;
    for (int p = 1; p <= 5; p++) {
        Table *t = scheme(names[p - 1]);
        OrderStudy m = measure(t, &s, usual, p, 1);
        assert_int_equal(m.verdict, VERDICT_AGREE);
        /* b h is fitted, what is left is some (L h)^2 and a floor of at most 1/32, over 4 points */
        assert_true(fabs(m.constant / (c[p - 1] * exp(1)) - 1) <= 0.02);
        order_free(&m);
        table_free(t);
    }
}

/* ---- contract ------------------------------------------------------------------------------------ */

static void test_options(void **state)
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
    (void)state;
    System *s = make("henon");
    Table *t = scheme("euler");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(order_measure(t, s, &bad[i], 1, 1, &m), ERR_INPUT);
        assert_null(m.point);
    }
    m = measure(t, s, (OrderOptions){.t_end = 1, .h0 = 0.3, .halvings = 5}, 1, 1);
    assert_int_equal(m.point[0].steps, 3); /* 0.3 becomes 1/3, and is told as such */
    assert_true(m.point[0].h == 1.0 / 3 && m.verdict == VERDICT_AGREE);
    order_free(&m);
    assert_string_equal(verdict_name(VERDICT_AGREE), "agree");
    assert_string_equal(verdict_name(VERDICT_FLOOR), "floor");
    assert_string_equal(verdict_name(-1), "unknown");
    table_free(t);
    system_free(s);
}

static void test_closed_flows(void **state)
{
    static const struct {
        const char *scheme, *system;
        int closed;
    } cases[] = {{"strang-marchuk", "linear", 1},   {"strang-marchuk", "attention", 0},
                 {"strang-marchuk", "kuramoto", 0}, {"heun", "attention", 1},
                 {"word:fsf", "forced", 0},         {"strang-marchuk", "forced", 1}};
    (void)state;
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

static void test_memory(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zoo),           cmocka_unit_test(test_names),
        cmocka_unit_test(test_inconsistent),  cmocka_unit_test(test_spoiled),
        cmocka_unit_test(test_too_low),       cmocka_unit_test(test_flattery),
        cmocka_unit_test(test_zero_unstable), cmocka_unit_test(test_floor_is_cut),
        cmocka_unit_test(test_drift_is_cut),  cmocka_unit_test(test_coarse_start),
        cmocka_unit_test(test_no_history),    cmocka_unit_test(test_order_six),
        cmocka_unit_test(test_constant),      cmocka_unit_test(test_adams_constants),
        cmocka_unit_test(test_options),       cmocka_unit_test(test_closed_flows),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
