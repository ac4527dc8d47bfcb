/* test_classics.c: schemes of the literature that are not built in, in classics.scheme: order,
 * embedded order, A- and L-stability as published. A mutant of every coefficient of every scheme
 * has another order or another error. */
#include "tests/lib/test.h"

#include "tests/lib/schemes.h"

/* What a scheme's note says (classics.scheme). */
typedef struct {
    int order, embedded, a, l;
} Classic;

static Zoo classics;

static Classic told(const Table *t)
{
    Classic c;
    if (sscanf(t->note, "order %d, embedded %d, A %d, L %d", &c.order, &c.embedded, &c.a, &c.l) !=
        4)
        fail_msg("%s: '%s'", t->name, t->note);
    return c;
}

static int begin(void **state)
{
    return zoo_begin(state) != 0 || zoo_read(&classics, "tests/ode/classics.scheme") != 0;
}

static int end(void **state)
{
    zoo_close(&classics);
    return zoo_end(state);
}

/* Returns whether a term is a slope of the other's stage and step: those of H = F + G have one coefficient. */
static int same_slope(const Table *t, const Term *a, const Term *b)
{
    return a == b || (table_one_field(t) && a->eval >= 0 && b->eval >= 0 && a->past == b->past &&
                      t->eval[a->eval].stage == t->eval[b->eval].stage);
}

static void shift(const Table *t, Row *r, const Term *like, long by)
{
    OWN_RATIONAL x;
    mpq_init(x);
    mpq_set_si(x, by, 16);
    for (size_t k = 0; k < r->terms; k++)
        if (same_slope(t, &r->term[k], like)) mpq_add(r->term[k].c, r->term[k].c, x);
}

/* Shifts every coefficient of the row by 1/16, one at a time: the order or the leading error differs. */
static void mutate(const Table *t, Row *r, const Theory *before, size_t *mutants)
{
    for (size_t k = 0; k < r->terms; k++) {
        shift(t, r, &r->term[k], 1);
        Theory after = theory_of(t, TREE_MAX);
        if (after.order == before->order &&
            fabs(after.error_norm2 / before->error_norm2 - 1) < 1e-6)
            fail_msg("%s: a mutant is the same", t->name);
        shift(t, r, &r->term[k], -1);
        ++*mutants;
    }
}

/* Every scheme has its published properties, and no coefficient is without effect. */
TEST(published_properties)
{
    size_t mutants = 0;
    assert_true(classics.count >= 40);
    for (size_t i = 0; i < classics.count; i++) {
        const Table *whole = classics.scheme[i];
        OWN_TABLE *t = freeze(whole); /* without the pair */
        Classic c = told(whole);
        Theory th = theory_of(t, TREE_MAX);
        Embedded e;
        Stiff s;
        assert_int_equal(theory_embedded(whole, TREE_MAX, &e), 0);
        assert_int_equal(stability_stiff(t, &s), 0);
        int stiff = table_implicit(t) ? s.a_stable == c.a && s.l_stable == c.l : c.a < 0;
        if (th.order != c.order || e.order != c.embedded || !stiff || !th.zero_stable)
            fail_msg("%s: order %d, embedded %d, A %d, L %d", t->name, th.order, e.order,
                     s.a_stable, s.l_stable);
        for (size_t p = 0; p < t->points; p++) mutate(t, &t->point[p].row, &th, &mutants);
        if (!t->flows) mutate(t, &t->update, &th, &mutants);
    }
    print_message("%zu mutants\n", mutants);
    assert_true(mutants > 500);
}

TEST_MAIN(begin, end)
