/* test_predict.c: checks predicted error constants against closed forms and against measured ones for
 * every scheme on every system. A wrong theory is not confirmed. */
#include "tests/lib/test.h"

#include "kernels/error.h"
#include "kernels/memory.h"
#include "tests/lib/schemes.h"

static Prediction predict(const Table *t, const System *s, double t_end)
{
    Theory th;
    Prediction p;
    if (theory_search(t, 6, &th) != 0 ||
        order_predict(t, s, t_end, th.order, th.zero_stable, &p, NULL) != 0)
        fail_msg("%s on %s: %s", t->name, s->name, error_text());
    return p;
}

static void close_to(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance * fabs(b))) fail_msg("%.12g is not %.12g", a, b);
}

/* ---- closed forms -------------------------------------------------------------------------------- */

static void growth(const System *s, int set, double t, const double *y, double *dy)
{
    (void)s, (void)set, (void)t;
    dy[0] = y[0];
}

static void rest(const System *s, int set, double t, const double *y, double *dy)
{
    (void)s, (void)set, (void)t, (void)y;
    dy[0] = 0;
}

static double one[1] = {1};
static const System growing = {.name = "growth",
                               .n = 1,
                               .d = 1,
                               .initial = one,
                               .field = {growth, rest},
                               .t_end = 1,
                               .h0 = 0.125};

/* On y' = y the global error tends to c T e^T h^p, the local one to c rho'(1) h^(p+1): AB by their
 * error constants, leapfrog by 1/3 and rho'(1) = 2, Runge-Kutta by 1/(p+1)!. The tolerance is the
 * accuracy that predict.c asks of itself. */
