/* test_compare_from.c: `trotter compare --from` as its users run it: recorded runs of one directory or several give
 * their tables again, runs written by hand have known statistics, and runs that do not fit are refused. */
#include "tests/lib/test.h"

#include <gsl/gsl_cdf.h>

#include "tests/lib/compare.h"

/* The tables of trained runs come again without their directories, to the byte. Runs of another size, runs that
 * contradict each other and missing runs are refused. */
TEST_BETWEEN(test_from, undrawn, NULL)
{
    static const char args[] = " --scheme transformer,heun-layer --layers 1,2 --seeds 2 --epochs 2 "
                               "--activation gelu --truncation 1 --csv ";
    static char trained[sizeof out], line[1024];
    snprintf(line, sizeof line, "compare --out trained %s" MEASURED, args);
    run_ok(line);
    strcpy(trained, out);
    assert_true(number(trained, "heun-layer,", "truncation") > 0);
    forget("trained/runs");
    /* Runs of a device are read where there is none. */
    snprintf(line, sizeof line, "compare --from trained --out again %s --device cuda" MEASURED,
             args);
    run_ok(line);
    assert_string_equal(out, trained);
    assert_false(file_exists("again/runs") || file_exists("again/curves.csv"));
    file_read("again/compare.csv", big, sizeof big);
    assert_string_equal(big, trained);
    snprintf(line, sizeof line, "compare --from again --from trained --out third %s" MEASURED,
             args);
    run_ok(line);
    assert_string_equal(out, trained);
#define AGAIN "compare --from again --epochs 2 --activation gelu --truncation 1 --out x" MEASURED
    must_refuse(AGAIN "--scheme transformer,macaron --seeds 2", "no runs.csv has a run of macaron");
    must_refuse(AGAIN "--scheme heun-layer --seeds 1",
                "again/compare.csv has heun-layer with 2 seeds, not 1 (--seeds)");
    must_refuse(
        AGAIN "--scheme heun-layer --seeds 2 --untied",
        "again holds runs of other options (--untied no, now yes); --config again/config.ini "
        "gives those of the runs");
    shell_ok("mv again/config.ini kept"); /* control: no remedy is named that is not there */
    must_refuse(AGAIN "--scheme heun-layer --seeds 2 --untied", "parameters, and");
    assert_non_null(strstr(err, "with these options\n"));
    shell_ok("mv kept again/config.ini");
#undef AGAIN
    file_read("again/runs.csv", big, sizeof big);
    spoil("again/runs.csv", cell(big, "heun-layer,1,", "valid_ppl"), "7.5");
    must_refuse(line, "trained/runs.csv: heun-layer with seed 1 has another perplexity");
}

#define TOLD "compare --from told --scheme transformer,macaron --seeds 2 --csv --out asked"

/* Replaces a cell of told/compare.csv. */
static void spoil_told(const char *row, const char *name, const char *is)
{
    char was[256], now[256];
    file_read("told/compare.csv", big, sizeof big);
    snprintf(was, sizeof was, ",%s,", cell(big, row, name));
    snprintf(now, sizeof now, ",%s,", is);
    spoil("told/compare.csv", was, now);
}

/* Recorded runs of another recipe are refused by config.ini, and without it by what the tables show: best epoch, rate,
 * dropout and unigram. Each refusal has a control. */
