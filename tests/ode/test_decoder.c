/* test_decoder.c: schemes of y' = F + C + G: their language, and the results of theory for them, against values of
 * two independent programs (translation.md, section 2) and against the same schemes in two colours. */
#include "tests/lib/test.h"

#include "kernels/error.h"
#include "kernels/memory.h"
#include "tests/lib/schemes.h"

/* ---- leading errors ------------------------------------------------------------------------------ */

typedef struct {
    const char *tree;
    int p, q;
} Term2;

/* Tells whether the error of h^2 of a scheme is exactly these terms. */
static int has_terms(const Table *t, const Term2 *want)
{
    Forest *f;
    mpq_t empty, c;
    int equal = 1;
    assert_int_equal(forest_new(2, t->colours, &f), 0);
    mpq_t *have = memory_new(f->count, sizeof *have);
    for (size_t i = 0; i < f->count; i++) mpq_init(have[i]);
    mpq_inits(empty, c, NULL);
    assert_int_equal(theory_defect(f, t, have, empty), 0);
    for (size_t i = 0; i < f->count; i++) {
        char name[64];
        assert_int_equal(tree_name(f, i, name, sizeof name), 0);
        mpq_set_ui(c, 0, 1);
        for (const Term2 *w = want; w->tree; w++)
            if (strcmp(w->tree, name) == 0) mpq_set_si(c, w->p, (unsigned)w->q);
        equal = equal && mpq_equal(c, have[i]);
        mpq_clear(have[i]);
    }
    mpq_clears(empty, c, NULL);
    memory_free(have);
    forest_free(f);
    return equal;
}

static const struct {
    const char *name;
    int order;
    Term2 term[8];
} errors[] = {
    {"lie-trotter-decoder:exact",
     1,
     {{"C'F", 1, 2}, {"F'C", -1, 2}, {"G'F", 1, 2}, {"F'G", -1, 2}, {"G'C", 1, 2}, {"C'G", -1, 2}}},
    {"strang-marchuk-decoder:exact", 1, {{"C'F", 1, 2}, {"F'C", -1, 2}}},
    {"macaron-decoder",
     1,
     {{"C'F", 1, 2}, {"F'C", -1, 2}, {"F'F", -1, 2}, {"C'C", -1, 2}, {"G'G", -1, 4}}},
    {"strang-marchuk-decoder:euler",
     1,
     {{"C'F", 1, 2}, {"F'C", -1, 2}, {"F'F", -1, 2}, {"C'C", -1, 2}, {"G'G", -1, 4}}},
    {"strang-decoder:exact", 2, {{0}}},
    {"strang-decoder:euler", 1, {{"F'F", -1, 4}, {"C'C", -1, 2}, {"G'G", -1, 4}}},
};

TEST(test_leading_terms)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        Theory th;
        Table *t = frozen(errors[i].name);
        assert_int_equal(t->colours, 3);
        assert_int_equal(theory_search(t, 6, &th), 0);
        assert_int_equal(th.order, errors[i].order);
        assert_true(has_terms(t, errors[i].term));
        table_free(t);
    }
    Table *t =
        frozen("flow 1/2 G1\nflow C\nflow F\nflow 1/2 G2"); /* the control: F and C exchanged */
    assert_false(has_terms(t, errors[1].term));
    table_free(t);
}

/* A scheme over H treats its colours alike: the order, and the terms in F alone, are those of two colours. */
TEST(test_orders_of_two_colours)
{
    for (size_t i = 0; i < zoo.count; i++) {
        const Table *of = zoo.scheme[i];
        if (!table_over(of, OP_H)) continue;
        char name[2 * TABLE_NAME];
        Theory two, three;
        snprintf(name, sizeof name, "%s-decoder", of->name);
        Table *t = frozen(name);
        assert_int_equal(theory_search(of, 6, &two), 0);
        assert_int_equal(theory_search(t, 6, &three), 0);
        assert_int_equal(three.order, two.order);
        assert_int_equal(three.zero_stable, two.zero_stable);
        if (!isnan(two.error_norm2_one_colour))
            assert_true(three.error_norm2_one_colour == two.error_norm2_one_colour);
        table_free(t);
    }
}