TEST(test_scalar)
{
    static const struct {
        const char *name;
        double c, root;
    } cases[] = {{"euler", 1.0 / 2, 1},   {"heun", 1.0 / 6, 1},   {"rk3", 1.0 / 24, 1},
                 {"rk4", 1.0 / 120, 1},   {"ab2", 5.0 / 12, 1},   {"ab3", 3.0 / 8, 1},
                 {"ab4", 251.0 / 720, 1}, {"ab5", 95.0 / 288, 1}, {"leapfrog", 1.0 / 6, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Table *t = scheme(cases[i].name);
        Prediction p = predict(t, &growing, 2);
        close_to(p.local, cases[i].c * cases[i].root, 1e-4);
        close_to(p.global, cases[i].c * 2 * exp(2), 1e-4);
        assert_true(p.accuracy <= 1e-4);
        table_free(t);
    }
}

/* The nilpotent oracles have T/2 y3, T/6 y4, T/12 y4 in one component. Local errors are without T. */
TEST(test_oracles)
{
    static const struct {
        const char *scheme, *system;
        double component;
    } cases[] = {{"lie-trotter", "nilpotent", 1.5},
                 {"strang-marchuk", "nilpotent:4", 2},
                 {"strang-marchuk-fgf", "nilpotent:4", 1},
                 {"strang-marchuk", "nilpotent", 0},
                 {"heun", "nilpotent", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        System *s = make(cases[i].system);
        Table *t = scheme(cases[i].scheme);
        double expected = cases[i].component / sqrt((double)s->d);
        Prediction p = predict(t, s, 2);
        close_to(p.local, expected, 1e-9);
        close_to(p.global, 2 * expected, 1e-9);
        table_free(t);
        system_free(s);
    }
}

/* An inconsistent scheme follows another field: weights 1 + 1 double the speed, e^2T - e^T. */
TEST(test_order_zero)
{
    Table *t = scheme("scheme twice\nk1 = H(y)\ny' = y + 2*k1\n");
    Prediction p = predict(t, &growing, 1);
    close_to(p.global, exp(2) - exp(1), 1e-12);
    close_to(p.local, 1, 1e-9);
    table_free(t);
    t = scheme("scheme slow\nk1 = H(y)\ny' = 1/2*y + 1/2*y[-1] + k1\n");
    close_to(predict(t, &growing, 1).global, exp(1) - exp(2.0 / 3), 1e-12);
    table_free(t);
}

/* ---- measured constants -------------------------------------------------------------------------- */

/* Returns a prediction and its vectors (2, N): the local one, the global one. Caller: memory_free. */
static Prediction predict_vectors(const Table *t, const System *s, double **vector)
{
    Theory th;
    Prediction p;
    *vector = memory_new(2 * s->n, s->d * sizeof **vector);
    if (!*vector || theory_search(t, 6, &th) != 0 ||
        order_predict(t, s, 0, th.order, th.zero_stable, &p, *vector) != 0)
        fail_msg("%s on %s: %s", t->name, s->name, error_text());
    return p;
}

static OrderStudy study(const Table *t, const System *s, int local)
{
    Theory th;
    OrderStudy m;
    OrderOptions o = {.halvings = 5, .local = local};
    if (theory_search(t, 6, &th) != 0 || order_measure(t, s, &o, th.order, th.zero_stable, &m) != 0)
        fail_msg("%s on %s: %s", t->name, s->name, error_text());
    return m;
}

static void compare(const Table *t, const System *s, Prediction p, const double *vector, int local,
                    int *compared)
{
    OrderStudy m = study(t, s, local);
    double predicted = local ? p.local : p.global;
    int match = order_match(&m, predicted, p.accuracy, vector + (local ? 0 : m.N));
    if (match == VERDICT_DISAGREE)
        fail_msg("%s on %s%s: constant %.6g (within %.1g), predicted %.6g, %s", t->name, s->name,
                 local ? ", local" : "", m.constant, m.constant_off, predicted,
                 verdict_name(m.verdict));
    *compared += match == VERDICT_AGREE && m.verdict == VERDICT_AGREE;
    order_free(&m);
}

static const char *const others[] = {"strang-marchuk:heun", "yoshida4:rk4",  "word:fsf",
                                     "word:ssfsff:heun",    "rk4-layer",     "looped:3",
                                     "leapfrog-layer",      "ab3-layer",     "macaron-decoder",
                                     "heun-decoder",        "word:scscfscff"};

/* Two independent computations agree: trees and derivatives, and steps and a line. Nearly all can be
 * compared; on commuting and nilpotent systems most vanish. */
TEST(test_everywhere)
{
    enum { OTHERS = sizeof others / sizeof *others };
    int compared = 0;
    for (size_t k = 0; system_name(k); k++) {
        System *s = make(system_name(k));
        for (size_t i = 0; i < zoo.count + OTHERS; i++) {
            Table *t = scheme(i < zoo.count ? zoo.scheme[i]->name : others[i - zoo.count]);
            double *vector;
            if (system_takes(s, t) != 0) {
                table_free(t);
                continue;
            }
            Prediction p = predict_vectors(t, s, &vector);
            compare(t, s, p, vector, 0, &compared);
            compare(t, s, p, vector, 1, &compared);
            memory_free(vector);
            table_free(t);
        }
        system_free(s);
    }
    assert_true(compared >= 600);
}

/* The methods of Dormand, Prince 1980, and Butcher 1964 (the fifth-order method of six stages with
 * weights 7, 32, 12, 32, 7 over 90). */
static const char *const fifth[2] = {
    "k1 = H(y)\nk2 = H(y + 1/5*k1)\nk3 = H(y + 3/40*k1 + 9/40*k2)\n"
    "k4 = H(y + 44/45*k1 - 56/15*k2 + 32/9*k3)\n"
    "k5 = H(y + 19372/6561*k1 - 25360/2187*k2 + 64448/6561*k3 - 212/729*k4)\n"
    "k6 = H(y + 9017/3168*k1 - 355/33*k2 + 46732/5247*k3 + 49/176*k4 - 5103/18656*k5)\n"
    "y' = y + 35/384*k1 + 500/1113*k3 + 125/192*k4 - 2187/6784*k5 + 11/84*k6",
    "k1 = H(y)\nk2 = H(y + 1/4*k1)\nk3 = H(y + 1/8*k1 + 1/8*k2)\nk4 = H(y - 1/2*k2 + k3)\n"
    "k5 = H(y + 3/16*k1 + 9/16*k4)\n"
    "k6 = H(y - 3/7*k1 + 2/7*k2 + 12/7*k3 - 12/7*k4 + 8/7*k5)\n"
    "y' = y + 7/90*k1 + 16/45*k3 + 2/15*k4 + 16/45*k5 + 7/90*k6"};

/* High order leaves few points between coarse steps and rounding, and errors that turn on the way. A
 * correct method is never refused, and nearly always confirmed. Wherever the right constant is
 * confirmed, the other method's, one twice or half as large and one of the other sign are refused. */
TEST(test_fifth_order)
{
    int compared = 0;
    for (size_t k = 0; system_name(k); k++) {
        System *s = make(system_name(k));
        for (int i = 0; i < 2; i++) {
            double *vector, *other;
            Table *t = scheme(fifth[i]), *u = scheme(fifth[1 - i]);
            Prediction p = predict_vectors(t, s, &vector), q = predict_vectors(u, s, &other);
            OrderStudy m = study(t, s, 0);
            double *e = vector + m.N;
            int match = order_match(&m, p.global, p.accuracy, e);
            if (match == VERDICT_DISAGREE)
                fail_msg("method %d on %s: constant %.6g (within %.1g), predicted %.6g", i, s->name,
                         m.constant, m.constant_off, p.global);
            if (match == VERDICT_AGREE && m.verdict == VERDICT_AGREE) {
                static const double factor[] = {2, 0.5, -1};
                double before = 1;
                compared++;
                assert_int_equal(order_match(&m, q.global, q.accuracy, other + m.N),
                                 VERDICT_DISAGREE);
                for (size_t j = 0; j < sizeof factor / sizeof *factor; j++) {
                    for (size_t c = 0; c < m.N; c++) e[c] *= factor[j] / before;
                    before = factor[j];
                    assert_int_equal(order_match(&m, fabs(before) * p.global, p.accuracy, e),
                                     VERDICT_DISAGREE);
                }
            }
            order_free(&m);
            memory_free(vector);
            memory_free(other);
            table_free(t);
            table_free(u);
        }
        system_free(s);
    }
    print_message("%d of fifth order compared\n", compared);
    assert_true(compared >= 14);
}

/* Negative control: a constant is off wherever one coefficient of the theory is. Heun, midpoint and
 * Ralston differ in the h^3 terms alone; none passes for another. */
TEST(test_tells_apart)
{
    static const char *const names[] = {
        "heun", "midpoint", "ralston", "strang-marchuk", "strang-marchuk-fgf", "ab2", "leapfrog"};
    enum { NAMES = sizeof names / sizeof *names };
    Prediction p[NAMES];
    System *s = make("attention");
    for (size_t i = 0; i < NAMES; i++) {
        Table *t = scheme(names[i]);
        p[i] = predict(t, s, 0);
        table_free(t);
        for (size_t k = 0; k < i; k++) {
            double global = fabs(log(p[i].global / p[k].global));
            double local = fabs(log(p[i].local / p[k].local));
            if (!(fmax(global, local) > 0.03)) fail_msg("%s passes for %s", names[i], names[k]);
        }
    }
    system_free(s);
}

/* ---- no prediction ------------------------------------------------------------------------------- */

static void kink(const System *s, int set, double t, const double *y, double *dy)
{
    (void)s, (void)set, (void)t;
    dy[0] = 1 + fabs(y[0] - 1.7);
}

TEST(test_nothing)
{
    System s = growing;
    Table *t = scheme("polynet"); /* no expansion about y */
    assert_true(isnan(predict(t, &s, 0).global) && isnan(predict(t, &s, 0).local));
    table_free(t);
    t = scheme("scheme wild\nk1 = H(y)\ny' = -4*y + 5*y[-1] + 4*k1 + 2*k1[-1]\n");
    assert_true(isnan(predict(t, &s, 0).global));
    close_to(predict(t, &s, 0).local, 1.0 / 6, 1e-4); /* 6 times the constant 1/36 */
    table_free(t);
    s.field[OP_F] = kink; /* not smooth along the way */
    t = scheme("rk4");
    assert_true(isnan(predict(t, &s, 0).global));
    table_free(t);
}

TEST(test_memory)
{
    System *s = make("henon");
    Table *t = scheme("leapfrog");
    size_t live = memory_live(), k = 1;
    for (int code = ERR_MEMORY; code != 0; k++) {
        Prediction p;
        memory_fail_at(k);
        code = order_predict(t, s, 0, 2, 1, &p, NULL);
        memory_fail_at(0);
        assert_true(code == 0 || code == ERR_MEMORY);
        assert_int_equal(memory_live(), live);
        assert_true(k < 10000);
    }
    assert_true(k > 30);
    table_free(t);
    system_free(s);
}

TEST_MAIN(zoo_begin, zoo_end)