TEST(test_from_recipe)
{
    static char trained[sizeof out];
    char text[64];
    run_ok("compare --scheme transformer,macaron --seeds 2 --epochs 3 --csv --out told" TINY);
    strcpy(trained, out);
    forget("told/runs");
    must_refuse(TOLD TINY, "told holds runs of other options (--epochs 3, now 4); --config "
                           "told/config.ini gives those of the runs");
    must_refuse(TOLD TINY "--epochs 3 --clip 1", "(--clip 0, now 1)");
    must_refuse(TOLD TINY "--epochs 3 --tune --tune-rate 1e-2",
                "(--tune none, now yes; --tune-rate 3e-4,1e-3,3e-3, now 1e-2)");
    run_ok(TOLD TINY "--epochs 3 --recompute --all-pairs"); /* these decide nothing */
    assert_string_equal(out, trained);
    /* without config.ini */
    forget("told/config.ini");
    file_read("told/runs.csv", big, sizeof big);
    char was[128], now[128];
    const char *params = cell(big, "transformer,1,", "params");
    snprintf(was, sizeof was, "transformer,1,%s,1,%s,", params,
             cell(big, "transformer,1,", "best_epoch"));
    snprintf(now, sizeof now, "transformer,1,%s,1,6,", params);
    spoil("told/runs.csv", was, now);
    must_refuse(TOLD TINY,
                "told/runs.csv: transformer with seed 1 has best epoch 6 of a training of 4 "
                "(--epochs)");
    run_ok(TOLD TINY "--epochs 6");
    must_refuse(
        TOLD TINY "--epochs 6 --dropout 0.2",
        "told/compare.csv: transformer has dropout 0.1, and 0.2 with these options (--dropout)");
    spoil_told("transformer,", "rate", "0.5");
    must_refuse(TOLD TINY "--epochs 6",
                "transformer has rate 0.5, and 2e-2 with these options (--rate)");
    spoil_told("transformer,", "rate", "2e-2");
    run_ok(TOLD TINY "--epochs 6");
    /* the same words with other frequencies, so that models have as many parameters */
    corpus_write("shuffled", 300, 40);
    must_refuse(TOLD ANY_TEXT "--corpus shuffled --epochs 6",
                "told/compare.csv: the unigram has validation perplexity ");
    assert_non_null(strstr(err, " with these options: another corpus or vocabulary\n"));
    file_read("told/compare.csv", big, sizeof big);
    snprintf(text, sizeof text, "%.11g", number(big, "unigram,", "valid_ppl"));
    spoil_told("unigram,", "valid_ppl", text); /* fewer digits are no other corpus */
    run_ok(TOLD TINY "--epochs 6");
    spoil_told("unigram,", "test_ppl", "99");
    must_refuse(TOLD TINY "--epochs 6",
                "told/compare.csv: the unigram has test perplexity 99, and ");
    shell_ok("sed -i /^unigram,/d told/compare.csv"); /* nothing tells */
    run_ok(TOLD ANY_TEXT "--corpus shuffled --epochs 6");
}

/* A table without the column of errors' time holds errors of the flow over one step, however far the scheme goes. With
 * the column the time is its number. */
TEST(test_from_old)
{
    static const char args[] =
        " --scheme transformer,repeat:2 --seeds 1 --epochs 1 --activation gelu "
        "--truncation 1 --csv --out ";
    char line[512];
    snprintf(line, sizeof line, "compare%sfar" MEASURED, args);
    run_ok(line);
    snprintf(line, sizeof line, "compare --from far%sagain-far" MEASURED, args);
    run_ok(line);
    assert_true(number(out, "repeat:2,", "truncation_time") == 2);
    spoil("far/compare.csv", "truncation_time", "another");
    run_ok(line);
    assert_true(number(out, "repeat:2,", "truncation_time") == 1);
}

/* A study that is recorded seed by seed has the figures of a study of all seeds; a missing seed is reported. */
TEST(test_from_seeds)
{
    static const char args[] =
        " --scheme transformer,heun-layer --layers 1 --epochs 1 --activation "
        "gelu --truncation 1 --csv ";
    static const char *const columns[] = {"valid_ppl",       "valid_low",       "truncation",
                                          "truncation_high", "test_ppl",        "truncation_slope",
                                          "gaining",         "layer_truncation"};
    static char whole[sizeof out], line[1024];
    snprintf(line, sizeof line, "compare --seeds 2 --out whole %s" MEASURED, args);
    run_ok(line);
    strcpy(whole, out);
    for (int seed = 1; seed <= 2; seed++) {
        snprintf(line, sizeof line, "compare --seeds 1 --seed %d --out seed%d %s" MEASURED, seed,
                 seed, args);
        run_ok(line);
    }
    snprintf(line, sizeof line,
             "compare --from seed1 --from seed2 --seeds 2 --out both %s" MEASURED, args);
    run_ok(line);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        double a = number(whole, "heun-layer,", columns[i]),
               b = number(out, "heun-layer,", columns[i]);
        if (!(fabs(a - b) <= 1e-12 * fabs(a))) fail_msg("%s: %.17g, %.17g", columns[i], a, b);
    }
    spoil("seed2/compare.csv", "heun-layer", "heun-other");
    must_refuse(line, "no compare.csv has a row of heun-layer with 2 seeds");
}

