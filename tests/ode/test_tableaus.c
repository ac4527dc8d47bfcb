/* test_tableaus.c: Runge-Kutta methods of the literature (tableaus.jsonl: a tableau a line, with its source, order and
 * embedded order), up to order 14. Decimals and fractions that are roundings have the order within their rounding, and a
 * spoilt coefficient has a lower one. */
#include "tests/lib/test.h"

#include <jansson.h>
#include <math.h>

#include "ode/scheme/rationals.h"
#include "tests/lib/schemes.h"

enum { MOST = TREE_MAX_1 };

static Table *tableau(const char *text, size_t bytes)
{
    Table **list = NULL;
    size_t count = 0;
    if (butcher_parse("tableau", text, bytes, &list, &count) != 0)
        fail_msg("%.200s: %s", text, error_text());
    Table *t = list[0];
    memory_free(list);
    return t;
}

/* ---- published ones ------------------------------------------------------------------------------------- */

/* Shifts the weight of a row's last stage. */
static void spoil(const Table *t, Row *r, double by)
{
    OWN_RATIONAL x;
    mpq_init(x);
    mpq_set_d(x, by);
    int stage = t->eval[r->term[r->terms - 1].eval].stage;
    for (size_t k = 0; k < r->terms; k++)
        if (r->term[k].eval >= 0 && t->eval[r->term[k].eval].stage == stage)
            mpq_add(r->term[k].c, r->term[k].c, x);
}

/* Checks that a coefficient off by 2^-20 costs orders: of the update, and of the last stage it reads. */
static void check_spoilt(const Table *of, int order)
{
    for (int what = 0; what < 2; what++) {
        OWN_TABLE *t = table_freeze(of);
        int last = t->update.term[t->update.terms - 1].eval;
        spoil(t, what ? &t->update : &t->point[t->eval[last].point].row, 0x1p-20);
        if (theory_of(t, MOST).order >= (what ? 1 : order))
            fail_msg("%s: a spoilt coefficient is not seen", t->name);
    }
}

/* Checks one line, and counts tableaus of rounded fractions. */
static void check_line(const char *line, size_t bytes, size_t *rounded)
{
    json_t *root = json_loadb(line, bytes, 0, NULL);
    assert_non_null(root);
    int order = (int)json_integer_value(json_object_get(root, "order"));
    int embedded = (int)json_integer_value(json_object_get(root, "embedded"));
    OWN_TABLE *t = tableau(line, bytes);
    Theory th = theory_of(t, MOST);
    Embedded e;
    assert_int_equal(theory_embedded(t, MOST, &e), 0);
    if (th.order != order || e.order != embedded)
        fail_msg("%s: order %d, embedded %d", t->name, th.order, e.order);
    if (e.order >= 0) assert_true(e.estimate_order >= (embedded < order ? embedded : order));
    assert_true(th.residual <= th.bound && th.missed > 1e4 * th.residual);
    int rounding = t->exact && th.order_exact < th.order;
    if (t->exact && !rounding) assert_true(th.residual == 0);
    *rounded += rounding != 0;
    check_spoilt(t, order);
    json_decref(root);
}

TEST(published_orders)
{
    size_t room = 0, count = 0, rounded = 0;
    char *line = NULL;
    FILE *f = fopen("tests/ode/tableaus.jsonl", "r");
    assert_non_null(f);
    for (ssize_t n; (n = getline(&line, &room, f)) > 0; count++)
        check_line(line, (size_t)n, &rounded);
    fclose(f);
    free(line);
    assert_true(count >= 60);
    assert_int_equal(rounded, 1); /* Prince and Dormand's fractions of 1981 */
}

TEST_MAIN(zoo_begin, zoo_end)
