/* test_compare_recorded.c: runs.csv alone gives the tables of `trotter compare` again; rows that do not fit are refused; while
 * a study runs it has what is done. */
#include "tests/lib/test.h"

#include "tests/lib/compare.h"

/* Tables of trained runs come again without their folders, to the byte, on a machine of another kind too; nothing is
 * trained. Runs of another recipe, of another size or of no design of the study are refused. */
TEST(test_again)
{
    static const char args[] =
        "--scheme transformer,heun-layer,dial:2,1,dial:2,0,dial:2,2 --layers 1,2 "
        "--seeds 2 --epochs 2 --activation gelu --truncation 1 --csv " MEASURED;
    char line[1024];
    run_ok("compare --out trained %s", args);
    char *trained = strdup(out);
    assert_true(number(trained, "heun-layer,", "truncation") > 0);
    assert_true(number(trained, "heun-layer,", "state_norm_high") >
                number(trained, "heun-layer,", "state_norm"));
    shell_ok("mkdir again && cp trained/runs.csv trained/config.ini again");
    run_ok("compare --out again %s", args);
    assert_string_equal(out, trained);
    free(trained);
    assert_false(file_exists("again/runs/heun-layer-seed1") || file_exists("again/curves.csv"));
    static const char *const files[] = {"runs.csv", "compare.csv", "differences.csv",
                                        "correlations.csv"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_same_file("trained", "again", files[i], 1);
    snprintf(line, sizeof line, "compare --out again --untied %s", args);
    must_refuse(line, "again holds a study of other options (--untied no, now yes)");
    forget("again/config.ini");
    must_refuse(line, "parameters, and");
    assert_non_null(strstr(err, "with these options\n"));
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
        char line[512];
        shell_ok("rm -rf asked && mkdir asked && %s rows >asked/runs.csv", list[i].edit);
        snprintf(line, sizeof line, TOLD ANY_TEXT "%s %s",
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
    static const char *const columns[] = {
        "valid_ppl", "valid_low",        "truncation", "truncation_high",
        "test_ppl",  "truncation_slope", "gaining",    "valid_diff_dunnett_p"};
    run_ok("compare --seeds 4 --out whole %s", args);
    char *whole = strdup(out);
    for (int seed = 1; seed <= 3; seed += 2)
        run_ok("compare --seeds 2 --seed %d --out two%d %s", seed, seed, args);
    shell_ok(
        "mkdir four && (cat two1/runs.csv; sed '1d; /^unigram/d' two3/runs.csv) >four/runs.csv");
    run_ok("compare --seeds 4 --out four %s", args);
    assert_null(strstr(err, "epoch 1 of"));
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        double a = number(whole, "heun-layer,", columns[i]),
               b = number(out, "heun-layer,", columns[i]);
        if (!(fabs(a - b) <= 1e-12 * fabs(a))) fail_msg("%s: %.17g, %.17g", columns[i], a, b);
    }
    free(whole);
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
        "compare --scheme euler,transformer --seeds 1 --epochs 250 --out %s" TINY;
    char line[512];
    snprintf(line, sizeof line, form, "half");
    assert_int_equal(interrupt_at("half/runs/transformer-seed1/log.csv", 2, line), 130);
    file_read("half/runs.csv", big, sizeof big);
    assert_true(number(big, "euler,1,1,", "valid_ppl") > 1);
    assert_string_equal(cell(big, "transformer,1,1,", "valid_ppl"), "");
    run_ok("report half --out page.html");
    shell_ok("grep -q '1 of 2 runs[<;]' page.html && grep -q '<th[^>]*>transformer' page.html");
    run_ok("table half/runs.csv");
    assert_non_null(
        strstr(err, "is of 'trotter compare': --design scheme --seed seed --by layers"));
    assert_non_null(strstr(err, "transformer: 1 run without a number"));
    run_ok("%s", line);
    must_count("half", ": trains euler", 1);
    run_ok(form, "never");
    shell_ok("for d in half never; do cut -d, -f1-21 $d/runs.csv >$d/rows; done");
    assert_same_file("half", "never", "rows", 1);
    run_ok("report half --out page.html");
    shell_ok("! grep -q '1 of 2 runs[<;]' page.html");
}

TEST_MAIN(study_open, program_close)
