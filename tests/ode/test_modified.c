/* test_modified.c: checks modified equations against published terms.
 * test_bracket.c holds them against brackets written out as trees. */
#include "tests/lib/test.h"

#include "tests/lib/schemes.h"

/* ---- published terms ---------------------------------------------------------------------------------- */

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
