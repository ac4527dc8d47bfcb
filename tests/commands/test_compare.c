/* test_compare.c: `trotter compare` as its users run it: depths, controls, equal maps, tuning
 * with the test text untouched, several processes at one directory, one of them killed. */
#include "tests/lib/test.h"

#include "studies/base/process/lease.h"
#include "tests/lib/compare.h"

/* ---- the whole row --------------------------------------------------------------------------- */

static const char old_columns[] =
    "scheme,order,system,measured,low,high,verdict,evals_F,evals_G,layers,params,seeds,valid_ppl,"
    "valid_sd,test_ppl,test_sd,tokens_per_s,peak_bytes,beats_unigram,";

/* Returns a cell of the last row of a run's log. */
static double log_end(const char *run, const char *name)
{
    return file_number(formed("rows/runs/%s/log.csv", run), -1, name);
}

/* Checks the end of the curves of two seeds; a run is still gaining where its last epoch was its best. */
static void check_epochs(void)
{
    double a = log_end("macaron-seed1", "valid_ppl"), b = log_end("macaron-seed2", "valid_ppl");
    int gaining = (result_of("rows/runs/macaron-seed1", "best_epoch") == 2) +
                  (result_of("rows/runs/macaron-seed2", "best_epoch") == 2);
    assert_true(log_end("macaron-seed1", "epoch") == 2 && a > 1 && b > 1);
    assert_true(number(out, "macaron,", "gaining") == gaining);
    shell_ok("grep '^scheme\\|^macaron,.*,1$' rows/curves.csv | sed '2,$!b; $!d' >end");
    assert_true(fabs(file_number("end", 1, "valid_ppl") - (a + b) / 2) <= 1e-9 * (a + b));
}

/* Two depths and two seeds give a row each, of the means of its runs and the difference from the first. What else the engine
 * finds in runs is asserted in test_table.c. */
TEST_DRAWN(test_rows)
{
    need_tool("gnuplot");
    run_ok("compare --scheme transformer,macaron --layers 1,2 --seeds 2 --epochs 2 --csv --out "
           "rows" TINY);
    assert_int_equal(strncmp(out, old_columns, sizeof old_columns - 1), 0);
    assert_int_equal(count_words(out, "\nmacaron,"), 2);
    assert_true(file_exists("rows/runs/macaron-layers2-seed2/result.csv"));
    double mean[2] = {0};
    static const char *const scheme[] = {"transformer", "macaron"};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            mean[i] += result_of(formed("rows/runs/%s-seed%d", scheme[i], k + 1), "valid_ppl") / 2;
        }
    assert_true(fabs(number(out, "macaron,", "valid_ppl") - mean[1]) <= 1e-9 * mean[1]);
    file_read("rows/differences.csv", big, sizeof big);
    static const char *const less = "macaron,transformer,validation,";
    assert_true(fabs(number(big, less, "difference") - (mean[1] - mean[0])) <= 1e-9 * mean[1]);
    assert_true(number(big, less, "df") == 2);
    shell_ok(
        "cd rows && ls compare.csv compare.md compare.tex curves.csv correlations.csv curves.png "
        "gradients.png forest.png forest.csv runs.csv differences.tex >/dev/null");
    check_epochs();
    /* a study of one depth finds the runs of a study of both */
    run_ok("compare --scheme transformer,macaron --layers 2 --seeds 2 --epochs 2 --csv --out "
           "rows" TINY);
    assert_int_equal(count_words(err, "there already"), 4);
}

/* Contrasts stand below the differences. One that cannot be is refused before anything is trained; which, in test_table.c. */
TEST(test_contrast)
{
    run_ok("compare --scheme transformer,macaron,heun --seeds 3 --epochs 1 --csv --out contrast "
           "--contrast 'macaron heun - transformer' --contrast 'transformer - macaron'" TINY);
    double mean = (number(out, "macaron,", "test_ppl") + number(out, "heun,", "test_ppl")) / 2 -
                  number(out, "transformer,", "test_ppl");
    file_read("contrast/differences.csv", big, sizeof big);
    assert_int_equal(count_lines(big), 1 + 2 * (2 + 2));
    static const char *const row = "macaron + heun,transformer,test,";
    assert_true(fabs(number(big, row, "difference") - mean) < 1e-9);
    shell_ok("test -s contrast/differences.tex && grep -q 'A contrast is' contrast/compare.md");
    must_refuse("compare --scheme transformer,macaron --out bad --contrast 'macaron - rk4'" TINY,
                "'rk4' is none of the designs");
    assert_false(file_exists("bad/runs"));
}

