/* test_statistics.c: Student's intervals against tables, rank correlations of planted relations, exact and sampled
 * permutations; slopes within seeds: normal equations by hand, planted slopes, and how often intervals hold; each judge with a
 * control that must fail. How often intervals of designs hold is test_simultaneous.c's. */
#include "tests/lib/test.h"

#include "kernels/base/error.h"
#include "kernels/base/random.h"
#include "studies/base/statistics/regression.h"
#include "studies/base/statistics/statistics.h"
#include "tests/lib/draws.h"
#include "tests/lib/scratch.h"

/* ---- intervals ------------------------------------------------------------------------------- */

/* Two numbers: t_(0.975, 1) = tan(0.475 pi) (Cauchy's quantile); 1, 2, 3, 4, 5: t_(0.975, 4) =
 * 2.776445105 (Student's table), sd sqrt(2.5). */
TEST(test_known_intervals)
{
    const double two[] = {3, 7}, five[] = {5, 1, 4, 2, 3};
    Interval i = statistics_mean(two, 1, 2);
    assert_true(i.n == 2 && i.mean == 5);
    assert_true(fabs(i.sd - sqrt(8)) <= 1e-12);
    assert_true(fabs(i.high - (5 + tan(0.475 * M_PI) * 2)) <= 1e-9);
    i = statistics_mean(five, 1, 5);
    assert_true(fabs(i.low - (3 - 2.776445105 * sqrt(2.5 / 5))) <= 1e-8);
    assert_true(fabs(i.low + i.high - 6) <= 1e-12);
}

/* An interval of positive numbers ends at 0, and all else stays. The control is the plain interval of two. */
TEST(test_positive)
{
    const double two[] = {3, 7}, five[] = {5, 1, 4, 2, 3}, none[] = {0, 0};
    Interval plain = statistics_mean(two, 1, 2), i = statistics_positive(two, 2);
    assert_true(plain.low < 0 && !statistics_is_cut(plain));
    assert_true(i.low == 0 && statistics_is_cut(i));
    assert_true(i.high == plain.high && i.mean == 5 && i.sd == plain.sd && i.p == plain.p);
    plain = statistics_mean(five, 1, 5);
    i = statistics_positive(five, 5);
    assert_memory_equal(&i, &plain, sizeof i);
    assert_false(statistics_is_cut(i) || statistics_is_cut(statistics_positive(none, 2)));
    i = statistics_positive(two, 1);
    assert_true(isnan(i.low) && !statistics_is_cut(i));
}

TEST(test_missing_numbers)
{
    const double x[] = {NAN, 3, 99, NAN, 7, 99}, none[] = {NAN};
    Interval i = statistics_mean(x + 1, 3, 2);
    assert_true(i.n == 2 && i.mean == 5); /* strided: 3, 7 */
    i = statistics_mean(x, 1, 2);
    assert_true(i.n == 1 && i.mean == 3 && isnan(i.sd) && isnan(i.low) && isnan(i.high));
    i = statistics_mean(none, 1, 1);
    assert_true(i.n == 0 && isnan(i.mean));
}

/* t = 3 / sqrt(2.5 / 5) with 4 degrees of freedom gives 2 (1 - T) = 0.013236, by the closed form of Student's
 * distribution of 4. Differences of zero have p 1. */
TEST(test_difference)
{
    const double five[] = {5, 1, 4, 2, 3}, none[5] = {0};
    Interval i = statistics_mean(five, 1, 5);
    double t = 3 / sqrt(0.5), u = t / sqrt(t * t + 4), want = 1 - u * (1 + (1 - u * u) / 2);
    assert_true(fabs(i.p - want) <= 1e-12 && fabs(want - 0.0132) <= 1e-4);
    assert_true(statistics_mean(none, 1, 5).p == 1 && isnan(statistics_mean(five, 1, 1).p));
}

/* Student's distribution of 1 degree of freedom is Cauchy's, so that p and the interval of a drawn sum of means have closed
 * forms. */
