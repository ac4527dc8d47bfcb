/* test_drift.c: energies are invariants of their fields. Symmetric schemes come back and keep them; others do not. */
#include "tests/lib/test.h"

#include "tests/lib/schemes.h"

static Drift drift(const char *name, const char *system, double t_end, double h)
{
    Drift d;
    OWN_SYSTEM *s = make(system);
    OWN_TABLE *t = scheme(name);
    if (order_drift(t, s, t_end, h, 20, &d) != 0) fail_msg("%s: %s", name, error_text());
    return d;
}

/* The reference keeps every energy to its accuracy, where the state has moved far. */
TEST(test_energies)
{
    int found = 0;
    for (size_t k = 0; system_name(k); k++) {
        double t = 2, y[64], agreement;
        OWN_SYSTEM *s = make(system_name(k));
        if (s->energy) {
            found++;
            assert_true(s->n * s->d <= 64);
            assert_int_equal(reference_solve(s, &t, 1, y, &agreement), 0);
            assert_true(fabs(s->energy(s, y) - s->energy(s, s->initial)) <= 1e-12);
            y[0] += 1e-3; /* negative control */
            assert_true(fabs(s->energy(s, y) - s->energy(s, s->initial)) > 1e-6);
        }
    }
    assert_true(found >= 2);
}

/* Over 1600 steps Stoermer-Verlet, Yoshida and leapfrog, which are symmetric, return within rounding, some eps times
 * steps and the solution's growth. Energies of splittings stay; those of Runge-Kutta grow with time. */
TEST(test_structure)
{
    static const struct {
        const char *scheme;
        int comes_back, keeps;
    } cases[] = {{"stoermer-verlet", 1, 1},
                 {"strang-marchuk", 1, 1},
                 {"yoshida4", 1, 1},
                 {"leapfrog", 1, -1},
                 {"heun", 0, 0},
                 {"rk4", 0, 0},
                 {"lie-trotter", 0, 1},
                 {"ab2", 0, 0}};
    static const char *const systems[] = {"kepler", "henon"};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            Drift d = drift(cases[i].scheme, systems[k], 100, 1.0 / 16);
            if (cases[i].comes_back != (d.reversal <= 1e-10))
                fail_msg("%s on %s comes back to %g", cases[i].scheme, systems[k], d.reversal);
            if (cases[i].keeps == 1 && !(d.growth < 1.3))
                fail_msg("%s on %s: energy grows by %g", cases[i].scheme, systems[k], d.growth);
            if (cases[i].keeps == 0 && !(d.growth > 2))
                fail_msg("%s on %s: energy grows by %g only", cases[i].scheme, systems[k],
                         d.growth);
            drift_free(&d);
        }
}

TEST(test_contract)
{
    OWN_SYSTEM *fisher = make("fisher"), *s = make("henon");
    OWN_TABLE *t = scheme("leapfrog");
    Drift d;
    assert_int_equal(order_drift(t, fisher, 10, 0.1, 10, &d), ERR_INPUT);
    assert_int_equal(order_drift(t, s, 10, 0, 10, &d), ERR_INPUT);
    assert_int_equal(order_drift(t, s, -1, 0.1, 10, &d), ERR_INPUT);
    assert_int_equal(order_drift(t, s, NAN, 0.1, 10, &d), ERR_INPUT);
    assert_int_equal(order_drift(t, s, 1e9, 0.1, 10, &d), ERR_INPUT);
    d = drift("euler", "henon", 400, 0.25); /* leaves the finite numbers */
    assert_true(isinf(d.reversal) && isinf(d.largest));
    drift_free(&d);
}

TEST_MAIN(zoo_begin, zoo_end)