/* With --patience trainings may end before their last epoch. */
TEST(test_length_in_words)
{
    must_print("compare --scheme transformer --seeds 1 --epochs 2 --patience 1 --out patient" TINY,
               "training took at most 2 epochs.\n");
    must_print("compare --scheme transformer --seeds 1 --epochs 2 --out patient-not" TINY,
               "training took 2 epochs.\n");
}

/* ---- controls and equal maps ----------------------------------------------------------------- */

TEST(test_controls)
{
    must_tell(
        "compare --scheme transformer,heun-layer,rk2-unit --controls --seeds 1 --epochs 1 --csv "
        "--out controls" TINY,
        "~--controls adds none");
    assert_string_equal(cell(out, "looped:2,", "control_of"), "heun-layer rk2-unit");
    assert_string_equal(cell(out, "repeat:2,", "control_of"), "heun-layer rk2-unit");
    assert_string_equal(cell(out, "heun-layer,", "control_of"), "");
    assert_string_equal(cell(out, "repeat:2,", "same_as"), "rk2-unit");
    assert_string_equal(cell(out, "looped:2,", "same_as"), "");
    file_read("controls/correlations.csv", big, sizeof big);
    /* five schemes, four maps */
    assert_string_equal(cell(big, "validation,1,evaluations", "designs"), "4");
    HAS(file_slurp("controls/compare.md", NULL), "repeat:2 and rk2-unit are the same map",
        "control of equal evaluations for: heun-layer rk2-unit");
    HAS(file_slurp("controls/compare.tex", NULL), "\\begin{tabular}{lrrr",
        "~$\\pm$"); /* one seed has none */
    HAS(file_slurp("controls/correlations.tex", NULL), "& evaluations &");
}

/* A two-step scheme is no longer Euler in two layers: the names stay, the number of designs changes. */
TEST(test_maps_by_depth)
{
    run_ok("compare --scheme euler,ab2,leapfrog,rk2-unit,repeat:2 --layers 1,2 --seeds 1 --epochs "
           "3 --csv --out depth" TINY);
    assert_string_equal(cell(out, "ab2,", "same_as"), "euler");
    file_read("depth/correlations.csv", big, sizeof big);
    assert_null(strstr(big, "test,1,evaluations")); /* two designs have no rank correlation */
    assert_string_equal(cell(big, "test,2,evaluations", "designs"), "4");
    run_ok("report depth --out depth.html"); /* the page knows a table whose parts are layers */
    assert_true(says("left out: 0 files"));
    HAS(file_slurp("depth/compare.md", NULL),
        "ab2 and euler are the same map at the first depth and count as one design there.",
        "repeat:2 and rk2-unit are the same map and count as one design.");
    /* The lines of equal maps show each other. */
    static const char *const plots[] = {"depth/curves.gp", "depth/gradients.gp"};
    for (size_t i = 0; i < 2; i++) {
        HAS(file_slurp(plots[i], NULL),
            "title 'ab2, 1 layer' noenhanced lc rgb '#d55e00' lw 2 dt '_ '",
            "title 'ab2, 2 layers' noenhanced lc rgb '#d55e00' lw 2 dt '-'");
    }
}

/* No two designs look the same. In the forest plot each has a row of its own; headings part the numbers of evaluations, and
 * perplexities grow from row to row below each. */
