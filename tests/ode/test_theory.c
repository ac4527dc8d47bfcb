/* test_theory.c: trees, series, exact order, error terms, root condition, stability limits: against known values
 * (design section 4; ode-facts) and against identities. */
#include "tests/lib/test.h"

#include "tests/lib/schemes.h"

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

/* Names are unique, and those of design section 4 are among them. */
TEST(test_names)
{
    static const char *const known[] = {
        "F", "F'F", "G'F", "F''(F,G)", "F'G'F", "F'F''(F,G)", "F''''(F,F,F,G)", "G''(F'F,G)"};
    OWN_FOREST *f = forest_of(5, 2);
    char(*name)[64] = malloc(f->count * sizeof *name);
    int found = 0;
    for (size_t i = 0; i < f->count; i++) {
        assert_int_equal(tree_name(f, i, name[i], sizeof name[i]), 0);
        for (size_t j = 0; j < i; j++) assert_string_not_equal(name[i], name[j]);
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            found += strcmp(name[i], known[k]) == 0;
    }
    assert_int_equal(found, sizeof known / sizeof *known);
    free(name);
}

/* Checks that flows of one field compose as a group, and that composition of different flows is associative and does
 * not commute. */
static void check_composition(int colours)
{
    Series *s[6];
    mpq_t part[3][COLOURS]; /* of a field of all colours, of F, of the last colour */
    OWN_RATIONAL q, half;
    mpq_inits(q, half, NULL);
    mpq_set_ui(half, 1, 2);
    for (int op = 0; op < COLOURS; op++) {
        mpq_inits(part[0][op], part[1][op], part[2][op], NULL);
        mpq_set_ui(part[0][op], (unsigned)op + 1, 3);
        mpq_set_ui(part[1][op], op == OP_F, 1);
        mpq_set_ui(part[2][op], op == colours - 1, 1);
    }
    OWN_FOREST *f = forest_of(colours == 2 ? 6 : 5, colours);
    for (int i = 0; i < 6; i++) s[i] = series_zero(f);
    mpq_set_si(q, -3, 7);
    series_exact(s[0], q, part[0]);
    series_exact(s[1], half, part[0]);
    series_compose(s[2], s[0], s[1]);
    mpq_add(q, q, half);
    series_exact(s[3], q, part[0]);
    assert_true(series_equal(s[2], s[3]));
    series_exact(s[1], half, part[1]);
    series_exact(s[2], half, part[2]);
    series_compose(s[3], s[0], s[1]);
    series_compose(s[4], s[3], s[2]); /* (0 1) 2 */
    series_compose(s[3], s[1], s[2]);
    series_compose(s[5], s[0], s[3]); /* 0 (1 2) */
    assert_true(series_equal(s[4], s[5]));
    series_compose(s[4], s[2], s[1]);
    assert_false(series_equal(s[3], s[4]));
    for (int i = 0; i < 6; i++) series_free(s[i]);
    for (int op = 0; op < COLOURS; op++) mpq_clears(part[0][op], part[1][op], part[2][op], NULL);
}

