/* test_theory.c: trees, series, exact order, error terms, root condition, stability limits: against known values
 * (design section 4; ode-facts) and against identities. */
#include "tests/lib/test.h"

#include "kernels/error.h"
#include "kernels/memory.h"
#include "tests/lib/schemes.h"

/* Checks that the sum over trees of order n of n!/(gamma sigma) is (n-1)! colours^n (ode-facts 2.3). */
static void check_trees(int colours, const size_t *known)
{
    Forest *f;
    int most = colours == 2 ? 7 : 6;
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
    check_trees(2, (const size_t[]){0, 2, 4, 14, 52, 214, 916, 4116});
    check_trees(3, (const size_t[]){0, 3, 9, 45, 246, 1485, 9432});
}

/* Names are unique, and those of design section 4 are among them. */
TEST(test_names)
{
    static const char *const known[] = {
        "F", "F'F", "G'F", "F''(F,G)", "F'G'F", "F'F''(F,G)", "F''''(F,F,F,G)", "G''(F'F,G)"};
    Forest *f;
    assert_int_equal(forest_new(5, 2, &f), 0);
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
    forest_free(f);
}

static void assert_equal_series(const Series *a, const Series *b)
{
    assert_true(mpq_equal(a->empty, b->empty));
    for (size_t i = 0; i < a->forest->count; i++) assert_true(mpq_equal(a->a[i], b->a[i]));
}

/* Checks that flows of one field compose as a group, and that composition of different flows is associative and does
 * not commute. */
static void check_composition(int colours)
{
    Forest *f;
    Series *s[6];
    int last = colours - 1;
    mpq_t q, half, all[COLOURS], F[COLOURS], other[COLOURS];
    mpq_inits(q, half, NULL);
    mpq_set_ui(half, 1, 2);
    for (int op = 0; op < COLOURS; op++) {
        mpq_inits(all[op], F[op], other[op], NULL);
        mpq_set_ui(all[op], (unsigned)op + 1, 3);
    }
    mpq_set_ui(F[OP_F], 1, 1);
    mpq_set_ui(other[last], 1, 1);
    assert_int_equal(forest_new(colours == 2 ? 6 : 5, colours, &f), 0);
    for (int i = 0; i < 6; i++) assert_int_equal(series_new(f, &s[i]), 0);
    mpq_set_si(q, -3, 7);
    series_exact(s[0], q, all);
    series_exact(s[1], half, all);
    series_compose(s[2], s[0], s[1]);
    mpq_add(q, q, half);
    series_exact(s[3], q, all);
    assert_equal_series(s[2], s[3]);
    series_exact(s[1], half, F);
    series_exact(s[2], half, other);
    series_compose(s[3], s[0], s[1]);
    series_compose(s[4], s[3], s[2]); /* (0 1) 2 */
    series_compose(s[3], s[1], s[2]);
    series_compose(s[5], s[0], s[3]); /* 0 (1 2) */
    assert_equal_series(s[4], s[5]);
    series_compose(s[4], s[2], s[1]);
    int same = 1;
    for (size_t i = 0; i < f->count; i++) same = same && mpq_equal(s[3]->a[i], s[4]->a[i]);
    assert_false(same);
    for (int i = 0; i < 6; i++) series_free(s[i]);
    forest_free(f);
    mpq_clears(q, half, NULL);
    for (int op = 0; op < COLOURS; op++) mpq_clears(all[op], F[op], other[op], NULL);
}

TEST(test_composition)
{
    check_composition(2);
    check_composition(3);
}