TEST(contrasts_by_hand)
{
    for (size_t k = 0; k < draws(200); k++) {
        Interval d[4] = {{0}};
        const Interval *design[4] = {&d[0], &d[1], &d[2], &d[3]};
        double weight[4], mean = 0, part = 0;
        size_t n = 2 + draw(3);
        Pooled s = {.sd = 0.1 + (double)draw(1000) / 1000, .df = 1};
        for (size_t i = 0; i < n; i++) {
            d[i].n = 1 + draw(5);
            d[i].mean = (double)draw(1000) / 1000 - 0.5;
            weight[i] = (double)draw(5) - 2;
            mean += weight[i] * d[i].mean;
            part += weight[i] * weight[i] / (double)d[i].n;
        }
        if (part == 0) continue;
        Difference got = statistics_contrast(&s, design, weight, n);
        double error = s.sd * sqrt(part), half = tan(0.475 * M_PI) * error;
        if (fabs(got.mean - mean) > 1e-12 || fabs(got.error - error) > 1e-12 ||
            fabs(got.low - (mean - half)) > 1e-8 || fabs(got.high - (mean + half)) > 1e-8 ||
            fabs(got.p - (1 - M_2_PI * atan(fabs(mean) / error))) > 1e-12)
            fail_msg("draw %zu: %g, %g: p %g", k, mean, error, got.p);
    }
}

/* ---- one-way layout (its numbers: tests/commands/test_table.c) ------------------------------------ */

/* Single runs alone have no spread: their difference stands without an interval. A design without runs has no
 * difference. */
TEST(test_nothing_to_pool)
{
    static const double x[] = {3, 5, NAN};
    Interval design[] = {statistics_mean(x, 1, 1), statistics_mean(x + 1, 1, 1),
                         statistics_mean(x + 2, 1, 1)};
    Pooled s = statistics_pool(design, 3);
    Difference d = statistics_difference(&s, &design[0], &design[1]);
    assert_true(s.df == 0 && isnan(s.sd) && d.mean == -2);
    assert_true(isnan(d.error) && isnan(d.low) && isnan(d.high) && isnan(d.p));
    Interval two = statistics_mean(x, 1, 2);
    s = statistics_pool(&two, 1);
    assert_true(s.df == 1 && s.sd == two.sd);
    assert_true(isnan(statistics_difference(&s, &two, &design[2]).mean));
    assert_true(statistics_difference(&s, &two, &two).p == 1);
}

/* ---- rank correlation ------------------------------------------------------------------------ */

static Correlation rank(const double *x, const double *y, size_t n)
{
    Correlation c;
    assert_int_equal(statistics_rank(x, y, n, 1, &c), 0);
    return c;
}

/* Any rising function has rho 1; of n! orders only two are as extreme. */
TEST(test_planted_relation)
{
    double x[8], y[8], z[8], factorial = 2;
    for (int i = 0; i < 8; i++) {
        x[i] = (i * 5) % 8;
        y[i] = exp(x[i]);
        z[i] = -y[i] * y[i];
    }
    for (size_t n = 3; n <= 8; n++) {
        factorial *= (double)n;
        Correlation up = rank(x, y, n), down = rank(x, z, n);
        assert_true(up.n == n && fabs(up.rho - 1) <= 1e-12 && fabs(down.rho + 1) <= 1e-12);
        assert_true(fabs(up.p - 2 / factorial) <= 1e-12 && fabs(down.p - up.p) <= 1e-12);
        if (n >= BOOTSTRAP_LEAST)
            assert_true(fabs(up.low - 1) <= 1e-12 && fabs(up.high - 1) <= 1e-12);
        else
            assert_true(isnan(up.low) && isnan(up.high));
    }
}

/* By hand: ranks of x 1.5 1.5 3 4, of y 2 4 1 3: sums of products about the means give
 * rho = -1 / sqrt(4.5 * 5) = -0.2108. */
