/* test_terms.c: sums as texts: trees and commutators read back as what they are, in any order of terms, children and
 * arguments. A text that is no sum is refused at its place, and no spoilt text crashes. */
#include "tests/lib/test.h"

#include "kernels/base/random.h"
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

/* ---- splittings as Lie series -------------------------------------------------------------------- */

/* Makes n random flows of fractions k/6, then two that make the fractions of F and of G sum to 1. */
static Table *random_flows(uint64_t seed, int n)
{
    char text[2048];
    size_t at = (size_t)sprintf(text, "scheme random\n");
    int left[2] = {6, 6};
    for (int i = 0; i < n + 2; i++) {
        int op = i < n ? (int)random_below(seed, 1, (uint64_t)i, 2) : i - n;
        int c = i < n ? (int)random_below(seed, 2, (uint64_t)i, 9) - 3 : left[op];
        if (c == 0) continue;
        left[op] -= c;
        at += (size_t)sprintf(text + at, "flow %s%d/6 %c\n", c < 0 ? "-" : "", c < 0 ? -c : c,
                              "FG"[op]);
    }
    return scheme(text);
}

/* ---- trees --------------------------------------------------------------------------------------------- */

/* Sets out to the derivative of the field c along b, in trees. Both are without their 1/sigma. */
static void derive(const Forest *f, mpq_t *b, mpq_t *c, mpq_t *out)
{
    mpq_t x, count;
    mpq_inits(x, count, NULL);
    for (size_t i = 0; i < f->count; i++) {
        mpq_set_ui(out[i], 0, 1);
        for (size_t k = 0; k < f->cuts[i]; k++) {
            const Cut *cut = &f->cut[i][k];
            if (cut->kept < 0 || cut->cuts != 1) continue;
            mpq_set_si(count, cut->count, 1);
            mpq_mul(x, c[cut->kept], b[cut->cut[0]]);
            mpq_mul(x, x, count);
            mpq_add(out[i], out[i], x);
        }
    }
    mpq_clears(x, count, NULL);
}

/* Writes "[F,[F,G]]" in trees, with [A,B] = B'A - A'B, and moves *s past it. Caller: rationals_free. */
static mpq_t *write_out(const Forest *f, const char **s)
{
    mpq_t *sum = rationals_new(f->count);
    if (**s != '[') {
        for (size_t i = 0; i < f->first[2]; i++)
            mpq_set_ui(sum[i], table_letters[f->tree[i].colour] == **s, 1);
        ++*s;
        return sum;
    }
    ++*s;
    mpq_t *a = write_out(f, s);
    assert_int_equal(*(*s)++, ',');
    mpq_t *b = write_out(f, s), *other = rationals_new(f->count);
    assert_int_equal(*(*s)++, ']');
    derive(f, a, b, sum);
    derive(f, b, a, other);
    for (size_t i = 0; i < f->count; i++) mpq_sub(sum[i], sum[i], other[i]);
    rationals_free(a);
    rationals_free(b);
    rationals_free(other);
    return sum;
}

/* Counts the trees at which the field + its brackets differ from the modified equation. */
static size_t mismatches(const Table *t, const Brackets *b, int order)
{
    OWN_SUM m = modified_of(t, order);
    mpq_t *sum = rationals_new(m.f->count), x;
    size_t n = 0;
    mpq_init(x);
    for (size_t i = 0; i < m.f->first[2]; i++) mpq_set(sum[i], t->weight[m.f->tree[i].colour]);
    for (size_t k = 0; k < b->count; k++) {
        const char *s = b->bracket[k].name;
        mpq_t *tree = write_out(m.f, &s);
        for (size_t i = 0; i < m.f->count; i++) {
            mpq_mul(x, b->bracket[k].c, tree[i]);
            mpq_add(sum[i], sum[i], x);
        }
        rationals_free(tree);
    }
    for (size_t i = 0; i < m.f->count; i++) {
        mpq_set_ui(x, 1, m.f->tree[i].sigma);
        mpq_mul(sum[i], sum[i], x);
        mpq_sub(x, sum[i], m.c[i]);
        n += !theory_is_zero(t, x);
    }
    mpq_clear(x);
    rationals_free(sum);
    return n;
}

