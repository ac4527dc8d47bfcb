/* test_terms.c: sums as texts: trees and commutators read back as what they are, in any order of terms, children and
 * arguments. A text that is no sum is refused at its place, and no spoilt text crashes. */
#include "tests/lib/test.h"

#include <stdlib.h>

#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

/* Checks that the error names this column. */
static void assert_column(int code, const char *text, int column)
{
    char place[40];
    snprintf(place, sizeof place, "claim:1:%d: ", column);
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

typedef struct {
    Forest *f;
    mpq_t *c, y;
} Sum;

static void sum_open(Sum *s, int order, int colours)
{
    assert_int_equal(forest_new(order, colours, &s->f), 0);
    s->c = memory_new(s->f->count, sizeof *s->c);
    assert_non_null(s->c);
    for (size_t i = 0; i < s->f->count; i++) mpq_init(s->c[i]);
    mpq_init(s->y);
}

static void sum_close(Sum *s)
{
    for (size_t i = 0; i < s->f->count; i++) mpq_clear(s->c[i]);
    mpq_clear(s->y);
    s->c = memory_free(s->c);
    forest_free(s->f);
}

static int sum_read(Sum *s, const char *letters, const char *text)
{
    for (size_t i = 0; i < s->f->count; i++) mpq_set_ui(s->c[i], 0, 1);
    mpq_set_ui(s->y, 0, 1);
    return forest_read(s->f, letters, s->f->max, text, s->c, s->y);
}

/* Checks that every tree's name is read as that tree and gives no other tree its coefficient. */
static void check_names(int order, int colours, const char *letters)
{
    Sum s;
    sum_open(&s, order, colours);
    for (size_t i = 0; i < s.f->count; i++) {
        char text[128] = "-2/3 ";
        assert_int_equal(tree_name(s.f, i, text + 5, sizeof text - 5), 0);
        if (sum_read(&s, letters, text) != 0) fail_msg("%s: %s", text, error_text());
        for (size_t k = 0; k < s.f->count; k++)
            if (mpq_cmp_si(s.c[k], k == i ? -2 : 0, k == i ? 3 : 1) != 0) fail_msg("%s", text);
    }
    sum_close(&s);
}

TEST(test_names)
{
    check_names(6, 2, "FG");
    check_names(5, 3, "FGC");
}

/* Tells whether two texts are the same sum. */
static int same_trees(const char *letters, const char *a, const char *b)
{
    Sum s, t;
    sum_open(&s, 4, 2);
    sum_open(&t, 4, 2);
    if (sum_read(&s, letters, a) != 0) fail_msg("%s: %s", a, error_text());
    if (sum_read(&t, letters, b) != 0) fail_msg("%s: %s", b, error_text());
    int same = mpq_equal(s.y, t.y);
    for (size_t i = 0; i < s.f->count; i++) same = same && mpq_equal(s.c[i], t.c[i]);
    sum_close(&s);
    sum_close(&t);
    return same;
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
        if (!same_trees("FG", form, same[i])) fail_msg("%s", same[i]);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (same_trees("FG", form, other[i])) fail_msg("%s", other[i]);
    assert_true(same_trees("FG", "F''(F'G,G)", "F''(G,F'G)"));
    assert_false(same_trees("FG", "F''(F'G,G)", "F''(G'F,G)"));
    assert_true(same_trees("FG", "", "0"));
    Sum s;
    sum_open(&s, 3, 2);
    assert_int_equal(sum_read(&s, "H", "H'H'H"), 0);
    for (size_t i = 0; i < s.f->count; i++) {
        char name[64];
        assert_int_equal(tree_name(s.f, i, name, sizeof name), 0);
        assert_int_equal(mpq_sgn(s.c[i]), strcmp(name, "F'F'F") == 0);
    }
    sum_close(&s);
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
    Sum s;
    sum_open(&s, 4, 2);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_column(sum_read(&s, bad[i].letters, bad[i].text), bad[i].text, bad[i].column);
    sum_close(&s);
}

/* ---- commutators -------------------------------------------------------------------------------------- */

static int same_brackets(const Table *t, const char *a, const char *b)
{
    Brackets x, y;
    if (bracket_read(t, a, 6, &x) != 0) fail_msg("%s: %s", a, error_text());
    if (bracket_read(t, b, 6, &y) != 0) fail_msg("%s: %s", b, error_text());
    int same = bracket_equal(t, &x, &y);
    bracket_free(&x);
    bracket_free(&y);
    return same;
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
        Brackets read;
        char *text = NULL, *whole;
        size_t bytes;
        int degree = t->colours == 2 ? 8 : 5;
        OWN_BRACKETS have = brackets_of(t, degree);
        assert_true(have.count > 10);
        FILE *s = open_memstream(&text, &bytes);
        for (size_t i = have.count; i-- > 0;)
            gmp_fprintf(s, "%Qd %s; ", have.bracket[i].c, have.bracket[i].name);
        fclose(s);
        if (bracket_read(t, text, degree, &read) != 0) fail_msg("%s: %s", names[n], error_text());
        assert_true(bracket_equal(t, &have, &read));
        bracket_free(&read);
        assert_int_equal(bracket_read(t, strchr(text, ';') + 1, degree, &read), 0);
        assert_false(bracket_equal(t, &have, &read));
        bracket_free(&read);
        assert_true(asprintf(&whole, "%s 1/1000000 %s", text, have.bracket[0].name) > 0);
        assert_int_equal(bracket_read(t, whole, degree, &read), 0);
        assert_false(bracket_equal(t, &have, &read));
        bracket_free(&read);
        free(text);
        free(whole);
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
    Sum s;
    sum_open(&s, 4, 2);
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
    sum_close(&s);
}

static const Table *splitting;

static int read_brackets(void)
{
    Brackets b;
    int code = bracket_read(splitting, "1/12 [F,[F,G]]; -1/24 [[F,G],G]", 3, &b);
    if (code == 0) bracket_free(&b);
    return code;
}

TEST(test_short_memory)
{
    OWN_TABLE *t = frozen("lie-trotter");
    splitting = t;
    assert_true(fail_each(read_brackets, ERR_MEMORY) > 10);
}

TEST_MAIN(zoo_begin, zoo_end)
