/* test_depth.c: `trotter compare --by-depth`: slopes of differences of log perplexity on log layers. */
#include "tests/lib/test.h"

#include "tests/lib/compare.h"

enum { DEPTHS = 3, SEEDS = 3 };

/* Writes runs of two schemes at these depths: log perplexity of the second less the first is -.05 + .02 log layers, and .003
 * more in one run at the last depth. params (2, DEPTHS): the models' parameters. Twice the perplexity on the test text. */
static void write_runs(const char *params[2][DEPTHS])
{
    static const char *const scheme[] = {"transformer", "heun-layer"};
    static char runs[4096];
    size_t n = (size_t)sprintf(
        runs, "scheme,layers,params,seed,best_epoch,valid_ppl,test_ppl,tokens_per_s,peak_bytes\n");
    for (int i = 0; i < 2; i++)
        for (int l = 0; l < DEPTHS; l++)
            for (int k = 1; k <= SEEDS; k++) {
                double x = log(1 << l), off = l == 2 && k == 1 ? .003 : 0,
                       ppl = exp(1 - .1 * x + .04 * k + i * (-.05 + .02 * x + off));
                n += (size_t)sprintf(runs + n, "%s,%d,%s,%d,1,%.17g,%.17g,1,1\n", scheme[i], 1 << l,
                                     params[i][l], k, ppl, 2 * ppl);
            }
    mkdir(file_path("depth"), 0777);
    file_write("depth/runs.csv", runs, n);
}

/* By hand: log layers about their mean are -log 2, 0, log 2, with a sum of squares over three seeds of 6 log(2)^2, so that
 * .003 at the last depth moves the slope by .003 / (6 log 2). The rest has 9 - 3 - 1 degrees of freedom. */
TEST(slopes)
{
    static char cells[2][DEPTHS][32];
    const char *params[2][DEPTHS];
    static const char args[] =
        "compare --scheme transformer,heun-layer --layers 1,2,4 --by-depth " TINY;
    char line[512];
    snprintf(line, sizeof line, "%s --seeds 1 --epochs 1 --csv --out made", args);
    run_ok(line);
    for (int i = 0; i < 2; i++)
        for (int l = 0; l < DEPTHS; l++) {
            snprintf(cells[i][l], 32, "%s", out_cell(1 + DEPTHS * i + l, "params"));
            params[i][l] = cells[i][l];
        }
    write_runs(params);
    snprintf(line, sizeof line, "%s --seeds 3 --out depth", args);
    run_ok(line);
    assert_non_null(strstr(out, "on log layers"));
    assert_int_equal(count_words(err, "epoch 1 of"), 0);
    file_read("depth/depth.csv", big, sizeof big);
    assert_int_equal(count_lines(big), 3);
    static const char *const row[] = {"heun-layer,transformer,validation,",
                                      "heun-layer,transformer,test,"};
    for (int i = 0; i < 2; i++) {
        double slope = number(big, row[i], "slope");
        assert_true(fabs(slope - .02 - .003 / (6 * log(2))) < 1e-12);
        assert_true(number(big, row[i], "df") == 5 && number(big, row[i], "levels") == 3);
        assert_true(number(big, row[i], "slope_low") < slope && number(big, row[i], "p") < .01);
        /* the error follows from the standard deviation of the rest: 6 log(2)^2 */
        double e = .003,
               rest = e * e * (1 - 1. / 3 - 1. / 6); /* less the seed's mean and the slope */
        assert_true(fabs(number(big, row[i], "error") - sqrt(rest / 5 / 6) / log(2)) < 1e-9);
    }
    shell_ok(
        "test -s depth/depth.tex && test -s depth/depth.gp && grep -q 'log layers' depth/compare.md");
    run_ok("report depth");
    must_refuse("compare --by-depth --scheme transformer --layers 2 --out one" TINY,
                "--by-depth: expected several numbers of --layers");
}

TEST_MAIN(study_open, program_close)