/* The table of design section 4, and results of the schemes' sources. */
static const struct {
    const char *name;
    int order;
    double norm2; /* in one colour where every stage is H; 0: not known */
} orders[] = {
    {"euler", 1, 0.25},
    {"lie-trotter", 1, 0.5},
    {"strang-marchuk", 2, 0},
    {"strang-marchuk-fgf", 2, 0},
    {"transformer", 1, 1},
    {"lie-trotter:heun", 1, 0.5},
    {"macaron", 1, 0.3125},
    {"strang-marchuk:heun", 2, 0},
    {"strang-marchuk:midpoint", 2, 0},
    {"strang-marchuk:rk4", 2, 0},
    {"att-ffn-att", 1, 0},
    {"heun", 2, 5.0 / 144},
    {"midpoint", 2, 17.0 / 576},
    {"ralston", 2, 1.0 / 36},
    {"rk3", 3, 0},
    {"ssprk3", 3, 0},
    {"rk4", 4, 349.0 / 1658880},
    {"rk4-38", 4, 0},
    {"heun-layer", 1, 1},
    {"rk4-layer", 1, 1},
    {"rk2-unit", 0, 0},
    {"rk2-scalar", 0, 0},
    {"rk2-gate", 1, 0},
    {"rk2-sigmoid", 1, 0},
    {"rk2-tanh", 0, 0},
    {"rk2-dlcl", 1, 1},
    {"rk2-released", 0, 0},
    {"rk4-released", 0, 0},
    {"polynet", 0, 0},
    {"lm-resnet", 0, 0},
    {"dlcl", 1, 1},
    {"leapfrog", 2, 2.0 / 9},
    {"ab2", 2, 0.34722222222222222},
    {"ab3", 3, 1.6875},
    {"ab4", 4, 0},
    {"ab5", 5, 0},
    {"stoermer-verlet", 2, 0},
    {"ruth3", 3, 0},
    {"yoshida4", 4, 0},
    {"yoshida4:rk4", 4, 0},
    {"word:s", 1, 0},
    {"word:sf", 1, 0.5},
    {"word:sffs", 2, 0},
    {"looped:3", 1, 0},
    {"looped-learn", 1, 0.25},
    {"looped-chebyshev", 1, 0.555025},
    {"fgfg2", 2, 0},
    {"repeat:2", 0, 0},
};

TEST(test_orders)
{
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        Table *t = frozen(orders[i].name);
        Theory th;
        assert_int_equal(theory_search(t, 6, &th), 0);
        int want =
            strcmp(orders[i].name, "word:s") == 0 ? 6 : orders[i].order; /* one operator: exact */
        if (th.order != want) fail_msg("%s: order %d, not %d", orders[i].name, th.order, want);
        double norm = orders[i].norm2;
        double found = table_over(t, OP_H) ? th.error_norm2_one_colour : th.error_norm2;
        if (norm > 0 && !(fabs(found - norm) <= 1e-14 * norm))
            fail_msg("%s: error norm^2 %.17g, not %.17g", orders[i].name, found, norm);
        table_free(t);
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
        Theory th;
        Table *t = frozen(known[i].name);
        assert_int_equal(theory_search(t, 3, &th), 0);
        assert_true(fabs(th.error_norm2 - known[i].norm2) <= 1e-14);
        table_free(t);
    }
    for (size_t i = 0; i < zoo.count; i++) {
        Theory th;
        Forest *f;
        Table *t = table_freeze(zoo.scheme[i]);
        assert_int_equal(theory_search(t, 6, &th), 0);
        assert_int_equal(forest_new(th.order + 1, t->colours, &f), 0);
        double *c = memory_new(f->count, sizeof *c), sum = 0;
        if (th.expands) {
            assert_int_equal(theory_terms(f, t, th.order + 1, c), 0);
            for (size_t k = 0; k < f->count; k++) sum += c[k] * c[k];
            if (!(fabs(th.error_norm2 - sum) <= 1e-12 * sum))
                fail_msg("%s: %.17g, not %.17g", t->name, th.error_norm2, sum);
        }
        int one = !isnan(th.error_norm2_one_colour);
        assert_int_equal(one, th.expands && table_over(t, OP_H));
        if (one) assert_true(th.error_norm2_one_colour < th.error_norm2);
        memory_free(c);
        forest_free(f);
        table_free(t);
    }
}

/* Changes a coefficient of an exact scheme. The order falls, or the leading error differs. */
static void change_and_check(const char *name, mpq_ptr c, Table *t, const Theory *before,
                             int *caught)
{
    mpq_t keep, step;
    Theory th;
    mpq_inits(keep, step, NULL);
    mpq_set(keep, c);
    mpq_set_ui(step, 1, 7);
    mpq_add(c, c, step);
    assert_int_equal(theory_search(t, before->order + 1, &th), 0);
    if (th.order >= before->order && th.error_norm2 == before->error_norm2)
        fail_msg("%s: a changed coefficient went unseen", name);
    ++*caught;
    mpq_set(c, keep);
    mpq_clears(keep, step, NULL);
}

