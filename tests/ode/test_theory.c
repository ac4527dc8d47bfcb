/* test_theory.c: trees, exact order, error terms, the root condition and modified equations, against known values (design
 * section 4; ode-facts; published terms); orders where @ says when a stage stands. test_terms.c holds modified equations against brackets written out as trees. */
#include "tests/lib/test.h"

#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

/* Checks that the sum over trees of order n of n!/(gamma sigma) is (n-1)! colours^n (ode-facts 2.3). */
static void check_trees(int colours, const size_t *known)
{
    Forest *f;
    int most = colours < 3 ? 7 : 6;
    assert_int_equal(forest_new(most, colours, &f), 0);
    double factorial = 1;
    for (int n = 1; n <= most; n++) {
        double sum = 0;
        assert_int_equal(f->first[n + 1] - f->first[n], known[n]);
        for (size_t i = f->first[n]; i < f->first[n + 1]; i++)
            sum += factorial * n / ((double)f->tree[i].gamma * (double)f->tree[i].sigma);
        assert_true(fabs(sum - factorial * pow(colours, n)) < 1e-9 * sum);
        factorial *= n;
    }
    forest_free(f);
    assert_int_equal(forest_new(0, colours, &f), ERR_INPUT);
    assert_int_equal(forest_new(forest_most(colours) + 1, colours, &f), ERR_INPUT);
}

/* The numbers of trees of two colours are OEIS A038055. */
TEST(test_trees)
{
    check_trees(1, (const size_t[]){0, 1, 1, 2, 4, 9, 20, 48}); /* OEIS A000081 */
    check_trees(2, (const size_t[]){0, 2, 4, 14, 52, 214, 916, 4116});
    check_trees(3, (const size_t[]){0, 3, 9, 45, 246, 1485, 9432});
}

/* The table of design section 4, and results of the schemes' sources. */
TEST(test_orders)
{
    static const char *const plain[] = {
        /* by order; a scheme of one operator is exact */
        "rk2-unit rk2-scalar rk2-tanh rk2-released rk4-released polynet lm-resnet repeat:2",
        "att-ffn-att rk2-gate rk2-sigmoid looped:3 rk4-F rk4-G heun-F midpoint-G ab3-F",
        "strang-marchuk strang-marchuk-fgf strang-marchuk:heun strang-marchuk:midpoint "
        "strang-marchuk:rk4 stoermer-verlet word:sffs fgfg2",
        "rk3 ssprk3 ruth3",
        "rk4-38 ab4 yoshida4 yoshida4:rk4",
        "ab5",
        "word:s"};
    static const struct {
        const char *name;
        int order;
        double norm2; /* in one colour where every stage is H */
    } orders[] = {{"euler", 1, 0.25},
                  {"lie-trotter", 1, 0.5},
                  {"transformer", 1, 1},
                  {"lie-trotter:heun", 1, 0.5},
                  {"macaron", 1, 0.3125},
                  {"heun", 2, 5.0 / 144},
                  {"midpoint", 2, 17.0 / 576},
                  {"ralston", 2, 1.0 / 36},
                  {"rk4", 4, 349.0 / 1658880},
                  {"heun-layer", 1, 1},
                  {"rk4-layer", 1, 1},
                  {"rk2-dlcl", 1, 1},
                  {"dlcl", 1, 1},
                  {"leapfrog", 2, 2.0 / 9},
                  {"ab2", 2, 0.34722222222222222},
                  {"ab3", 3, 1.6875},
                  {"word:sf", 1, 0.5},
                  {"looped-learn", 1, 0.25},
                  {"looped-chebyshev", 1, 0.555025}};
    char name[2 * TABLE_NAME];
    for (int order = 0; order <= 6; order++)
        for (const char *list = plain[order]; next_word(&list, name);) {
            OWN_TABLE *t = frozen(name);
            if (order_of(t) != order) fail_msg("%s: order %d, not %d", name, order_of(t), order);
        }
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        OWN_TABLE *t = frozen(orders[i].name);
        Theory th = theory_of(t, 6);
        double norm = orders[i].norm2;
        double found = table_over(t, OP_H) ? th.error_norm2_one_colour : th.error_norm2;
        if (th.order != orders[i].order || !(fabs(found - norm) <= 1e-14 * norm))
            fail_msg("%s: order %d, error norm^2 %.17g", orders[i].name, th.order, found);
    }
}

