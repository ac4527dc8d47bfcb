/* test_compare_recorded.c: runs.csv alone gives the tables of `trotter compare` again; rows that do not fit are refused; while
 * a study runs it has what is done. Names of runs; tolerance; --by-depth. */
#include "tests/lib/test.h"

#include "studies/lab/runs/runs.h"
#include "tests/lib/compare.h"

/* Tables of trained runs come again without their folders, to the byte, on a machine of another kind too; nothing is
 * trained. Runs of another recipe, of another size or of no design of the study are refused. */
TEST(test_again)
{
    static const char args[] =
        "--scheme transformer,heun-layer,dial:2,1,dial:2,0,dial:2,2 --layers 1,2 "
        "--seeds 2 --epochs 2 --activation gelu --truncation 1 --csv " MEASURED;
    char *trained = output_of("compare --out trained %s", args);
    assert_true(number(trained, "heun-layer,", "truncation") > 0);
    assert_true(number(trained, "heun-layer,", "state_norm_high") >
                number(trained, "heun-layer,", "state_norm"));
    assert_true(number(trained, "heun-layer,", "layer_step_high") >
                number(trained, "heun-layer,", "layer_step"));
    shell_ok("mkdir again && cp trained/runs.csv trained/config.ini again");
    run_ok("compare --out again %s", args);
    assert_string_equal(out, trained);
    assert_false(file_exists("again/runs/heun-layer-seed1") || file_exists("again/curves.csv"));
    static const char *const files[] = {"runs.csv", "compare.csv", "differences.csv",
                                        "correlations.csv"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_same_file("trained", "again", files[i], 1);
    const char *line = formed("compare --out again --untied %s", args);
    must_refuse(line, "again holds a study of other options (--untied no, now yes)");
    forget("again/config.ini");
    must_refuse(line, "parameters, and");
    HAS(err, "with these options\n");
    must_refuse(
        "compare --out again --scheme heun-layer --layers 1,2 --seeds 2 --epochs 2 --activation "
        "gelu --truncation 1 " MEASURED,
        "transformer with seed 1 has no folder and is no run of this study");
}

/* What the rows tell is held against the options: best epoch, rate and dropout, the corpus by its frequencies. Each refusal
 * has a control. */
TEST(test_recipe)
{
#define TOLD "compare --scheme transformer,macaron --seeds 2 --csv --out asked "
    run_ok("compare --scheme transformer,macaron --seeds 2 --epochs 3 --csv --out told" TINY);
    shell_ok(
        "awk -F, -v OFS=, '{ NF -= 2; print }' told/runs.csv >rows"); /* without epochs and corpus */
    static const struct {
        const char *edit, *options, *words;
    } list[] = {{"cat", "--epochs 3", NULL},
                {"cat", "--epochs 3 --dropout 0.2",
                 "transformer has dropout 0.1, and 0.2 with these options (--dropout)"},
                {"cat", "--epochs 3 --corpus shuffled", "the unigram has validation perplexity "},
                {"sed '/^unigram,/d'", "--epochs 3 --corpus shuffled", NULL},
                {"awk -F, -v OFS=, '$1 == \"macaron\" { $22 = 6 } 1'", "--epochs 4",
                 "macaron with seed 1 has best epoch 6 of a training of 4 (--epochs)"},
                {"awk -F, -v OFS=, '$1 == \"macaron\" { $22 = 6 } 1'", "--epochs 6", NULL}};
    corpus_write("shuffled", 300, 40); /* the same words with other frequencies */
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        shell_ok("rm -rf asked && mkdir asked && %s rows >asked/runs.csv", list[i].edit);
        const char *line =
            formed(TOLD ANY_TEXT "%s %s",
                   strstr(list[i].options, "--corpus") ? "" : "--corpus text", list[i].options);
        if (list[i].words)
            must_refuse(line, list[i].words);
        else
            run_ok(line);
        assert_int_equal(count_words(err, "epoch 1 of"), 0); /* nothing is trained */
    }
#undef TOLD
}

/* Rows of several studies put together are one study: two of two seeds each have the figures of one of four. A row without
 * a number is no run, so it is trained. */
