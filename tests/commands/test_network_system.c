/* test_network_system.c: `trotter order --system network:DIR`: a smooth trained layer shows every exact
 * order; options that do not fit the model are refused. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

static int open_models(void **state)
{
    if (program_open(state) != 0) return -1;
    run_ok("train --corpus markov:20 --scheme transformer --width 16 --heads 2 --inner 32 "
           "--max-steps 20 --activation gelu --out smooth");
    return 0;
}

/* Returns whether the summary just printed has a scheme with this exact order and verdict. */
static int row_says(const char *scheme, int order, const char *verdict)
{
    char begin[128], end[32];
    snprintf(begin, sizeof begin, "\n%s,network,%d,", scheme, order);
    snprintf(end, sizeof end, ",%s,", verdict);
    const char *row = strstr(out, begin), *found = row ? strstr(row, end) : NULL;
    return found && found < row + 1 + strcspn(row + 1, "\n");
}

TEST(test_orders)
{
    run_ok("order --system network:smooth --summary --csv --scheme euler,transformer,heun,rk4");
    assert_true(row_says("euler", 1, "agree"));
    assert_true(row_says("transformer", 1, "agree"));
    assert_true(row_says("heun", 2, "agree"));
    assert_true(row_says("rk4", 4, "agree"));
    assert_false(row_says("rk4", 3, "agree")); /* controls */
    assert_false(row_says("rk4", 4, "disagree"));
}

TEST(test_adaptive)
{
    run_ok("order --system network:smooth --adaptive --csv --scheme bogacki-shampine --tolerances "
           "1e-4");
    assert_string_equal(out_cell(1, "system"), "network");
    assert_true(out_number(1, "error") > 0 && out_number(1, "error") < 1e-3);
}

TEST(test_refusals)
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

TEST_MAIN(open_models, program_close)