/* ---- splittings ---------------------------------------------------------------------------------- */

/* Returns twice the signed area in the plane of letters a, b, by counting pairs. */
static long pairs(const char *word, char a, char b)
{
    long sum = 0;
    for (const char *x = word; *x; x++)
        for (const char *y = x + 1; *y; y++) sum += (*x == a && *y == b) - (*x == b && *y == a);
    return sum;
}

TEST(test_areas)
{
    static const struct {
        const char *word;
        int FC, FG, CG; /* twice the areas; translation.md */
    } known[] = {{"scfscfscf", 3, 3, 3}, {"scscfscff", 3, 7, 7}, {"csfcfs", 1, 1, 1}};
    static const int plane[3][2] = {{OP_F, OP_C}, {OP_F, OP_G}, {OP_C, OP_G}};
    mpq_t area;
    mpq_init(area);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char name[64];
        snprintf(name, sizeof name, "word:%s", known[i].word);
        Table *t = frozen(name);
        const long counted[3] = {pairs(known[i].word, 's', 'c'), pairs(known[i].word, 's', 'f'),
                                 pairs(known[i].word, 'c', 'f')};
        if (i < 2) {
            assert_int_equal(counted[0], known[i].FC);
            assert_int_equal(counted[1], known[i].FG);
            assert_int_equal(counted[2], known[i].CG);
        }
        for (int k = 0; k < 3; k++) {
            assert_int_equal(bracket_area(t, plane[k][0], plane[k][1], area), 0);
            mpq_mul_2exp(area, area, 1);
            assert_true(mpq_cmp_si(area, counted[k], 1) == 0);
        }
        table_free(t);
    }
    mpq_clear(area);
}

/* The order by brackets and that by trees agree: the degree of the first bracket is the order + 1. */
TEST(test_brackets_and_trees_agree)
{
    static const char *const names[] = {
        "lie-trotter-decoder",     "strang-marchuk-decoder",
        "strang-decoder",          "word:scfscf",
        "stoermer-verlet-decoder", "flow 1/2 F\nflow 1/2 C\nflow G\nflow 1/2 C\nflow 1/2 F"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Theory th;
        Brackets b;
        Table *t = frozen(names[i]);
        assert_int_equal(theory_search(t, 4, &th), 0);
        assert_int_equal(bracket_error(t, 4, &b), 0);
        assert_true(b.count > 0);
        assert_int_equal(b.bracket[0].degree, th.order + 1);
        bracket_free(&b);
        assert_int_equal(bracket_error(t, LIE_MAX_3 + 1, &b), ERR_INPUT);
        table_free(t);
    }
}

/* A generic word has every Lyndon word of three letters. Witt's formula counts those of d letters. */
TEST(test_lyndon_words)
{
    static const size_t known[] = {0, 3, 3, 8, 18, 48, 116, 312};
    size_t counted[LIE_MAX_3 + 1] = {0};
    Brackets b;
    Table *t = frozen(
        "flow 1/2 F\nflow 1/3 C\nflow 1/5 G\nflow 2/7 C\nflow 3/11 F\nflow 5/13 G\nflow 7/17 C\n"
        "flow 11/19 F\nflow 13/23 G");
    assert_int_equal(bracket_error(t, LIE_MAX_3, &b), 0);
    for (size_t i = 0; i < b.count; i++) counted[b.bracket[i].degree]++;
    for (int d = 1; d <= LIE_MAX_3; d++) assert_int_equal(counted[d], known[d]);
    bracket_free(&b);
    table_free(t);
}

/* ---- other results -------------------------------------------------------------------------------- */

TEST(test_structure)
{
    Structure s;
    Table *t = frozen("strang-decoder");
    assert_int_equal(structure_find(t, 6, &s), 0);
    assert_true(s.symmetric);
    assert_int_equal(s.effective_order, 2);
    structure_free(&s);
    table_free(t);
    t = frozen("strang-marchuk-decoder");
    assert_int_equal(structure_find(t, 6, &s), 0);
    assert_false(s.symmetric);
    structure_free(&s);
    table_free(t);
}

