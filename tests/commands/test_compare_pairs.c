/* test_compare_pairs.c: `trotter compare` on pairs of lines as its users run it: encoders with decoders, work that is
 * done only once, tables whose numbers are recomputed from those of their runs, and runs that others recorded. */
#include "tests/lib/test.h"

#include <glob.h>
#include <gsl/gsl_cdf.h>

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
            char file[32];
            snprintf(file, sizeof file, "c/%s.%c", split[s], 'a' + i);
            file_text(file, text[i]);
        }
    }
}

static int begin(void **state)
{
    if (program_open(state) != 0) return -1;
    write_pairs();
    write_corpus("text", NULL);
    return 0;
}

static char *slurp(const char *dir, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return file_slurp(path, NULL);
}

/* Returns the number of a row, from 0, in the column of this name; NaN where it is empty. */
static double at(const char *csv, int row, const char *name)
{
    int k = column(csv, name);
    for (; row >= 0; row--) csv = strchr(csv, '\n') + 1;
    for (; k > 0; k--) csv += strcspn(csv, ",\n") + 1;
    return strchr(",\n", *csv) ? NAN : strtod(csv, NULL);
}

static int same(double a, double b)
{
    return isnan(a) ? isnan(b) : fabs(a - b) <= 1e-9 * (1 + fabs(a));
}

static void must_be(double got, double want, const char *what)
{
    if (!same(got, want)) fail_msg("%s: %.12g, not %.12g", what, got, want);
}

/* Checks that a study's log says something so many times. */
static void must_count(const char *dir, const char *words, int times)
{
    char name[64];
    snprintf(name, sizeof name, "%s/study.log", dir);
    file_read(name, big, sizeof big);
    int n = count_words(big, words);
    if (n != times) fail_msg("'%s' %d times, not %d: %s", words, n, times, big);
}

/* ---- the numbers of the tables ------------------------------------------------------------------ */

/* Returns the BLEU of run number `run` from the sums of lines.csv, one row after another: Papineni et al. 2002, with
 * smoothing exp. */
static double bleu_of(const char *lines, int run)
{
    static const char *const name[10] = {"hypothesis", "reference", "matches_1", "matches_2",
                                         "matches_3",  "matches_4", "totals_1",  "totals_2",
                                         "totals_3",   "totals_4"};
    double x[10] = {0}, logs = 0, smooth = 1;
    int place[10], which = column(lines, "run");
    for (int j = 0; j < 10; j++) place[j] = column(lines, name[j]);
    for (const char *row = strchr(lines, '\n') + 1; *row; row = strchr(row, '\n') + 1) {
        double cells[16];
        int n = 0;
        for (const char *c = row; n < 16; c = strchr(c, ',') + 1) {
            cells[n++] = strtod(c, NULL);
            if (c[strcspn(c, ",\n")] == '\n') break;
        }
        for (int j = 0; j < 10; j++)
            if (cells[which] == run) x[j] += cells[place[j]];
    }
    for (int n = 0; n < 4; n++) {
        if (x[6 + n] == 0) return 0;
        if (x[2 + n] == 0) smooth *= 2;
        logs += log(x[2 + n] > 0 ? x[2 + n] / x[6 + n] : 1 / (smooth * x[6 + n])) / 4;
    }
    double brevity = x[0] < x[1] ? exp(1 - x[1] / x[0]) : 1;
    return 100 * brevity * exp(logs);
}

/* Returns the mean of the two runs of a cell. */
static double mean_of(const char *runs, int cell_number, const char *name)
{
    return (at(runs, cell_number * 2, name) + at(runs, cell_number * 2 + 1, name)) / 2;
}

static double square_of(const char *runs, int cell_number, const char *name)
{
    double d = at(runs, cell_number * 2, name) - at(runs, cell_number * 2 + 1, name);
    return d * d / 2;
}