TEST(test_together)
{
    static const char args[] = "--scheme transformer,heun-layer --epochs 1 --activation gelu "
                               "--truncation 1 --csv " MEASURED;
    static const char *const columns[] = {"valid_ppl",       "valid_low", "truncation",
                                          "truncation_high", "test_ppl",  "truncation_slope",
                                          "gaining"};
    char *whole = output_of("compare --seeds 4 --out whole %s", args);
    for (int seed = 1; seed <= 3; seed += 2)
        run_ok("compare --seeds 2 --seed %d --out two%d %s", seed, seed, args);
    shell_ok(
        "mkdir four && (cat two1/runs.csv; sed '1d; /^unigram/d' two3/runs.csv) >four/runs.csv");
    run_ok("compare --seeds 4 --out four %s", args);
    HAS(err, "~epoch 1 of");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        double a = number(whole, "heun-layer,", columns[i]),
               b = number(out, "heun-layer,", columns[i]);
        if (!(fabs(a - b) <= 1e-12 * fabs(a))) fail_msg("%s: %.17g, %.17g", columns[i], a, b);
    }
    shell_ok(
        "awk -F, -v OFS=, '$1 == \"heun-layer\" && $3 == 4 { $4 = $5 = \"\" } 1' four/runs.csv "
        ">x && mv x four/runs.csv");
    run_ok("compare --seeds 4 --out four %s", args);
    assert_int_equal(count_words(err, "heun-layer, seed 4: epoch 1 of"), 1);
    assert_string_equal(cell(out, "heun-layer,", "seeds"), "4");
}

/* A record may have no more than the mean and the interval of a design's errors, in one of its rows. */
TEST(test_means_of_errors)
{
    run_ok("compare --scheme transformer,heun-layer --seeds 2 --epochs 1 --csv --out plain" TINY);
    shell_ok(
        "mkdir means && awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } "
        "$1 == \"heun-layer\" && $3 == 1 { $at[\"truncation\"] = .5; $at[\"truncation_low\"] = .4; "
        "$at[\"truncation_high\"] = .6 } 1' plain/runs.csv >means/runs.csv");
    run_ok("compare --scheme transformer,heun-layer --seeds 2 --epochs 1 --csv --out means" TINY);
    assert_true(number(out, "heun-layer,", "truncation") == .5);
    assert_true(number(out, "heun-layer,", "truncation_low") == .4);
    assert_true(number(out, "heun-layer,", "truncation_high") == .6);
    assert_string_equal(cell(out, "transformer,", "truncation_low"), "");
}

/* runs.csv is made again when a run ends: a study that was stopped shows what it has. It ends as one that was not. */
TEST(test_unfinished)
{
    static const char form[] =
        "compare --scheme euler,transformer --seeds 1 --epochs 80 --out %s" TINY;
    char line[512];
    snprintf(line, sizeof line, form, "half");
    assert_int_equal(interrupt_at("half/runs/transformer-seed1/log.csv", 2, line), 130);
    file_read("half/runs.csv", big, sizeof big);
    assert_true(number(big, "euler,1,1,", "valid_ppl") > 1);
    assert_string_equal(cell(big, "transformer,1,1,", "valid_ppl"), "");
    run_ok("report half --out page.html");
    shell_ok("grep -q '1 of 2 runs[<;]' page.html && grep -q '<th[^>]*>transformer' page.html");
    must_tell("table half/runs.csv",
              "is of 'trotter compare': --design scheme --seed seed --by layers",
              "transformer: 1 run without a number");
    run_ok("%s", line);
    must_count("half", ": trains euler", 1);
    run_ok(form, "never");
    shell_ok("for d in half never; do cut -d, -f1-21 $d/runs.csv >$d/rows; done");
    assert_same_file("half", "never", "rows", 1);
    run_ok("report half --out page.html");
    shell_ok("! grep -q '1 of 2 runs[<;]' page.html");
}

/* --vary: a grid of two options. A study that is stopped goes on to the numbers of one that was not, its tables come again from
 * runs.csv alone, and the rows of another grid are none of its runs. */
TEST(test_vary)
{
#define GRID "compare --scheme transformer --seeds 1 --epochs 80 --vary activation=relu,gelu "
    static const char form[] = GRID "--vary width=8,12 --csv --out %s" TINY;
    static const char last[] = "grid/runs/transformer-activation=gelu-width=12-seed1";
    char line[512];
    snprintf(line, sizeof line, form, "grid");
    assert_int_equal(interrupt_at(formed("%s/log.csv", last), 2, line), 130);
    char *never = output_of(form, "ungrid");
    run_ok("%s", line);
    must_count("grid", ": trains transformer-activation=relu-width=8-seed1", 1);
    shell_ok("for d in grid ungrid; do cut -d, -f1-21,38-42 $d/runs.csv >$d/rows; done");
    assert_same_file("grid", "ungrid", "rows", 1);
    shell_ok("grep -qx 'width = 12' %s/config.ini && grep -qx 'activation = gelu' %s/config.ini",
             last, last);
    static const char row[] = "transformer activation=gelu width=12,";
    assert_string_equal(cell(never, row, "width"), "12");
    assert_string_equal(cell(never, row, "activation"), "gelu");
    assert_true(number(never, row, "params") >
                number(never, "transformer activation=gelu width=8,", "params"));
    file_read("ungrid/differences.csv", big, sizeof big);
    HAS(big, "transformer activation=gelu width=12,transformer activation=relu width=8,validation");
    file_read("ungrid/compare.md", big, sizeof big);
    HAS(big, "The models have the width of their row, inner width 16 and 2 heads; training took");
    must_print("table ungrid/runs.csv --design integrator,width,activation --measure valid_ppl",
               "\ntransformer@12@gelu ");
    shell_ok("mkdir regrid && cp ungrid/runs.csv ungrid/config.ini regrid");
    run_ok(form, "regrid");
    assert_string_equal(out, never);
    HAS(err, "~epoch 1 of");
    must_refuse(formed(GRID "--vary width=8,16 --csv --out regrid" TINY),
                "transformer activation=relu width=12 with seed 1 has no folder and is no run of "
                "this study");
    run_ok(GRID "--vary width=8,12 --csv --out quoted --max-steps 1 --baseline "
                "'transformer activation=gelu width=8' --contrast '\"transformer activation=gelu "
                "width=8\" - \"transformer activation=relu width=8\"'" TINY);
#undef GRID
}

