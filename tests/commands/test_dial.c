/* test_dial.c: `trotter compare` along dial:S,THETA: the regression's table, its words, files and plot. */
#include "tests/lib/test.h"

#include "tests/lib/compare.h"

enum { LEVELS = 5, SEEDS = 3 };
static const char *const names[LEVELS] = {"dial:2-0", "dial:2-1/2", "dial:2-1", "dial:2-3/2",
                                          "dial:2-2"};

/* Writes runs of made-up perplexities of models with so many parameters. */
static void write_runs(const char *dir, const char *params, double ppl[LEVELS][SEEDS])
{
    static char runs[4096];
    char name[64];
    size_t n = (size_t)sprintf(
        runs, "scheme,layers,params,seed,best_epoch,valid_ppl,test_ppl,tokens_per_s,peak_bytes\n");
    for (size_t i = 0; i < LEVELS; i++)
        for (size_t j = 0; j < SEEDS; j++)
            n += (size_t)sprintf(runs + n, "%s,1,%s,%zu,1,%.17g,%.17g,1,1\n", names[i], params,
                                 j + 1, ppl[i][j], 2 * ppl[i][j]);
    mkdir(file_path(dir), 0777);
    snprintf(name, sizeof name, "%s/runs.csv", dir);
    file_write(name, runs, n);
}

/* Returns the cell `name` of the row of dial/regression.csv that begins with `row`. */
static double told(const char *row, const char *name)
{
    return number(big, row, name);
}

/* By hand, on theta = 0, 1/2, 1, 3/2, 2 and |theta - 1|, centred: the two are orthogonal, with sums of squares a seed
 * of 5/2 and 7/10. Planted: 4 + .3 theta - .2 |theta - 1| + .1 seed, and +-.01 on two runs: at theta = 0 of the first
 * seed and at theta = 2 of the second. So the slope is .3 + .01 (-1) / (15/2) - .01 (1) / (15/2), and the bend is -.2 +
 * .01 (1 - 3/5) / (21/10) - .01 (1 - 3/5) / (21/10) = -.2. There are 15 - 3 - 2 degrees of freedom. Twice the
 * perplexity has twice the slopes. From theta = 1/2 on, 1/S, there are four levels: theta about its mean is -3/4, -1/4,
 * 1/4, 3/4 and the distance 0, -1/2, 0, 1/2. Over three seeds their sums are 15/4, 3/2 and, crossed, 3/2: -.01 at theta
 * = 2 moves the slope by -.01/9 and the bend by -.02/9. */
TEST(slopes)
{
    double ppl[LEVELS][SEEDS];
    for (size_t i = 0; i < LEVELS; i++)
        for (size_t j = 0; j < SEEDS; j++) {
            double theta = (double)i / 2;
            ppl[i][j] = 4 + .3 * theta - .2 * fabs(theta - 1) + .1 * (double)j;
        }
    ppl[0][0] += .01;
    ppl[4][1] -= .01;
    run_ok("compare --scheme dial:2,0 --seeds 1 --epochs 1 --csv --out made" TINY);
    char params[32];
    snprintf(params, sizeof params, "%s", out_cell(1, "params"));
    write_runs("dial", params, ppl);
    static const char all[] = "compare --seeds 3 --out dial --scheme "
                              "'dial:2,0,dial:2,1/2,dial:2,1,dial:2,1.5,dial:2,2'" TINY;
    run_ok(all);
    assert_non_null(strstr(out, "Along dial:S,THETA"));
    file_read("dial/regression.csv", big, sizeof big);
    assert_int_equal(count_lines(big), 9);
    for (int test = 0; test < 2; test++) {
        const char *theta = test ? "2,1,0,test,theta," : "2,1,0,validation,theta,",
                   *distance = test ? "2,1,0,test,distance," : "2,1,0,validation,distance,",
                   *far = test ? "2,1,0.5,test,theta," : "2,1,0.5,validation,theta,",
                   *bend = test ? "2,1,0.5,test,distance," : "2,1,0.5,validation,distance,";
        double scale = test ? 2 : 1, slope = .3 - .02 / 7.5;
        assert_true(fabs(told(theta, "estimate") - scale * slope) <= 1e-9);
        assert_true(fabs(told(distance, "estimate") + scale * .2) <= 1e-9);
        assert_true(told(theta, "df") == 10 && told(theta, "levels") == 5);
        assert_true(told(theta, "lack") > .05); /* planted on the line */
        /* the two errors follow from their sums of squares, 15/2 and 21/10 */
        assert_true(fabs(told(theta, "error") * sqrt(7.5) - told(theta, "sd")) <= 1e-12);
        assert_true(fabs(told(distance, "error") * sqrt(2.1) - told(theta, "sd")) <= 1e-12);
        assert_true(fabs(told(far, "estimate") - scale * (.3 - .01 / 9)) <= 1e-9);
        assert_true(fabs(told(bend, "estimate") + scale * (.2 + .02 / 9)) <= 1e-9);
        assert_true(told(far, "df") == 7 && told(far, "levels") == 4);
        assert_true(told(theta, "estimate_low") < slope * scale && told(theta, "p") < 1e-6);
    }
    file_read("dial/dial.csv", big, sizeof big);
    assert_int_equal(count_lines(big), LEVELS + 1);
    assert_non_null(strstr(big, "\n2,1,0.5,"));
    shell_ok(
        "test -s dial/regression.tex && test -s dial/dial.gp && grep -q 'Along dial' dial/compare.md");
    run_ok("report dial");
}

