/* test_step.c: the stepper against steps written out by hand (test_adapt.c: against GSL's); every scheme of the zoo, and
 * refusals. */
#include "tests/lib/test.h"

#include "tests/lib/distance.h"
#include "tests/lib/schemes.h"

enum { MAX = 64 };

/* The order of sums makes differences: 10 operations a step, 8 steps, growth below e. */
static const double rounding = 10 * 8 * 2.8 * 2.3e-16;

/* ---- steps by hand ------------------------------------------------------------------------------- */

static void add_slope(const System *s, int op, double t, double h, double *y)
{
    double k[MAX];
    s->field[op](s, 1, t, y, k);
    for (size_t i = 0; i < s->n * s->d; i++) y[i] += h * k[i];
}

/* Computes the Macaron layer, eq. (14)-(16): half G, F, half G, each an Euler step by its clock. */
static void macaron(const System *s, double t, double h, double *y)
{
    add_slope(s, OP_G, t, h / 2, y);
    add_slope(s, OP_F, t, h, y);
    add_slope(s, OP_G, t + h / 2, h / 2, y);
}

static void sub_flow(const System *s, int op, double t, double h, double *y)
{
    if (s->flow[op])
        s->flow[op](s, 1, t, h, y);
    else
        assert_int_equal(reference_flow(s, op, 1, t, h, y, NULL), 0);
}

static void strang(const System *s, double t, double h, double *y)
{
    sub_flow(s, OP_G, t, h / 2, y);
    sub_flow(s, OP_F, t, h, y);
    sub_flow(s, OP_G, t + h / 2, h / 2, y);
}

static const char *const names[] = {"macaron", "strang-marchuk"};

/* Returns the largest difference over 8 steps of scheme i and hand j. */
static double hand_error(const System *s, int i, int j)
{
    double y[MAX], x[MAX], h = 0.125;
    OWN_TABLE *t = frozen(names[i]);
    memcpy(x, s->initial, s->n * s->d * sizeof *x);
    memcpy(y, s->initial, s->n * s->d * sizeof *y);
    for (int k = 0; k < 8; k++) (j ? strang : macaron)(s, 0.25 + k * h, h, x);
    assert_int_equal(walk(t, s, 0.25, h, 8, y), 0);
    return relative_distance(y, x, s->n * s->d);
}

TEST(test_by_hand)
{
    for (size_t k = 0; system_name(k); k++) {
        OWN_SYSTEM *s = make(system_name(k));
        if (s->context) continue; /* texts, stiff ones among them */
        for (int i = 0; i < 2; i++) {
            double e = hand_error(s, i, i);
            if (!(e <= rounding)) fail_msg("%s on %s: off by %g", names[i], s->name, e);
        }
    }
    OWN_SYSTEM *s = make(system_default()); /* the control: the other hand is far off */
    assert_true(hand_error(s, 0, 1) > 1e-5);
}

/* ---- contract; histories by measured constants (test_predict.c), by plans (test_bridge.c) ------------- */

/* Computes reference states at -h, -2 h, ... (count, N). */
static void history(const System *s, double h, int n, double *past)
{
    double t[16], agreement;
    for (int j = 0; j < n; j++) t[j] = -(j + 1) * h;
    assert_int_equal(reference_solve(s, t, (size_t)n, past, &agreement), 0);
}

static size_t all_evals(const Table *t)
{
    size_t sum = 0;
    for (int op = 0; op < t->colours; op++) sum += table_evals(t, op);
    return sum;
}

/* Every scheme of the zoo counts its evaluations, of which implicit stages take more. It allocates nothing in a step
 * and begins anew. */
TEST(test_every_scheme)
{
    for (size_t i = 0; i < zoo.count; i++) {
        OWN_TABLE *t = table_freeze(zoo.scheme[i]);
        int free =
            t->linear || table_phi(t); /* without time; phi functions evaluate as they need */
        OWN_SYSTEM *s = make(t->colours > 2 ? "linear" : free ? "fisher" : "forced");
        size_t N = s->n * s->d;
        OWN_STEPPER *st = stepper(t, s);
        double past[16 * MAX], y[MAX];
        history(s, 0.0625, stepper_history(st), past);
        for (int again = 0; again < 2; again++) {
            size_t calls = memory_calls();
            assert_int_equal(stepper_begin(st, 0, 0.0625, s->initial, START_GIVEN, past), 0);
            for (int k = 0; k < 5; k++) assert_int_equal(stepper_step(st), 0);
            assert_int_equal(memory_calls(), calls);
            if (table_implicit(t))
                assert_true(stepper_evals(st) > 5 * all_evals(t));
            else if (!table_phi(t))
                assert_int_equal(stepper_evals(st), 5 * all_evals(t));
            if (again) assert_memory_equal(stepper_state(st), y, N * sizeof *y);
            memcpy(y, stepper_state(st), N * sizeof *y);
        }
    }
}

TEST(test_refusals)
{
    Stepper *st = NULL;
    OWN_SYSTEM *s = make("henon");
    OWN_TABLE *gate = scheme("rk2-gate"), *decoder = scheme("strang-decoder"), *ab3 = frozen("ab3");
    assert_int_equal(stepper_new(gate, s, &st), ERR_MISUSE); /* symbols */
    assert_refused(stepper_new(decoder, s, &st), "strang-decoder", "has no memory");
    OWN_STEPPER *own = stepper(ab3, s);
    assert_int_equal(stepper_begin(own, 0, 0.1, s->initial, START_GIVEN, NULL), ERR_MISUSE);
    assert_int_equal(stepper_begin(own, 0, 1e3, s->initial, START_NETWORK, NULL), 0);
    int code = 0;
    for (int k = 0; k < 100 && code == 0; k++) code = stepper_step(own);
    assert_int_equal(code, ERR_NUMERIC);
    for (size_t i = 0; i < s->n * s->d; i++) assert_true(isfinite(stepper_state(own)[i]));
    stepper_free(NULL);
}

TEST_MAIN(zoo_begin, zoo_end)