TEST(test_mutants)
{
    int caught = 0;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (orders[i].order < 1 || orders[i].order > 3 || strncmp(orders[i].name, "word:s", 6) == 0)
            continue;
        Table *t = frozen(orders[i].name);
        Theory th;
        assert_int_equal(theory_search(t, orders[i].order + 1, &th), 0);
        for (size_t k = 0; k < t->update.terms; k++)
            change_and_check(orders[i].name, t->update.term[k].c, t, &th, &caught);
        for (size_t p = 0; p < t->points; p++)
            for (size_t k = 0; k < t->point[p].row.terms; k++)
                change_and_check(orders[i].name, t->point[p].row.term[k].c, t, &th, &caught);
        for (size_t k = 0; k < t->flows; k++)
            change_and_check(orders[i].name, t->flow[k].c, t, &th, &caught);
        table_free(t);
    }
    assert_true(caught > 200);
}

/* Returns the step of h of a table as a series, over a part of h: every term times part^|t|. */
static Series *step_series(const Forest *f, const char *name, unsigned parts)
{
    Series *s;
    Table *t = frozen(name);
    assert_int_equal(series_step(f, t, &s), 0);
    table_free(t);
    mpq_t part;
    mpq_init(part);
    mpq_set_ui(part, 1, parts);
    for (int n = 1; n <= f->max; n++)
        for (size_t i = f->first[n]; i < f->first[n + 1]; i++)
            for (int k = 0; k < n; k++) mpq_mul(s->a[i], s->a[i], part);
    mpq_clear(part);
    return s;
}

/* dial:S,0 is one Euler step, and dial:S,1/S is S of them one after another. Another theta is neither. */
TEST(test_dial_is_euler)
{
    Forest *f;
    assert_int_equal(forest_new(4, 2, &f), 0);
    for (unsigned S = 2; S <= 5; S++) {
        char name[32];
        Series *whole = step_series(f, "euler", 1), *part = step_series(f, "euler", S);
        Series *power = step_series(f, "euler", S), *more;
        for (unsigned k = 1; k < S; k++) {
            assert_int_equal(series_new(f, &more), 0);
            series_compose(more, power, part);
            series_free(power);
            power = more;
        }
        for (unsigned k = 0; k < 3; k++) {
            snprintf(name, sizeof name,
                     k == 0   ? "dial:%u,0"
                     : k == 1 ? "dial:%u,1/%u"
                              : "dial:%u-.3",
                     S, S);
            Series *dial = step_series(f, name, 1);
            int same = 1;
            for (size_t i = 0; i < f->count; i++)
                same = same && mpq_equal(dial->a[i], (k ? power : whole)->a[i]);
            if (same != (k < 2)) fail_msg("%s", name);
            series_free(dial);
        }
        series_free(whole);
        series_free(part);
        series_free(power);
    }
    forest_free(f);
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
            Theory th;
            double ssp, half = ((S - 1) * theta[i][0] / (double)theta[i][1] - 1) / 2;
            snprintf(name, sizeof name, "dial:%d,%d/%d", S, theta[i][0], theta[i][1]);
            Table *t = frozen(name);
            assert_int_equal(theory_search(t, 4, &th), 0);
            assert_int_equal(stability_ssp(t, &ssp), 0);
            int second = (S - 1) * theta[i][0] == theta[i][1];
            if (th.order != 1 + second) fail_msg("%s: order %d", name, th.order);
            if (!second && !(fabs(th.error_norm2_one_colour - half * half) <= 1e-14))
                fail_msg("%s: %.17g", name, th.error_norm2_one_colour);
            if (second && !(fabs(ssp - (S - 1)) <= 1e-9)) fail_msg("%s: SSP %.17g", name, ssp);
            table_free(t);
        }
}

/* Leading error terms by name. Terms without a name here are zero. */
typedef struct {
    const char *term;
    long p;
    unsigned long q;
} Coefficient;