/* error_norm2 is one definition for all schemes: the sum of squares over all trees in two colours. Heun's by hand has
 * 8 colourings of F'F'F with (1/6)^2 each; two roots of F''(F,F), with (1/12)^2 where both children are equal (twice)
 * and (1/6)^2 where they are not. Only schemes over H have the norm in one colour. */
TEST(test_norms)
{
    static const struct {
        const char *name;
        double norm2;
    } known[] = {{"euler", 1}, {"transformer", 1}, {"heun", 11.0 / 36}, {"macaron", 5.0 / 16}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        OWN_TABLE *t = frozen(known[i].name);
        Theory th = theory_of(t, 3);
        assert_true(fabs(th.error_norm2 - known[i].norm2) <= 1e-14);
    }
    for (size_t i = 0; i < zoo.count; i++) {
        OWN_TABLE *t = table_freeze(zoo.scheme[i]);
        Theory th = theory_of(t, 6);
        OWN_FOREST *f = forest_of(th.order + 1, table_tree_colours(t));
        OWN_REALS *c = numbers(f->count);
        double sum = 0;
        if (th.order >= 6) continue; /* no tree of a higher order was looked at */
        if (th.expands) {
            assert_int_equal(theory_terms(f, t, th.order + 1, c), 0);
            for (size_t k = 0; k < f->count; k++) sum += c[k] * c[k];
            if (!(fabs(th.error_norm2 - sum) <= 1e-12 * sum))
                fail_msg("%s: %.17g, not %.17g", t->name, th.error_norm2, sum);
        }
        int one = !isnan(th.error_norm2_one_colour);
        assert_int_equal(one, th.expands && table_one_field(t));
        if (one) assert_true(th.error_norm2_one_colour < th.error_norm2);
    }
}

/* Leading errors, all of them. Brackets written out for Strang: 1/12 [F,[F,G]] - 1/24 [G,[G,F]], [A,B] = B'A - A'B, so
 * [F,[F,G]] = [F,G]'F - F'[F,G] with [F,G] = G'F - F'G
 *           = G''(F,F) + G'F'F - F''(F,G) - F'G'F - F'G'F + F'F'G, and the same with F, G exchanged.
 * Leapfrog has -1/3 h^3 y''', y''' = f''(f,f) + f'f'f in both colours. In three colours they are those of two other
 * programs. */