/* Checks that the table of a study of two cells and two seeds agrees with its runs. */
static void check_table(const char *dir)
{
    static const char *const means[][2] = {{"valid_ppl", "valid_ppl"},
                                           {"valid_bleu", "valid_bleu"},
                                           {"test_bleu", "test_bleu"},
                                           {"test_chrf", "test_chrf"},
                                           {"sentences_per_s", "sentences_per_s"},
                                           {"encoder_error", "encoder_error"}};
    char *table = slurp(dir, "compare.csv"), *runs = slurp(dir, "runs.csv"),
         *lines = slurp(dir, "lines.csv");
    assert_int_equal(count_lines(table), 3);
    assert_int_equal(count_lines(runs), 5);
    for (int i = 0; i < 4; i++)
        must_be(bleu_of(lines, i), at(runs, i, "test_bleu"), "BLEU of lines");
    assert_false(same(bleu_of(lines, 0), at(runs, 3, "test_bleu"))); /* the control */
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < sizeof means / sizeof *means; k++)
            must_be(at(table, i, means[k][0]), mean_of(runs, i, means[k][1]), means[k][0]);
        /* Student's t with one degree of freedom: tan(0.475 pi) sd / sqrt(2) */
        double sd = sqrt(square_of(runs, i, "test_bleu")), half = tan(0.475 * M_PI) * sd / sqrt(2);
        must_be(at(table, i, "test_bleu_sd"), sd, "sd");
        must_be(at(table, i, "test_bleu_high"), mean_of(runs, i, "test_bleu") + half, "high end");
        assert_true(at(table, i, "seeds") == 2);
    }
    static const char *const differences[][2] = {{"valid_ppl", "valid_ppl_diff"},
                                                 {"test_bleu", "test_bleu_diff"}};
    for (size_t k = 0; k < 2; k++) {
        const char *x = differences[k][0], *d = differences[k][1];
        char low[64];
        double diff = mean_of(runs, 1, x) - mean_of(runs, 0, x),
               sd = sqrt((square_of(runs, 0, x) + square_of(runs, 1, x)) / 2);
        snprintf(low, sizeof low, "%s_low", d);
        must_be(at(table, 1, d), diff, d);
        must_be(at(table, 1, low), diff - gsl_cdf_tdist_Pinv(0.975, 2) * sd, low);
        assert_true(isnan(at(table, 0, d)));
        if (k == 0) continue;
        must_be(at(table, 1, "test_bleu_diff_dunnett_p"), 2 * gsl_cdf_tdist_Q(fabs(diff) / sd, 2),
                "p");
        assert_true(at(table, 1, "drawn_low") <= diff && diff <= at(table, 1, "drawn_high"));
        double p = at(table, 1, "drawn_p");
        assert_true(p >= 1 / 1001. - 1e-12 && p <= 1);
    }
    free(table);
    free(runs);
    free(lines);
}

/* Returns a text of the repository; the caller frees it. */
static char *recorded(const char *dir, const char *name)
{
    char path[PATH_MAX];
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s is not there", path);
    char *text = malloc((size_t)1 << 22);
    assert_non_null(text);
    bytes = fread(text, 1, ((size_t)1 << 22) - 1, f);
    text[bytes] = '\0';
    fclose(f);
    return text;
}

/* Writes the first four cells of a row of runs.csv or compare.csv to `key`: encoder, decoder, then both layers. */
static void key_of(const char *csv, int row, char key[256])
{
    static const char *const name[] = {"encoder", "decoder", "encoder_layers", "layers"};
    int n = 0;
    const char *line = csv;
    for (int r = row; r >= 0; r--) line = strchr(line, '\n') + 1;
    for (int k = 0; k < 4; k++) {
        const char *c = line;
        for (int j = column(csv, name[k]); j > 0; j--) c += strcspn(c, ",\n") + 1;
        n += snprintf(key + n, (size_t)(256 - n), "%.*s ", (int)strcspn(c, ",\n"), c);
    }
}

