/* test_step.c: the stepper against steps written out by hand; its clocks, its history and its
 * refusals. */
#include "tests/lib/test.h"

#include "tests/lib/distance.h"
#include "tests/lib/schemes.h"

enum { MAX = 64 };

/* Computes y (N) after `steps` steps of size h from time t0 and the initial state, without given history. */
static void walk_text(const char *text, const System *s, double t0, double h, int steps, double *y)
{
    OWN_TABLE *t = frozen(text);
    memcpy(y, s->initial, s->n * s->d * sizeof *y);
    assert_int_equal(walk(t, s, t0, h, steps, y), 0);
}

/* The order of sums makes differences: 10 operations a step, 8 steps, growth below e. */
static const double rounding = 10 * 8 * 2.8 * 2.3e-16;

/* ---- steps by hand ------------------------------------------------------------------------------- */

/* Computes k (N) = h (F + G) at (t, y). */
static void slope(const System *s, double t, double h, const double *y, double *k)
{
    double g[MAX];
    s->field[OP_F](s, 1, t, y, k);
    s->field[OP_G](s, 1, t, y, g);
    for (size_t i = 0; i < s->n * s->d; i++) k[i] = h * (k[i] + g[i]);
}

static void plus(size_t N, const double *y, double c, const double *k, double *out)
{
    for (size_t i = 0; i < N; i++) out[i] = y[i] + c * k[i];
}

static void euler(const System *s, double t, double h, double *y)
{
    double k[MAX];
    slope(s, t, h, y, k);
    plus(s->n * s->d, y, 1, k, y);
}

static void rk4(const System *s, double t, double h, double *y)
{
    size_t N = s->n * s->d;
    double k[4][MAX], x[MAX];
    slope(s, t, h, y, k[0]);
    plus(N, y, 0.5, k[0], x);
    slope(s, t + h / 2, h, x, k[1]);
    plus(N, y, 0.5, k[1], x);
    slope(s, t + h / 2, h, x, k[2]);
    plus(N, y, 1, k[2], x);
    slope(s, t + h, h, x, k[3]);
    for (size_t i = 0; i < N; i++) y[i] += (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]) / 6;
}

/* Computes the Macaron layer, eq. (14)-(16): half G, F, half G, each an Euler step by its clock. */
static void macaron(const System *s, double t, double h, double *y)
{
    size_t N = s->n * s->d;
    double k[MAX];
    s->field[OP_G](s, 1, t, y, k);
    plus(N, y, h / 2, k, y);
    s->field[OP_F](s, 1, t, y, k);
    plus(N, y, h, k, y);
    s->field[OP_G](s, 1, t + h / 2, y, k);
    plus(N, y, h / 2, k, y);
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

typedef void Hand(const System *s, double t, double h, double *y);

static const struct {
    const char *name;
    Hand *step;
} hands[] = {{"euler", euler}, {"rk4", rk4}, {"macaron", macaron}, {"strang-marchuk", strang}};
enum { HANDS = sizeof hands / sizeof *hands };

/* Returns the largest difference over 8 steps of scheme i and hand j. */
static double hand_error(const System *s, size_t i, size_t j)
{
    double y[MAX], x[MAX], h = 0.125;
    memcpy(x, s->initial, s->n * s->d * sizeof *x);
    for (int k = 0; k < 8; k++) hands[j].step(s, 0.25 + k * h, h, x);
    walk_text(hands[i].name, s, 0.25, h, 8, y);
    return relative_distance(y, x, s->n * s->d);
}

TEST(test_by_hand)
{
    for (size_t k = 0; system_name(k); k++) {
        OWN_SYSTEM *s = make(system_name(k));
        if (s->context) continue; /* texts, stiff ones among them */
        for (size_t i = 0; i < HANDS; i++) {
            double e = hand_error(s, i, i);
            if (!(e <= rounding)) fail_msg("%s on %s: off by %g", hands[i].name, s->name, e);
        }
    }
    OWN_SYSTEM *s = make(system_default()); /* controls: every other hand is far off */
    for (size_t i = 0; i < HANDS; i++)
        for (size_t j = 0; j < HANDS; j++)
            if (i != j) assert_true(hand_error(s, i, j) > 1e-5);
}

/* ---- clocks -------------------------------------------------------------------------------------- */

static char seen[1024]; /* operators, times in steps of 1/2 after 3/2, and steps of flows */

static void note(int op, double t, double h)
{
    size_t n = strlen(seen);
    n += (size_t)snprintf(seen + n, sizeof seen - n, "%c %.17g", "FG"[op], 2 * t - 3);
    if (h != 0) n += (size_t)snprintf(seen + n, sizeof seen - n, " %.17g", 2 * h);
    snprintf(seen + n, sizeof seen - n, "; ");
}

OWN_FIELD(watch_F)
{
    note(OP_F, t, 0);
    dy[0] = 1;
}

OWN_FIELD(watch_G)
{
    note(OP_G, t, 0);
    dy[0] = 1;
}

static void flow_F(const System *s, int set, double t, double h, double *y)
{
    (void)s, (void)set, (void)y;
    note(OP_F, t, h);
}

static void flow_G(const System *s, int set, double t, double h, double *y)
{
    (void)s, (void)set, (void)y;
    note(OP_G, t, h);
}

/* These are the times of a scheme's second step from t = 1 with h = 1/2. The first has as many. */
TEST(test_clocks)
{
    static const char *const cases[][2] = {
        {"rk4", "F 0; G 0; F 0.5; G 0.5; F 0.5; G 0.5; F 1; G 1; "},
        {"macaron", "G 0; F 0; G 0.5; "},
        {"k1 = H(y)\nk2 = H(y + 1/2*k1 @ 3/4)\ny' = y + k2", "F 0; G 0; F 0.75; G 0.75; "},
        {"leapfrog", "F 0; G 0; "},
        {"strang-marchuk", "G 0 0.5; F 0 1; G 0.5 0.5; "},
        {"word:fsf:euler", "G 0; F 0; G 0.5; "}}; /* G twice a step */
    System s = scalar_system(watch_F, watch_G);
    s.flow[OP_F] = flow_F;
    s.flow[OP_G] = flow_G;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t calls[2] = {0};
        double y;
        *seen = 0;
        walk_text(cases[i][0], &s, 1, 0.5, 2, &y);
        assert_string_equal(seen + strlen(seen) - strlen(cases[i][1]), cases[i][1]);
        for (const char *c = seen; *c; c++) calls[0] += *c == ';';
        for (const char *c = cases[i][1]; *c; c++) calls[1] += *c == ';';
        assert_int_equal(calls[0], 2 * calls[1]);
    }
}