TEST(test_leading_terms)
{
    static const struct {
        const char *name;
        int degree;
        const char *terms;
    } known[] = {
        {"lie-trotter", 2, "1/2 G'F - 1/2 F'G"},
        {"transformer", 2, "1/2 G'F - 1/2 F'G - 1/2 F'F - 1/2 G'G"},
        {"macaron", 2, "-1/2 F'F - 1/4 G'G"},
        {"heun-layer", 2, "G'F"},
        {"rk4-layer", 2, "G'F"},
        {"strang-marchuk", 3,
         "1/12 G''(F,F) + 1/12 G'F'F - 1/12 F''(F,G) - 1/6 F'G'F + 1/12 F'F'G - 1/24 F''(G,G)"
         "- 1/24 F'G'G + 1/24 G''(F,G) + 1/12 G'F'G - 1/24 G'G'F"},
        {"leapfrog", 3,
         "-1/3 F''(F,F) - 2/3 F''(F,G) - 1/3 F''(G,G) - 1/3 G''(F,F) - 2/3 G''(F,G) - 1/3 G''(G,G)"
         "- 1/3 F'F'F - 1/3 F'F'G - 1/3 F'G'F - 1/3 F'G'G - 1/3 G'F'F - 1/3 G'F'G - 1/3 G'G'F"
         "- 1/3 G'G'G"},
        {"lie-trotter-decoder", 2, "1/2 C'F - 1/2 F'C + 1/2 G'F - 1/2 F'G + 1/2 G'C - 1/2 C'G"},
        {"strang-marchuk-decoder", 2, "1/2 C'F - 1/2 F'C"},
        {"macaron-decoder", 2, "1/2 C'F - 1/2 F'C - 1/2 F'F - 1/2 C'C - 1/4 G'G"},
        {"strang-marchuk-decoder:euler", 2, "1/2 C'F - 1/2 F'C - 1/2 F'F - 1/2 C'C - 1/4 G'G"},
        {"strang-decoder", 2, ""},
        {"strang-decoder:euler", 2, "-1/4 F'F - 1/2 C'C - 1/4 G'G"},
        /* the control: F and C of the second exchanged */
        {"flow 1/2 G1\nflow C\nflow F\nflow 1/2 G2", 2, "1/2 F'C - 1/2 C'F"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        OWN_TABLE *t = frozen(known[i].name);
        OWN_SUM error = defect_of(t, known[i].degree);
        if (!sum_is(&error, t->colours, known[i].terms)) fail_msg("%s", known[i].name);
        assert_int_equal(order_of(t), *known[i].terms ? known[i].degree - 1 : 2);
    }
}

TEST(test_roots)
{
    static const struct {
        const char *update;
        int zero_stable, weakly;
    } known[] = {{"y + k1", 1, 0},
                 {"y[-1] + 2*k1", 1, 1},
                 {"-4*y + 5*y[-1] + 4*k1 + 2*k1[-1]", 0, 0},
                 {"2*y - y[-1] + k1 - k1[-1]", 0, 0},
                 {"1/2*y + 1/2*y[-1] + 3/2*k1", 1, 0},
                 {"y[-3] + 4*k1", 1, 1},
                 {"2*y[-1] - y[-3] + k1", 0, 0},
                 {"3/2*y - 1/2*y[-1] + 1/2*k1", 1, 0},
                 {"-y[-1] + 2*y[-2] + k1", 0, 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        OWN_TABLE *t = frozen(formed("k1 = H(y)\ny' = %s", known[i].update));
        Theory th = theory_of(t, 4);
        if (th.zero_stable != known[i].zero_stable || th.weakly_stable != known[i].weakly)
            fail_msg("%s: zero-stable %d, weakly %d", known[i].update, th.zero_stable,
                     th.weakly_stable);
    }
}

/* ---- modified equations -------------------------------------------------------------------------------------------- */

/* Euler has f - h/2 f'f + h^2 (1/3 f'f'f + 1/12 f''(f,f)). Lie-Trotter has h/2 [F,G]; with Euler's sub-steps, which
 * make symplectic Euler where F'F = G'G = 0, it has the same less h/2 (F'F + G'G). The midpoint rule has -h^2 (1/24
 * f''(f,f) + 1/6 f'f'f), its local error. Source: Hairer, Lubich, Wanner 2006, section IX.1. */
TEST(test_known)
{
    static const struct {
        const char *scheme;
        int order;
        const char *terms;
    } known[] = {
        {"euler", 3,
         "F + G - 1/2 F'F - 1/2 F'G - 1/2 G'F - 1/2 G'G + 1/3 F'F'F + 1/3 F'F'G + 1/3 F'G'F"
         "+ 1/3 F'G'G + 1/3 G'F'F + 1/3 G'F'G + 1/3 G'G'F + 1/3 G'G'G + 1/12 F''(F,F)"
         "+ 1/6 F''(F,G) + 1/12 F''(G,G) + 1/12 G''(F,F) + 1/6 G''(F,G) + 1/12 G''(G,G)"},
        {"lie-trotter", 2, "F + G + 1/2 G'F - 1/2 F'G"},
        {"transformer", 2, "F + G + 1/2 G'F - 1/2 F'G - 1/2 F'F - 1/2 G'G"},
        {"midpoint", 3,
         "F + G - 1/6 F'F'F - 1/6 F'F'G - 1/6 F'G'F - 1/6 F'G'G - 1/6 G'F'F - 1/6 G'F'G"
         "- 1/6 G'G'F - 1/6 G'G'G - 1/24 F''(F,F) - 1/12 F''(F,G) - 1/24 F''(G,G)"
         "- 1/24 G''(F,F) - 1/12 G''(F,G) - 1/24 G''(G,G)"},
        {"word:sff", 2, "F + 2 G + G'F - F'G"},
        {"lie-trotter-decoder", 2,
         "F + C + G + 1/2 C'F - 1/2 F'C + 1/2 G'F - 1/2 F'G + 1/2 G'C - 1/2 C'G"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        OWN_TABLE *t = frozen(known[i].scheme);
        OWN_SUM m = modified_of(t, known[i].order);
        if (!sum_is(&m, t->colours, known[i].terms)) fail_msg("%s", known[i].scheme);
    }
}

/* Euler's to order 12. On y' = lambda y its step is 1 + z, so the tree without branches has a coefficient of log(1 + z); on y' =
 * g(t) it is the rectangle rule, so that with n children at the root it is B_n / n!, B the Bernoulli numbers. The cuts of one
 * edge are among all cuts. */
TEST(far_modified_equation)
{
    enum { MOST = 12 };
    static const double bernoulli[MOST] = {1,       -1. / 2, 1. / 6,   0, -1. / 30, 0,
                                           1. / 42, 0,       -1. / 30, 0, 5. / 66,  0};
    OWN_TABLE *t = frozen("euler");
    OWN_FOREST *f = NULL, *all = forest_of(TREE_MAX, 1);
    assert_int_equal(forest_edges(MOST, 1, 0, &f), 0);
    SCOPED(rationals_drop) mpq_t *c = rationals_new(f->count), *whole = rationals_new(all->count);
    assert_int_equal(theory_modified(f, t, c), 0);
    assert_int_equal(theory_modified(all, t, whole), 0);
    for (size_t i = 0; i < all->count; i++) assert_true(mpq_equal(c[i], whole[i]));
    double factorial = 1;
    char tall[4 * MOST] = "F";
    for (int n = 1; n <= MOST; n++) {
        char bush[4 * MOST] = "F";
        for (int k = 1; k < n; k++) strcat(bush, "'");
        for (int k = 1; k < n; k++) strcat(bush, k == 1 ? n == 2 ? "F" : "(F" : ",F");
        if (n > 2) strcat(bush, ")");
        double wide = mpq_get_d(c[tree_named(f, bush)]), high = mpq_get_d(c[tree_named(f, tall)]);
        if (fabs(wide - bernoulli[n - 1] / factorial) > 1e-15 ||
            fabs(high - (n % 2 ? 1. : -1.) / n) > 1e-15)
            fail_msg("order %d: %g, %g", n, wide, high);
        factorial *= n;
        memmove(tall + 2, tall, strlen(tall) + 1);
        memcpy(tall, "F'", 2);
    }
    assert_int_equal(forest_edges(MOST + 1, 1, 0, &f), ERR_INPUT);
}

TEST(test_refused)
{
    static const struct {
        const char *text;
        int code;
    } schemes[] = {{"k1 = H(y)\ny' = y[-1] + 2*k1", ERR_INPUT},
                   {"k1 = H(y)\ny' = y + 3/2*k1 - 1/2*k1[-1]", ERR_INPUT},
                   {"k1 = H(y)\ny' = 2*y + k1", ERR_ACCURACY},
                   {"k1 = H(y)\nk2 = G(k1)\ny' = y + k1 + k2", ERR_ACCURACY}};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        OWN_TABLE *t = frozen(schemes[i].text);
        OWN_SUM m = sum_new(2, t->colours);
        assert_int_equal(theory_modified(m.f, t, m.c), schemes[i].code);
    }
}

/* ---- fields of time: trees with clocks, against the rule of rows and against measured errors -------------- */

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
        for (size_t k = 0; k < t->points; k++) leaves_out |= t->point[k].ops & ~t->special;
        if (leaves_out ? with > without.order : with != without.order)
            fail_msg("%s: %d with clocks, %d without", t->name, with, without.order);
    }
}

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

