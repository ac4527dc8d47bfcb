/* test_bracket.c: checks splittings as Lie series: against the modified equation by trees (test_theory.c has published
 * ones), against counting pairs, and by symmetry. */
#include "tests/lib/test.h"

#include "kernels/random.h"
#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

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
