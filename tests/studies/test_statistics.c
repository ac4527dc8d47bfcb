/* test_statistics.c: Student's intervals against tables, rank correlations of planted relations, exact and sampled
 * permutations; each judge with a control that must fail. How often intervals hold is test_simultaneous.c's. */
#include "tests/lib/test.h"

#include "kernels/random.h"
#include "studies/statistics/statistics.h"
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
    Interval plain = statistics_mean(two, 1, 2), i = statistics_positive(two, 1, 2);
    assert_true(plain.low < 0 && !statistics_is_cut(plain));
    assert_true(i.low == 0 && statistics_is_cut(i));
    assert_true(i.high == plain.high && i.mean == 5 && i.sd == plain.sd && i.p == plain.p);
    plain = statistics_mean(five, 1, 5);
    i = statistics_positive(five, 1, 5);
    assert_memory_equal(&i, &plain, sizeof i);
    assert_false(statistics_is_cut(i) || statistics_is_cut(statistics_positive(none, 1, 2)));
    i = statistics_positive(two, 1, 1);
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

static int job(void)
{
    const double x[] = {1, 2, 3, 4, 5}, y[] = {2, 1, 3, 5, 4};
    Correlation c;
    return statistics_rank(x, y, 5, 1, &c);
}

TEST(test_memory)
{
    assert_true(fail_each(job, 0) >= 2);
}

TEST_MAIN(NULL, NULL)