TEST(test_rows_by_evaluations)
{
    char mark[16][64], point[16], colour[16];
    int marks = 0, headings = 0, before = -1, row;
    double ppl = 0, now;
    run_ok("compare --scheme rk4-layer,euler,heun-layer,leapfrog --layers 1,2,3 --seeds 1 --epochs "
           "3 --out marks" TINY);
    char *table = file_slurp("marks/forest.csv", NULL);
    file_read("marks/forest.gp", big, sizeof big);
    const char *cells = table;
    for (const char *at = big; (at = strstr(at, " with points notitle")); at++, marks++) {
        cells = strchr(cells, '\n') + 1;
        assert_int_equal(sscanf(cells, "%d,%lf,", &row, &now), 2);
        assert_true(marks < 16 && row > before);
        int same = row == before + 1; /* another row between them is a heading */
        headings += !same;
        if (same && now < ppl) fail_msg("row %d: %g under %g", row, now, ppl);
        before = row, ppl = now;
        assert_int_equal(sscanf(strstr(at, " pt "), " pt %15s", point), 1);
        assert_int_equal(sscanf(strstr(at, "rgb '#"), "rgb '#%15[0-9a-f]", colour), 1);
        snprintf(mark[marks], sizeof mark[marks], "%s %s", point, colour);
        for (int j = 0; j < marks; j++) assert_string_not_equal(mark[j], mark[marks]);
    }
    assert_int_equal(marks, 12);
    assert_int_equal(headings, 3); /* 2, 4 and 8 evaluations */
    assert_non_null(strstr(big, "'8 evaluations of F and G a layer' at graph 0.01, first 11 "));
}

/* On the logarithmic axis the interval of an error is one of its logarithm, so it begins above 0; that of a perplexity is the
 * table's. */
TEST(test_positive)
{
    run_ok("compare --scheme transformer,heun-layer --seeds 2 --epochs 2 --activation gelu "
           "--truncation 2 --csv --out positive" MEASURED);
    HAS(file_slurp("positive/truncation.gp", NULL), "set logscale x");
    char *table = file_slurp("positive/truncation.csv", NULL);
    assert_int_equal(count_lines(table), 3);
    static const char *const scheme[] = {"transformer,", "heun-layer,"};
    for (int i = 0; i < 2; i++) {
        const double x = number(out, scheme[i], "truncation"),
                     half = number(out, scheme[i], "truncation_high") - x;
        const char *row = formed("%s,", cell(out, scheme[i], "truncation"));
        assert_true(fabs(number(table, row, "x_low") / (x * exp(-half / x)) - 1) <= 1e-12);
        assert_true(fabs(number(table, row, "x_high") / (x * exp(half / x)) - 1) <= 1e-12);
        assert_true(number(table, row, "low") == number(out, scheme[i], "valid_low"));
    }
}

/* ---- truncation errors ----------------------------------------------------------------------- */

/* The columns are those of `trotter truncation` for the same model and sentences, measured once. A run that is trained
 * anew is measured anew. */
TEST(test_truncation)
{
    static const char args[] =
        "compare --scheme transformer,heun-layer,euler,repeat:2 --seeds 1 --epochs 2 --activation "
        "gelu --truncation 2 --csv --out errors" MEASURED;
    run_ok(args);
    double split = number(out, "heun-layer,", "truncation");
    double layer = number(out, "heun-layer,", "layer_truncation");
    double slope = number(out, "heun-layer,", "truncation_slope");
    assert_true(split > 0 && layer > 0 && split != layer);
    assert_true(fabs(slope - 2) < 0.5); /* order 1 for F + G */
    assert_string_equal(cell(out, "transformer,", "layer_truncation"), "");
    file_read("errors/correlations.csv", big, sizeof big);
    assert_string_equal(cell(big, "validation,1,truncation", "designs"), "4");
    assert_non_null(
        strstr(big, "\nvalidation,1,\"truncation, order > 0\",3,")); /* repeat:2 has order 0 */
    static const char *const field[] = {"split", "layer"};
    for (int i = 0; i < 2; i++) {
        run_ok(
            "truncation --model errors/runs/heun-layer-seed1 --text text/valid.txt --sentences 2 "
            "--tokens 10 --scheme heun-layer --field %s --csv",
            field[i]);
        double told = number(out, "heun-layer,0,1,", "relative_error");
        assert_true(fabs(told - (i ? layer : split)) <= 1e-9 * told);
    }
    run_ok(args);
    must_count("errors", "heun-layer-seed1: truncation error", 1);
    spoil("errors/runs/heun-layer-seed1/truncation.csv", "truncation", "another_step");
    run_ok(args); /* a file of another measure */
    must_count("errors", "heun-layer-seed1: truncation error", 2);
    assert_true(number(out, "heun-layer,", "truncation") == split);
    run_ok("compare --scheme transformer,heun-layer,euler,repeat:2 --seeds 1 --epochs 3 "
           "--activation gelu --truncation 2 --csv --out errors" MEASURED);
    must_count("errors", "heun-layer-seed1: truncation error", 3);
    assert_true(number(out, "heun-layer,", "truncation") != split);
}

