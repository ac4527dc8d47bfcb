/* test_compare_pairs.c: `trotter compare` on pairs of lines as its users run it: encoders with decoders, work that is
 * done only once, tables whose numbers are recomputed from those of their runs, and runs that others recorded. */
#include "tests/lib/test.h"

#include "tests/lib/study.h"

#define SIZE " --width 16 --inner 32 --heads 2 --sequence 16 --rate 2e-2 --warmup 5 --threads 1 "
#define SMALL SIZE "--batch-tokens 256 --truncation 0 "
#define REVERSE \
    SIZE "--corpus reverse:5 --batch-tokens 2080 --max-steps 60 --eval-tokens 1300 --truncation 0 "
#define FILES SIZE "--batch-tokens 256 --corpus c --source a --target b --epochs 1 --max-steps 8 "
#define TWO "--pair transformer/transformer,macaron@2/heun-layer --seeds 2 "
#define NAMES 2
static const char *const names[NAMES] = {"transformer@1+transformer-decoder@1",
                                         "macaron@2+heun-layer-decoder@1"};

/* Writes pairs of which a network learns something in a few steps: sentences with two names each, and their
 * translations. */
static void write_pairs(void)
{
    static const char *const split[] = {"train", "val", "test"};
    mkdir(file_path("c"), 0777);
    for (int s = 0; s < 3; s++) {
        static char text[2][1 << 15];
        char *p[2] = {text[0], text[1]};
        for (int k = 0; k < (s ? 30 : 400); k++) {
            int x = (7 * k + 5 * s + k * k / 3) % 5, y = (3 * k + s + k / 2) % 5;
            p[0] += sprintf(p[0], k % 10 == 9 ? "\n" : "the %c%c saw a %c%c .\n", 'a' + x, 'a' + x,
                            'p' + y, 'p' + y);
            p[1] += sprintf(p[1], k % 10 == 9 ? "\n" : "der %c%c sah ein %c%c an .\n", 'A' + x,
                            'a' + x, 'P' + y, 'p' + y);
        }
        for (int i = 0; i < 2; i++) {
            file_text(formed("c/%s.%c", split[s], 'a' + i), text[i]);
        }
    }
}

static int begin(void **state)
{
    if (program_open(state) != 0) return -1;
    write_pairs();
    shell_ok("ln -s \"$OLDPWD/studies/results/translation/pairs\" recorded");
    write_corpus("text", NULL);
    return 0;
}

static char *slurp(const char *dir, const char *name)
{
    return file_slurp(formed("%s/%s", dir, name), NULL);
}

/* Returns the number of a row, from 0, in the column of this name; NaN where it is empty. */
static double at(const char *csv, int row, const char *name)
{
    return number_in(csv, row + 1, name);
}

static int same(double a, double b)
{
    return isnan(a) ? isnan(b) : fabs(a - b) <= 1e-9 * (1 + fabs(a));
}

static void must_be(double got, double want, const char *what)
{
    if (!same(got, want)) fail_msg("%s: %.12g, not %.12g", what, got, want);
}

/* ---- the numbers of the tables ------------------------------------------------------------------ */

/* Returns the beginning of a row, from 0, up to its comma number `cells`. */
static char *key_of(const char *csv, int row, int cells)
{
    for (; row >= 0; row--) csv = strchr(csv, '\n') + 1;
    const char *end = csv;
    for (; cells > 0; cells--) end = strchr(end, ',') + 1;
    return kept_text(strndup(csv, (size_t)(end - csv)));
}

/* Returns the BLEU of run number `run` of runs.csv from the sums of lines.csv, whose rows begin with its pair and seed:
 * Papineni et al. 2002, with smoothing exp. */
static double bleu_of(const char *lines, const char *runs, int run)
{
    char *key = key_of(runs, run, 2);
    double x[10] = {0}, logs = 0, smooth = 1;
    for (const char *row = lines; (row = strchr(row, '\n')) && *++row;) {
        if (strncmp(row, key, strlen(key)) != 0) continue;
        const char *c = row + strlen(key);
        for (int j = 0; j < 10; j++, c += strcspn(c, ",\n") + 1) x[j] += strtod(c, NULL);
    }
    for (int n = 0; n < 4; n++) {
        if (x[6 + n] == 0) return 0;
        if (x[2 + n] == 0) smooth *= 2;
        logs += log(x[2 + n] > 0 ? x[2 + n] / x[6 + n] : 1 / (smooth * x[6 + n])) / 4;
    }
    double brevity = x[0] < x[1] ? exp(1 - x[1] / x[0]) : 1;
    return 100 * brevity * exp(logs);
}