/* The midpoint rule evaluates F elsewhere than the rule of rows says: what is linear does not depend on time. */
TEST(nodes_of_what_is_linear)
{
    static const char rule[] =
        "k1 = F(y)\nk2 = G(y)\nk3 = F(y + 1/2*k1 + 1/2*k2 @ 1/4)\nk4 = G(y + 1/2*k1 + 1/2*k2)\n"
        "y' = y + k3 + k4";
    for (int linear = 0; linear < 2; linear++) {
        char text[256];
        snprintf(text, sizeof text, "%s%s", linear ? "linear F\n" : "", rule);
        OWN_TABLE *t = frozen(text);
        assert_int_equal(theory_of(t, 5).order, 1 + linear);
    }
}

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

/* ---- high orders ------------------------------------------------------------------------------------------ */

/* Appends "+ c*k1", of the stage's evaluation in each operator. */
static size_t add_slopes(char *out, const char *ops, const char *c, int stage)
{
    size_t n = 0;
    for (size_t i = 0; ops[i]; i++)
        n += (size_t)sprintf(out + n, " + %s*k%zu", c, (size_t)(stage - 1) * strlen(ops) + i + 1);
    return n;
}

/* Appends y + h f(y) + 2 h f(z_2) + 2 h f(z_4) + ... or y + 2 h f(z_1) + 2 h f(z_3) + ..., the midpoint rule's z_m with h = 1/n.
 * Stage 1 is at y, z_j at first + j - 1. c: a factor. */
