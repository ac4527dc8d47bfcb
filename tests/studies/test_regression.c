/* test_regression.c: slopes within seeds: normal equations by hand, planted slopes, and how often intervals hold. */
#include "tests/lib/test.h"

#include "kernels/error.h"
#include "kernels/random.h"
#include "studies/statistics/regression.h"

/* By hand: x = -1, 0, 1 in two seeds, y = 0, 1, 5 and 10, 12, 13. Less the seeds' means: -2, -1, 3 and -5/3, 1/3, 4/3.
 * X'X = 4, X'y = 5 + 3 = 8: beta = 2. Residuals 0, -1, 1 and 1/3, 1/3, -2/3: sum of squares 8/3, df = 6 - 2 - 1 = 3,
 * sigma^2 = 8/9, error = sqrt(2/9). t_(0.975, 3) = 3.182446305 (Student's table). A missing run only leaves itself
 * out. */
TEST(by_hand)
{
    const double x[] = {-1, 0, 1}, y[] = {0, 10, 1, 12, 5, 13};
    Slope s;
    Regression r;
    assert_int_equal(regression_within(y, x, 3, 2, 1, &s, &r), 0);
    assert_true(r.runs == 6 && r.seeds == 2 && r.df == 3);
    assert_true(fabs(s.estimate - 2) <= 1e-12 && fabs(s.error - sqrt(2 / 9.)) <= 1e-12);
    assert_true(fabs(r.sd - sqrt(8 / 9.)) <= 1e-12);
    assert_true(fabs(s.high - 2 - 3.182446305 * sqrt(2 / 9.)) <= 1e-8);
    assert_true(fabs(s.high + s.low - 4) <= 1e-12);
    const double missing[] = {0, NAN, 1, NAN, 5, 13};
    assert_int_equal(regression_within(missing, x, 3, 2, 1, &s, &r), 0);
    assert_true(r.runs == 4 && r.seeds == 2 &&
                r.df == 1); /* 13 is its seed's mean: it adds nothing */
    assert_true(fabs(s.estimate - 2.5) <= 1e-12);
}

enum { DRAWS = 4000, LEVELS = 7, SEEDS = 4 };
static const double theta[LEVELS] = {0, .5, .75, 1, 1.25, 1.5, 2}, beta[2] = {1.3, -.4};
/* Two slopes have levels that are symmetric about 1: theta and |theta - 1| are orthogonal there, and planted slopes
 * without errors are found whatever the seeds do. On levels of one side they are one column. */
TEST(planted)
{
    double x[2 * LEVELS], y[LEVELS * SEEDS];
    Slope s[2];
    Regression r;
    for (size_t i = 0; i < LEVELS; i++) {
        x[2 * i] = theta[i];
        x[2 * i + 1] = fabs(theta[i] - 1);
        for (size_t j = 0; j < SEEDS; j++)
            y[i * SEEDS + j] = 180 + 3 * x[2 * i] - 2 * x[2 * i + 1] + 10 * (double)j;
    }
    assert_int_equal(regression_within(y, x, LEVELS, SEEDS, 2, s, &r), 0);
    assert_true(r.df == LEVELS * SEEDS - SEEDS - 2);
    assert_true(fabs(s[0].estimate - 3) <= 1e-10 && fabs(s[1].estimate + 2) <= 1e-10);
    assert_true(r.sd <= 1e-10);
    assert_int_equal(regression_within(y, x, 4, SEEDS, 2, s, &r), ERR_ACCURACY);
    assert_int_equal(regression_within(y, x, LEVELS, 0, 2, s, &r), ERR_ACCURACY);
    assert_int_equal(regression_within(y, x, 2, 1, 2, s, &r), ERR_ACCURACY);
}

/* By hand: levels 0, 1, 2 of two seeds, 0 3 0 and 1 2 0. About the levels' means, less the seeds', 1 is left with 2
 * degrees of freedom; about the line, whose slope is -1/4, 8 - 1/4 with 3: F(1, 2) = 6.75 / .5, whose p is 1 - sqrt(F /
 * (F + 2)). A level without a run, and no more levels than a line has numbers, decide nothing. */
