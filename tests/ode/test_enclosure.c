/* test_enclosure.c: solutions that ball arithmetic encloses, against closed forms, digits of mpmath and neighbours. */
#include "tests/lib/test.h"

#include "tests/lib/schemes.h"

/* Encloses the state of a system, by its name with options or by its text, at time t: y (n d). Returns the radius. */
static double enclosed(const char *text, double t, double *y, size_t *N)
{
    OWN_SYSTEM *s = NULL;
    double radius = 0;
    if (strchr(text, '\n'))
        assert_int_equal(system_parse("test", text, strlen(text), 0, 0, 1, &s), 0);
    else
        assert_int_equal(system_new(text, 0, 0, 1, &s), 0);
    *N = s->n * s->d;
    if (enclosure_solve(s, &t, 1, y, &radius) != 0) fail_msg("%s: %s", text, error_text());
    return radius;
}

/* The closed solutions, in doubles, are inside of what is proved, but for their own rounding. */
TEST(closed_forms)
{
    static const char *const names[] = {"dahlquist",         "logistic", "oscillator",
                                        "prothero-robinson", "heat",     "advection"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        OWN_SYSTEM *s = NULL;
        double y[64], exact[64], radius;
        assert_int_equal(system_new(names[i], 0, 0, 1, &s), 0);
        double t = s->n * s->d > 8 ? s->t_end / 8 : s->t_end;
        assert_int_equal(enclosure_solve(s, &t, 1, y, &radius), 0);
        s->solution(s, t, exact);
        assert_true(radius > 0 && radius < 1e-13);
        for (size_t k = 0; k < s->n * s->d; k++)
            if (!(fabs(y[k] - exact[k]) <= radius + 4e-15))
                fail_msg("%s: y%zu is %.17g, not %.17g", names[i], k + 1, y[k], exact[k]);
    }
}

/* States of mpmath 1.2.1's Taylor series, 28 digits, on 2026-11-29. Numbers are the doubles that the texts have. */
static const struct {
    const char *text;
    double t, y[4];
} digits[] = {
    {"lorenz", 2, {13.5628314259973237, 5.54559328428206817, 40.5565882081880513}},
    {"pendulum", 8, {1.94415359518382437, 0.320634917823546337}},
    {"lotka-volterra", 10, {0.714376339966091259, 1.96496178635162808}},
    {"brusselator", 5, {0.426847668407535307, 4.29484180586674775}},
    {"fitzhugh-nagumo", 10, {-1.42001030483527274, -0.0205926480942492452}},
    {"system henon-heiles\ny1' = y3\ny2' = y4\ny3' = -y1 - 2*y1*y2\ny4' = -y2 - y1^2 + y2^2\n"
     "initial = 0.1, 0.2, 0.3, 0.1\n",
     10,
     {-0.237895648663656943, -0.188579006471284293, -0.263632034125288793, 0.0623105791705930552}},
    {"system rigid-body\ny1' = -2*y2*y3\ny2' = 1.25*y1*y3\ny3' = -0.5*y1*y2\n"
     "initial = 1, 0, 0.9\n",
     10,
     {0.890180572227948595, 0.36018966256328241, 0.870692461660843565}},
    {"system kepler\ny1' = y3\ny2' = y4\ny3' = -y1/(y1^2 + y2^2)^1.5\n"
     "y4' = -y2/(y1^2 + y2^2)^1.5\ninitial = 0.5, 0, 0, 1.7320508075688772\n",
     6,
     {0.357480600567154899, -0.445584183671552111, 0.900669690220105123, 1.29993413453132651}},
};

TEST(known_digits)
{
    for (size_t i = 0; i < sizeof digits / sizeof *digits; i++) {
        double y[64];
        size_t N;
        double radius = enclosed(digits[i].text, digits[i].t, y, &N);
        assert_true(radius > 0 && radius < 1e-13);
        for (size_t k = 0; k < N; k++)
            if (!(fabs(y[k] - digits[i].y[k]) <= radius + 1e-16 * fabs(y[k])))
                fail_msg("%s: y%zu is %.17g, not %.17g", digits[i].text, k + 1, y[k],
                         digits[i].y[k]);
    }
}