static void check_terms(const char *name, int degree, const Coefficient *known, size_t n)
{
    Table *t = frozen(name);
    Forest *f;
    assert_int_equal(forest_new(degree, 2, &f), 0);
    mpq_t *defect = malloc(f->count * sizeof(mpq_t)), empty, want;
    for (size_t i = 0; i < f->count; i++) mpq_init(defect[i]);
    mpq_inits(empty, want, NULL);
    assert_int_equal(theory_defect(f, t, defect, empty), 0);
    assert_true(mpq_sgn(empty) == 0);
    for (size_t i = 0; i < f->count; i++) {
        char term[64];
        assert_int_equal(tree_name(f, i, term, sizeof term), 0);
        mpq_set_ui(want, 0, 1);
        for (size_t k = 0; k < n; k++)
            if (strcmp(known[k].term, term) == 0) mpq_set_si(want, known[k].p, known[k].q);
        mpq_canonicalize(want);
        if (!mpq_equal(want, defect[i])) {
            gmp_printf("%s: %s is %Qd, not %Qd\n", name, term, defect[i], want);
            fail();
        }
    }
    for (size_t i = 0; i < f->count; i++) mpq_clear(defect[i]);
    mpq_clears(empty, want, NULL);
    free(defect);
    forest_free(f);
    table_free(t);
}

#define CHECK_TERMS(name, degree, ...)                            \
    check_terms(name, degree, (const Coefficient[]){__VA_ARGS__}, \
                sizeof((const Coefficient[]){__VA_ARGS__}) / sizeof(Coefficient))

/* Brackets written out for Strang: 1/12 [F,[F,G]] - 1/24 [G,[G,F]], [A,B] = B'A - A'B, so
 * [F,[F,G]] = [F,G]'F - F'[F,G] with [F,G] = G'F - F'G
 *           = G''(F,F) + G'F'F - F''(F,G) - F'G'F - F'G'F + F'F'G, and the same with F, G exchanged. */
TEST(test_leading_terms)
{
    CHECK_TERMS("lie-trotter", 2, {"G'F", 1, 2}, {"F'G", -1, 2});
    CHECK_TERMS("transformer", 2, {"G'F", 1, 2}, {"F'G", -1, 2}, {"F'F", -1, 2}, {"G'G", -1, 2});
    CHECK_TERMS("macaron", 2, {"F'F", -1, 2}, {"G'G", -1, 4});
    CHECK_TERMS("heun-layer", 2, {"G'F", 1, 1});
    CHECK_TERMS("rk4-layer", 2, {"G'F", 1, 1});
    CHECK_TERMS("strang-marchuk", 3, {"G''(F,F)", 1, 12}, {"G'F'F", 1, 12}, {"F''(F,G)", -1, 12},
                {"F'G'F", -1, 6}, {"F'F'G", 1, 12}, {"F''(G,G)", -1, 24}, {"F'G'G", -1, 24},
                {"G''(F,G)", 1, 24}, {"G'F'G", 1, 12}, {"G'G'F", -1, 24});
    /* leapfrog: -1/3 h^3 y''', y''' = f''(f,f) + f'f'f in both colours */
    CHECK_TERMS("leapfrog", 3, {"F''(F,F)", -1, 3}, {"F''(F,G)", -2, 3}, {"F''(G,G)", -1, 3},
                {"G''(F,F)", -1, 3}, {"G''(F,G)", -2, 3}, {"G''(G,G)", -1, 3}, {"F'F'F", -1, 3},
                {"F'F'G", -1, 3}, {"F'G'F", -1, 3}, {"F'G'G", -1, 3}, {"G'F'F", -1, 3},
                {"G'F'G", -1, 3}, {"G'G'F", -1, 3}, {"G'G'G", -1, 3});
}

/* Every defect of order p+1 of Adams-Bashforth is the error constant -5/12, -3/8, -251/720 times order!/(gamma
 * sigma), because y^(p+1) is that sum of elementary differentials. */