/* Counts the numbers of a recorded compare.csv that are not those of its runs, with `shift` added to the first run. */
static int table_disagrees(const char *table, const char *runs, double shift)
{
    static const char *const name[] = {"valid_ppl", "valid_bleu", "test_bleu", "test_chrf"};
    enum { NAMES_OF = sizeof name / sizeof *name };
    double first[NAMES_OF] = {0};
    int bad = 0, cells = (int)count_lines(table) - 1, all = (int)count_lines(runs) - 1;
    for (int i = 0; i < cells; i++) {
        char key[256], other[256];
        double sum[NAMES_OF] = {0};
        int n = 0;
        key_of(table, i, key);
        for (int r = 0; r < all; r++) {
            key_of(runs, r, other);
            if (strcmp(key, other) != 0) continue;
            for (int k = 0; k < NAMES_OF; k++) sum[k] += at(runs, r, name[k]) + (r == 0) * shift;
            n++;
        }
        for (int k = 0; k < NAMES_OF; k++) {
            bad += !same(at(table, i, name[k]), sum[k] / n);
            if (i == 0) first[k] = sum[k] / n;
        }
        if (i) bad += !same(at(table, i, "test_bleu_diff"), sum[2] / n - first[2]);
    }
    return bad;
}

/* BLEU of the recorded pairs is that of their lines, and their table is that of their runs. Controls: the lines of
 * another run, and a first run 0.1 higher. */