/* Studies of several seeds each join where errors.csv has the errors of each run; without it only studies of single
 * runs join. */
TEST(test_from_studies_of_seeds)
{
    static const char args[] =
        " --scheme transformer,heun-layer --layers 1 --epochs 1 --activation gelu --truncation 1 --csv ";
    static const char *const columns[] = {"valid_ppl", "test_high", "truncation", "truncation_high",
                                          "gaining"};
    static char whole[sizeof out], line[1024];
    snprintf(line, sizeof line, "compare --seeds 4 --out whole-4 %s" MEASURED, args);
    run_ok(line);
    strcpy(whole, out);
    for (int seed = 1; seed <= 3; seed += 2) {
        snprintf(line, sizeof line, "compare --seeds 2 --seed %d --out two%d %s" MEASURED, seed,
                 seed, args);
        run_ok(line);
    }
    snprintf(line, sizeof line, "compare --from two1 --from two3 --seeds 4 --out four %s" MEASURED,
             args);
    run_ok(line);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        double a = number(whole, "heun-layer,", columns[i]),
               b = number(out, "heun-layer,", columns[i]);
        if (!(fabs(a - b) <= 1e-12 * fabs(a))) fail_msg("%s: %.17g, %.17g", columns[i], a, b);
    }
    forget("two1/errors.csv");
    forget("two3/errors.csv");
    must_refuse(line,
                "no compare.csv has a row of transformer with 4 seeds; rows of fewer seeds join "
                "where each has one, or errors.csv has the errors of each run");
}

/* Errors come from errors.csv, run by run. Where there is none they come from compare.csv, which has means alone. */
TEST(test_from_errors)
{
    static const char args[] =
        " --scheme dial:2,0,dial:2,1,dial:2,2 --layers 1 --epochs 1 --activation gelu --seeds 3 --truncation 1 --csv ";
    static char errors[sizeof out], line[1024];
    snprintf(line, sizeof line, "compare --out dialled %s" MEASURED, args);
    run_ok(line);
    file_read("dialled/regression.csv", errors, sizeof errors);
    assert_non_null(strstr(errors, ",error,theta,"));
    snprintf(line, sizeof line, "compare --from dialled --out dialled-again %s" MEASURED, args);
    run_ok(line);
    file_read("dialled-again/regression.csv", big, sizeof big);
    assert_string_equal(big, errors);
    file_read("dialled/errors.csv", errors, sizeof errors);
    file_read("dialled-again/errors.csv", big, sizeof big);
    assert_string_equal(big, errors);
    spoil("dialled-again/errors.csv", cell(big, "dial:2-1,1,3,", "truncation"), "97");
    snprintf(line, sizeof line, "compare --from dialled-again --out dialled-third %s" MEASURED,
             args);
    run_ok(line);
    assert_true(number(out, "dial:2-1,", "truncation") > 30);
    snprintf(line, sizeof line,
             "compare --from dialled-again --from dialled --out dialled-third %s" MEASURED, args);
    must_refuse(line,
                "dialled/errors.csv: dial:2-1 with seed 3 has another truncation than in a row");
    snprintf(line, sizeof line, "compare --from dialled-again --out dialled-third %s" MEASURED,
             args);
    forget("dialled-again/errors.csv");
    run_ok(line);
    assert_true(number(out, "dial:2-1,", "truncation") < 30);
    file_read("dialled-third/regression.csv", big, sizeof big);
    assert_null(strstr(big, ",error,theta,"));
}

