/* test_exponential.c: exponential integrators: orders by trees, exact steps for G = 0, the systems that they take, and the language. test_phi.c has their functions. */
#include "tests/lib/test.h"

#include <complex.h>

#include "bridge/bridge.h"
#include "tests/lib/distance.h"
#include "tests/lib/schemes.h"

/* ---- trees ------------------------------------------------------------------------------------------ */

static const struct {
    const char *name, *explicit; /* the scheme that is left where F = 0 */
    int order, general;          /* for a linear F; for any */
} zoo_schemes[] = {
    {"etd-euler", "euler", 1, 1},
    {"etd-rk2", "heun", 2, 2},
    {"etd-rk4", "rk4", 4, 2},
    {"etd-rk4-krogstad", "rk4", 4, 2},
    {"exponential-rosenbrock-euler", "", 2, 2},
};
enum { SCHEMES = sizeof zoo_schemes / sizeof *zoo_schemes };

TEST(test_orders)
{
    OWN_TABLES list = listed("exponential", "exact");
    assert_int_equal(list.count, SCHEMES); /* the lists below forget none */
    for (size_t i = 0; i < list.count; i++) {
        Table *t = list.table[i];
        assert_string_equal(t->name, zoo_schemes[i].name);
        assert_true(table_phi(t));
        assert_int_equal(order_of(t), zoo_schemes[i].order);
        t->linear = 0;
        assert_int_equal(order_of(t), zoo_schemes[i].general);
    }
}

/* ---- steps ------------------------------------------------------------------------------------------ */

OWN_FIELD(no_field)
{
    counted++;
    memset(dy, 0, s->n * s->d * sizeof *dy);
}

/* Computes y (N) after `steps` steps of h, all of whose evaluations are counted. */
static void walk_counted(const Table *t, const System *s, double h, int steps, double *y)
{
    OWN_STEPPER *st = stepper(t, s);
    assert_int_equal(stepper_begin(st, 0, h, s->initial, START_GIVEN, NULL), 0);
    counted = 0;
    for (int k = 0; k < steps; k++) assert_int_equal(stepper_step(st), 0);
    assert_int_equal(stepper_evals(st), counted);
    memcpy(y, stepper_state(st), s->n * s->d * sizeof *y);
}

/* Where G = 0 every scheme is the exact flow of a linear F, at any step. A Runge-Kutta method is not. */
TEST(test_exact_without_G)
{
    static const char *const names[] = {"linear", "nilpotent:4", "fisher", "transport",
                                        "transport:periodic:wave=1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        OWN_SYSTEM *base = make(names[i]);
        System s = counting(base);
        size_t N = s.n * s.d;
        OWN_REALS *x = numbers(N), *y = numbers(N);
        memcpy(y, s.initial, N * sizeof *y);
        s.flow[OP_F](base, 1, 0, 1, y);
        s.field[OP_G] = no_field;
        s.linear_ops = 1 << OP_F | 1 << OP_G;
        for (size_t k = 0; k < SCHEMES; k++)
            for (int steps = 1; steps <= 4; steps *= 4) {
                OWN_TABLE *t = frozen(zoo_schemes[k].name);
                walk_counted(t, &s, 1.0 / steps, steps, x);
                if (!(relative_distance(x, y, N) <= 1e-13))
                    fail_msg("%s on %s: %g", t->name, s.name, relative_distance(x, y, N));
            }
        OWN_TABLE *t = frozen("rk4");
        walk_counted(t, &s, 0.5, 2, x);
        if (strncmp(s.name, "nilpotent", 9) != 0) assert_true(relative_distance(x, y, N) > 1e-7);
    }
}

/* F has a constant part, F(0) != 0, and G depends on time. The nodes of G are those of its points, through phi
 * functions too. The control has a G that stands at the step's beginning. */
TEST(test_times)
{
    static const char text[] =
        "system forced-heat\nn 6\nF = mean 4*(z - y) + 2*(1/2 - y)\n"
        "G = (1 + sin(3*t + i))*y*(1 - y)\ninitial = 0.3 + 0.1*i\nt-end 1\nh0 1/4\n";
    OWN_SYSTEM *s = read_system(text, 0, 0);
    assert_int_equal(s->linear_ops, 1 << OP_F);
    assert_true(s->timed);
    for (size_t k = 0; k < SCHEMES; k++) {
        OWN_TABLE *t = frozen(zoo_schemes[k].name);
        if (t->linear) /* the others differentiate G */
            assert_int_equal(order_verdict(t, s, zoo_schemes[k].order), VERDICT_AGREE);
        else
            assert_int_equal(system_takes(s, t), ERR_INPUT);
    }
    OWN_TABLE *t =
        frozen("linear F\nk1 = F(y)\nk2 = G(y)\nk3 = phi1(F)(k1 + k2)\nk4 = G(y + k3 @ 0)\n"
               "k5 = phi2(F)(k4 - k2)\ny' = y + k3 + k5");
    assert_int_equal(order_verdict(t, s, 2), VERDICT_DISAGREE);
    assert_int_equal(order_verdict(t, s, 1), VERDICT_AGREE);
}

