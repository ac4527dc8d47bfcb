/* test_bench.c: what `trotter bench ode` prints is of one piece: rates, evaluations and ratios agree
 * with each other, and evaluations with what the methods are known to take. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

/* The value of row "what,variant,value,unit"; NaN where there is none. */
static double value(const char *what, const char *variant, const char *unit)
{
    char head[128], tail[64];
    snprintf(head, sizeof head, "\n%s,%s,", what, variant);
    snprintf(tail, sizeof tail, ",%s\n", unit);
    const char *row = strstr(out, head);
    if (!row) return NAN;
    char *end;
    double x = strtod(row + strlen(head), &end);
    return strncmp(end, tail, strlen(tail)) == 0 ? x : NAN;
}

static int near(double a, double b)
{
    return fabs(a / b - 1) <= 1e-9; /* a few operations on numbers printed to the last digit */
}

TEST(test_values)
{
    assert_int_equal(program_run("bench ode --system henon --repeats 3 --piece 0.1 --csv"), 0);
    assert_int_equal(strncmp(out, "what,variant,value,unit\n", 24), 0);
    double own = value("henon.rk4.evaluation", "trotter", "us");
    double gsl = value("henon.rk4.evaluation", "gsl", "us");
    double rate = value("henon.rk4.rate", "trotter", "steps/s");
    assert_true(value("henon.rk4.calls", "trotter", "evaluations/step") == 4);
    assert_true(value("henon.rk4.calls", "gsl", "evaluations/step") == 11); /* 4 + 3 + 4 */
    assert_true(value("henon.euler.calls", "trotter", "evaluations/step") == 1);
    assert_true(near(value("henon.rk4.ratio", "gsl", "x"), gsl / own));
    assert_true(near(rate, 1e6 / (4 * own)));
    assert_true(value("henon.rk4.rate_low", "trotter", "steps/s") <= rate);
    assert_true(value("henon.rk4.rate_high", "trotter", "steps/s") >= rate);
    assert_true(value("henon.rk4.moved", "trotter", "bytes/step") == 2 * 80000);
    assert_true(value("henon.strang-marchuk:exact.rate", "trotter", "steps/s") > 0);
    assert_false(near(gsl, own * 1.001)); /* controls */
    assert_true(isnan(value("henon.rk4.calls", "trotter", "us")));
    assert_true(isnan(value("henon.rk5.rate", "trotter", "steps/s")));
}

/* Boost's rows hold a number, or say that they were skipped. */
TEST(test_boost)
{
    assert_int_equal(program_run("bench ode --system henon --repeats 3 --piece 0.1 --csv"), 0);
    int there = value("henon.rk4.rate", "boost", "steps/s") > 0;
    int skipped = strstr(out, "\nhenon.rk4.rate,boost,,skipped\n") != NULL;
    assert_int_equal(there + skipped, 1);
}

TEST(test_refusals)
{
    assert_int_equal(program_run("bench"), 2);
    assert_int_equal(program_run("bench pde"), 2);
    assert_int_equal(program_run("bench ode twice"), 2);
    assert_int_equal(program_run("bench ode --system kuramoto"), 2);
    assert_int_equal(program_run("bench ode --repeats 2"), 2);
    assert_int_equal(program_run("bench ode --piece nan"), 2);
    assert_int_equal(program_run("bench ode --threads 1"), 2); /* belongs to bench train */
    assert_int_equal(program_run("bench train --system henon"), 2);
    assert_int_equal(program_run("bench ode --help"), 0);
    assert_null(strstr(out, "\n  --precision "));
    assert_int_equal(program_run("bench --help"), 0);
    assert_non_null(strstr(out, "\n  --precision "));
}

TEST_MAIN(program_open, program_close)