/* A network that does worse than drawing words blindly, on either text, is not measured. */
TEST(test_diverged)
{
    static const char args[] = "compare --scheme euler,heun --seeds 1 --epochs 2 --activation gelu "
                               "--truncation 1 --csv --out far" MEASURED;
    char csv[1024];
    static const char told[] =
        "no difference from euler is shown, as it has no run or one that diverged";
    run_ok(args);
    assert_null(strstr(err, told));
    assert_true(number(out, "euler,", "truncation") > 0);
    file_read("far/runs/euler-seed1/result.csv", csv, sizeof csv);
    spoil("far/runs/euler-seed1/result.csv", cell(csv, "euler,", "valid_ppl"), "inf");
    assert_int_equal(program_run(args), 1);
    HAS(err, told);
    assert_string_equal(cell(out, "euler,", "truncation"), "");
    assert_true(number(out, "heun,", "truncation") > 0);
    file_read("far/runs/heun-seed1/result.csv", csv, sizeof csv);
    spoil("far/runs/heun-seed1/result.csv", cell(csv, "heun,", "test_ppl"), "inf");
    assert_int_equal(program_run(args), 1);
    assert_string_equal(cell(out, "heun,", "truncation"), "");
}

/* Numbers of parameters are called equal only where they are: macaron has a norm more. */
TEST(test_parameters)
{
    run_ok("compare --scheme transformer,macaron --seeds 1 --epochs 1 --out near " TINY);
    double plain = file_number("near/compare.csv", 1, "params"),
           macaron = file_number("near/compare.csv", 2, "params");
    assert_true(macaron > plain &&
                file_has("near/compare.md",
                         formed("they differ by at most %.2g %%", 100 * (macaron / plain - 1))));
    run_ok("compare --scheme transformer,heun --seeds 1 --epochs 1 --out equal " TINY);
    assert_true(file_has("equal/compare.md", "Numbers of parameters are equal:"));
}

/* ---- tuning ---------------------------------------------------------------------------------- */

/* An unreadable test text does no harm where it is not read. */
TEST(test_untested)
{
    write_corpus("trap", "the zebra sat\n"); /* zebra: in no vocabulary */
    static const char args[] = "train --corpus trap --epochs 1 --width 8 --inner 16 --heads 2 "
                               "--sequence 16 --batch-tokens 256 --threads 1 --out sprung";
    must_refuse(args, "zebra");
    run_ok("%s --untested", args);
    assert_true(isnan(result_of("sprung", "test_ppl")) && result_of("sprung", "valid_ppl") > 1);
}

/* Every choice is in the log before the first reading of the test text, which no training of the grid reads, and each row
 * trains with the options that runs.csv shows to be best. Its rows alone choose again. A test text that cannot be read is
 * told before anything is trained. */