TEST(test_adams)
{
    static const struct {
        const char *name;
        int order;
        double constant;
    } known[] = {{"ab2", 2, -5.0 / 12},
                 {"ab3", 3, -3.0 / 8},
                 {"ab4", 4, -251.0 / 720},
                 {"ab5", 5, -95.0 / 288}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        Table *t = frozen(known[k].name);
        Forest *f;
        assert_int_equal(forest_new(known[k].order + 1, 2, &f), 0);
        mpq_t *defect = malloc(f->count * sizeof(mpq_t)), empty;
        for (size_t i = 0; i < f->count; i++) mpq_init(defect[i]);
        mpq_init(empty);
        assert_int_equal(theory_defect(f, t, defect, empty), 0);
        for (size_t i = 0; i < f->count; i++) {
            const Tree *tree = &f->tree[i];
            double factorial = tgamma(tree->order + 1);
            double want =
                tree->order <= known[k].order
                    ? 0
                    : known[k].constant * factorial / ((double)tree->gamma * (double)tree->sigma);
            assert_true(fabs(mpq_get_d(defect[i]) - want) <= 1e-14);
            mpq_clear(defect[i]);
        }
        mpq_clear(empty);
        free(defect);
        forest_free(f);
        table_free(t);
    }
}

/* A symmetric composition steps back its steps: S(-h) after S(h) is the identity. */
TEST(test_symmetry)
{
    static const struct {
        const char *name;
        int symmetric;
    } known[] = {{"strang-marchuk", 1},
                 {"stoermer-verlet", 1},
                 {"yoshida4", 0},
                 {"lie-trotter", 0},
                 {"ruth3", 0}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        Table *t = frozen(known[k].name), *back = table_copy(t);
        Forest *f;
        Series *a, *b, *both;
        for (size_t i = 0; i < t->flows; i++) mpq_neg(back->flow[i].c, t->flow[i].c);
        assert_int_equal(forest_new(5, 2, &f), 0);
        assert_int_equal(series_step(f, t, &a), 0);
        assert_int_equal(series_step(f, back, &b), 0);
        assert_int_equal(series_new(f, &both), 0);
        series_compose(both, a, b);
        double largest = 0;
        for (size_t i = 0; i < f->count; i++) largest = fmax(largest, fabs(mpq_get_d(both->a[i])));
        if (strcmp(known[k].name, "yoshida4") == 0)
            assert_true(largest < 1e-50); /* 60 decimals */
        else
            assert_true((largest == 0) == known[k].symmetric);
        series_free(a);
        series_free(b);
        series_free(both);
        forest_free(f);
        table_free(t);
        table_free(back);
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
        Theory th;
        sprintf(text, "scheme a\nk1 = H(y)\ny' = %s\n", known[i].update);
        Table *t = frozen(text);
        assert_int_equal(theory_search(t, 4, &th), 0);
        if (th.zero_stable != known[i].zero_stable || th.weakly_stable != known[i].weakly)
            fail_msg("%s: zero-stable %d, weakly %d", known[i].update, th.zero_stable,
                     th.weakly_stable);
        table_free(t);
    }
}

/* Ends of the stability intervals are those of Hairer, Wanner 1996, IV.2 and V.1 (one-step and Adams), leapfrog [-i,
 * i]. */