/* Checks that log(step) of flows is the same by words (lie.c) and by trees (series.c). */
static void check_trees(const Table *t, int order)
{
    OWN_BRACKETS b = brackets_of(t, order);
    if (mismatches(t, &b, order)) fail_msg("%s", t->name);
    mpq_add(b.bracket[0].c, b.bracket[0].c, b.bracket[0].c); /* negative control */
    assert_true(mismatches(t, &b, order) > 0);
}

TEST(test_trees)
{
    static const char *const names[] = {
        "strang-decoder word:scfscf", "ruth3 yoshida4 word:ssffsf word:sffs word:sfsf sandwich:4-2",
        "lie-trotter strang-marchuk strang-marchuk-fgf"};
    char name[2 * TABLE_NAME];
    for (int order = 4; order <= 6; order++)
        for (const char *list = names[order - 4]; next_word(&list, name);) {
            OWN_TABLE *t = frozen(name);
            check_trees(t, order);
        }
    for (uint64_t seed = 7; seed < 17; seed++) {
        OWN_TABLE *t = random_flows(seed, 7);
        check_trees(t, 5);
    }
}

/* ---- structure --------------------------------------------------------------------------------------- */

/* Returns twice the signed area in the plane of letters a, b, by counting pairs. */
static long pairs(const char *word, char a, char b)
{
    long sum = 0;
    for (const char *x = word; *x; x++)
        for (const char *y = x + 1; *y; y++) sum += (*x == a && *y == b) - (*x == b && *y == a);
    return sum;
}

static void check_area(const char *word, int a, int b, long twice)
{
    OWN_RATIONAL area;
    mpq_init(area);
    OWN_TABLE *t = frozen(formed("word:%s", word));
    assert_int_equal(bracket_area(t, a, b, area), 0);
    if (mpq_cmp_si(area, twice, 2) != 0) fail_msg("%s", word);
}

/* The area is half of (pairs a before b - pairs b before a), by counting. Backwards its sign turns, so that a
 * palindrome has none. */
TEST(test_area)
{
    static const struct {
        const char *word;
        int FC, FG, CG; /* twice the areas, by another program */
    } known[] = {{"scfscfscf", 3, 3, 3}, {"scscfscff", 3, 7, 7}};
    for (uint64_t seed = 0; seed < 20; seed++) {
        char word[40] = "", back[40] = "";
        int n = 2 + (int)random_below(seed, 1, 0, 12);
        for (int i = 0; i < n; i++)
            word[i] = back[n - 1 - i] = random_below(seed, 2, (uint64_t)i, 2) ? 's' : 'f';
        check_area(word, OP_F, OP_G, pairs(word, 's', 'f'));
        check_area(back, OP_F, OP_G, -pairs(word, 's', 'f'));
    }
    for (size_t i = 0; i < 2; i++) {
        const char *word = known[i].word;
        check_area(word, OP_F, OP_C, known[i].FC);
        check_area(word, OP_F, OP_G, known[i].FG);
        check_area(word, OP_C, OP_G, known[i].CG);
        assert_int_equal(pairs(word, 'c', 'f'), known[i].CG);
    }
}

TEST(test_refused)
{
    OWN_TABLE *rk4 = frozen("rk4"), *lie = frozen("lie-trotter"), *three = frozen("strang-decoder");
    Brackets b;
    OWN_RATIONAL area;
    mpq_init(area);
    assert_int_equal(bracket_error(rk4, 3, &b), ERR_INPUT);
    assert_int_equal(bracket_area(rk4, OP_F, OP_G, area), ERR_INPUT);
    assert_int_equal(bracket_error(lie, 0, &b), ERR_INPUT);
    assert_int_equal(bracket_error(lie, 30, &b), ERR_INPUT);
    assert_int_equal(bracket_error(three, LIE_MAX_3 + 1, &b), ERR_INPUT);
}

TEST_MAIN(zoo_begin, zoo_end)