TEST(test_tuning)
{
    static const char args[] =
        "compare --scheme euler,macaron --seeds 2 --epochs 1 --tune --tune-rate 1e-3,2e-2 "
        "--tune-dropout 0,0.2 --csv --out tuned" TINY;
    run_ok(args);
    file_read("tuned/study.log", big, sizeof big);
    const char *last = NULL, *read = strstr(big, "test text read once");
    for (const char *at = big; (at = strstr(at, "chosen on validation")); at++) last = at;
    assert_true(last && read && last < read);
    assert_int_equal(count_words(big, "the test text was not opened"), 8);
    assert_int_equal(count_words(big, "test text read once"), 4);
    assert_int_equal(count_words(big, "chosen on validation"), 2);
    shell_ok("test $(cat tuned/tune/*/result.csv | cut -d, -f7 | grep -c '^$') = 8 && "
             "test $(cat tuned/runs/*/result.csv | cut -d, -f7 | grep -c '[0-9]') = 4");
    shell_ok(
        "awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $6 == \"tuning\" && $1 == \"macaron\" "
        "{ print $4, $at[\"rate\"], $at[\"dropout\"], $3, $5 }' tuned/runs.csv | sort -g >tried && test $(wc -l <tried) = 4");
    double best, rate, dropout, seed;
    file_read("tried", big, sizeof big);
    assert_int_equal(sscanf(big, "%lf %lf %lf %lf \n", &best, &rate, &dropout, &seed), 4);
    assert_true(best > 1 && seed == 0 && number(out, "macaron,", "rate") == rate &&
                number(out, "macaron,", "dropout") == dropout);
    file_read("tuned/runs/macaron-seed1/config.ini", big, sizeof big);
    char *line = strstr(big, "\nrate = ");
    assert_true(line && strtod(line + 8, NULL) == rate);
    assert_null(strstr(big, "untested"));
    shell_ok(
        "mkdir retuned && cp tuned/config.ini retuned && grep -v '^[a-z]*,1,[12],' tuned/runs.csv >retuned/runs.csv");
    run_ok("%s", "compare --config retuned/config.ini --out retuned --csv");
    must_count("retuned", ": trains ", 4);
    shell_ok(
        "for d in tuned retuned; do cut -d, -f1-6,19-21 $d/runs.csv >$d/rows; done; test ! -e retuned/tune");
    assert_same_file("tuned", "retuned", "rows", 1);
    /* lengths are tuned too: the runs have the length of the best row, and rows alone make the same table again */
    run_ok(
        "compare --scheme euler,macaron --seeds 2 --epochs 2 --tune --tune-rate 2e-2 --tune-dropout 0 "
        "--tune-epochs 1,3 --csv --out lengths" TINY);
    char *csv = strdup(out);
    HAS(file_slurp("lengths/compare.md", NULL), "training took the epochs chosen for each row",
        "and the epochs (of 1,3) that");
    for (int i = 0; i < 2; i++) {
        const char *scheme = i ? "macaron" : "euler";
        shell_ok(
            "awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $1 == \"%s\" "
            "{ if ($6 == \"tuning\") print $4, $at[\"epochs\"]; else runs[$at[\"epochs\"]]++ } "
            "END { for (e in runs) print 1e9, e, runs[e] }' lengths/runs.csv | sort -g >tried && test $(wc -l <tried) = 3",
            scheme);
        double chosen, length, count;
        file_read("tried", big, sizeof big);
        assert_int_equal(
            sscanf(big, "%lf %lf %*f %*f %*f %lf %lf", &best, &chosen, &length, &count), 4);
        assert_true(best > 1 && length == chosen && count == 2);
        assert_true(number(csv, formed("%s,", scheme), "epochs") == chosen);
    }
    shell_ok("grep -q '^epochs = ' lengths/tune/euler-rate2e-2-dropout0-epochs3-seed0/config.ini");
    shell_ok("mkdir lengths-again && cp lengths/runs.csv lengths/config.ini lengths-again");
    run_ok("compare --config lengths-again/config.ini --out lengths-again --csv");
    must_count("lengths-again", ": trains ", 0);
    assert_string_equal(out, csv);
    free(csv);
    write_corpus("trap", "the zebra sat\n");
    must_refuse("compare --scheme euler --seeds 1 --epochs 1 --tune --tune-rate 2e-2 "
                "--tune-dropout 0 --corpus trap --out caught" ANY_TEXT,
                "'zebra' is not in the vocabulary");
    assert_false(file_exists("caught"));
}

/* What a measure needs is tried before the first training: a validation text without a word has no sentence on which a
 * truncation error could be measured, and nothing is trained. Without that measure the study runs. */