/* Checks that BLEU of the runs is that of their lines, that a pair has the mean of its runs, and that the difference of the
 * last lies in its interval of drawn lines. The control: the lines of another run. */
static void check_tables(const char *dir)
{
    char *runs = slurp(dir, "runs.csv"), *lines = slurp(dir, "lines.csv"),
         *table = slurp(dir, "compare.csv"), *less = slurp(dir, "differences.csv");
    int n = (int)count_lines(runs) - 1, pairs = (int)count_lines(table) - 1, last = 2 * pairs - 3;
    double sum = 0, of = 0;
    char *key = key_of(table, pairs - 1, 1);
    assert_true(n > 3 && pairs > 1);
    for (int r = 0; r < n; r++) {
        double bleu = at(runs, r, "test_bleu");
        must_be(bleu_of(lines, runs, r), bleu, "BLEU of lines");
        assert_false(same(bleu_of(lines, runs, r), at(runs, (r + 1) % n, "test_bleu")));
        if (strcmp(key_of(runs, r, 1), key) == 0) sum += bleu, of++;
    }
    must_be(at(table, pairs - 1, "test_bleu"), sum / of, "the mean of a pair");
    assert_int_equal(count_lines(less), 2 * pairs - 1);
    double diff = at(less, last, "difference"), p = at(less, last, "drawn_p");
    assert_true(at(less, last, "drawn_low") <= diff && diff <= at(less, last, "drawn_high"));
    assert_true(p >= 1 / 1001. - 1e-12 && p <= 1 && isnan(at(less, last - 1, "drawn_low")));
}

TEST(recorded_tables)
{
    check_tables("recorded");
}

/* Checks that `trotter bleu` gives the tables' scores on the translations that each run left. */
static void check_translations(const char *dir, const char *reference)
{
    char *runs = slurp(dir, "runs.csv");
    for (int i = 0; i < 4; i++) {
        run_ok(
            "bleu --tokenize none --metrics bleu,chrf,chrf++,ter --csv --reference %s <'%s/runs/%s-seed%d/test.out'",
            reference, dir, names[i / 2], 1 + i % 2);
        must_be(at(out, 0, "score"), at(runs, i, "test_bleu"), "trotter bleu");
        must_be(at(out, 1, "score"), at(runs, i, "test_chrf"), "chrF2");
        must_be(at(out, 2, "score"), at(runs, i, "test_chrf_words"), "chrF2++");
        must_be(at(out, 3, "score"), at(runs, i, "test_ter"), "TER");
    }
}

static void make_rev(void)
{
    run_ok("compare " TWO REVERSE "--out rev --csv");
}

TEST(reverse)
{
    make_rev();
    char *table = slurp("rev", "compare.csv");
    assert_string_equal(out, table);
    check_tables("rev");
    assert_true(at(table, 0, "encoder_order") == 1 && at(table, 0, "decoder_order") == 1);
    assert_true(at(table, 1, "encoder_layers") == 2 && at(table, 1, "layers") == 1);
    assert_true(isnan(at(table, 1, "encoder_error")));
    must_count("rev", ": trains ", 4);
    must_count("rev", ": BLEU ", 4);
    shell_ok(
        "cd rev && ls compare.md compare.tex forest.gp config.ini commands.csv differences.tex "
        ">/dev/null");
}

/* ---- work done once -------------------------------------------------------------------------------- */

TEST(done_once)
{
    if (!file_exists("rev")) make_rev();
    shell_ok("cp -r rev once");
    char *before = slurp("once", "compare.csv");
    run_ok("compare " TWO REVERSE "--out once --csv");
    assert_string_equal(out, before);
    must_count("once", ": trains ", 4);
    must_count("once", ": BLEU ", 4);
    /* options from the study's config.ini */
    run_ok("compare --config once/config.ini --out once --csv");
    assert_string_equal(out, before);
    must_count("once", ": BLEU ", 4);
    /* the number of sentences searched together changes nothing */
    run_ok("compare --config once/config.ini --sentences 3 --out once --csv");
    assert_string_equal(out, before);
    /* another search translates again and trains nothing */
    run_ok("compare " TWO REVERSE "--beam 1 --out once --csv");
    assert_string_not_equal(out, before);
    must_count("once", ": trains ", 4);
    must_count("once", ": BLEU ", 8);
    check_tables("once");
}

