/* test_modified.c: checks modified equations against published terms and against the structure of schemes.
 * test_bracket.c holds them against brackets written out as trees. */
#include "tests/lib/test.h"

#include "tests/lib/schemes.h"

/* ---- published terms ---------------------------------------------------------------------------------- */

/* Returns the elementary differential at y = 1 of f = y^2, in one colour: f = 1, f' = 2, f'' = 2. */
static unsigned long square(const Forest *f, size_t tree)
{
    static const unsigned long derivative[TREE_MAX] = {1, 2, 2};
    const Tree *t = &f->tree[tree];
    unsigned long product = derivative[t->children];
    for (int i = 0; i < t->children; i++) product *= square(f, (size_t)t->child[i]);
    return product;
}

/* Explicit Euler on y' = y^2 at y = 1 has y^2 - h y^3 + 3/2 h^2 y^4 - 8/3 h^3 y^5 + 31/6 h^4 y^6 - 157/15 h^5 y^7.
 * Source: Hairer, Lubich, Wanner 2006, section IX.1. */
TEST(test_euler)
{
    static const long known[][2] = {{0, 1}, {1, 1}, {-1, 1}, {3, 2}, {-8, 3}, {31, 6}, {-157, 15}};
    OWN_TABLE *t = frozen("euler");
    OWN_SUM m = modified_of(t, 6);
    OWN_RATIONAL sum, x;
    mpq_inits(sum, x, NULL);
    for (int n = 1; n <= 6; n++) {
        mpq_set_ui(sum, 0, 1);
        for (size_t i = m.f->first[n]; i < m.f->first[n + 1]; i++) {
            mpq_set_ui(x, tree_is_F(m.f, i) ? square(m.f, i) : 0, 1);
            mpq_mul(x, x, m.c[i]);
            mpq_add(sum, sum, x);
        }
        if (mpq_cmp_si(sum, known[n][0], (unsigned long)known[n][1]) != 0) fail_msg("h^%d", n - 1);
    }
}

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

/* ---- structure ------------------------------------------------------------------------------------------ */

/* Checks that the logarithm of an exact flow over theta is theta times its field, and that of S after S is twice that
 * of S. */
static void check_logarithm(int colours)
{
    OWN_TABLE *t = frozen(colours == 2 ? "transformer" : "transformer-decoder");
    OWN_FOREST *f = forest_of(5, colours);
    OWN_SERIES *a = series_zero(f), *log = series_zero(f), *half = series_zero(f);
    OWN_SERIES *step = series_of(f, t);
    OWN_RATIONAL theta;
    mpq_init(theta);
    mpq_set_si(theta, -3, 7);
    series_exact(a, theta, t->weight);
    assert_int_equal(series_log(log, a), 0);
    for (size_t i = 0; i < f->count; i++)
        assert_true(i < f->first[2] ? mpq_equal(log->a[i], theta) : mpq_sgn(log->a[i]) == 0);
    series_compose(a, step, step);
    assert_int_equal(series_log(log, a), 0);
    assert_int_equal(series_log(half, step), 0);
    for (size_t i = 0; i < f->count; i++) {
        mpq_mul_2exp(half->a[i], half->a[i], 1);
        assert_true(mpq_equal(half->a[i], log->a[i]));
    }
}

TEST(test_logarithm)
{
    check_logarithm(2);
    check_logarithm(3);
}

/* ---- no modified equation ---------------------------------------------------------------------------------- */

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

TEST_MAIN(zoo_begin, zoo_end)