/* Where errors are measured, their logarithm has slopes too. */
TEST(errors)
{
    run_ok(
        "compare --seeds 2 --epochs 1 --out errors --scheme dial:2,0,dial:2,1/2,dial:2,1,dial:2,1.5 " NETWORK
        "--inner 16 --system linear --truncation 2 --activation gelu --corpus text ");
    file_read("errors/regression.csv", big, sizeof big);
    assert_int_equal(count_lines(big), 13);
    assert_true(told("2,1,0,error,distance,", "estimate") != 0 &&
                told("2,1,0,error,theta,", "df") == 4);
    shell_ok("test -s errors/dial-error.gp && ! test -e dial/dial-error.gp");
    run_ok("report errors");
}

/* Two levels have no regression, and schemes that are no dial have no table. */
TEST(none)
{
    run_ok("compare --seeds 2 --epochs 1 --out few --scheme 'dial:2,0,dial:2,1'" TINY);
    assert_null(strstr(out, "Along dial"));
    shell_ok("test -s few/dial.csv && ! test -e few/regression.csv");
    /* theta = 0 is one map in both dials and a level of each; 1/2 and 0.5 are one scheme */
    run_ok("compare --seeds 1 --epochs 1 --out both --scheme "
           "'dial:2,0,dial:2,1/2,dial:2,0.5,dial:4,0,dial:4,1/3'" TINY);
    file_read("both/dial.csv", big, sizeof big);
    assert_int_equal(count_lines(big), 5);
    assert_non_null(strstr(big, "\n4,1,0,"));
    run_ok("compare --seeds 1 --epochs 1 --out other --scheme euler,heun" TINY);
    shell_ok("! test -e other/dial.csv && ! test -e other/dial.gp");
}

/* --dial names the levels; without --scheme they are all, and the command can be given again from its config.ini. */
TEST(levels)
{
    static const char *const two =
        "dial:2-0\ndial:2-1/2\ndial:2-3/4\ndial:2-1\ndial:2-5/4\ndial:2-3/2\ndial:2-2\n";
    static const char *const three =
        "dial:3-0\ndial:3-1/4\ndial:3-1/3\ndial:3-3/8\ndial:3-1/2\ndial:3-5/8\ndial:3-3/4\ndial:3-1\n";
    char all[512];
    snprintf(all, sizeof all, "%s%sunigram\n", two, three);
    run_ok("compare --dial 2,3 --seeds 1 --epochs 1 --out levels" TINY);
    assert_int_equal(shell("tail -n +2 levels/compare.csv | cut -d, -f1"), 0);
    assert_string_equal(out, all);
    run_ok("compare --config levels/config.ini --out levels");
    assert_int_equal(shell("tail -n +2 levels/compare.csv | cut -d, -f1"), 0);
    assert_string_equal(out, all);
    run_ok("compare --dial 2 --scheme euler,dial:2,0.5 --seeds 1 --epochs 1 --out beside" TINY);
    assert_int_equal(shell("tail -n +2 beside/compare.csv | cut -d, -f1 | head -4"), 0);
    assert_string_equal(out, "euler\ndial:2-1/2\ndial:2-0\ndial:2-3/4\n");
    must_refuse("compare --dial 1 --out one" TINY, "--dial");
}

TEST_MAIN(study_open, program_close)