/* On y' = (f + c + g) y with f = c = g a scheme over H sees the sum alone. */
TEST(test_amplification)
{
    const double z[3][2] = {{-0.2, 0.1}, {-0.2, 0.1}, {-0.2, 0.1}},
                 w[2][2] = {{-0.3, 0.15}, {-0.3, 0.15}};
    double three, two, real[2], imag[2];
    Table *t = frozen("rk4-decoder"), *u = frozen("rk4");
    assert_int_equal(stability_modulus(t, z, &three), 0);
    assert_int_equal(stability_modulus(u, w, &two), 0);
    assert_true(fabs(three - two) < 1e-15);
    assert_int_equal(stability_limits(t, &real[0], &imag[0]), 0);
    assert_int_equal(stability_limits(u, &real[1], &imag[1]), 0);
    assert_true(fabs(real[0] - real[1]) < 1e-12 && fabs(imag[0] - imag[1]) < 1e-12);
    table_free(t);
    table_free(u);
    t = frozen("transformer-decoder"); /* (1 + z/3)^3: |R| = 1 at -6 */
    assert_int_equal(stability_limits(t, &real[0], &imag[0]), 0);
    assert_true(fabs(real[0] + 6) < 1e-12 && imag[0] == 0);
    table_free(t);
}

/* ---- the language --------------------------------------------------------------------------------- */

static Table *printed(const Table *t)
{
    char *text = NULL;
    size_t bytes, count = 0;
    Table **list = NULL;
    FILE *f = open_memstream(&text, &bytes);
    assert_int_equal(table_print(t, f), 0);
    fclose(f);
    assert_int_equal(scheme_parse("printed", text, bytes, &list, &count), 0);
    assert_int_equal(count, 1);
    Table *out = list[0];
    memory_free(list);
    free(text);
    return out;
}

TEST(test_printed_again)
{
    Table **list;
    size_t count;
    assert_int_equal(
        zoo_list(&zoo, "decoders,word:scfc,sandwich:3-1-decoder,looped:2-decoder,heun-F-decoder",
                 "exact", &list, &count),
        0);
    assert_true(count > 40);
    for (size_t i = 0; i < count; i++) {
        Table *again = printed(list[i]);
        assert_int_equal(list[i]->colours, 3);
        assert_true(table_equal(list[i], again));
        table_free(again);
        table_free(list[i]);
    }
    memory_free(list);
}

/* Checks whether two texts give one table. */
static void check_same(const char *a, const char *b, int same)
{
    Table *t = frozen(a), *u = frozen(b);
    assert_int_equal(table_equal(t, u), same);
    table_free(t);
    table_free(u);
}

TEST(test_words_of_the_language)
{
    check_same("transformer-decoder", "k1 = A(y)\nk2 = G(y + k1)\ny' = y + k1 + k2", 1);
    check_same("k1 = A(y)\nk2 = G(y + k1)\ny' = y + k1 + k2",
               "k1 = F(y)\nk2 = C(y + k1)\nk3 = G(y + k1 + k2)\ny' = y + k1 + k2 + k3", 0);
    check_same("lie-trotter-decoder", "flow F\nflow C\nflow G", 1);
    check_same("word:sf-decoder", "word:scf", 1);
    check_same("word:sfsf-decoder", "word:scfscf", 1);
    check_same("euler-decoder", "decoder\nk1 = H(y)\ny' = y + k1", 1);
    check_same("euler", "decoder\nk1 = H(y)\ny' = y + k1", 0);
    check_same("euler", "k1 = H(y)\ny' = y + k1", 1);
}

static void must_refuse(const char *name, const char *words)
{
    Table *t;
    assert_int_equal(zoo_find(&zoo, name, "exact", &t), ERR_INPUT);
    if (!strstr(error_text(), words)) fail_msg("'%s' lacks '%s'", error_text(), words);
}

TEST(test_refusals)
{
    must_refuse("strang-decoder-decoder", "decoder's scheme already");
    must_refuse("word:scf-decoder", "decoder's scheme already");
    must_refuse("strang-marchuk:euler-decoder", "one-step scheme over H");
    must_refuse("nothing-decoder", "unknown scheme 'nothing'");
    must_refuse("word:scx", "c (cross-attention)");
}

TEST_MAIN(zoo_begin, zoo_end)