TEST(recorded_tables)
{
    glob_t found;
    assert_int_equal(glob("studies/results/translation/*/runs.csv", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        found.gl_pathv[i][strlen(found.gl_pathv[i]) - strlen("/runs.csv")] = '\0';
        char *runs = recorded(found.gl_pathv[i], "runs.csv"),
             *lines = recorded(found.gl_pathv[i], "lines.csv"),
             *table = recorded(found.gl_pathv[i], "compare.csv");
        int n = (int)count_lines(runs) - 1;
        assert_true(n > 1);
        for (int r = 0; r < n; r++) {
            must_be(bleu_of(lines, r), at(runs, r, "test_bleu"), found.gl_pathv[i]);
            assert_false(same(bleu_of(lines, r), at(runs, (r + 1) % n, "test_bleu")));
        }
        assert_int_equal(table_disagrees(table, runs, 0), 0);
        assert_true(table_disagrees(table, runs, 0.1) > 4);
        free(runs);
        free(lines);
        free(table);
    }
    globfree(&found);
}

/* Checks that `trotter bleu` gives the tables' scores on the translations that each run left. */
static void check_translations(const char *dir, const char *reference)
{
    char *runs = slurp(dir, "runs.csv");
    for (int i = 0; i < 4; i++) {
        char line[512];
        snprintf(line, sizeof line,
                 "bleu --tokenize none --csv --reference %s <'%s/runs/%s-seed%d/test.out'",
                 reference, dir, names[i / 2], 1 + i % 2);
        run_ok(line);
        must_be(at(out, 0, "score"), at(runs, i, "test_bleu"), "trotter bleu");
        must_be(at(out, 1, "score"), at(runs, i, "test_chrf"), "chrF2");
    }
    free(runs);
}

TEST(reverse)
{
    run_ok("compare " TWO REVERSE "--out rev --csv");
    char *table = slurp("rev", "compare.csv");
    assert_string_equal(out, table);
    check_table("rev");
    assert_true(at(table, 0, "encoder_order") == 1 && at(table, 0, "decoder_order") == 1);
    assert_true(at(table, 1, "encoder_layers") == 2 && at(table, 1, "layers") == 1);
    assert_true(isnan(at(table, 1, "encoder_error")));
    free(table);
    must_count("rev", ": trains ", 4);
    must_count("rev", ": BLEU ", 4);
    static const char *const files[] = {"compare.md", "compare.tex", "published.csv",
                                        "bleu.gp",    "config.ini",  "commands.csv"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char name[64];
        snprintf(name, sizeof name, "rev/%s", files[i]);
        if (!file_exists(name)) fail_msg("no %s", name);
    }
    char *published = slurp("rev", "published.csv");
    assert_true(count_words(published, "WMT") >= 8);
    assert_true(count_words(published, "not run: 4.5 million pairs") >= 8);
    assert_true(count_words(published, "IWSLT") >= 1);
    assert_true(count_words(published, "not run: its text is not at hand") >= 1);
    assert_true(count_words(published, "not in this comparison") >= 1);
    assert_int_equal(strncmp(published, "source,row,corpus,size,metric,paper,", 36), 0);
    assert_int_equal(count_words(published, "CoNLL-2014"), 3);
    assert_int_equal(count_words(published, "not run: its text is licensed"), 3);
    assert_int_equal(count_words(published, ",ROUGE-"), 9);
    assert_int_equal(count_words(published, ",M2 F0.5,"), 3);
    free(published);
}

/* ---- work done once -------------------------------------------------------------------------------- */

TEST_BETWEEN(done_once, undrawn, NULL)
{
    char *before = slurp("rev", "compare.csv");
    run_ok("compare " TWO REVERSE "--out rev --csv");
    assert_string_equal(out, before);
    must_count("rev", ": trains ", 4);
    must_count("rev", ": BLEU ", 4);
    /* options from the study's config.ini */
    run_ok("compare --config rev/config.ini --out rev --csv");
    assert_string_equal(out, before);
    must_count("rev", ": BLEU ", 4);
    /* the number of sentences searched together changes nothing */
    run_ok("compare --config rev/config.ini --sentences 3 --out rev --csv");
    assert_string_equal(out, before);
    /* another search translates again and trains nothing */
    run_ok("compare " TWO REVERSE "--beam 1 --out rev --csv");
    assert_string_not_equal(out, before);
    must_count("rev", ": trains ", 4);
    must_count("rev", ": BLEU ", 8);
    check_table("rev");
    free(before);
}

/* A longer training is translated anew, whatever translations there were before. */
TEST(longer_ones_are_translated_again)
{
    run_ok("compare --pair transformer/transformer --seeds 1 --epochs 1 " SMALL
           "--corpus c --source a --target b --out longer --csv");
    double bleu = number(out, "transformer,", "valid_bleu"),
           chrf = number(out, "transformer,", "test_chrf");
    run_ok("compare --pair transformer/transformer --seeds 1 --epochs 4 " SMALL
           "--corpus c --source a --target b --out longer --csv");
    must_count("longer", ": goes on with ", 1);
    must_count("longer", ": BLEU ", 2);
    assert_false(number(out, "transformer,", "valid_bleu") == bleu &&
                 number(out, "transformer,", "test_chrf") == chrf);
}

#define STUDY "compare " TWO FILES "--activation gelu --csv "

TEST(files_and_two_processes)
{
    pid_t a = start(STUDY "--truncation 1 --truncation-tokens 3 --out files", "a"),
          b = start(STUDY "--truncation 1 --truncation-tokens 3 --out files", "b");
    assert_int_equal(shell_finish(a), 0);
    assert_int_equal(shell_finish(b), 0);
    must_count("files", ": trains ", 4);
    must_count("files", ": BLEU ", 4);
    char *one = file_slurp("a.out", NULL), *two = file_slurp("b.out", NULL);
    assert_string_equal(one, two);
    assert_true(number(one, "macaron,", "encoder_error") > 0 &&
                number(one, "macaron,", "decoder_error") > 0);
    free(one);
    free(two);
    check_table("files");
    check_translations("files", "c/test.b");
    char *text = slurp("files/runs/transformer@1+transformer-decoder@1-seed1", "test.out");
    assert_int_equal(count_lines(text), 30);
    assert_int_equal(count_words(text, "\n\n"), 3); /* blank lines stay */
    free(text);
    char line[512];
    snprintf(line, sizeof line,
             "translate --threads 1 --model files/runs/%s-seed2 --text c/test.a --out again",
             names[1]);
    run_ok(line);
    snprintf(line, sizeof line, "files/runs/%s-seed2/test.out", names[1]);
    assert_true(same_files(line, "again"));
}

/* The page recognises the study and its table. */
TEST(page)
{
    run_ok("report files --out page.html");
    char *page = file_slurp("page.html", NULL);
    assert_non_null(strstr(page, "Comparison of encoders and decoders"));
    assert_non_null(strstr(page, "Pairs of schemes side by side, with"));
    assert_non_null(strstr(page, "Figures as the papers have them."));
    free(page);
}

/* ---- recorded runs ------------------------------------------------------------------------------------ */

/* Copies a study's two files with the runs of one seed and their lines alone. */
static void keep_seed(const char *dir, int seed)
{
    shell_ok("rm -rf %s; mkdir %s; "
             "awk -F, 'NR == 1 || $5 == %d' files/runs.csv >%s/runs.csv; "
             "awk -F, -v OFS=, 'NR == 1 { print; next } $1 %% 2 == %d { $1 = int($1 / 2); print }' "
             "files/lines.csv >%s/lines.csv",
             dir, dir, seed, dir, seed - 1, dir);
}

static void refuse(const char *options, const char *words)
{
    char line[1024];
    snprintf(line, sizeof line, STUDY "--truncation 1 --truncation-tokens 3 --out refused %s",
             options);
    must_refuse(line, words);
}

TEST(from)
{
    char *study = slurp("files", "compare.csv");
    shell_ok("rm -rf moved; mkdir moved; cp files/runs.csv files/lines.csv moved");
    run_ok(STUDY "--truncation 1 --truncation-tokens 3 --from moved --out from");
    assert_string_equal(out, study);
    assert_false(file_exists("from/runs"));
    assert_true(same_files("from/runs.csv", "files/runs.csv"));
    assert_true(same_files("from/lines.csv", "files/lines.csv"));
    assert_true(same_files("from/compare.md", "files/compare.md"));
    run_ok(STUDY "--truncation 1 --truncation-tokens 3 --sentences 3 --from files --out from");
    assert_string_equal(out, study);
    for (int i = 1; i <= 2; i++) keep_seed(i == 1 ? "one" : "two", i);
    run_ok(STUDY "--truncation 1 --truncation-tokens 3 --from one --from two --out from");
    assert_string_equal(out, study);
    run_ok(STUDY "--truncation 1 --truncation-tokens 3 --from two --from one --out from");
    assert_string_equal(out, study);
    run_ok(STUDY "--truncation 1 --truncation-tokens 3 --from one --out from"); /* the control */
    assert_string_not_equal(out, study);
    assert_true(number(out, "macaron,", "seeds") == 1);
    free(study);
    /* no better than the unigram on the test text alone, though better on validation */
    shell_ok(
        "rm -rf dull; cp -r one dull; awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == \"test_ppl\") at = i } "
        "NR > 1 && /^macaron/ { $at = 1e4 } 1' one/runs.csv >dull/runs.csv");
    assert_int_equal(
        program_run(STUDY "--truncation 1 --truncation-tokens 3 --from dull --out from"), 1);
    assert_true(says("no better than word frequencies, so there is nothing to compare: macaron"));
    refuse("--from one --from one", "with seed 1 is in a directory before too");
    refuse("--from one --seeds 3 --seed 5", "given twice");
    refuse("--from nowhere", "nowhere");
    refuse("--from rev", "rev holds runs of other options (--source none, now a; ");
    shell_ok("rm -rf sized; mkdir sized; cp rev/runs.csv rev/lines.csv sized");
    refuse("--from sized", "parameters, and");
    refuse("--from files --beam 1", "files holds runs of other options (--beam 5, now 1)");
    shell_ok("rm -rf bad; cp -r moved bad; "
             "awk -F, -v OFS=, 'NR == 2 { $7 = 6 } 1' moved/runs.csv >bad/runs.csv");
    refuse("--from bad", "with seed 1 has best epoch 6 of a training of 1 (--epochs)");
    refuse("--from text", "text/runs.csv");
    shell_ok(
        "rm -rf bad; cp -r moved bad; sed -i '$d' bad/runs.csv; sed -i '/^macaron/d' bad/runs.csv");
    refuse("--from bad", "no runs.csv has a run of macaron@2 / heun-layer@1");
    shell_ok("cp moved/runs.csv bad; sed -i '/^2,/d' bad/lines.csv");
    refuse("--from bad", "bad/lines.csv: no lines of run 2, in their order");
    shell_ok("cp moved/lines.csv bad; sed -i '$d' bad/lines.csv");
    refuse("--from bad", "runs have translations of 30 and of 29 lines: they are of two texts");
    shell_ok("sed '2s/,[0-9]*$/,/' moved/lines.csv >bad/lines.csv");
    refuse("--from bad", "bad/lines.csv");
    shell_ok("cp moved/lines.csv bad; rm bad/lines.csv");
    refuse("--from bad", "bad/lines.csv");
    assert_false(file_exists("refused/compare.csv"));
}

/* ---- refused ------------------------------------------------------------------------------------------ */

TEST(what_is_refused)
{
    static const char *const bad[][2] = {
        {"--pair transformer", "--pair: 'transformer': expected ENCODER/DECODER"},
        {"--pair a/b/c", "--pair: 'a/b/c': expected ENCODER/DECODER"},
        {"--pair transformer/", "unknown scheme ''"},
        {"--pair transformer/nobody", "unknown scheme 'nobody'"},
        {"--pair nobody/transformer", "unknown scheme 'nobody'"},
        {"--pair transformer@0/transformer", "transformer@0: expected NAME@LAYERS, LAYERS from 1"},
        {"--pair transformer/transformer@", "transformer@: expected NAME@LAYERS"},
        {"--pair transformer/transformer@2x", "transformer@2x: expected NAME@LAYERS"},
        {"--pair transformer/transformer@1001", "LAYERS from 1 to 1000"},
        {"--pair transformer/macaron,transformer/macaron-decoder",
         "--pair: transformer / macaron-decoder is there twice"},
        {"--pair transformer/macaron,transformer@1/macaron@1", "is there twice"},
        {"--pair transformer/macaron,", "expected ENCODER/DECODER"},
        {"--pair transformer-decoder/transformer", "an encoder takes a scheme of F and G"},
        {"--pair transformer/word:ff", "has neither C nor an F"},
        {"--scheme heun", "--scheme: the corpus has pairs: write --pair"},
        {"--scheme transformer", "--scheme: the corpus has pairs: write --pair"},
        {"--layers 1,2", "--layers: of pairs one number"},
        {"--tune", "--tune: not of a corpus of pairs"},
        {"--tune-rate 1e-3", "--tune-rate has no meaning without --tune"},
        {"--controls", "--controls: not of a corpus of pairs"},
        {"--baseline heun", "--baseline: not of a corpus of pairs"},
        {"--system kepler", "--system: not of a corpus of pairs"},
        {"--context stream", "--context stream: the corpus has pairs"},
        {"--average 9", "--average 9: there are the ends of --epochs 4 only"},
        {"--beam 300", "--beam 300: the model has room for --batch-tokens 256"},
        {"--max-length 99", "--max-length 99: the model has room for --sequence 16"},
        {"--min-length 9 --max-length 5", "9 tokens at least, 5 at most"},
        {"--sequence 3", "a sequence can have 3"},
    };
    static const char *const of_texts[][2] = {
        {"--pair transformer/transformer", "--pair: corpus text is a text"},
        {"--tokenize 13a", "--tokenize: corpus text is a text"},
        {"--beam 3", "--beam: corpus text is a text, of which nothing is translated"},
        {"--best bleu", "--best bleu: corpus text has no pairs to translate"},
    };
    char line[512];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(line, sizeof line,
                 "compare " SMALL "--corpus c --source a --target b --match none --out x %s",
                 bad[i][0]);
        if (strstr(bad[i][0], "--sequence"))
            snprintf(line, sizeof line, "compare --corpus c --source a --target b --out x %s",
                     bad[i][0]);
        must_refuse(line, bad[i][1]);
    }
    for (size_t i = 0; i < sizeof of_texts / sizeof *of_texts; i++) {
        snprintf(line, sizeof line, "compare " SMALL "--corpus text --out x %s", of_texts[i][0]);
        must_refuse(line, of_texts[i][1]);
    }
    assert_false(file_exists("x"));
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
    assert_int_equal(program_run(line), 1);
    assert_string_equal(last_line(err),
                        "trotter compare: no better than word frequencies, so there is nothing to "
                        "compare: transformer / transformer\n");
    snprintf(line, sizeof line, "%s --rate 90 --max-steps 9 --out far", args);
    assert_int_equal(program_run(line), 1);
    char *table = slurp("far", "compare.csv");
    assert_string_equal(cell(table, "transformer,", "test_bleu"), "");
    must_count("far", ": BLEU ", 0);
    snprintf(line, sizeof line, "%s --rate 90 --max-steps 9 --from far --out again-far", args);
    assert_int_equal(program_run(line), 1);
    assert_string_equal(out, table);
    free(table);
}

TEST_MAIN(begin, program_close)
