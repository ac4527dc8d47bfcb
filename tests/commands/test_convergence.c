/* test_convergence.c: the table of convergence that `order` prints, in text, Markdown and LaTeX; a smooth trained layer shows
 * every exact order; options that do not fit the model are refused. */
#include "tests/lib/test.h"

#include "studies/solve/convergence.h"
#include "studies/solve/order.h"
#include "tests/lib/program.h"

static const char *const head = "| h    | lie-trotter error | lie-trotter rate | ";

/* On nilpotent fields the error of Lie's splitting is exactly c h, and halving the step halves it. */
TEST(test_rows)
{
    run_ok("order --scheme lie-trotter --system nilpotent --halvings 4 --csv");
    double first = out_number(1, "error");
    run_ok("order --scheme lie-trotter,rk4 --system nilpotent --halvings 4 --format markdown");
    assert_int_equal(strncmp(out, head, strlen(head)), 0);
    assert_int_equal(count_lines(out), 2 + 5);
    for (int k = 0; k < 5; k++) {
        const char *error = formed("%.2e", first / (1 << k));
        char *e = strchr(error, 'e');
        HAS(out, formed("\n| 1/%-2d |           %.*se%d |             %s |", 4 << k,
                        (int)(e - error), error, atoi(e + 1), k ? "1.00" : "    "));
    }
    must_print("order --scheme lie-trotter --system nilpotent --halvings 4 --out table",
               "\n       lie-trotter\nh       error  rate\n", "\n1/8   1.08e-1  1.00\n",
               "\nscheme       system     expected  measured");
    assert_true(file_has("table/order.md", "| 1/8  |           1.08e-1 |             1.00 |"));
    HAS(file_slurp("table/order.tex", NULL),
        "\\toprule\n & \\multicolumn{2}{c}{lie-trotter} \\\\\n"
        "\\cmidrule(lr){2-3}\nh & error & rate \\\\\n\\midrule",
        "\n1/8 & 1.08$\\cdot10^{-1}$ & 1.00 \\\\\n");
    assert_true(file_has("table/order.csv", "lie-trotter,nilpotent,0.25,4,"));
    run_ok("order --scheme lie-trotter --system nilpotent --halvings 4 --summary");
    assert_true(strstr(out, "  expected  ") && !strstr(out, "  rate\n"));
}

/* The error within steps is the largest at any time, and not known where it is not known at one of them, the last or not. */
TEST(test_furthest)
{
    const double x[] = {0, 0, 3, 4, 1, 1}, y[6] = {0};
    assert_true(order_furthest(2, 3, x, y) == sqrt(12.5));
    for (int i = 0; i < 6; i++) {
        double z[6] = {0};
        z[i] = NAN;
        assert_true(isnan(order_furthest(2, 3, x, z)));
    }
}

/* Methods for y'' = f(y) and splittings of kicks and drifts show their published orders on Kepler's ellipses. */
TEST(test_published_orders)
{
    static const struct {
        const char *scheme;
        int order;
    } row[] = {{"stoermer-verlet", 2},
               {"velocity-verlet", 2},
               {"ruth3-stages", 3},
               {"rkn4", 4},
               {"forest-ruth-stages", 4},
               {"pefrl", 4},
               {"calvo-sanz-serna4", 4},
               {"mclachlan-atela4", 4},
               {"rkn5", 5},
               {"dprkn6", 6}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        run_ok("order --scheme-file classics.scheme --scheme %s --system kepler --summary --csv",
               row[i].scheme);
        if (atoi(out_cell(1, "expected")) != row[i].order ||
            fabs(out_number(1, "measured") - row[i].order) > .05 ||
            strcmp(out_cell(1, "verdict"), "agree") != 0)
            fail_msg("%s: %s", row[i].scheme, out);
    }
}

/* Steps that are not halved have the rate of their own quotient; a step that a scheme did not take is an empty cell. */
TEST(test_other_steps)
{
    static const double h[2][3] = {{.25, .125, .0625}, {.25, 1. / 6, .1}};
    OrderPoint point[2][3] = {0};
    Table one = {.name = "one"}, two = {.name = "two"}, *schemes[] = {&one, &two};
    Convergence c[2] = {{.points = 3, .point = point[0]}, {.points = 3, .point = point[1]}};
    ConvergenceStudy u = {.count = 2, .scheme = c};
    Selection s = {.count = 2, .scheme = schemes};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++)
            point[i][k] = (OrderPoint){.h = h[i][k], .error = pow(h[i][k], 2 + i)};
    assert_int_equal(convergence_rates(&u, &s), 0);
    assert_int_equal(sheet_choose(u.rates, "h,rate"), 0);
    char *text = WRITTEN(f, assert_int_equal(sheet_write(u.rates, SHEET_PLAIN, f), 0));
    assert_string_equal(text, "       one   two\n"
                              "h     rate  rate\n"
                              "----  ----  ----\n"
                              "1/4             \n"
                              "1/6         3.00\n"
                              "1/8   2.00      \n"
                              "1/10        3.00\n"
                              "1/16  2.00      \n");
    sheet_free(u.rates);
}