TEST(test_limits)
{
    static const struct {
        const char *name;
        double real, imag, tolerance;
    } known[] = {{"euler", -2, 0, 1e-10},
                 {"heun", -2, 0, 1e-10},
                 {"rk3", -2.5127453266, 1.7320508076, 1e-9},
                 {"rk4", -2.785293563405, 2.8284271247462, 1e-10},
                 {"ab2", -1, 0, 1e-10},
                 {"ab3", -6.0 / 11, 0.7236272270, 1e-9},
                 {"ab4", -0.3, 0.4299870799, 1e-9},
                 {"leapfrog", 0, 1, 1e-8}, /* a double root at i: sqrt(eps) */
                 {"lie-trotter", -INFINITY, INFINITY, 0},
                 {"strang-marchuk", -INFINITY, INFINITY, 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        Table *t = frozen(known[i].name);
        double real, imag;
        assert_int_equal(stability_limits(t, &real, &imag), 0);
        int ok = (real == known[i].real || fabs(real - known[i].real) <= known[i].tolerance) &&
                 (imag == known[i].imag || fabs(imag - known[i].imag) <= known[i].tolerance);
        if (!ok) fail_msg("%s: %.12g %.12g", known[i].name, real, imag);
        table_free(t);
    }
}

/* |R| of RK4 at a complex point agrees with its polynomial, the split test equation with products. */
TEST(test_modulus)
{
    Table *rk4 = frozen("rk4"), *lie = frozen("transformer"), *exact = frozen("lie-trotter");
    double m, f[2] = {-0.3, 0.4}, g[2] = {-0.2, 0.1};
    assert_int_equal(stability_modulus(rk4, (const double[][2]){{f[0], f[1]}, {g[0], g[1]}}, &m),
                     0);
    double re = 1, im = 0, tr = 1, ti = 0;
    for (int k = 1; k <= 4; k++) { /* z = -0.5 + 0.5 i */
        double a = (tr * -0.5 - ti * 0.5) / k, b = (tr * 0.5 + ti * -0.5) / k;
        tr = a, ti = b, re += tr, im += ti;
    }
    assert_true(fabs(m - hypot(re, im)) <= 1e-15 * 8);
    assert_int_equal(stability_modulus(lie, (const double[][2]){{f[0], f[1]}, {g[0], g[1]}}, &m),
                     0);
    assert_true(fabs(m - hypot(0.7, 0.4) * hypot(0.8, 0.1)) <= 1e-15 * 8);
    assert_int_equal(stability_modulus(exact, (const double[][2]){{f[0], f[1]}, {g[0], g[1]}}, &m),
                     0);
    assert_true(fabs(m - exp(-0.5)) <= 1e-15 * 8);
    table_free(rk4);
    table_free(lie);
    table_free(exact);
}

/* Textbook methods not in the zoo have their orders, and near-misses that fail one condition have lower ones. */
TEST(test_unseen)
{
    static const struct {
        const char *text;
        int order;
    } known[] = {
        {"k1 = H(y)\nk2 = H(y + 1/3*k1)\nk3 = H(y + 2/3*k2)\nk4 = H(y + 1/12*k1 + 1/3*k2 - "
         "1/12*k3)\n"
         "k5 = H(y - 1/16*k1 + 9/8*k2 - 3/16*k3 - 3/8*k4)\n"
         "k6 = H(y + 9/8*k2 - 3/8*k3 - 3/4*k4 + 1/2*k5)\n"
         "k7 = H(y + 9/44*k1 - 9/11*k2 + 63/44*k3 + 18/11*k4 - 16/11*k6)\n"
         "y' = y + 11/120*k1 + 27/40*k3 + 27/40*k4 - 4/15*k5 - 4/15*k6 + 11/120*k7\n",
         6}, /* Butcher 1964 */
        {"k1 = H(y)\nk2 = H(y + 1/4*k1)\nk3 = H(y + 1/8*k1 + 1/8*k2)\nk4 = H(y - 1/2*k2 + k3)\n"
         "k5 = H(y + 3/16*k1 + 9/16*k4)\nk6 = H(y - 3/7*k1 + 2/7*k2 + 12/7*k3 - 12/7*k4 + 8/7*k5)\n"
         "y' = y + 7/90*k1 + 32/90*k3 + 12/90*k4 + 32/90*k5 + 7/90*k6\n",
         5}, /* Butcher's order 5 */
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
        {"flow 1/3 F\nflow G\nflow 1/2 F\n", 0},
        {"flow (1-sqrt(2)/2) F\nflow (sqrt(2)/2) G\nflow (sqrt(2)/2) F\nflow (1-sqrt(2)/2) G\n",
         2}, /* McLachlan */
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char text[2048];
        Theory th;
        sprintf(text, "scheme a\n%s", known[i].text);
        Table *t = frozen(text);
        assert_int_equal(theory_search(t, 7, &th), 0);
        if (th.order != known[i].order)
            fail_msg("order %d, not %d:\n%s", th.order, known[i].order, text);
        table_free(t);
    }
}

TEST(test_short_memory)
{
    static const char *const names[] = {"ab3-layer", "strang-marchuk"};
    for (size_t i = 0; i < 2; i++) {
        Table *t = frozen(names[i]);
        int code = ERR_MEMORY, failures = 0;
        size_t before = memory_live();
        for (size_t k = 1; code != 0; k++) {
            Theory th;
            memory_fail_at(k);
            code = theory_search(t, 2, &th);
            memory_fail_at(0);
            failures += code == ERR_MEMORY;
            assert_int_equal(memory_live(), before);
        }
        assert_true(failures > 20);
        table_free(t);
    }
}

TEST_MAIN(zoo_begin, zoo_end)
