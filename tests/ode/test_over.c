/* test_over.c: steps of a scheme over F, over G. Their texts are in test_scheme.c. */
#include "tests/lib/test.h"

#include "tests/lib/distance.h"
#include "tests/lib/schemes.h"

FIELD(field_zero)
{
    memset(dy, 0, s->n * s->d * sizeof *dy);
}

/* Moves y by one step of h of a system whose operator `off` (-1: none) is zero. */
static void step(const Table *scheme, const System *s, int off, double h, double *y)
{
    System part = *s;
    part.both = NULL;
    if (off >= 0) part.field[off] = field_zero;
    OWN_TABLE *t = freeze(scheme);
    assert_int_equal(walk(t, &part, 0, h, 1, y), 0);
}

/* Adds h f(y) to y. */
static void euler(const System *s, int op, double h, double *y)
{
    double dy[64];
    s->field[op](s, 1, 0, y, dy);
    for (size_t i = 0; i < s->n * s->d; i++) y[i] += h * dy[i];
}

/* Returns the largest difference between the step of NAME-F (op 0) or NAME-G (1) and its
 * definition: the scheme with the other operator switched off, after or before that operator's
 * Euler step. With an operator off, a scheme over H is one over the other operator alone, which is
 * what NAME-F is. */
static double defect(const Table *base, const Table *form, const System *s, int op, double h)
{
    double y[64], z[64];
    size_t n = s->n * s->d;
    memcpy(y, s->initial, n * sizeof *y);
    memcpy(z, s->initial, n * sizeof *z);
    step(form, s, -1, h, y);
    if (op == OP_G) euler(s, OP_F, h, z);
    step(base, s, 1 - op, h, z);
    if (op == OP_F) euler(s, OP_G, h, z);
    return distance(y, z, n);
}

/* Every one-step scheme over H or L of the zoo agrees with its definition on a nonlinear system.
 * States are of order 1 and a step has some 50 operations: 1e-13. */
TEST(test_steps)
{
    OWN_SYSTEM *s = sized("attention", 6, 3, 1);
    size_t tried = 0;
    for (size_t i = 0; i < zoo.count; i++) {
        const Table *base = zoo.scheme[i];
        for (int op = OP_F; op <= OP_G; op++) {
            char name[TABLE_NAME + 8];
            OWN_TABLE *form = NULL;
            snprintf(name, sizeof name, "%s-%c", base->name, "FG"[op]);
            if (base->past_k || zoo_find(&zoo, name, "euler", &form) != 0) continue;
            double d = defect(base, form, s, op, 0.25);
            if (!(d <= 1e-13)) fail_msg("%s: %g from its definition", name, d);
            tried++;
        }
    }
    assert_true(tried >= 20);
    OWN_TABLE *heun = scheme("heun"), *g = scheme("heun-G"); /* the control: the other way round */
    assert_false(defect(heun, g, s, OP_F, 0.25) <= 1e-13);
}

/* Splitting F and G by Euler leaves order 1 whatever the inner scheme. Both are consistent. */
TEST(test_orders)
{
    char name[2 * TABLE_NAME];
    for (const char *list = "rk4-F rk4-G heun-F midpoint-G ab3-F"; next_word(&list, name);) {
        OWN_TABLE *t = scheme(name);
        if (theory_of(t, 4).order != 1) fail_msg("%s has another order", name);
    }
}

TEST_MAIN(zoo_begin, zoo_end)