/* What cannot be varied is refused before anything is read or made. */
TEST(test_not_varied)
{
    static const struct {
        const char *vary, *words;
    } list[] = {{"widht=8,16", "--vary: unknown option '--widht'; the nearest is '--width'"},
                {"seed=1,2", "--vary: --seed cannot be varied"},
                {"out=a,b", "--vary: --out cannot be varied"},
                {"threads=1,2", "--vary: --threads cannot be varied"},
                {"recompute=yes,no", "--vary: --recompute cannot be varied"},
                {"corpus=a,b", "--vary: --corpus cannot be varied"},
                {"objective=next,masked", "--vary: --objective cannot be varied"},
                {"layers=1,2", "--scheme A,B and --layers 1,2 vary those"},
                {"adaptive=5,6", "--vary: --adaptive cannot be varied"},
                {"width", "--vary: expected OPTION=A,B,..., as width=64,128, not 'width'"},
                {"width=8,x", "--vary: --width: expected a whole number from 2 to 65536, not 'x'"},
                {"width=8,", "--vary: --width: expected a whole number from 2 to 65536, not ''"},
                {"width=8,08", "--vary width: 08 is there twice"},
                {"width=8,9", "transformer width=9: "}, /* of two heads */
                {"rate=1e-3,2e-3 --vary lr=1", "--vary: rate is there twice"},
                {"rate=1e-3,2e-3 --tune", "--vary rate: --tune chooses it"}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        must_refuse(
            formed("compare --scheme transformer --seeds 1 --out not --vary %s" TINY, list[i].vary),
            list[i].words);
        assert_false(file_exists("not/runs"));
    }
}

/* A field with kinks has the tolerance of 1e-6 unless another is asked for; an error at h = 1 hardly depends on it. */
TEST(test_tolerance)
{
    static const char *const asked[] = {"0", "1e-6", "1e-9", "1e-3"};
    double error[4];
    for (size_t i = 0; i < 4; i++) {
        run_ok("compare --scheme heun-layer --seeds 1 --epochs 1 --activation relu --truncation 1 "
               "--truncation-tolerance %s --csv --out within" MEASURED,
               asked[i]);
        error[i] = number(out, "heun-layer,", "truncation");
    }
    assert_true(error[0] == error[1] && fabs(error[1] / error[2] - 1) < 1e-5);
    assert_true(fabs(error[3] - error[2]) > fabs(error[1] - error[2])); /* the control */
}

/* Scheme names may end as the names of depths do: every run has its own folder. Ordinary names keep the folders that they
 * had. */
TEST(test_names_of_runs)
{
    static const struct {
        const char *scheme, *run;
        size_t layers;
    } list[] = {{"euler", "euler-seed1", 1},
                {"euler", "euler-layers2-seed1", 2},
                {"euler-layers1", "euler-layers1-layers1-seed1", 1},
                {"euler-layers1", "euler-layers1-layers2-seed1", 2},
                {"euler-layers2", "euler-layers2-layers1-seed1", 1},
                {"euler-layers2", "euler-layers2-layers2-seed1", 2},
                {"euler-layers2-layers1", "euler-layers2-layers1-layers1-seed1", 1},
                {"euler-layers2-layers1", "euler-layers2-layers1-layers2-seed1", 2}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char name[512];
        Spec s = {0};
        spec_set(&s, SPEC_OWN, "scheme", list[i].scheme);
        spec_put(&s, "layers", list[i].layers);
        spec_put(&s, "seed", 1);
        assert_int_equal(runs_name(&s, name), 0);
        assert_string_equal(name, list[i].run);
    }
}

/* ---- by depth --------------------------------------------------------------------------------- */

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
    run_ok("%s --seeds 1 --epochs 1 --csv --out made", args);
    for (int i = 0; i < 2; i++)
        for (int l = 0; l < DEPTHS; l++) {
            snprintf(cells[i][l], 32, "%s", out_cell(1 + DEPTHS * i + l, "params"));
            params[i][l] = cells[i][l];
        }
    write_runs(params);
    must_print(formed("%s --seeds 3 --out depth", args), "on log layers");
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