static size_t add_midpoint(char *out, const char *ops, int m, int n, int first, const char *c)
{
    char weight[64];
    size_t at = 0;
    snprintf(weight, sizeof weight, "%s1/%d", c, n);
    if (m % 2) at += add_slopes(out, ops, weight, 1);
    snprintf(weight, sizeof weight, "%s2/%d", c, n);
    for (int j = m % 2 ? 2 : 1; j < m; j += 2)
        at += add_slopes(out + at, ops, weight, first + j - 1);
    return at;
}

/* Writes the midpoint rule of 2, 4, .., 2 k steps extrapolated to order 2 k (Gragg 1965): its error has even powers of h
 * alone. */
static Table *extrapolated(int k, const char *ops)
{
    static char text[1 << 18], update[1 << 16];
    size_t at = 0, end = (size_t)sprintf(update, "\ny' = y");
    int stages = 0, first = 2, steps = 0;
    if (strchr(ops, 'C')) at += (size_t)sprintf(text, "decoder\n");
    for (int i = 1; i <= k; i++, first += steps - 1) {
        steps = 2 * i;
        long over = 1, under = 1;
        for (int j = 1; j <= k; j++)
            if (j != i) over *= i * i, under *= i * i - j * j;
        char weight[64];
        snprintf(weight, sizeof weight, "(%ld/%ld)*", over, under);
        for (int m = i > 1; m < steps; m++)
            for (size_t c = 0; ops[c]; c++) {
                at += (size_t)sprintf(text + at, "%sk%d = %c(y", stages ? "\n" : "", stages + 1,
                                      ops[c]);
                stages++;
                at += add_midpoint(text + at, ops, m, steps, first, "");
                at += (size_t)sprintf(text + at, ")");
            }
        end += add_midpoint(update + end, ops, steps, steps, first, weight);
    }
    sprintf(text + at, "%s", update);
    return frozen(text);
}

TEST(orders_of_extrapolation)
{
    static const struct {
        int k, order, searched;
        const char *ops;
    } known[] = {{6, 12, 20, "H"}, {4, 8, 10, "FG"}, {5, 10, 10, "FG"}, {4, 8, 8, "FCG"}};
    double norm2 = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        OWN_TABLE *t = extrapolated(known[i].k, known[i].ops);
        Theory th = theory_of(t, CONDITIONS_MAX);
        if (th.order != known[i].order || th.searched != known[i].searched ||
            th.order_exact != th.order || th.order_proved != th.order)
            fail_msg("%s: %d of %d, %d proved", known[i].ops, th.order, th.searched,
                     th.order_proved);
        if (i == 1) norm2 = th.error_norm2;
        /* what floats of 192 bits alone gave */
        if (i == 0)
            assert_true(fabs(th.error_norm2_one_colour / 4.671101891506443e-15 - 1) < 1e-15);
    }
    OWN_TABLE *h =
        extrapolated(4, "H"); /* its norm in two colours is one sum over the trees of one */
    assert_true(fabs(theory_of(h, 20).error_norm2 / norm2 - 1) < 1e-14);
}

/* A defect far below the terms that it is a sum of has all its digits: b c is 1/2 + 10^-27. */
TEST(small_defects)
{
    OWN_TABLE *t = frozen("k1 = H(y)\nk2 = H(y + 3/7*k1)\n"
                          "y' = y + (-1/6 - 7/3/10^27)*k1 + (7/6 + 7/3/10^27)*k2");
    SCOPED(conditions_drop) Conditions *c = NULL;
    Level l;
    assert_int_equal(conditions_new(t, 0, 0, &c), 0);
    assert_int_equal(conditions_at(c, 2, &l), 0);
    if (!(fabs(l.largest / 1e-27 - 1) < 1e-15 && fabs(l.one_colour / 1e-54 - 1) < 1e-15))
        fail_msg("%.17g, %.17g", l.largest, l.one_colour);
}