TEST(test_ties)
{
    const double x[] = {7, 7, 8, 9}, y[] = {20, 40, 10, 30}, flat[] = {1, 1, 1, 1};
    Correlation c = rank(x, y, 4);
    assert_true(fabs(c.rho + 1 / sqrt(22.5)) <= 1e-12);
    c = rank(x, flat, 4);
    assert_true(c.n == 4 && isnan(c.rho) && isnan(c.p) && isnan(c.low));
    c = rank(x, y, 2);
    assert_true(c.n == 2 && isnan(c.rho));
    const double hole[] = {20, NAN, 10, 30};
    c = rank(x, hole, 4);
    assert_true(c.n == 3 && fabs(c.rho - 0.5) <= 1e-12); /* 1 2 3 against 2 1 3 */
}

/* Of BOOTSTRAP_LEAST unrelated pairs the 95 % interval leaves out 0 in one of twenty, here 2 standard deviations more. */
TEST(test_least_pairs)
{
    enum { TIMES = 400 };
    double x[BOOTSTRAP_LEAST], y[BOOTSTRAP_LEAST];
    int without = 0;
    for (uint64_t k = 0; k < TIMES; k++) {
        for (uint64_t i = 0; i < BOOTSTRAP_LEAST; i++) {
            x[i] = random_normal(k, 11, i);
            y[i] = random_normal(k, 12, i);
        }
        Correlation c = rank(x, y, BOOTSTRAP_LEAST);
        without += c.low > 0 || c.high < 0;
    }
    assert_true(without > 0 && without <= 0.072 * TIMES);
}

/* Where one of 8 pairs alone has another x, a third of the draws lacks it; where three have another, one in 40 lacks
 * them. */
TEST(test_lone_value)
{
    double x[8] = {0}, y[8];
    for (uint64_t i = 0; i < 8; i++) y[i] = random_normal(5, 1, i);
    x[7] = 1;
    Correlation lone = rank(x, y, 8);
    assert_true(isfinite(lone.rho) && isfinite(lone.p) && isnan(lone.low) && isnan(lone.high));
    x[6] = x[5] = 1;
    Correlation three = rank(x, y, 8);
    assert_true(three.low <= three.rho && three.rho <= three.high);
}

/* Two clusters lie on a line: of the 10 divisions into 2 and 3 only theirs is as far apart. Points of one heap are not
 * apart; where no group has a pair there is no result. */
TEST(test_apart)
{
    enum { N = 5, M = 18 };
    static const double at[N] = {0, 10, 0.1, 10.2, 0.3};
    static const int second[N] = {0, 1, 0, 1, 0};
    static int half[M];
    static double d[N * N], far[M * M], heap[M * M];
    double p;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) d[i * N + j] = fabs(at[i] - at[j]);
    statistics_apart(d, second, N, 1, &p);
    assert_true(p == 0.1);
    statistics_apart(d, second, 2, 1, &p);
    assert_true(isnan(p));
    for (int i = 0; i < M; i++) half[i] = i % 2;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            far[i * M + j] = half[i] != half[j] ? 2 : 1;
            heap[i * M + j] =
                fabs(random_normal(3, 1, (uint64_t)i) - random_normal(3, 1, (uint64_t)j));
        }
    statistics_apart(far, half, M, 1, &p); /* 48,620 divisions: sampled */
    assert_true(p > 0 && p < 1e-3);
    statistics_apart(heap, half, M, 1, &p);
    assert_true(p > 0.05 && p < 1);
}

/* Counts the orders of y (n) from `at` on, and those whose sum of products with x is `far` from 0 or farther. */
static void count_orders(const double *x, double *y, size_t n, size_t at, double far,
                         double count[2])
{
    double here = 0;
    for (size_t i = 0; i < n; i++) here += x[i] * y[i];
    if (at == n) count[0]++, count[1] += fabs(here) >= far - 1e-9;
    for (size_t k = at; k < n; k++) {
        double first = y[at];
        y[at] = y[k], y[k] = first;
        count_orders(x, y, n, at + 1, far, count);
        y[k] = y[at], y[at] = first;
    }
}

