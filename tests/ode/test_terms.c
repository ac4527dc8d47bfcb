/* test_terms.c: sums as texts: trees and commutators read back as what they are, in any order of terms, children and
 * arguments. A text that is no sum is refused at its place, and no spoilt text crashes. */
#include "tests/lib/test.h"

#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

/* Checks that the error names this column. */
static void assert_column(int code, const char *text, int column)
{
    const char *place = formed("claim:1:%d: ", column);
    if (code != ERR_INPUT || strncmp(error_text(), place, strlen(place)) != 0)
        fail_msg("'%s': %d %s, not at %d", text, code, code ? error_text() : "", column);
}

TEST(test_numbers)
{
    static const struct {
        const char *text;
        long p;
        unsigned long q;
    } good[] = {{"1/2", 1, 2},   {"2/4", 1, 2}, {"-.5", -1, 2},   {" 3 ", 3, 1},
                {"0.125", 1, 8}, {"0", 0, 1},   {"1e-2", 1, 100}, {"(1 + 1/3)/2", 2, 3}};
    static const struct {
        const char *text;
        int column;
    } bad[] = {{"1/0", 4}, {"0/0", 4},   {"1/(1-1)", 8}, {"", 1},
               {"x", 1},   {"1/2 3", 5}, {"1 + 1", 3},   {"1//2", 3}};
    mpq_t q;
    mpq_init(q);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (terms_number(good[i].text, q) != 0) fail_msg("%s: %s", good[i].text, error_text());
        assert_int_equal(mpq_cmp_si(q, good[i].p, good[i].q), 0);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_column(terms_number(bad[i].text, q), bad[i].text, bad[i].column);
    mpq_clear(q);
}

/* ---- trees -------------------------------------------------------------------------------------------- */

static int sum_read(TreeSum *s, const char *letters, const char *text)
{
    for (size_t i = 0; i < s->f->count; i++) mpq_set_ui(s->c[i], 0, 1);
    mpq_set_ui(s->y, 0, 1);
    return forest_read(s->f, letters, s->f->max, text, s->c, s->y);
}

/* Checks that every tree's name is read as that tree and gives no other tree its coefficient. */
static void check_names(int order, int colours, const char *letters)
{
    OWN_SUM s = sum_new(order, colours);
    for (size_t i = 0; i < s.f->count; i++) {
        char text[128] = "-2/3 ";
        assert_int_equal(tree_name(s.f, i, text + 5, sizeof text - 5), 0);
        if (sum_read(&s, letters, text) != 0) fail_msg("%s: %s", text, error_text());
        for (size_t k = 0; k < s.f->count; k++)
            if (mpq_cmp_si(s.c[k], k == i ? -2 : 0, k == i ? 3 : 1) != 0) fail_msg("%s", text);
    }
}

TEST(test_names)
{
    check_names(6, 2, "FG");
    check_names(5, 3, "FGC");
}

/* Tells whether two texts are the same sum. */
static int same_trees(const char *a, const char *b)
{
    OWN_SUM s = sum_new(4, 2);
    if (sum_read(&s, "FG", a) != 0) fail_msg("%s: %s", a, error_text());
    return sum_is(&s, 2, b);
}

TEST(test_sums)
{
    static const char form[] = "1/2 G'F; -1/2 F'G";
    static const char *const same[] = {"1/2 G'F - 1/2 F'G",       "-1/2F'G+1/2G'F;",
                                       "  .5 G ' F ;- 2/4 F'G  ", "1/4 G'F; 1/4 G'F; -1/2 F'G",
                                       "1/2 G'(F) - 1/2 F'(G)",   "G'F - F'G - 1/2 G'F + 1/2 F'G",
                                       "1/2 G'F + -1/2 F'G; 0",   "1/2 G'F - 1/2 F'G + y - 1 y"};
    static const char *const other[] = {"1/2 F'G - 1/2 G'F",     "1/2 G'F", "1/2 G'F - 1/2 F'G + y",
                                        "1/2 G'F - 1/2 F'G + F", "0",       ""};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (!same_trees(form, same[i])) fail_msg("%s", same[i]);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (same_trees(form, other[i])) fail_msg("%s", other[i]);
    assert_true(same_trees("F''(F'G,G)", "F''(G,F'G)"));
    assert_false(same_trees("F''(F'G,G)", "F''(G'F,G)"));
    assert_true(same_trees("", "0"));
    OWN_SUM s = sum_new(3, 2);
    assert_int_equal(sum_read(&s, "H", "H'H'H"), 0);
    for (size_t i = 0; i < s.f->count; i++)
        assert_int_equal(mpq_sgn(s.c[i]), i == tree_named(s.f, "F'F'F"));
}

TEST(test_no_trees)
{
    static const struct {
        const char *text, *letters;
        int column;
    } bad[] = {{"1/0 F'G", "FG", 5},      {"1/2 F'Q", "FG", 7},    {"1/2 F'C", "FG", 7},
               {"F'G rubbish", "FG", 5},  {"F'G G'F", "FG", 5},    {"F'G'F'G'F", "FG", 9},
               {"F''F", "FG", 4},         {"F''(F,G,G)", "FG", 8}, {"F''(F)", "FG", 6},
               {"F''(F,G", "FG", 8},      {"1/2", "FG", 4},        {"F'G;; F'G", "FG", 5},
               {"1/2*F'G", "FG", 5},      {"F'G", "H", 1},         {"H'F", "H", 3},
               {"1/2 - 1/2 F'G", "FG", 5}};
    OWN_SUM s = sum_new(4, 2);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_column(sum_read(&s, bad[i].letters, bad[i].text), bad[i].text, bad[i].column);
}