TEST(what_measures_need_is_tried_first)
{
    static const char line[] =
        "compare --scheme euler --seeds 1 --epochs 2 --corpus blank --out tried-%s " ANY_TEXT
        "--truncation %d";
    write_corpus("blank", "the cat sat\n");
    shell_ok("printf '\n\n\n' >blank/valid.txt");
    assert_int_equal(program_run(line, "first", 4), 2);
    HAS(err, "blank/valid.txt: expected a line with a word", "~run 1");
    assert_false(file_exists("tried-first"));
    run_ok(line, "not", 0);
}

/* ---- programs, lengths, places ----------------------------------------------------------------------- */

/* A new program takes the place of the one that runs: the trainings still to come use the old one. The new file is no
 * program at all. */
TEST(test_program_built_anew)
{
    const char *blank = strrchr(program, ' '); /* after the words for its environment */
    shell_ok("cp '%s' mine", blank ? blank + 1 : program);
    pid_t pid = shell_start(
        "anew",
        "./mine compare --scheme euler,transformer --seeds 2 --epochs 2 --csv --out anew" TINY);
    await_lines("anew/runs/euler-seed1/log.csv", 0);
    shell_ok("echo exit 9 >other && chmod +x other && mv other mine");
    assert_int_equal(shell_finish(pid), 0);
    assert_true(file_exists("anew/runs/transformer-seed2/result.csv"));
    assert_int_not_equal(shell("./mine --version"), 0);
}

/* runs.csv of thousands of rows is not written after each run, but a study that is interrupted leaves a row of each there. */
TEST(test_interrupted_rows)
{
    int status = interrupt_at("rows-late/runs/euler-seed8/result.csv", 0,
                              "compare --scheme euler,heun-layer,rk4-layer --seeds 1000 "
                              "--max-steps 2 --out rows-late" TINY);
    assert_int_equal(status, 130);
    HAS(file_slurp("child.err", NULL), "interrupted; the same command goes on from here");
    shell_ok("[ $(grep -v bound rows-late/runs.csv | cut -d, -f4 | grep -c '^[0-9]') = "
             "$(ls rows-late/runs/*/result.csv | wc -l) ]");
}

/* Finished runs that are asked for more epochs go on where they ended, to the bytes of runs that had all epochs at
 * once, where --keep-states kept their states; other studies have none, no other forms of a log, and no drawing of a run's loss.
 * Where the rates depend on the end, and for fewer epochs, they are refused and left as they are. */
TEST(test_lengthened)
{
    static const char *const ends[] = {"", "--schedule cosine "};
    static const char *const extra[] = {
        "state.safetensors", "loss.gp",  "log.jsonl", "events.out.tfevents",
        "loss.svg",          "loss.png", "loss.pdf"};
    for (int i = 0; i < 2; i++) {
        char args[3][512];
        static const char *const form[] = {"compare --epochs 2 --keep-states --out long",
                                           "compare --epochs 5 --out long",
                                           "compare --epochs 5 --out once"};
        for (int k = 0; k < 3; k++)
            snprintf(args[k], sizeof *args, "%s --scheme euler --seeds 2 %s" TINY, form[k],
                     ends[i]);
        forget("long");
        forget("once");
        run_ok(args[0]);
        for (int k = 0; k < 4; k++)
            assert_true(file_exists(formed("long/runs/euler-seed1/%s", extra[k])));
        if (i)
            must_refuse(
                args[1],
                "long holds a study of other options (--epochs 2, now 5): give another --out, or "
                "remove long first"); /* its rates end with the run */
        if (i) forget("long");
        run_ok(args[1]);
        run_ok(args[2]);
        file_read("long/study.log", big, sizeof big);
        assert_int_equal(count_words(big, ": goes on with euler-seed"), i == 0 ? 2 : 0);
        assert_int_equal(count_words(big, ": trains euler-seed"), 2);
        for (int k = 0; k < 7; k++)
            assert_false(file_exists(formed("long/runs/euler-seed1/%s", extra[k])) ||
                         file_exists(formed("once/runs/euler-seed1/%s", extra[k])));
        for (int left = 0; left < 2; left++) {
            assert_same_file("long/runs", "once/runs", "euler-seed1/model.safetensors", 1);
            assert_same_file("long/runs", "once/runs", "euler-seed2/model.safetensors", 1);
            must_refuse(args[0], "(--epochs 5, now 2)");
        }
    }
}