/* Each of several directories adds what it has measured. Neither empty cells nor a missing column of one directory take
 * anything from the others, in whichever order they stand. */
TEST(test_from_measured_apart)
{
    static const char args[] =
        " --scheme transformer,heun-layer --layers 1 --epochs 1 --activation gelu --seeds 2 --truncation 1 --csv ";
    static char errors[sizeof out], line[1024];
    snprintf(line, sizeof line, "compare --out apart %s" MEASURED, args);
    run_ok(line);
    file_read("apart/errors.csv", errors, sizeof errors);
    assert_non_null(strstr(errors, ",check"));
    shell_ok("cp -r apart apart-slopes && cp -r apart apart-errors");
    shell_ok(
        "awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) { slope[i] = $i ~ /_slope$/; error[i] = i > 3 && !slope[i]; "
        "sparse[i] = $i == \"check\" } } { a = b = $1; for (i = 2; i <= NF; i++) { if (!sparse[i]) a = a FS (NR > 1 && error[i] ? "
        "\"\" : $i); b = b FS (NR > 1 && slope[i] ? \"\" : $i) } print a >\"apart-slopes/errors.csv\"; print b >\"apart-errors/errors.csv\" }' "
        "apart/errors.csv");
    for (int i = 0; i < 2; i++) {
        static const char *const order[] = {"--from apart-slopes --from apart-errors",
                                            "--from apart-errors --from apart-slopes"};
        snprintf(line, sizeof line, "compare %s --out apart-joined %s" MEASURED, order[i], args);
        run_ok(line);
        file_read("apart-joined/errors.csv", big, sizeof big);
        assert_string_equal(big, errors);
    }
}

/* Writes runs.csv and compare.csv of a directory: made-up perplexities of models with so many parameters. */
static void write_runs(const char *dir, const char *params)
{
    static const struct {
        const char *scheme;
        size_t runs;
        const char *ppl[4];
    } made[] = {{"transformer", 4, {"5.1", "4.9", "6.2", "5.8"}},
                {"heun-layer", 3, {"7.3", "6.9", "8.1"}},
                {"looped:2", 1, {"4.4"}},
                {"rk2-unit", 2, {"5.0", "5.7"}},
                {"repeat:2", 2, {"5.0", "5.7"}},
                {"rk4-layer", 2, {"9", "1e5"}},
                {"euler", 2, {"3", "inf"}}};
    static char runs[4096], rows[4096];
    char name[64];
    size_t n = (size_t)sprintf(runs, "scheme,layers,params,seed,best_epoch,valid_ppl,test_ppl,"
                                     "tokens_per_s,peak_bytes\n");
    size_t m =
        (size_t)sprintf(rows, "scheme,layers,seeds,truncation,truncation_low,truncation_high,"
                              "truncation_slope,layer_truncation,layer_truncation_slope,"
                              "gaining,rate,dropout\n");
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        for (size_t k = 0; k < made[i].runs; k++)
            n += (size_t)sprintf(runs + n, "%s,1,%s,%zu,1,%s,%s,1,1\n", made[i].scheme, params,
                                 k + 1, made[i].ppl[k], made[i].ppl[k]);
        m += (size_t)sprintf(rows + m, "%s,1,%zu,,,,,,,0,2e-2,0.1\n", made[i].scheme, made[i].runs);
    }
    mkdir(file_path(dir), 0777);
    snprintf(name, sizeof name, "%s/runs.csv", dir);
    file_write(name, runs, n);
    snprintf(name, sizeof name, "%s/compare.csv", dir);
    file_write(name, rows, m);
}

