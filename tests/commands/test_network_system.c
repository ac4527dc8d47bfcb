/* test_network_system.c: `trotter order --system network:DIR`: a smooth trained layer shows every exact
 * order; options that do not fit the model are refused. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

#define TRAIN \
    "train --corpus markov:20 --scheme transformer --width 16 --heads 2 --inner 32 --max-steps 20"

static void train(const char *more)
{
    char arguments[256];
    snprintf(arguments, sizeof arguments, TRAIN " %s", more);
    int status = program_run(arguments);
    if (!trained(status)) fail_msg("%s: status %d: %s", arguments, status, err);
}

static int open_models(void **state)
{
    if (program_open(state) != 0) return -1;
    train("--activation gelu --out smooth");
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
    const char *study = "order --system network:smooth --summary --csv --scheme "
                        "euler,transformer,heun,rk4";
    int status = program_run(study);
    if (status != 0) fail_msg("%s: status %d: %s", study, status, err);
    assert_true(row_says("euler", 1, "agree"));
    assert_true(row_says("transformer", 1, "agree"));
    assert_true(row_says("heun", 2, "agree"));
    assert_true(row_says("rk4", 4, "agree"));
    assert_false(row_says("rk4", 3, "agree")); /* controls */
    assert_false(row_says("rk4", 4, "disagree"));
}

TEST(test_adaptive)
{
    const char *study = "order --system network:smooth --adaptive --csv --scheme bogacki-shampine "
                        "--tolerances 1e-4";
    int status = program_run(study);
    if (status != 0) fail_msg("%s: status %d: %s", study, status, err);
    const char *row = strstr(out, "\nbogacki-shampine,network,"), *error = row ? row + 26 : NULL;
    error = error ? strchr(error, ',') : NULL;
    assert_true(error && strtod(error + 1, NULL) > 0 && strtod(error + 1, NULL) < 1e-3);
}

static void order_must_refuse(const char *more, const char *words)
{
    char arguments[256];
    snprintf(arguments, sizeof arguments, "order --csv %s", more);
    int status = program_run(arguments);
    if (!refused(status, "order", words)) fail_msg("%s: status %d: %s", more, status, err);
}

TEST(test_refusals)
{
    order_must_refuse("--system network", "system network: expected network:DIR");
    order_must_refuse("--system network:nowhere", "cannot open nowhere/model.safetensors");
    order_must_refuse("--system network:smooth:1", "expected a layer below 1; 1 is asked for");
    order_must_refuse("--system network:smooth:99999999999999999999", "expected a layer below 1");
    order_must_refuse("--system network:smooth --particles 21",
                      "smooth: expected 1 to 20 particles");
    order_must_refuse("--system network:smooth --dim 16", "--dim is not for network");
    order_must_refuse("--system network:smooth --scheme macaron", "macaron reads G2; the model");
    order_must_refuse("--system network:smooth --invariant", "");
}

TEST_MAIN(open_models, program_close)