/* For 9 pairs the permutations are sampled: their share and the counted one agree to 4 standard deviations of 20,000
 * draws. The control: the share of a weaker relation is farther away. */
TEST(test_sampled_permutations)
{
    const double draws = 20000, x[9] = {-4, -3, -2, -1, 0, 1, 2, 3, 4};
    double y[9] = {-3, -4, 1, 0, -2, -1, 4, 2, 3}, weaker[9] = {4, -4, 1, 0, -2, -1, -3, 2, 3};
    double far = 0, count[2] = {0};
    for (int i = 0; i < 9; i++) far += x[i] * y[i];
    count_orders(x, y, 9, 0, far, count);
    double counted = count[1] / count[0], sampled = rank(x, y, 9).p;
    double allowed = 4 * sqrt(counted * (1 - counted) / draws) + 1 / draws;
    assert_true(counted > 0.001 && counted < 0.95);
    assert_true(fabs(sampled - counted) <= allowed);
    assert_false(fabs(rank(x, weaker, 9).p - counted) <= allowed);
}

/* Returns the p of statistics_within's definition by all orders within groups of 3 and 4, x and y being ranks about their
 * means: sums of products at least as large as that of the data. */
static double count_orders_within(const double *x, const double *y)
{
    static const int three[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    double seen = 0, extreme = 0;
    for (int i = 0; i < 7; i++) seen += x[i] * y[i];
    for (int a = 0; a < 6; a++)
        for (int code = 0; code < 256; code++) {
            const int at[4] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6};
            if ((1 << at[0] | 1 << at[1] | 1 << at[2] | 1 << at[3]) != 15) continue;
            double sum = 0;
            for (int i = 0; i < 3; i++) sum += x[i] * y[three[a][i]];
            for (int i = 0; i < 4; i++) sum += x[3 + i] * y[3 + at[i]];
            extreme += fabs(sum) >= fabs(seen) - 1e-9;
        }
    return extreme / (6 * 24);
}

/* Groups of 3, 4 and 1, mixed, whose levels differ far more than what is in them: the ranks of all say the opposite. By
 * hand: ranks of x about their means -1 0 1, -1.5 -.5 .5 1.5, of y 0 -1 1, -1.5 .5 -.5 1.5; sums 1 + 4, squares 7. */
TEST(test_within_groups)
{
    const double x[] = {1, 11, 2, 12, 3, 13, 99, 14}, y[] = {92, 31, 91, 33, 93, 32, 1, 34};
    const size_t group[] = {0, 1, 0, 1, 0, 1, 6, 1};
    const double rx[] = {-1, 0, 1, -1.5, -0.5, 0.5, 1.5}, ry[] = {0, -1, 1, -1.5, 0.5, -0.5, 1.5};
    Within w, other;
    assert_int_equal(statistics_within(x, y, group, 8, 1, &w), 0);
    assert_true(w.n == 7 && w.groups == 2 && fabs(w.rho - 5.0 / 7) <= 1e-12);
    assert_true(rank(x, y, 8).rho < 0);
    double p = count_orders_within(rx, ry);
    assert_true(p > 0.05 && fabs(w.p - p) <= 4 * sqrt(p * (1 - p) / 20000));
    /* y = a_group x^-2 exactly, which a NaN does not change; without groups the exponent is another */
    double power[9], more[9];
    size_t alike[9], one[9] = {0};
    for (int i = 0; i < 9; i++) {
        more[i] = i < 8 ? x[i] : 7;
        alike[i] = i < 8 ? group[i] : 0;
        power[i] = i < 8 ? (group[i] ? 5000 : 0.1) / (x[i] * x[i]) : (double)NAN;
    }
    assert_int_equal(statistics_within(more, power, alike, 9, 1, &w), 0);
    assert_true(w.n == 7 && fabs(w.slope + 2) <= 1e-12 && w.slope_high - w.slope_low <= 1e-12);
    assert_int_equal(statistics_within(more, power, one, 9, 1, &other), 0);
    assert_true(other.groups == 1 && other.slope > 0 && other.slope_high - other.slope_low > 1);
    /* nothing differs within groups; no group has two */
    const size_t alone[] = {0, 1, 2};
    assert_int_equal(
        statistics_within((double[]){4, 4, 5}, (double[]){1, 2, 3}, (size_t[]){0, 0, 2}, 3, 1, &w),
        0);
    assert_true(w.n == 2 && isnan(w.rho) && isnan(w.slope));
    /* two points have a slope, and nothing that tells how sure it is */
    assert_int_equal(
        statistics_within((double[]){1, 2}, (double[]){1, 8}, (size_t[]){0, 0}, 2, 1, &w), 0);
    assert_true(w.n == 2 && w.rho == 1 && isnan(w.slope) && isnan(w.slope_low));
    assert_int_equal(
        statistics_within((double[]){1, 2, 4}, (double[]){1, 4, 16}, (size_t[]){0, 0, 0}, 3, 1, &w),
        0);
    assert_true(fabs(w.slope - 2) <= 1e-12 &&
                fabs(w.slope_high - 2) <= 1e-6); /* three are one too many */
    assert_int_equal(statistics_within(x, y, alone, 3, 1, &w), 0);
    assert_true(w.n == 0 && w.groups == 0 && isnan(w.rho));
}