/* The vector of test_statistics.c (test_pooled) as a comparison, with Dunnett's p of test_simultaneous.c
 * (test_missing_runs). The correlation of shared seeds is Henderson's by numpy's lstsq, .6589641434262948, and its p
 * that of F = 4.864485981308411 with 3 and 3 degrees of freedom. Equal maps count as one design and one comparison, a single run is compared, and diverged runs
 * are left out of the spread and reported. */
TEST(test_layout)
{
    static const struct {
        const char *row;
        double diff, low, p;
    } want[] = {{"heun-layer,", 1.93333333333333, 0.82989686324718, 0.013505876134875},
                {"looped:2,", -1.1, -2.71526559747672, 0.330946998525183},
                {"rk2-unit,", -0.15, -1.40117935174582, 0.984738512500460},
                {"repeat:2,", -0.15, -1.40117935174582, 0.984738512500460}};
    run_ok("compare --scheme euler --seeds 1 --epochs 1 --csv --out made" TINY);
    write_runs("made", cell(out, "euler,", "params"));
    static const char args[] =
        "compare --from made --seeds 4 --epochs 1 --csv --out layout --scheme "
        "transformer,heun-layer,looped:2,rk2-unit,repeat:2,rk4-layer,euler" TINY;
    assert_int_equal(program_run(args), 1); /* the diverged ones are no better than frequencies */
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        for (int test = 0; test < 2; test++) {
            char name[64];
            const char *text = test ? "test" : "valid";
            snprintf(name, sizeof name, "%s_diff", text);
            assert_true(fabs(number(out, want[i].row, name) - want[i].diff) <= 1e-12);
            snprintf(name, sizeof name, "%s_diff_pooled_low", text);
            assert_true(fabs(number(out, want[i].row, name) - want[i].low) <= 1e-12);
            snprintf(name, sizeof name, "%s_diff_dunnett_p", text);
            assert_true(fabs(number(out, want[i].row, name) - want[i].p) <= 2e-6);
            snprintf(name, sizeof name, "%s_pooled_sd", text);
            assert_true(fabs(number(out, want[i].row, name) - 0.590432986130612) <= 1e-12);
        }
        assert_true(number(out, want[i].row, "valid_pooled_df") == 6 &&
                    number(out, want[i].row, "test_pooled_df") == 6);
    }
    assert_string_equal(cell(out, "rk4-layer,", "valid_diff"), "");
    assert_string_equal(cell(out, "euler,", "valid_diff_dunnett_p"), "");
    file_read("layout/compare.md", big, sizeof big);
    assert_non_null(strstr(big, "Differences from transformer"));
    assert_non_null(strstr(
        big,
        "1 layer: 4 designs, 3 comparisons.\n    validation: standard deviation 0.59, 6 degrees "
        "of freedom; seeds are not paired, as 3 designs lack some.\n        Where designs share "
        "seeds, their correlation is 0.66 (F test: p 0.11).\n        Designs alone have 0.49 to 0.61 "
        "(Bartlett's test of equal ones: p 0.98).\n    test: standard deviation 0.59, 6 degrees"));
    assert_non_null(strstr(big, "    1 design has one run"));
    assert_non_null(strstr(big, "rk4-layer is left out"));
    assert_non_null(strstr(big, "euler is left out"));
    /* words count the runs that are there, not the seeds that are asked for */
    assert_int_equal(program_run("compare --from made --seeds 6 --epochs 1 --out layout --scheme "
                                 "transformer,heun-layer" TINY),
                     0);
    file_read("layout/compare.md", big, sizeof big);
    assert_non_null(strstr(big, "Perplexities are means over 4 seeds;"));
    /* single runs alone: differences without intervals */
    run_ok("compare --scheme transformer,heun-layer --seeds 1 --epochs 1 --csv --out single" TINY);
    assert_true(!isnan(number(out, "heun-layer,", "valid_diff")));
    assert_string_equal(cell(out, "heun-layer,", "valid_diff_pooled_low"), "");
    assert_string_equal(cell(out, "heun-layer,", "valid_pooled_sd"), "");
    assert_string_equal(cell(out, "heun-layer,", "valid_pooled_df"), "0");
    file_read("single/compare.md", big, sizeof big);
    assert_non_null(strstr(big, "2 designs of one run each, so there is no standard deviation"));
}

