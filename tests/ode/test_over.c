/* test_over.c: a scheme over F, over G, over L: their texts and their steps. */
#include "tests/lib/test.h"

#include "ode/ode.h"
#include "tests/lib/scratch.h"

static Zoo zoo;

static int setup(void **state)
{
    (void)state;
    return zoo_open(&zoo);
}

static int teardown(void **state)
{
    (void)state;
    zoo_close(&zoo);
    return 0;
}

static Table *find(const char *name)
{
    Table *t;
    if (zoo_find(&zoo, name, "euler", &t) != 0) fail_msg("%s: %s", name, error_text());
    return t;
}

static Table *parse(const char *text)
{
    Table **list = NULL;
    size_t count = 0;
    if (scheme_parse("text", text, strlen(text), &list, &count) != 0) fail_msg("%s", error_text());
    Table *t = list[0];
    memory_free(list);
    return t;
}

/* ---- texts ----------------------------------------------------------------------------------- */

TEST(test_texts)
{
    static const struct {
        const char *name, *text;
    } list[] = {
        {"heun-F", "scheme a\nk1 = F(y)\nk2 = F(y + k1)\nk3 = G(y + 1/2*k1 + 1/2*k2)\n"
                   "y' = y + 1/2*k1 + 1/2*k2 + k3\n"},
        {"heun-G", "scheme a\nk1 = F(y)\nk2 = G(y + k1)\nk3 = G(y + k1 + k2)\n"
                   "y' = y + k1 + 1/2*k2 + 1/2*k3\n"},
        {"heun-layer", "scheme a\nk1 = L(y)\nk2 = L(y + k1)\ny' = y + 1/2*k1 + 1/2*k2\n"},
        {"euler-F", "scheme a\nk1 = F(y)\nk2 = G(y + k1)\ny' = y + k1 + k2\n"},
        {"euler-G", "scheme a\nk1 = F(y)\nk2 = G(y + k1)\ny' = y + k1 + k2\n"},
        {"ab2-F", "scheme a\nk1 = F(y)\nk2 = G(y + 3/2*k1 - 1/2*k1[-1])\n"
                  "y' = y + 3/2*k1 - 1/2*k1[-1] + k2\n"},
        {"ab2-G", "scheme a\nk1 = F(y)\nk2 = G(y + k1)\ny' = y + k1 + 3/2*k2 - 1/2*k2[-1]\n"},
        {"rk2-gate-F", "scheme a\nk1 = F(y)\nk2 = F(y + k1)\ngate g = sigmoid(k1, k2)\n"
                       "k3 = G(y + g*k1 + (1-g)*k2)\ny' = y + g*k1 + (1-g)*k2 + k3\n"},
        {"rk2-gate-G", "scheme a\nk1 = F(y)\nk2 = G(y + k1)\nk3 = G(y + k1 + k2)\n"
                       "gate g = sigmoid(k2, k3)\ny' = y + k1 + g*k2 + (1-g)*k3\n"},
        {"rk2-released-G", "scheme a\nk1 = F(y)\nk2 = G(y + k1)\nk3 = G(2*y + 2*k1 + k2)\n"
                           "y' = 5/2*y + 5/2*k1 + k2 + 1/2*k3\n"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        Table *made = find(list[i].name), *written = parse(list[i].text);
        if (!table_equal(made, written)) fail_msg("%s is not as written", list[i].name);
        table_free(made);
        table_free(written);
    }
    Table *a = find("heun-F"), *b = find("heun-G"); /* the control */
    assert_false(table_equal(a, b));
    table_free(a);
    table_free(b);
}

TEST(test_refused)
{
    static const struct {
        const char *name, *words;
    } list[] = {
        {"macaron-F", "all of whose stages are H"},
        {"transformer-G", "all of whose stages are H"},
        {"leapfrog-F", "past states"},
        {"lm-resnet-G", "past states"},
        {"dlcl-F", "past states"},
        {"rk2-unit-layer", "a form over L"},
        {"lie-trotter-G", "all of whose stages"},
        {"heun-H", "unknown scheme"},
        {"nothing-F", "unknown scheme"},
        {"heun-F-G", "unknown scheme"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        Table *t;
        if (zoo_find(&zoo, list[i].name, "euler", &t) != ERR_INPUT ||
            !strstr(error_text(), list[i].words))
            fail_msg("%s: expected '%s', not '%s'", list[i].name, list[i].words, error_text());
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void field_zero(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t, (void)y;
    memset(dy, 0, s->n * s->d * sizeof *dy);
}

/* Moves y by one step of h of a system whose operator `off` (-1: none) is zero. */
static void step(const Table *scheme, const System *s, int off, double h, double *y)
{
    System part = *s;
    Stepper *st;
    part.both = NULL;
    if (off >= 0) part.field[off] = field_zero;
    Table *t = table_freeze(scheme);
    assert_non_null(t);
    assert_int_equal(stepper_new(t, &part, &st), 0);
    assert_int_equal(stepper_begin(st, 0, h, y, START_NETWORK, NULL), 0);
    assert_int_equal(stepper_step(st), 0);
    memcpy(y, stepper_state(st), s->n * s->d * sizeof *y);
    stepper_free(st);
    table_free(t);
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
    double y[64], z[64], largest = 0;
    size_t n = s->n * s->d;
    memcpy(y, s->initial, n * sizeof *y);
    memcpy(z, s->initial, n * sizeof *z);
    step(form, s, -1, h, y);
    if (op == OP_G) euler(s, OP_F, h, z);
    step(base, s, 1 - op, h, z);
    if (op == OP_F) euler(s, OP_G, h, z);
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(y[i] - z[i]));
    return largest;
}

/* Every one-step scheme over H or L of the zoo agrees with its definition on a nonlinear system.
 * States are of order 1 and a step has some 50 operations: 1e-13. */
TEST(test_steps)
{
    System *s;
    size_t tried = 0;
    assert_int_equal(system_new("attention", 6, 3, 1, &s), 0);
    for (size_t i = 0; i < zoo.count; i++) {
        const Table *base = zoo.scheme[i];
        for (int op = OP_F; op <= OP_G; op++) {
            char name[TABLE_NAME + 8];
            Table *form;
            snprintf(name, sizeof name, "%s-%c", base->name, "FG"[op]);
            if (base->past_k || zoo_find(&zoo, name, "euler", &form) != 0) continue;
            double d = defect(base, form, s, op, 0.25);
            if (!(d <= 1e-13)) fail_msg("%s: %g from its definition", name, d);
            tried++;
            table_free(form);
        }
    }
    assert_true(tried >= 20);
    Table *heun = find("heun"), *g = find("heun-G"); /* the control: the other way round */
    assert_false(defect(heun, g, s, OP_F, 0.25) <= 1e-13);
    table_free(heun);
    table_free(g);
    system_free(s);
}

/* Splitting F and G by Euler leaves order 1 whatever the inner scheme. Both are consistent. */
TEST(test_orders)
{
    static const char *const names[] = {"rk4-F", "rk4-G", "heun-F", "midpoint-G", "ab3-F"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Theory theory;
        Table *t = find(names[i]);
        assert_int_equal(theory_search(t, 4, &theory), 0);
        if (theory.order != 1) fail_msg("%s has order %d", names[i], theory.order);
        table_free(t);
    }
}

TEST_MAIN(setup, teardown)