/* ---- history, for all schemes by measured constants (test_predict.c), by plans (test_bridge.c) ------- */

/* Computes reference states at -h, -2 h, ... (count, N). */
static void history(const System *s, double h, int n, double *past)
{
    double t[16], agreement;
    for (int j = 0; j < n; j++) t[j] = -(j + 1) * h;
    assert_int_equal(reference_solve(s, t, (size_t)n, past, &agreement), 0);
}

/* Takes steps with given history, of which the scheme needs `needs` states. */
static void walk_given(const char *text, const System *s, double h, int steps, int needs, double *y)
{
    double past[16 * MAX];
    OWN_TABLE *t = frozen(text);
    OWN_STEPPER *st = stepper(t, s);
    assert_int_equal(stepper_history(st), needs);
    history(s, h, needs, past);
    assert_int_equal(stepper_begin(st, 0, h, s->initial, START_GIVEN, past), 0);
    for (int k = 0; k < steps; k++) assert_int_equal(stepper_step(st), 0);
    memcpy(y, stepper_state(st), s->n * s->d * sizeof *y);
}

/* AB2 and leapfrog from exact history are as written out on the time-dependent system. */
TEST(test_history)
{
    OWN_SYSTEM *s = make("forced");
    size_t N = s->n * s->d;
    double past[MAX], old[MAX], k[MAX], x[MAX], y[MAX], z[MAX], h = 0.125;
    history(s, h, 1, past);
    slope(s, -h, h, past, old);
    memcpy(x, s->initial, N * sizeof *x);
    for (int n = 0; n < 4; n++) {
        slope(s, n * h, h, x, k);
        for (size_t i = 0; i < N; i++) x[i] += 1.5 * k[i] - 0.5 * old[i];
        memcpy(old, k, sizeof old);
    }
    walk_given("ab2", s, h, 4, 1, y);
    assert_true(relative_distance(y, x, N) <= rounding);
    memcpy(x, s->initial, N * sizeof *x);
    memcpy(old, past, sizeof old);
    for (int n = 0; n < 4; n++) {
        slope(s, n * h, h, x, k);
        for (size_t i = 0; i < N; i++) z[i] = old[i] + 2 * k[i];
        memcpy(old, x, sizeof old);
        memcpy(x, z, sizeof x);
    }
    walk_given("leapfrog", s, h, 4, 1, y);
    assert_true(relative_distance(y, x, N) <= rounding);
    assert_false(relative_distance(y, s->initial, N) <= 1e-2);
}

/* ---- contract ------------------------------------------------------------------------------------ */

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