/* A longer training is translated anew, whatever translations there were before. */
TEST(longer_ones_are_translated_again)
{
    run_ok("compare --pair transformer/transformer --seeds 1 --epochs 1 --keep-states " SMALL
           "--corpus c --source a --target b --out longer --csv");
    double bleu = number(out, "transformer /", "valid_bleu"),
           chrf = number(out, "transformer /", "test_chrf");
    run_ok("compare --pair transformer/transformer --seeds 1 --epochs 4 " SMALL
           "--corpus c --source a --target b --out longer --csv");
    must_count("longer", ": goes on with ", 1);
    must_count("longer", ": BLEU ", 2);
    assert_false(number(out, "transformer /", "valid_bleu") == bleu &&
                 number(out, "transformer /", "test_chrf") == chrf);
}

#define STUDY "compare " TWO FILES "--activation gelu --csv "

/* Has two processes make `files`, a.out and b.out, once. */
static void make_files(void)
{
    if (file_exists("files")) return;
    pid_t a = start(STUDY "--truncation 1 --truncation-tokens 3 --out files", "a"),
          b = start(STUDY "--truncation 1 --truncation-tokens 3 --out files", "b");
    assert_int_equal(shell_finish(a), 0);
    assert_int_equal(shell_finish(b), 0);
}

TEST(files_and_two_processes)
{
    make_files();
    must_count("files", ": trains ", 4);
    must_count("files", ": BLEU ", 4);
    assert_true(same_files("a.out", "b.out"));
    assert_true(file_number("a.out", 2, "encoder_error") > 0 &&
                file_number("a.out", 2, "decoder_error") > 0);
    check_tables("files");
    check_translations("files", "c/test.b");
    char *text = slurp("files/runs/transformer@1+transformer-decoder@1-seed1", "test.out");
    assert_int_equal(count_lines(text), 30);
    assert_int_equal(count_words(text, "\n\n"), 3); /* blank lines stay */
    run_ok("translate --threads 1 --model files/runs/%s-seed2 --text c/test.a --out again",
           names[1]);
    assert_true(same_files(formed("files/runs/%s-seed2/test.out", names[1]), "again"));
}

/* The page recognises the study and its table. */
TEST(page)
{
    make_files();
    run_ok("report files --out page.html");
    HAS(file_slurp("page.html", NULL), "Comparison of encoders and decoders",
        "Pairs of schemes side by side, with");
}

/* ---- recorded runs ------------------------------------------------------------------------------------ */

#define ERRORS STUDY "--truncation 1 --truncation-tokens 3 "

/* Puts the two tables of `files` into DIR, changed by a command that runs there, and wants a refusal. */
static void refuse(const char *change, const char *options, const char *words)
{
    shell_ok("rm -rf bad; mkdir bad; cp files/runs.csv files/lines.csv bad; cd bad; %s", change);
    must_refuse(formed(ERRORS "--out bad %s", options), words);
    assert_false(file_exists("bad/compare.csv"));
}

/* Runs that have no folder are read from runs.csv and lines.csv, in any order; what is missing is trained. */
TEST(from_tables)
{
    make_files();
    char *study = slurp("files", "compare.csv");
    static const char *const made[] = {"runs.csv", "lines.csv", "compare.md", "differences.csv"};
    shell_ok(
        "mkdir told; cp files/config.ini told; for f in runs lines; do "
        "(head -1 files/$f.csv; tail -n +2 files/$f.csv | sort -rst, -k1,2) >told/$f.csv; done");
    run_ok(ERRORS "--sentences 3 --out told");
    assert_string_equal(out, study);
    must_count("told", ": trains ", 0);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        assert_same_file("told", "files", made[i], 1);
    shell_ok("sed -i '/heun-layer@1,2,/d' told/runs.csv");
    run_ok(ERRORS "--out told");
    must_count("told", ": trains ", 1);
    assert_string_equal(cell(out, "macaron", "test_bleu"), cell(study, "macaron", "test_bleu"));
    /* no better than the unigram on the test text alone, though better on validation */
    shell_ok(
        "mkdir low; cp files/lines.csv low; awk -F, -v OFS=, '/^macaron/ { $4 = 30 } 1' files/runs.csv >low/runs.csv");
    expect(0, ERRORS "--out low");
    HAS(err, "warning: no better than word frequencies: macaron");
    refuse(":", "--beam 1", "with seed 1 was measured with beam 5, now beam 1");
    refuse("sed -i '$d' lines.csv", "", "has 29 lines of macaron@2 / heun-layer@1 with seed 2");
    refuse("sed -i '2s/,[0-9]*$/,/' lines.csv", "", "bad/lines.csv: a number is missing");
    refuse("rm lines.csv", "", "bad/lines.csv");
}

