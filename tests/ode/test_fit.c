/* test_fit.c: the slope and the constant fitted to errors, by themselves: on synthetic errors with known
 * orders, curvature and rounding. */
#include "tests/lib/test.h"

#include "kernels/random.h"
#include "ode/measure/fit.h"

enum { SYNTHETIC = 9 };

/* Makes errors |C h^p (1 + b h + c h^2)| + rounding, h = 1/4 .. 1/1024. */
static void synthesise(FitPoint *p, int order, double b, double c, double floor, uint64_t seed)
{
    for (size_t i = 0; i < SYNTHETIC; i++) {
        double h = ldexp(0.25, -(int)i);
        double e = 0.3 * pow(h, order) * (1 + b * h + c * h * h);
        p[i] = (FitPoint){h, fabs(e) + floor * fabs(random_normal(seed, 9, i)), floor};
    }
}

/* Orders 1 to 6 and random b and c in (-8, 8) make terms of every sign and size at h = 1/4. The true order
 * lies within the tolerance in nearly all cases and within a verdict's limits in all; the order below or
 * above never does. */
TEST(test_covers)
{
    int cases = 0, covered = 0;
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

/* A pure power has its slope and constant to rounding. Errors under the floor have no fit. */
TEST(test_exact)
{
    FitPoint p[SYNTHETIC];
    const double *error[SYNTHETIC];
    double work[SYNTHETIC], constant, off;
    for (size_t i = 0; i < SYNTHETIC; i++) error[i] = &p[i].error;
    for (int order = 0; order <= 4; order++) {
        synthesise(p, order, 0, 0, 1e-30, 0);
        Fit f = fit_order(p, SYNTHETIC);
        assert_true(fabs(f.slope - order) <= 1e-12 && f.tolerance <= 1e-10);
        fit_constant(p, error, 1, &f, order, work, &constant, &off);
        assert_true(fabs(constant / 0.3 - 1) <= 1e-11 && off <= 1e-9);
        for (size_t i = 3; i < SYNTHETIC; i++) p[i].floor = p[i].error;
        f = fit_order(p, SYNTHETIC);
        fit_constant(p, error, 1, &f, order, work, &constant, &off);
        assert_true(f.count == 0 && isnan(f.slope) && isinf(off));
    }
}

/* Vectors of 1 to 4 components have a curvature for each, so that they turn and their norms may have a
 * minimum. The constant lies within the tolerance in nearly all cases and within four times it in all, and
 * the tolerance is narrow in most. */
TEST(test_constant)
{
    enum { N = 4, SEEDS = 2000 };
    int cases = 0, covered = 0, narrow = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        int order = 1 + (int)random_below(seed, 1, 0, 6);
        size_t n = 1 + (size_t)random_below(seed, 2, 0, N);
        FitPoint p[SYNTHETIC];
        double e[SYNTHETIC][N], work[SYNTHETIC * N], constant[N], off, apart = 0, size = 0;
        const double *error[SYNTHETIC];
        for (size_t i = 0; i < SYNTHETIC; i++) {
            double h = ldexp(0.25, -(int)i), sum = 0;
            for (size_t k = 0; k < n; k++) {
                double c = 0;
                for (size_t d = 4; d-- > 0;) c = h * 4 * c + random_normal(seed, 3, 4 * k + d);
                e[i][k] = c * pow(h, order) + 1e-15 * random_normal(seed, 4, N * i + k);
                sum += e[i][k] * e[i][k];
            }
            p[i] = (FitPoint){h, sqrt(sum / (double)n), 1e-15};
            error[i] = e[i];
        }
        Fit f = fit_order(p, SYNTHETIC);
        if (f.count == 0) continue;
        fit_constant(p, error, n, &f, order, work, constant, &off);
        for (size_t k = 0; k < n; k++) {
            double v = random_normal(seed, 3, 4 * k);
            apart += (constant[k] - v) * (constant[k] - v) / (double)n;
            size += v * v / (double)n;
        }
        cases++;
        covered += sqrt(apart) <= off;
        narrow += off <= 0.01 * sqrt(size);
        if (!(sqrt(apart) <= 4 * off))
            fail_msg("seed %d: constant off by %g, tolerance %g", (int)seed, sqrt(apart), off);
    }
    print_message("%d of %d within their tolerance, %d narrow\n", covered, cases, narrow);
    assert_true(cases >= SEEDS * 3 / 4 && covered >= cases * 98 / 100 && narrow >= cases / 2);
}

TEST_MAIN(NULL, NULL)