TEST(test_composition)
{
    check_composition(2);
    check_composition(3);
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

/* Sum b c = theta (S - 1) / 2, so the h^2 term in one colour is (theta (S - 1) - 1) / 2 F'F: order 2 at 1/(S - 1) and
 * nowhere else, and at S = 2 an error proportional to |theta - 1|. At 1/(S - 1) it is SSPRK(S,2), whose coefficient
 * of strong stability is S - 1 (Gottlieb, Ketcheson, Shu 2011, section 6.1). */
TEST(test_dial_order)
{
    static const int theta[][2] = {{0, 1}, {1, 4}, {1, 3}, {1, 2}, {3, 4}, {1, 1}, {3, 2}, {2, 1}};
    for (int S = 2; S <= 5; S++)
        for (size_t i = 0; i < sizeof theta / sizeof *theta; i++) {
            char name[32];
            double ssp, half = ((S - 1) * theta[i][0] / (double)theta[i][1] - 1) / 2;
            snprintf(name, sizeof name, "dial:%d,%d/%d", S, theta[i][0], theta[i][1]);
            OWN_TABLE *t = frozen(name);
            Theory th = theory_of(t, 4);
            assert_int_equal(stability_ssp(t, &ssp), 0);
            int second = (S - 1) * theta[i][0] == theta[i][1];
            if (th.order != 1 + second) fail_msg("%s: order %d", name, th.order);
            if (!second && !(fabs(th.error_norm2_one_colour - half * half) <= 1e-14))
                fail_msg("%s: %.17g", name, th.error_norm2_one_colour);
            if (second && !(fabs(ssp - (S - 1)) <= 1e-9)) fail_msg("%s: SSP %.17g", name, ssp);
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
        char text[256];
        sprintf(text, "k1 = H(y)\ny' = %s", known[i].update);
        OWN_TABLE *t = frozen(text);
        Theory th = theory_of(t, 4);
        if (th.zero_stable != known[i].zero_stable || th.weakly_stable != known[i].weakly)
            fail_msg("%s: zero-stable %d, weakly %d", known[i].update, th.zero_stable,
                     th.weakly_stable);
    }
}

/* Methods that no file of tests has (classics.scheme, tableaus.jsonl) have their orders, and near-misses that fail one condition have lower ones. */
TEST(test_unseen)
{
    static const struct {
        const char *text;
        int order;
    } known[] = {
        {"k1 = H(y)\nk2 = H(y + 1/2*k1)\nk3 = H(y - k2 + 2*k2)\ny' = y + 1/6*k1 + 2/3*k2 + "
         "1/6*k3\n",
         2},
        {"k1 = F(y)\nk2 = G(y)\nk3 = F(y + k1 + k2)\nk4 = G(y + k1 + k2)\n"
         "y' = y + 1/2*k1 + 1/2*k2 + 1/2*k3 + 1/2*k4\n",
         2},
        {"k1 = F(y)\nk2 = G(y)\nk3 = F(y + k1 + k2)\nk4 = G(y + k1 + 1/2*k2)\n"
         "y' = y + 1/2*k1 + 1/2*k2 + 1/2*k3 + 1/2*k4\n",
         1},
        {"k1 = F(y)\nk2 = G(y)\ny' = y + 3/2*k1 - 1/2*k1[-1] + 3/2*k2 - 1/2*k2[-1]\n", 2},
        {"k1 = F(y)\nk2 = G(y)\ny' = y + 3/2*k1 - 1/2*k1[-1] + k2\n", 1},
        {"k1 = H(y)\ny' = y[-1] + 2*k1\n", 2},
        /* two-step Runge-Kutta (Jackiewicz, Tracogna 1995): sum b = 1, sum b c = 1/4 + 1/2 - 1/4 */
        {"k1 = H(y)\nk2 = H(y + 1/2*k1)\ny' = y + 1/2*k1 + 1/2*k2 - 1/2*k1[-1] + 1/2*k2[-1]\n", 2},
        {"k1 = H(y + k2[-1] - k1[-1])\nk2 = H(y + 1/2*k1)\ny' = y + k2\n", 2},
        {"k1 = H(y)\nk2 = H(y + 3/2*k1 - 1/2*k1[-1])\ny' = y + 1/2*k1 + 1/2*k2\n",
         2},                                            /* AB2, then trapezoid */
        {"k1 = H(y)\nk2 = H(y + 3/2*k1 - 1/2*k1[-1])\n" /* Adams predictor-corrector of order 3 */
         "y' = y + 5/12*k2 + 8/12*k1 - 1/12*k1[-1]\n",
         3},
        {"flow 1/2 G\nflow F\nflow 1/2 G\nflow 1/2 F\nflow -1/2 F\n", 2},
        {"flow 1/3 F\nflow G\nflow 2/3 F\n", 1},
        {"flow 1/3 F\nflow G\nflow 1/2 F\n", 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        OWN_TABLE *t = frozen(known[i].text);
        int order = theory_of(t, 7).order;
        if (order != known[i].order)
            fail_msg("order %d, not %d:\n%s", order, known[i].order, known[i].text);
    }
}

TEST_MAIN(zoo_begin, zoo_end)