/* By hand, as in by_hand below: log x is 0 1 2 twice, log y 0 1 5 and 10 12 13: slope 2, 3 degrees of freedom, error sqrt(2/9). */
TEST(test_slope_within_groups)
{
    double x[6], y[6] = {0, 1, 5, 10, 12, 13};
    const size_t group[] = {0, 0, 0, 3, 3, 3};
    Within w;
    for (int i = 0; i < 6; i++) x[i] = exp(i % 3), y[i] = exp(y[i]);
    assert_int_equal(statistics_within(x, y, group, 6, 1, &w), 0);
    double half = 3.182446305 * sqrt(2.0 / 9);
    assert_true(fabs(w.slope - 2) <= 1e-12 && fabs(w.slope_low - (2 - half)) <= 1e-8 &&
                fabs(w.slope_high - (2 + half)) <= 1e-8);
}

static int job(void)
{
    const double x[] = {1, 2, 3, 4, 5}, y[] = {2, 1, 3, 5, 4};
    Correlation c;
    Within w;
    TRY(statistics_rank(x, y, 5, 1, &c));
    return statistics_within(x, y, (size_t[]){0, 0, 0, 0, 0}, 5, 1, &w);
}

TEST(test_memory)
{
    assert_true(fail_each(job, 0) >= 2);
}

/* ---- slopes within seeds ------------------------------------------------------------------------- */

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
    /* as many runs as numbers to find: a slope, and nothing that tells how sure it is */
    assert_int_equal(regression_within((double[]){3, 5}, x, 2, 1, 1, &s, &r), 0);
    assert_true(r.df == 0 && fabs(s.estimate - 2) <= 1e-12 && isnan(s.error) && isnan(s.low) &&
                isnan(r.sd));
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

/* No correlation is above 1, whatever its sums round to; among these some sums are. */
TEST(no_correlation_is_above_one)
{
    double x[40], y[40];
    for (size_t n = 7; n <= 40; n++)
        for (int sign = -1; sign <= 1; sign += 2) {
            Correlation c;
            for (size_t i = 0; i < n; i++) x[i] = (double)i, y[i] = sign * exp((double)i);
            assert_int_equal(statistics_rank(x, y, n, n, &c), 0);
            assert_true(c.low >= -1 && c.high <= 1 && fabs(c.rho) <= 1);
            assert_true(fabs(c.rho - sign) < 1e-12);
        }
}

TEST_MAIN(NULL, NULL)