/* --columns takes the place of error and rate; what no column is called is told at once. */
TEST(test_columns)
{
    must_print(
        "order --scheme rk4 --system linear --halvings 4 --columns steps,error --format latex",
        "\nh & steps & error \\\\\n", "~rate");
    must_print("order --scheme rk4 --system linear --halvings 4 --summary --columns verdict,scheme "
               "--format markdown",
               "| verdict | scheme |\n");
    must_refuse("order --columns rates --halvings 24",
                "--columns: there is no column 'rates'; the nearest is 'rate'\n");
    must_refuse("order --columns error --csv", "expected --csv or --columns, not both");
    must_refuse("order --format latex --adaptive", "expected --format or --adaptive, not both");
}

/* Beside a slope that is above the order, with a term of the order seen, stands from which step on that leads, and that it is so; or that no
 * step shows it. */
TEST(test_hidden_term)
{
    static const char hidden[] =
        "order --scheme word:ssfsff:heun --system convection-diffusion --particles 4 --summary --csv";
    must_print(hidden, ",undecided,");
    HAS(err,
        "which has the order; it leads from about h = 0.0003 on: give 'trotter order' --halvings 11");
    must_print(formed("%s --halvings 11", hidden), ",agree,");
    must_print("order --scheme rodas4 --system pendulum --summary --csv", ",undecided,");
    HAS(err, "errors of the steps from which on it leads are rounding");
}

/* ---- a smooth trained layer as a system: --system network:DIR ---------------------------------- */

/* Returns whether the summary just printed has a scheme with this exact order and verdict. */
static int row_says(const char *scheme, int order, const char *verdict)
{
    const char *begin = formed("\n%s,network,%d,", scheme, order);
    const char *row = strstr(out, begin),
               *found = row ? strstr(row, formed(",%s,", verdict)) : NULL;
    return found && found < row + 1 + strcspn(row + 1, "\n");
}

TEST(network_shows_orders)
{
    run_ok("order --system network:smooth --summary --csv --scheme euler,transformer,heun,rk4");
    assert_true(row_says("euler", 1, "agree"));
    assert_true(row_says("transformer", 1, "agree"));
    assert_true(row_says("heun", 2, "agree"));
    assert_true(row_says("rk4", 4, "agree"));
    assert_false(row_says("rk4", 3, "agree")); /* controls */
    assert_false(row_says("rk4", 4, "disagree"));
}

TEST(network_by_tolerance)
{
    run_ok("order --system network:smooth --adaptive --csv --scheme bogacki-shampine --tolerances "
           "1e-4");
    assert_string_equal(out_cell(1, "system"), "network");
    assert_true(out_number(1, "error") > 0 && out_number(1, "error") < 1e-3);
}

TEST(network_refused)
{
    static const char *const bad[][2] = {
        {"", "trotter order: system network: expected network:DIR"},
        {":nowhere", "trotter order: cannot open nowhere/model.safetensors"},
        {":smooth:1", "trotter order: expected a layer below 1; 1 is asked for"},
        {":smooth:99999999999999999999", "trotter order: expected a layer below 1"},
        {":smooth --particles 21", "trotter order: smooth: expected 1 to 20 particles"},
        {":smooth --dim 16", "trotter order: --dim is not for network"},
        {":smooth --scheme macaron", "trotter order: macaron reads G2; the model"},
        {":smooth --invariant", "trotter order: "},
    };
    REFUSE_ALL("order --csv --system network%s", bad, NULL);
}

static int open_models(void **state)
{
    char classics[PATH_MAX];
    if (!realpath("tests/ode/classics.scheme", classics) || program_open(state) != 0) return -1;
    shell_ok("cp %s classics.scheme", classics);
    run_ok("train --corpus markov:20 --scheme transformer --width 16 --heads 2 --inner 32 "
           "--max-steps 20 --activation gelu --out smooth");
    return 0;
}

TEST_MAIN(open_models, program_close)