/* Two slopes at one point cancel. Their weights are so long that a proof would take thousands of primes. */
TEST(what_is_not_proved)
{
    for (unsigned long i = 0; i < 2; i++) {
        OWN_TABLE *t =
            frozen("k1 = H(y)\nk2 = H(y + k1)\nk3 = H(y + k1)\ny' = y + 1/2*k1 + 1/4*k2 + 1/4*k3");
        OWN_RATIONAL x;
        mpq_init(x);
        mpz_ui_pow_ui(mpq_denref(x), 3, i ? 2000000 : 20);
        mpz_set_ui(mpq_numref(x), 1);
        for (size_t k = 0; k < t->update.terms; k++) {
            Term *term = &t->update.term[k];
            int stage = term->eval < 0 ? 0 : t->eval[term->eval].stage;
            if (stage) (stage == 1 ? mpq_add : mpq_sub)(term->c, term->c, x);
        }
        Theory th = theory_of(t, 2);
        assert_int_equal(th.order_exact, 2);
        assert_int_equal(th.order_proved, i ? 0 : 2);
    }
}

/* Euler's method has the defect -1/gamma on every tree above order 1. */
TEST(all_trees_are_looked_at)
{
    static const struct {
        const char *text;
        int colours, most;
    } known[] = {{"k1 = H(y)\ny' = y + k1", 1, 14},
                 {"k1 = F(y)\nk2 = G(y)\ny' = y + k1 + k2", 2, 8},
                 {"decoder\nk1 = F(y)\nk2 = G(y)\nk3 = C(y)\ny' = y + k1 + k2 + k3", 3, 6}};
    for (size_t i = 0; i < 3; i++) {
        OWN_TABLE *t = frozen(known[i].text);
        OWN_FOREST *f = NULL;
        SCOPED(conditions_drop) Conditions *c = NULL;
        assert_int_equal(forest_trees(known[i].most, known[i].colours, 0, &f), 0);
        assert_int_equal(conditions_new(t, 0, 0, &c), 0);
        for (int order = 1; order <= known[i].most; order++) {
            double sum = 0, largest = 0;
            Level l;
            assert_int_equal(conditions_at(c, order, &l), 0);
            for (size_t k = f->first[order]; order > 1 && k < f->first[order + 1]; k++) {
                double d = 1 / ((double)f->tree[k].gamma * (double)f->tree[k].sigma);
                sum += d * d;
                largest = fmax(largest, d);
            }
            assert_int_equal(l.exact, order == 1);
            if (!(fabs((i ? l.norm2 : l.one_colour) - sum) <= 1e-13 * sum) ||
                !(fabs(l.largest - largest) <= 1e-15 * largest))
                fail_msg("%s: order %d: %.17g", known[i].text, order, l.norm2);
        }
    }
}

/* A splitting of fractions is taken in midpoints, the same one as decimals in Gauss's nodes; of a flow in two parts the theory is
 * that of the whole. */
TEST(flows_in_both_nodes)
{
    OWN_TABLE *whole =
                  scheme("flow 7/24 G\nflow 2/3 F\nflow 3/4 G\nflow -2/3 F\nflow -1/24 G\nflow F"),
              *parted = scheme(
                  "flow 1/4 G\nflow 1/24 G\nflow 2/3 F\nflow 1/4 G\nflow 1/2 G\nflow -2/3 F\n"
                  "flow -1/24 G\nflow 1/3 F\nflow 2/3 F");
    Theory th = theory_of(whole, 8), same = theory_of(parted, 8);
    assert_int_equal(th.order, 3);
    assert_true(same.order == th.order && same.error_norm2 == th.error_norm2);
    whole->exact = parted->exact = 0;
    Theory decimal = theory_of(whole, 8);
    same = theory_of(parted, 8);
    assert_true(decimal.order == 3 && same.order == 3);
    assert_true(fabs(decimal.error_norm2 / th.error_norm2 - 1) < 1e-14);
    assert_true(same.error_norm2 == decimal.error_norm2);
}

TEST_MAIN(zoo_begin, zoo_end)