/* A warm-up that is not given is a tenth of the study's first length; its runs have it, and keep it when they go on. */
TEST(test_warmup_of_a_study)
{
#define COLD                                                                                     \
    " --scheme euler --seeds 1 --width 8 --inner 16 --heads 2 --sequence 16 --batch-tokens 256 " \
    "--threads 1 --rate 2e-2 --system linear --truncation 0 --corpus text "
    static const char once[] = "compare --out warm --controls --keep-states --epochs 1" COLD,
                      longer[] = "compare --out warm --epochs 30" COLD;
    must_tell(once, "--controls adds none: no scheme here has N evaluations of F");
    shell_ok("cp warm/config.ini first");
    run_ok(once);
    run_ok(longer);
    must_count("warm", ": goes on with euler-seed", 1);
    shell_ok("grep -qx 'warmup = 1' first && grep -qx 'warmup = 1' warm/config.ini && "
             "grep -qx 'warmup = 1' warm/runs/euler-seed1/config.ini");
    forget("warm");
    run_ok(longer);
    shell_ok("! grep -qx 'warmup = 1' warm/config.ini && cd warm && "
             "grep -x 'warmup = .*' config.ini >w && grep -qxf w runs/euler-seed1/config.ini");
}

/* runs.csv has what other processes finished, also trials that this one passed by while another had them, so that it alone is
 * enough to go on from. Here another has the first trial, and this one trains the last. */
TEST(test_trials_of_others)
{
    static const char grid[] =
        "compare --scheme euler --seeds 1 --epochs 1 --tune --tune-rate 1e-3,2e-2 "
        "--tune-dropout 0 --csv --out others" TINY;
    Lease held;
    int mine = 0;
    run_ok(grid);
    shell_ok("rm -r others/runs others/runs.csv others/tune/euler-rate2e-2*");
    assert_int_equal(lease_take(file_path("others/tune/euler-rate1e-3-dropout0-seed0/claim"),
                                "another 1", &held, &mine),
                     0);
    assert_true(mine);
    pid_t pid = start(grid, "log");
    await_lines("others/runs.csv", 1);
    shell_ok("test $(grep -c ,tuning, others/runs.csv) = 2");
    lease_drop(&held);
    assert_int_equal(shell_finish(pid), 0);
}

/* Only the first process of a job writes tables; the others train and leave (which is first: tests/studies/test_lease.c). */
TEST(test_ranks)
{
    static const char args[] = "compare --scheme euler --seeds 2 --epochs 1 --csv --out ranks" TINY;
    assert_int_equal(shell("PMI_RANK=1 %s %s", program, args), 0);
    assert_string_equal(out, "");
    assert_true(file_exists("ranks/runs/euler-seed2/result.csv"));
    assert_false(file_exists("ranks/compare.csv"));
    assert_int_equal(shell("PMI_RANK=0 %s %s", program, args), 0);
    assert_int_equal(strncmp(out, old_columns, sizeof old_columns - 1), 0);
    assert_true(file_exists("ranks/compare.csv"));
}

/* A run that fails is reported, tried by one worker, and tried again by the next call. */
TEST(test_failed_run)
{
    static const char wild[] = "scheme wild\nk1 = H(y)\ny' = y + 10^40*k1\n";
    static const char args[] = "compare --scheme euler,wild --scheme-file wild.scheme --seeds 1 "
                               "--epochs 1 --csv --out failed" TINY;
    file_write("wild.scheme", wild, sizeof wild - 1);
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(program_run(args), 1);
        HAS(err, "1 run(s) failed");
        assert_string_equal(cell(out, "wild,", "valid_ppl"), "");
        assert_true(number(out, "euler,", "valid_ppl") > 1);
        file_read("failed/study.log", big, sizeof big);
        assert_int_equal(count_words(big, ": trains wild-seed1"), i);
        assert_int_equal(count_words(big, ": trains euler-seed1"), 1);
    }
}