/* ---- refused ------------------------------------------------------------------------------------------ */

TEST(what_is_refused)
{
    static const char *const bad[][2] = {
        {"--pair transformer", "--pair: 'transformer': expected ENCODER/DECODER"},
        {"--pair a/b/c", "--pair: 'a/b/c': expected ENCODER/DECODER"},
        {"--pair transformer/", "unknown scheme ''"},
        {"--pair transformer/nobody", "unknown scheme 'nobody'"},
        {"--pair transformer@0/transformer", "transformer@0: expected NAME@LAYERS, LAYERS from 1"},
        {"--pair transformer/transformer@2x", "transformer@2x: expected NAME@LAYERS"},
        {"--pair transformer/transformer@1001", "LAYERS from 1 to 1000"},
        {"--pair transformer/macaron,transformer/macaron-decoder",
         "--pair: transformer / macaron-decoder is there twice"},
        {"--pair transformer/macaron,transformer@1/macaron@1", "is there twice"},
        {"--pair transformer/macaron,", "expected ENCODER/DECODER"},
        {"--pair transformer-decoder/transformer", "an encoder takes a scheme of F and G"},
        {"--pair transformer/word:ff", "has neither C nor an F"},
        {"--scheme heun", "--scheme: the corpus has pairs: write --pair"},
        {"--layers 1,2", "--layers: of pairs one number"},
        {"--tune", "--tune: not of a corpus of pairs"},
        {"--tune-rate 1e-3", "--tune-rate has no meaning without --tune"},
        {"--controls", "--controls: not of a corpus of pairs"},
        {"--baseline heun", "--baseline: not of a corpus of pairs"},
        {"--system kepler", "--system: not of a corpus of pairs"},
        {"--context stream", "--context stream: the corpus has pairs"},
        {"--average 9", "--average 9: there are the ends of --epochs 4 only"},
        {"--max-length 99", "--max-length 99: the model has room for --sequence 16"},
    };
    static const char *const of_texts[][2] = {
        {"--pair transformer/transformer", "--pair: corpus text is a text"},
        {"--tokenize 13a", "--tokenize: corpus text is a text"},
        {"--beam 3", "--beam: corpus text is a text, of which nothing is translated"},
        {"--best bleu", "--best bleu: corpus text has no pairs to translate"},
    };
    REFUSE_ALL("compare " SMALL "--corpus c --source a --target b --match none --out x %s", bad,
               "x");
    REFUSE_ALL("compare " SMALL "--corpus text --out x %s", of_texts, "x");
    must_refuse("compare --corpus c --source a --target b --out x --sequence 3",
                "a sequence can have 3");
}

/* Models that predict no better than word frequencies are reported, and those that diverged are not translated. Their
 * record is read again. */
TEST(nothing_learned)
{
    static const char args[] =
        "compare --pair transformer/transformer,macaron/transformer --seeds 1 "
        "--width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 256 "
        "--threads 1 --truncation 0 --corpus c --source a --target b --csv ";
    char line[512];
    snprintf(line, sizeof line, "%s --rate 1e-9 --max-steps 1 --out dull", args);
    expect(0, "%s", line);
    assert_string_equal(
        last_line(err),
        "trotter compare: warning: no better than word frequencies, so there is nothing "
        "to compare: transformer / transformer; macaron / transformer\n");
    snprintf(line, sizeof line, "%s --rate 90 --max-steps 9 --out far", args);
    assert_int_equal(program_run(line), 1);
    char *table = slurp("far", "compare.csv");
    assert_string_equal(cell(table, "transformer", "test_bleu"), "inf");
    must_count("far", ": BLEU ", 0);
    shell_ok("rm -r far/runs far/compare.csv");
    assert_int_equal(program_run(line), 1);
    assert_string_equal(out, table);
}

TEST_MAIN(begin, program_close)