TEST(lack_by_hand)
{
    const double x[3] = {0, 1, 2}, y[6] = {0, 1, 3, 2, 0, 0}, none[6] = {0, 1, 3, 2, NAN, NAN};
    double p;
    assert_int_equal(regression_lack(y, x, 3, 2, 1, &p), 0);
    assert_true(fabs(p - (1 - sqrt(13.5 / 15.5))) <= 1e-12);
    assert_int_equal(regression_lack(none, x, 3, 2, 1, &p), 0);
    assert_true(isnan(p));
    assert_int_equal(regression_lack(y, x, 2, 2, 1, &p), 0);
    assert_true(isnan(p));
}

/* Draws study k: y of both slopes, seeds of standard deviation tau beside errors of 1, `off` added to the third level;
 * `missing` runs are left out. */
static void draw_study(uint64_t k, double tau, size_t missing, double off, double *x, double *y)
{
    for (size_t i = 0; i < LEVELS; i++) {
        x[2 * i] = theta[i];
        x[2 * i + 1] = fabs(theta[i] - 1);
        for (size_t j = 0; j < SEEDS; j++)
            y[i * SEEDS + j] = beta[0] * x[2 * i] + beta[1] * x[2 * i + 1] + (i == 2 ? off : 0) +
                               tau * random_normal(3, 2, SEEDS * k + j) +
                               random_normal(3, 1, LEVELS * SEEDS * k + i * SEEDS + j);
    }
    for (size_t m = 0; m < missing; m++) y[5 * m] = NAN;
}

/* Returns the share of drawn studies whose lack of fit has p < .05: .05 for levels on the lines, whatever seeds do and
 * with runs missing; more for a level that is `off` them. */
static double lack(double tau, size_t missing, double off)
{
    double share = 0, x[2 * LEVELS], y[LEVELS * SEEDS], p;
    for (uint64_t k = 0; k < DRAWS; k++) {
        draw_study(k, tau, missing, off, x, y);
        assert_int_equal(regression_lack(y, x, LEVELS, SEEDS, 2, &p), 0);
        share += p < .05;
    }
    return share / DRAWS;
}

TEST(lack_of_fit)
{
    static const struct {
        double tau;
        size_t missing;
        double off;
    } c[] = {{0, 0, 0}, {2, 0, 0}, {2, 3, 0}, {0, 0, 4}};
    for (size_t i = 0; i < 4; i++) {
        double share = lack(c[i].tau, c[i].missing, c[i].off);
        if (c[i].off == 0 ? share < .04 || share > .06 : share < .9) fail_msg("%zu: %g", i, share);
    }
}

/* Counts the shares of drawn studies whose intervals hold each slope; `narrow` scales the intervals. */
static void coverage(double tau, size_t missing, double narrow, double held[2])
{
    double x[2 * LEVELS], y[LEVELS * SEEDS];
    held[0] = held[1] = 0;
    for (uint64_t k = 0; k < DRAWS; k++) {
        Slope s[2];
        Regression r;
        draw_study(k, tau, missing, 0, x, y);
        assert_int_equal(regression_within(y, x, LEVELS, SEEDS, 2, s, &r), 0);
        for (size_t n = 0; n < 2; n++)
            held[n] += fabs(s[n].estimate - beta[n]) <= narrow * (s[n].high - s[n].estimate);
    }
    held[0] /= DRAWS;
    held[1] /= DRAWS;
}

/* The intervals hold in 95 %, within 3 standard deviations of 4,000 draws, .0103; intervals of .8 of the length are
 * seen to fail. */
TEST(intervals_hold)
{
    static const struct {
        double tau;
        size_t missing;
    } studies[] = {{0, 0}, {1, 0}, {5, 0}, {1, 3}};
    double held[2];
    for (size_t i = 0; i < sizeof studies / sizeof *studies; i++) {
        coverage(studies[i].tau, studies[i].missing, 1, held);
        for (size_t n = 0; n < 2; n++)
            if (!(fabs(held[n] - .95) <= .0104))
                fail_msg("tau %g, slope %zu: %g", studies[i].tau, n, held[n]);
    }
    coverage(1, 0, .8, held);
    assert_true(held[0] < .93 && held[1] < .93);
}

TEST_MAIN(NULL, NULL)