/* One coefficient that is a share of 1e-10 off makes another solution, and the two enclosures are apart. */
TEST(spoilt_fields)
{
    static const char *const pairs[][2] = {
        {"lorenz", "lorenz:beta=2.6666666669"},
        {"arenstorf", "arenstorf:mu=0.0122774710012"},
        {"fitzhugh-nagumo", "fitzhugh-nagumo:tau=12.500000001"},
        {"oscillator", "oscillator:omega=1.0000000001"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        double y[2][64], radius[2], apart = 0;
        size_t N;
        for (int k = 0; k < 2; k++) radius[k] = enclosed(pairs[i][k], 0.0625 / 8, y[k], &N);
        for (size_t k = 0; k < N; k++) apart = fmax(apart, fabs(y[0][k] - y[1][k]));
        if (!(apart > 10 * (radius[0] + radius[1]))) fail_msg("%s: %g", pairs[i][1], apart);
    }
}

/* Neighbours of these solutions leave them as exp(t): with 128 bits the rounding of the first steps is 1e-13 at t = 60. So a bound that
 * grows less than solutions do, by a logarithmic norm or weights that are wrong, says 1e-17 where the state is off by that; in the second
 * row the derivatives off the diagonal alone are the growth, and need weights. */
TEST(unstable_solutions)
{
    static const char *const row[] = {
        "system x\ny1' = y1 - 2*exp(-t)\ninitial = 1\n",
        "system x\ny1' = 64*y2 - 65*exp(-t)\ny2' = y1/64 - 65/64*exp(-t)\ninitial = 1, 1\n",
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        double y[64];
        size_t N;
        double radius = enclosed(row[i], 60, y, &N);
        assert_true(radius < 1e-13);
        for (size_t k = 0; k < N; k++)
            if (!(fabs(y[k] - exp(-60)) <= radius))
                fail_msg("%s: y%zu is off by %g, not %g", row[i], k + 1, y[k] - exp(-60), radius);
    }
}

/* Every operation of the language: a product of functions whose derivative the text has. */
TEST(operations)
{
    static const struct {
        const char *rate;
        double (*solution)(double t);
        double begin;
    } row[] = {
        {"exp(t)", exp, 1},
        {"1/(t + 1)", log1p, 0},
        {"cos(t)", sin, 0},
        {"-sin(t)", cos, 1},
        {"1 - tanh(t)^2", tanh, 0},
        {"1/cos(t)^2", tan, 0},
        {"1 + y1^2", tan, 0},
        {"y1^1.5/sqrt(y1)*exp(log(t + 1) - log(t + 1))", exp, 1},
        {"abs(-y1)*heaviside(y1)", exp, 1},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[512];
        double y;
        size_t N;
        snprintf(text, sizeof text, "system x\ny1' = %s\ninitial = %g\n", row[i].rate,
                 row[i].begin);
        double radius = enclosed(text, 1, &y, &N), want = row[i].solution(1);
        if (!(radius < 1e-13 && fabs(y - want) <= radius + 4e-16 * fabs(want)))
            fail_msg("%s: %.17g, not %.17g within %g", row[i].rate, y, want, radius);
    }
}

/* What cannot be enclosed has a line that says why. */
TEST(refused)
{
    static const struct {
        const char *text;
        double t;
        int code;
        const char *says;
    } row[] = {
        {"kuramoto", 1, ERR_INPUT, "a text of formulas"},
        {"medical-akzo", 1, ERR_INPUT, "at most 64 unknowns, not 400"},
        {"system x\ny1' = y1^2\ninitial = 1\n", 2, ERR_ACCURACY, "not smooth, or has no end"},
        {"system x\ny1' = abs(y1 - 1) + 1\ninitial = 0\n", 2, ERR_ACCURACY, "behind t = "},
        {"system x\ny1' = heaviside(t - 1)\ninitial = 0\n", 2, ERR_ACCURACY, "behind t = "},
        {"system x\ny1' = heaviside(y2)\ny2' = -y2\ninitial = 0, 1\n", 120, ERR_ACCURACY,
         "not smooth"}, /* exp(-120) is less than what the error may be: nobody knows the side */
        {"robertson", 1e6, ERR_ACCURACY, "error grows too fast"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OWN_SYSTEM *s = NULL;
        SCOPED(memory_drop) double *y = memory_new(1000, sizeof *y);
        double radius;
        if (strchr(row[i].text, '\n'))
            assert_int_equal(system_parse("test", row[i].text, strlen(row[i].text), 0, 0, 1, &s),
                             0);
        else
            assert_int_equal(system_new(row[i].text, 0, 0, 1, &s), 0);
        assert_int_equal(enclosure_solve(s, &row[i].t, 1, y, &radius), row[i].code);
        if (!strstr(error_text(), row[i].says)) fail_msg("%s", error_text());
    }
}

TEST_MAIN(NULL, NULL)