/* A run that failed in one study, here as a folder stands where it writes, and that another process has done since is in the tables of
 * the first, which meanwhile waits for its second run: the test has that one's claim. */
TEST(test_failed_run_done_by_another)
{
    static const char line[] = "compare --scheme euler --seeds 2 --epochs 1 --out elsewhere" TINY;
    Lease held;
    int mine = 0;
    shell_ok("mkdir -p elsewhere/runs/euler-seed1/log.csv elsewhere/runs/euler-seed2");
    assert_int_equal(
        lease_take(file_path("elsewhere/runs/euler-seed2/claim"), "another 1", &held, &mine), 0);
    assert_true(mine);
    pid_t first = start(line, "log");
    await_lines("elsewhere/runs/euler-seed1/failed", 0);
    shell_ok("rmdir elsewhere/runs/euler-seed1/log.csv");
    assert_int_equal(shell("PMI_RANK=1 %s %s", program, line), 0);
    assert_true(file_exists("elsewhere/runs/euler-seed1/result.csv"));
    lease_drop(&held);
    assert_int_equal(shell_finish(first), 0);
    shell_ok("[ $(cut -d, -f12 elsewhere/compare.csv | sed -n 2p) = 2 ]");
}

/* A study is spared while it is at work and after it was stopped. A study of other options is refused before it trains
 * anything, by the study's config.ini and, where that is gone, by the run's own. The same command goes on, and more
 * schemes and seeds find the runs that are there. */
TEST(test_another_study)
{
    static const char args[] = "compare --scheme euler --seeds 1 --epochs 60 --out another" TINY;
    static const struct {
        const char *more, *words;
    } other[] = {
        {"--clip 3", "another holds a study of other options (--clip 0, now 3): give"},
        {"--scheme heun --seeds 2 --beta1 0.8", "(--beta1 0.9, now 0.8): give another --out"},
        {"--epochs 50", "(--epochs 60, now 50): give another --out, or remove another"}};
    pid_t first = start(args, "a");
    await_lines("another/runs/euler-seed1/state.safetensors", 0);
    for (int k = 0; k < 2; k++) { /* at work, and stopped */
        for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
            const char *from = strstr(other[i].more, "--scheme") ? "" : "--scheme euler --seeds 1 ";
            must_refuse(formed("compare %s%s%s --out another" TINY, from,
                               strstr(other[i].more, "--epochs") ? "" : "--epochs 60 ",
                               other[i].more),
                        other[i].words);
        }
        if (k) break;
        test_signal(first, SIGINT);
        assert_int_equal(shell_finish(first), 130);
    }
    shell_ok("cp another/runs/euler-seed1/state.safetensors before; mv another/config.ini kept");
    must_refuse(formed("%s--clip 3", args), "another/runs/euler-seed1 holds a stopped run (step ");
    HAS(err, " of another configuration (--clip 0, now 3): give another --out");
    shell_ok("cmp before another/runs/euler-seed1/state.safetensors; mv kept another/config.ini");
    run_ok(args);
    run_ok("compare --scheme euler,heun --seeds 2 --epochs 60 --out another" TINY);
    assert_int_equal(count_words(err, "there already"), 1);
    must_count("another", ": goes on with euler-seed1", 1);
    must_count("another", ": trains euler-seed1", 1);
    must_count("another", ": trains ", 4);
}

TEST(test_refused)
{
    static const char *const bad[][2] = {
        {"--layers 1,0", "expected a whole number from 1 to 1000, or several"},
        {"--layers 1,,2", "separated by commas"},
        {"--layers 2,1,2", "2 is there twice"},
        {"--scheme euler --baseline heun", "none of the schemes compared"},
        {"--scheme leapfrog-F", "past states"},
        {"--tune --tune-seed 1", "tune-seed"},
    };
    REFUSE_ALL("compare --out x" TINY "%s", bad, "x");
}

TEST_MAIN(study_open, program_close)
