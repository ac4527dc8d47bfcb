/* test_fit.c: the slope and constant fitted to errors, by themselves: on errors made up with known orders,
 * curvature and rounding. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "kernels/random.h"
#include "ode/fit.h"

enum { SYNTHETIC = 9 };

/* Errors |C h^p (1 + b h + c h^2)| + rounding, h = 1/4 .. 1/1024. */
static void synthesise(FitPoint *p, int order, double b, double c, double floor, uint64_t seed)
{
    for (size_t i = 0; i < SYNTHETIC; i++) {
        double h = ldexp(0.25, -(int)i);
        double e = 0.3 * pow(h, order) * (1 + b * h + c * h * h);
        p[i] = (FitPoint){h, fabs(e) + floor * fabs(random_normal(seed, 9, i)), floor};
    }
}

/* Over orders 1 to 6, random b and c in (-8, 8), which at h = 1/4 make every sign and size: the true
 * order lies within the tolerance in nearly all cases, within what a verdict allows in all; the order
 * below or above never does. */
static void test_covers(void **state)
{
    int cases = 0, covered = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        int order = 1 + (int)random_below(seed, 1, 0, 6);
        double b = 16 * random_uniform(seed, 2, 0) - 8, c = 16 * random_uniform(seed, 3, 0) - 8;
        FitPoint p[SYNTHETIC];
        synthesise(p, order, b, c, 1e-15, seed);
        Fit f = fit_order(p, SYNTHETIC);
        if (f.count == 0 || f.tolerance > 0.125) continue; /* order_measure would add points */
        double off = fabs(f.slope - order);
        cases++;
        covered += off <= f.tolerance;
        if (!(off <= 0.25))
            fail_msg("order %d, b %g, c %g: slope %g +- %g", order, b, c, f.slope, f.tolerance);
    }
    assert_true(cases >= 1500);
    assert_true(covered >= cases * 95 / 100);
}

/* A pure power: its slope and constant to rounding; under the floor: no fit. */
static void test_exact(void **state)
{
    FitPoint p[SYNTHETIC];
    double off;
    (void)state;
    for (int order = 0; order <= 4; order++) {
        synthesise(p, order, 0, 0, 1e-30, 0);
        Fit f = fit_order(p, SYNTHETIC);
        assert_true(fabs(f.slope - order) <= 1e-12 && f.tolerance <= 1e-10);
        assert_true(fabs(fit_constant(p, &f, order, &off) / 0.3 - 1) <= 1e-11 && off <= 1e-9);
        for (size_t i = 3; i < SYNTHETIC; i++) p[i].floor = p[i].error;
        f = fit_order(p, SYNTHETIC);
        assert_true(f.count == 0 && isnan(f.slope) && isnan(fit_constant(p, &f, order, &off)));
    }
}

/* A lower-order part that only the finest steps show bends the line: never a narrow wrong slope. */
static void test_bends(void **state)
{
    (void)state;
    for (int k = 0; k < 40; k++) {
        FitPoint p[SYNTHETIC];
        synthesise(p, 4, 0.5, 0.1, 1e-15, 1);
        for (size_t i = 0; i < SYNTHETIC; i++) p[i].error += ldexp(1, -k) * pow(p[i].h, 2);
        Fit f = fit_order(p, SYNTHETIC);
        double last = ldexp(1, -k) * pow(p[SYNTHETIC - 1].h, 2);
        double share = last / p[SYNTHETIC - 1].error; /* of the lower order in the finest error */
        if (share > 0.9) assert_true(fabs(f.slope - 4) > 0.25 || f.tolerance > 0.125);
        if (share < 1e-3) assert_true(fabs(f.slope - 4) <= 0.25);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_covers),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_bends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