/* Rank correlations with errors are over the seeds that all designs have: by all known errors of the first design they
 * would be 1. */
TEST(test_shared_errors)
{
    static const char errors[] =
        "scheme,layers,seed,truncation,truncation_slope,truncation_leading,truncation_governed\n"
        "transformer,1,1,.9,2,,\ntransformer,1,2,.05,2,,\nheun-layer,1,1,.5,2,,\n"
        "looped:2,1,1,.3,2,,\n";
    run_ok("compare --scheme euler --seeds 1 --epochs 1 --csv --out sized" TINY);
    write_runs("shared", cell(out, "euler,", "params"));
    file_write("shared/errors.csv", errors, strlen(errors));
    run_ok("compare --from shared --seeds 4 --epochs 1 --csv --out ranked --activation gelu "
           "--scheme transformer,heun-layer,looped:2 --truncation 1 " MEASURED);
    assert_true(fabs(number(out, "transformer,", "truncation") - 0.475) <= 1e-12);
    file_read("ranked/correlations.csv", big, sizeof big);
    assert_true(fabs(number(big, "validation,1,truncation,", "rho") - 0.5) <= 1e-12);
}

/* Compares all pairs of four designs of the runs of test_layout, and shows which are equal. Both options are refused
 * where they have no meaning. */
TEST(test_pairs_and_equivalence)
{
    run_ok("compare --scheme euler --seeds 1 --epochs 1 --csv --out made2" TINY);
    write_runs("made2", cell(out, "euler,", "params"));
#define MADE                                              \
    "compare --from made2 --seeds 4 --epochs 1 --scheme " \
    "transformer,heun-layer,looped:2,rk2-unit,repeat:2 "
    run_ok(MADE "--all-pairs --equivalence 2.5 --csv --out pairs" TINY);
    assert_true(number(out, "rk2-unit,", "margin") == 2.5);
    /* two one-sided tests for each of three comparisons: p lies between the p of one, t = (2.5 - .15) / .5113 with 6
     * degrees of freedom, and three times it */
    double one = gsl_cdf_tdist_Q((2.5 - 0.15) / 0.511329965221415, 6),
           p = number(out, "rk2-unit,", "valid_equal_p");
    assert_true(p > one && p <= 3 * one && p < 0.05);
    assert_true(number(out, "heun-layer,", "valid_equal_p") > 0.05);
    assert_string_equal(cell(out, "transformer,", "valid_equal_p"), "");
    file_read("pairs/pairs.csv", big, sizeof big);
    assert_int_equal(count_words(big, "\n"), 7); /* six pairs: rk2-unit and repeat:2 are one */
    assert_true(fabs(number(big, "looped:2,heun-layer,", "valid_diff") + 3.03333333333333) <=
                1e-12);
    assert_true(fabs(number(big, "looped:2,heun-layer,", "test_diff_tukey_p") - 0.01692964708578) <=
                2e-8);
    assert_true(fabs(number(big, "looped:2,heun-layer,", "valid_diff_tukey_low") +
                     5.39343568008361) <= 1e-6);
    file_read("pairs/compare.md", big, sizeof big);
    assert_non_null(strstr(
        big,
        "Designs shown to differ from transformer by less than 2.5 on validation text: rk2-unit, "
        "repeat:2; on test text: rk2-unit, repeat:2."));
    run_ok(MADE "--csv --out pairs2" TINY);
    assert_false(file_exists("pairs2/pairs.csv") || strstr(out, "margin"));
    must_refuse(MADE "--equivalence 0 --out x" TINY, "--equivalence: expected a number from");
    must_refuse(MADE "--equivalence much --out x" TINY, "--equivalence: expected a number");
#undef MADE
}

TEST_MAIN(study_open, program_close)