/* ---- linear fields ----------------------------------------------------------------------------------- */

/* A system file's operations decide which fields are linear. */
TEST(test_linear_files)
{
    static const struct {
        const char *fields;
        int F, G;
    } cases[] = {
        {"F = sum (z - y)/2\nG = 3 - 2*y", 1, 1},
        {"F = sum sin(z - y)\nG = y^2", 0, 0},
        {"F = mean exp(-(i - j)^2)*z + y\nG = y^1*2 + sqrt(2)^3", 1, 1},
        {"F = sum r2*z\nG = t*y", 0, 0},
        {"F = sum t*(z - y)\nG = 1/y", 0, 0},
        {"F = softmax i*j : z\nG = -(y/4)", 1, 1},
        {"F = softmax y*z : z\nG = y*2*3/4 - y", 0, 1},
        {"G = 2^y", 1, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[512];
        snprintf(text, sizeof text, "system a\nn 5\n%s\ninitial = 0.4 + 0.1*i\n", cases[k].fields);
        OWN_SYSTEM *s = read_system(text, 0, 0);
        int said = s->linear_ops & (1 << OP_F | 1 << OP_G);
        if (said != (cases[k].F << OP_F | cases[k].G << OP_G)) fail_msg("%s: %d", text, said);
    }
}

TEST(test_refused_systems)
{
    OWN_SYSTEM *attention = make("attention"), *forced = make("forced");
    OWN_TABLE *rk2 = frozen("etd-rk2"), *rosenbrock = frozen("exponential-rosenbrock-euler");
    Stepper *st;
    assert_refused(stepper_new(rk2, attention, &st), "attention", "linear F");
    assert_non_null(strstr(error_text(), " fisher"));
    assert_null(strstr(error_text(), " kuramoto"));
    assert_refused(stepper_new(rosenbrock, forced, &st), "forced", "time");
}

/* ---- stability -------------------------------------------------------------------------------------- */

/* Returns the factor of ETD-RK2 on y' = (F + G) y: a = e^F y + phi_1 G y, y' = a + phi_2 G (a - y) (Cox, Matthews
 * 2002). */
static double complex etd_rk2(double complex F, double complex G)
{
    double complex one = (cexp(F) - 1) / F, two = (one - 1) / F, a = cexp(F) + one * G;
    return a + two * G * (a - 1);
}

TEST(test_amplification)
{
    static const double complex point[] = {-3,       -50 + 2 * I, 4 * I,    0.7 - 0.8 * I,
                                           -1.1 * I, 1e-9,        -0.99999, 2 + 3 * I};
    enum { POINTS = sizeof point / sizeof *point };
    OWN_TABLE *t = frozen("etd-rk2");
    for (size_t k = 0; k < SCHEMES; k++) {
        const char *name = zoo_schemes[k].explicit;
        OWN_TABLE *s = frozen(zoo_schemes[k].name), *rk = *name ? frozen(name) : NULL;
        for (size_t i = 0; i < POINTS; i++) {
            double complex z = point[i];
            double exact = exp(creal(z));
            assert_true(fabs(modulus(s, z, 0) - exact) <= 1e-13 * (1 + exact + cabs(z)));
            if (rk) assert_true(fabs(modulus(s, 0, z) / modulus(rk, 0, z) - 1) <= 1e-13);
        }
    }
    for (size_t i = 0; i < POINTS; i++)
        for (size_t j = 0; j < POINTS; j++) {
            if (cabs(point[i]) < 0.1) continue; /* the formula above loses digits there */
            double m = cabs(etd_rk2(point[i], point[j]));
            assert_true(fabs(modulus(t, point[i], point[j]) - m) <= 1e-12 * (1 + m));
        }
}

/* ---- language ---------------------------------------------------------------------------------------- */

/* Networks and compositions refuse exponential schemes in words, and "all" and "decoders" have none of them. */
TEST(test_elsewhere)
{
    OWN_TABLE *t = scheme("etd-rk4"), *out = NULL;
    OWN_RATIONAL total;
    mpq_init(total);
    assert_refused(bridge_takes(t), t->name, "phi functions");
    assert_refused(zoo_compose(&zoo, "etd-rk4,etd-rk4", total, &out), t->name, "exponential");
    for (int i = 0; i < 2; i++) {
        OWN_TABLES list = listed(i ? "decoders" : "all", "exact");
        for (size_t k = 0; k < list.count; k++) assert_false(table_phi(list.table[k]));
    }
}

TEST_MAIN(zoo_begin, zoo_end)