/* ---- commutators -------------------------------------------------------------------------------------- */

static Brackets read_sum(const Table *t, const char *text, int degree)
{
    Brackets b;
    if (bracket_read(t, text, degree, &b) != 0) fail_msg("%s: %s", text, error_text());
    return b;
}

static int same_brackets(const Table *t, const char *a, const char *b)
{
    OWN_BRACKETS x = read_sum(t, a, 6), y = read_sum(t, b, 6);
    return bracket_equal(t, &x, &y);
}

TEST(test_identities)
{
    static const struct {
        const char *a, *b;
        int same;
    } pair[] = {{"[F,G]", "-[G,F]", 1},
                {"[F,G]", "[G,F]", 0},
                {"2/4 [F,G]", ".25[F,G] + 1/4 [ F , G ];", 1},
                {"[F,F] + 1/2 [[F,G],[F,G]]", "0", 1},
                {"1/12 [F,[F,G]] - 1/24 [[F,G],G]", "1/24 [G,[F,G]];1/12 [F,[F,G]]", 1},
                {"1/12 [F,[F,G]] - 1/24 [[F,G],G]", "-1/24 [G,[F,G]];1/12 [F,[F,G]]", 0},
                {"[F,[G,[F,G]]]", "[G,[F,[F,G]]]", 1}, /* Jacobi, as [[F,G],[F,G]] = 0 */
                {"[F,[G,[F,[F,G]]]]", "[G,[F,[F,[F,G]]]]", 0},
                {"[[F,G],[F,[F,G]]]", "[F,[G,[F,[F,G]]]] - [G,[F,[F,[F,G]]]]", 1},
                {"F - F", "", 1},
                {"F", "G", 0}};
    OWN_TABLE *t = frozen("lie-trotter"), *u = frozen("lie-trotter-decoder");
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        if (same_brackets(t, pair[i].a, pair[i].b) != pair[i].same)
            fail_msg("%s = %s: not %d", pair[i].a, pair[i].b, pair[i].same);
    assert_true(same_brackets(u, "[F,[C,G]] + [C,[G,F]] + [G,[F,C]]", "0"));
    assert_false(same_brackets(u, "[F,[C,G]] + [C,[G,F]]", "0"));
}

/* Brackets as `expand` prints them are read as themselves. With a coefficient missing or spoilt they are not. */
TEST(test_read_back)
{
    static const char *const names[] = {"lie-trotter", "strang-marchuk", "ruth3",
                                        "lie-trotter-decoder"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        OWN_TABLE *t = frozen(names[n]);
        int degree = t->colours == 2 ? 8 : 5;
        OWN_BRACKETS have = brackets_of(t, degree);
        assert_true(have.count > 10);
        char *text = WRITTEN(s, for (size_t i = have.count; i-- > 0;) gmp_fprintf(
                                    s, "%Qd %s; ", have.bracket[i].c, have.bracket[i].name)),
             *whole = WRITTEN(s, fprintf(s, "%s 1/1000000 %s", text, have.bracket[0].name));
        OWN_BRACKETS same = read_sum(t, text, degree),
                     less = read_sum(t, strchr(text, ';') + 1, degree),
                     more = read_sum(t, whole, degree);
        assert_true(bracket_equal(t, &have, &same));
        assert_false(bracket_equal(t, &have, &less));
        assert_false(bracket_equal(t, &have, &more));
    }
}

TEST(test_no_brackets)
{
    static const struct {
        const char *text;
        int column;
    } bad[] = {{"foo", 1},    {"[[F,G],[F,G]]", 11}, {"[F,G] [F,G]", 7},  {"[F,H]", 4},
               {"[F,C]", 4},  {"1/0 [F,G]", 5},      {"[F,G", 5},         {"[F G]", 4},
               {"[F,G]]", 6}, {"[F,[F,[F,G]]]", 8},  {"1/2 [F,G] x", 11}, {"[[[[[[", 4},
               {"1/2", 4}};
    OWN_TABLE *t = frozen("lie-trotter"), *rk4 = frozen("rk4");
    Brackets b;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_column(bracket_read(t, bad[i].text, 3, &b), bad[i].text, bad[i].column);
    assert_int_equal(bracket_read(t, "[F,G]", 11, &b), ERR_INPUT);
    assert_int_equal(bracket_read(rk4, "[F,G]", 2, &b), ERR_INPUT);
}

/* ---- trees and commutators ------------------------------------------------------------------------------- */

/* Each character becomes each of some others, and each place a cut. The text is read or refused in a line, and
 * nothing stays allocated. */
TEST(test_spoilt)
{
    static const char *const text[] = {"1/12 [F,[F,G]]; -1/24 [[F,G],G]",
                                       "1/12 F''(F,G) - .5 F'G'F + 2 y"};
    static const char other[] = "FGHy[](),';+-/.0 \n";
    OWN_TABLE *t = frozen("lie-trotter");
    OWN_SUM s = sum_new(4, 2);
    size_t before = memory_live(), refused = 0, read = 0;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < strlen(text[k]); i++)
            for (const char *c = other;; c++) {
                char spoilt[64];
                Brackets b = {0};
                strcpy(spoilt, text[k]);
                spoilt[i] = *c; /* the last character, NUL, cuts the text */
                int code = k == 0 ? bracket_read(t, spoilt, 4, &b) : sum_read(&s, "FG", spoilt);
                if (code == 0) bracket_free(&b);
                assert_true(code == 0 || code == ERR_INPUT);
                assert_int_equal(memory_live(), before);
                *(code == 0 ? &read : &refused) += 1;
                if (!*c) break;
            }
    assert_true(read > 20 && refused > 200);
}

TEST_MAIN(zoo_begin, zoo_end)
