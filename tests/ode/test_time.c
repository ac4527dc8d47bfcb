/* test_time.c: order on fields that depend on time, where @ says where a stage stands: trees with clocks, against
 * the rule of rows, and against measured errors. */
#include "tests/lib/test.h"

#include "tests/lib/schemes.h"

/* ---- the rule of rows ------------------------------------------------------------------------------- */

static int order_with_clocks(const Table *t, int most)
{
    OWN_FOREST *f = NULL;
    assert_int_equal(forest_timed(most, t->colours, 1, &f), 0);
    OWN_REALS *c = numbers(f->count);
    for (int order = 1; order <= most; order++) {
        assert_int_equal(theory_terms(f, t, order, c), 0);
        for (size_t i = 0; i < f->count; i++)
            if (c[i] != 0) return order - 1;
    }
    return most;
}

/* Where nodes follow the rule, conditions with clocks follow from those of the clock's colour: at every point the
 * operator's slopes and its clock have the same weight. So both forests give the same order. This fails where a phi
 * function has the derivative of a field that is not linear, and leaves out its derivative by time: such schemes are
 * refused on fields of time. */
TEST(the_rule_needs_no_clocks)
{
    enum { MOST = 4 };
    for (size_t i = 0; i < zoo.count; i++) {
        OWN_TABLE *t = table_freeze(zoo.scheme[i]);
        assert_int_equal(table_written(t), 0);
        Theory without = theory_of(t, MOST);
        assert_int_equal(without.order, without.order_autonomous);
        int with = without.expands ? order_with_clocks(t, MOST) : 0, leaves_out = 0;
        for (size_t k = 0; k < t->points; k++) leaves_out |= t->point[k].ops & ~t->linear;
        if (leaves_out ? with > without.order : with != without.order)
            fail_msg("%s: %d with clocks, %d without", t->name, with, without.order);
    }
}

/* ---- texts ------------------------------------------------------------------------------------------ */

#define RK4(a, b, c, d)                                                     \
    "k1 = H(y @ " a ")\nk2 = H(y + 1/2*k1 @ " b ")\nk3 = H(y + 1/2*k2 @ " c \
    ")\nk4 = H(y + k3 @ " d ")\ny' = y + 1/6*k1 + 1/3*k2 + 1/3*k3 + 1/6*k4"

/* Orders by hand. The quadrature conditions are sum b c^k = 1/(k+1) where the nodes are those of the stages. Where sum
 * b c is off, the order is 1. */
static const struct {
    const char *text;
    int order, autonomous;
    const char *term; /* term of h^(order+1) */
    double c;
} texts[] = {
    {RK4("0", "0", "0", "0"), 1, 4, "F't", -1. / 2},
    {RK4("0", "1/2", "1/2", "1"), 4, 4, NULL, 0},
    {RK4("0", "1/2", "1/2", "3/4"), 1, 4, "G't", -1. / 24},
    {RK4("0", "3/4", "1/4", "1"), 2, 4, "F''(t,t)",
     1. / 48}, /* (1/2) (1/3 (9/16 + 1/16) + 1/6 - 1/3) */
    {"k1 = H(y)\nk2 = H(y + k1 @ 3/4)\ny' = y + 1/2*k1 + 1/2*k2", 1, 2, "F't", -1. / 8},
    {"k1 = F(y)\nk2 = G(y + k1 @ 1/2)\ny' = y + k1 + k2", 1, 1, "F't", -1. / 2},
    {"k1 = F(y @ 1/2)\nk2 = G(y + k1 @ 1/2)\ny' = y + k1 + k2", 1, 1, "G'F", 1. / 2},
    {"k1 = H(y @ 0)\ny' = y + 3/2*k1 - 1/2*k1[-1]", 2, 2, NULL, 0},
    {"k1 = H(y @ 1/2)\ny' = y + 3/2*k1 - 1/2*k1[-1]", 1, 2, "F't", 1. / 2},
    {"k1 = H(y @ 0.5)\ny' = y + k1", 1, 1, "F'F", -1. / 2},
};
enum { TEXTS = sizeof texts / sizeof *texts };

static double coefficient(const Table *t, const char *term, int order)
{
    OWN_FOREST *f = NULL;
    assert_int_equal(forest_timed(order, t->colours, 1, &f), 0);
    OWN_REALS *c = numbers(f->count);
    assert_int_equal(theory_terms(f, t, order, c), 0);
    for (size_t i = 0; i < f->count; i++)
        if (tree_is_clock(f, i)) assert_true(c[i] == 0);
    return c[tree_named(f, term)];
}

TEST(orders_of_texts)
{
    for (size_t i = 0; i < TEXTS; i++) {
        OWN_TABLE *t = frozen(texts[i].text);
        Theory th = theory_of(t, 5);
        if (th.order != texts[i].order || th.order_autonomous != texts[i].autonomous)
            fail_msg("%s: %d, %d", texts[i].text, th.order, th.order_autonomous);
        if (texts[i].term) {
            double c = coefficient(t, texts[i].term, texts[i].order + 1);
            if (!(fabs(c - texts[i].c) < 1e-14))
                fail_msg("%s: %s has %.17g", texts[i].text, texts[i].term, c);
        }
    }
}

/* ---- measured --------------------------------------------------------------------------------------- */

/* Tells whether the error of table t on a system is the one predicted for table `theory`. */
static int is_predicted(const Table *t, const Table *theory, const System *s)
{
    Theory th = theory_of(theory, 5);
    OWN_REALS *vector = numbers(2 * s->n * s->d);
    Prediction p = predict(theory, s, 0, vector);
    OWN_STUDY m =
        measured(t, s, (OrderOptions){.halvings = 6}, theory_order(&th, s), th.zero_stable);
    return m.verdict == VERDICT_AGREE &&
           order_match(&m, p.global, p.accuracy, vector + m.N) == VERDICT_AGREE;
}

TEST(measured_on_a_field_of_time)
{
    OWN_SYSTEM *forced = make("forced"), *still = make("attention");
    for (size_t i = 0; i < TEXTS; i++) {
        OWN_TABLE *t = frozen(texts[i].text);
        if (!is_predicted(t, t, forced)) fail_msg("%s on forced", texts[i].text);
        if (!is_predicted(t, t, still)) fail_msg("%s on attention", texts[i].text);
    }
}

TEST_MAIN(zoo_begin, zoo_end)
