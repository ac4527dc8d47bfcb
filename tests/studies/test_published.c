/* test_published.c: the papers' figures: the map of each row, the corpora and networks beside which it is put,
 * the arithmetic against numbers by hand, the files, and that `trotter report` shows them. */
#include "tests/lib/test.h"

#include <sys/stat.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/tools/command.h"
#include "studies/tools/csv.h"
#include "studies/runs/published.h"
#include "tests/lib/gnuplot.h"
#include "tests/lib/program.h"

static Zoo zoo;
static const BridgeOptions size = {.layers = 1, .width = 8, .inner = 16};

static int begin(void **state)
{
    return program_open(state) != 0 || zoo_open(&zoo) != 0;
}

static int end(void **state)
{
    zoo_close(&zoo);
    return program_close(state);
}

static Table *scheme(const char *name)
{
    Table *t;
    if (zoo_find(&zoo, name, "euler", &t) != 0) fail_msg("%s: %s", name, error_text());
    return t;
}

static const Published *row_of(const char *name, size_t layers, int measure)
{
    const Published *p = published;
    while (p < published + published_count &&
           (strcmp(p->scheme, name) != 0 || p->layers != layers || p->measure != measure))
        p++;
    assert_true(p < published + published_count);
    return p;
}

/* ---- the figures --------------------------------------------------------------------------------- */

TEST(test_rows)
{
    for (const Published *p = published; p < published + published_count; p++) {
        assert_true(*p->source && *p->row && *p->corpus && *p->size && *p->note);
        assert_true(p->figure > 0 && p->layers > 0 && *published_measure(p->measure));
        table_free(scheme(p->scheme));
        const Published *b = published_baseline(p);
        size_t baselines = 0;
        for (const Published *q = published; q < published + published_count; q++)
            baselines += q->baseline && b == published_baseline(q) && q == b;
        if (!b && p->measure != MEASURE_VALID) fail_msg("%s has no baseline", p->row);
        if (b && baselines != 1) fail_msg("%s: %zu baselines", p->row, baselines);
    }
}

/* The figures agree with the papers' own words about them. */
TEST(test_papers_agree_with_themselves)
{
    double best = INFINITY;
    for (size_t layers = 1; layers <= 2; layers++) {
        for (const Published *p = published; p < published + published_count; p++)
            if (p->measure == MEASURE_UNSAID && p->layers == layers) best = fmin(best, p->figure);
        /* "RK4 achieves the lowest PPL on both settings" */
        assert_true(best == row_of("rk4-layer", layers, MEASURE_UNSAID)->figure);
    }
    /* "RK2-block can even obtain a lower PPL than a 2-layer residual-block" */
    assert_true(row_of("heun-layer", 1, MEASURE_UNSAID)->figure <
                row_of("transformer", 2, MEASURE_UNSAID)->figure);
    /* "improving performance by 1.06 perplexity", "a gain of about 0.007 bits" */
    const Published *books = row_of("sandwich:16-7", 1, MEASURE_TEST);
    const Published *bits = row_of("sandwich:24-5", 1, MEASURE_BITS);
    assert_true(fabs(published_baseline(books)->figure - books->figure - 1.06) < 1e-9);
    assert_true(fabs(published_baseline(bits)->figure - bits->figure - 0.007) < 0.0005);
    /* the five baselines of tables 1 and 2 */
    double five = published_interleaved().mean;
    assert_true(fabs(row_of("sandwich:16-0", 1, MEASURE_VALID)->figure - five) < 0.005);
}

/* ---- corpora --------------------------------------------------------------------------------------- */

static Corpus treebank(void)
{
    Corpus c = {.vocab = {.level = LEVEL_WORD, .size = 10000}};
    c.text[SPLIT_TRAIN].tokens = 929589;
    c.text[SPLIT_VALID].tokens = 73760;
    c.text[SPLIT_TEST].tokens = 82430;
    return c;
}

TEST(test_corpora)
{
    Corpus c = treebank(), kjv;
    assert_string_equal(published_corpus(&c), "Penn Treebank");
    c.text[SPLIT_TEST].tokens = 0; /* not open */
    assert_string_equal(published_corpus(&c), "Penn Treebank");
    for (int i = 0; i < 5; i++) {
        c = treebank();
        if (i < SPLITS)
            c.text[i].tokens--;
        else if (i == 3)
            c.vocab.size--;
        else
            c.vocab.level = LEVEL_CHAR;
        assert_null(published_corpus(&c));
    }
    assert_int_equal(corpus_choose("kjv", &(CorpusChoice){LEVEL_WORD, 0, 1}, &kjv), 0);
    assert_null(published_corpus(&kjv)); /* has 10,000 words too */
    corpus_free(&kjv);
    c = treebank();
    for (const Published *p = published; p < published + published_count; p++)
        if (strcmp(p->corpus, published_corpus(&c)) == 0) return;
    fail_msg("no row is of the corpus that is known");
}

/* ---- maps ------------------------------------------------------------------------------------------- */

static int same(const Published *p, const char *name, size_t layers, int norm)
{
    BridgeOptions o = size;
    Table *t = scheme(name);
    int is = -1;
    o.layers = layers;
    o.norm = norm;
    if (published_same(&zoo, &o, p, t, &is) != 0) fail_msg("%s: %s", name, error_text());
    table_free(t);
    return is;
}

/* Each row is its own scheme's map at its own depth, and that of no other row. */
TEST(test_maps)
{
    for (const Published *p = published; p < published + published_count; p++) {
        if (p->measure != MEASURE_UNSAID) continue;
        for (const Published *q = published; q < published + published_count; q++)
            if (q->measure == MEASURE_UNSAID && same(p, q->scheme, q->layers, NORM_PRE) != (p == q))
                fail_msg("%s, %zu: %s, %zu", p->row, p->layers, q->scheme, q->layers);
        assert_false(same(p, "rk2-released", p->layers, NORM_PRE));
        assert_false(same(p, "rk4-released", p->layers, NORM_PRE));
        assert_false(same(p, "heun", p->layers, NORM_PRE));
    }
    const Published *residual = row_of("transformer", 1, MEASURE_UNSAID);
    const Published *unit = row_of("rk2-unit", 2, MEASURE_UNSAID);
    const Published *plain = row_of("sandwich:16-0", 1, MEASURE_TEST);
    const Published *six = row_of("sandwich:16-6", 1, MEASURE_TEST);
    assert_true(same(residual, "word:sf", 1, NORM_PRE));
    assert_false(same(residual, "word:fs", 1, NORM_PRE));
    assert_false(same(residual, "transformer", 1, NORM_POST));
    assert_true(same(unit, "repeat:2", 2, NORM_PRE));
    assert_false(same(unit, "looped:2", 2, NORM_PRE));
    assert_true(same(plain, "transformer", 16, NORM_PRE));
    assert_false(same(plain, "transformer", 15, NORM_PRE));
    assert_true(same(six, "word:sssssssfsfsfsfsfsfsfsfsfsfffffff", 1, NORM_PRE));
    assert_false(same(six, "word:sssssfsfsfsfsfsfsfsfsfsfsffffffs", 1, NORM_PRE));
}

/* ---- arithmetic ---------------------------------------------------------------------------------- */

#define T1 12.706204736432095 /* t_(0.975, 1) = tan(0.475 pi) */

static int near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

#define T2 (0.95 * sqrt(2 / (1 - 0.95 * 0.95))) /* t_(0.975, 2), in closed form */

/* By hand, with two seeds: mean of 120 and 130, half of the interval t |120 - 130| / 2. The ratio's logarithm is
 * a difference of means, with a standard deviation pooled over both designs. */
TEST(test_arithmetic)
{
    const RunResult ours[] = {
        {0, 0, 120, 110, 0, 0}, {0, 0, 130, 100, 0, 0}, {0, 0, NAN, NAN, 0, 0}};
    const RunResult base[] = {{0, 0, 150, 100, 0, 0}, {0, 0, 140, 100, 0, 0}};
    Design list[] = {{"a", NULL, 1, 3, ours, 1},
                     {"b", NULL, 1, 2, base, 1},
                     {"deeper", NULL, 2, 2, ours, 1},
                     {"the same as b", NULL, 1, 2, base, 0}};
    Design a = list[0], b = list[1];
    const Published *p = row_of("heun-layer", 1, MEASURE_UNSAID);
    Pooled spread[2];
    Beside x;
    assert_int_equal(published_spread(p, list, 4, spread), 0);
    assert_true(spread[0].df == 2 && spread[1].df == 2);
    assert_int_equal(published_beside(p, &a, &b, spread, &x), 0);
    assert_true(x.value[0].n == 2 && near(x.value[0].mean, 125));
    assert_true(near(x.value[0].high, 125 + 5 * T1));
    assert_true(near(x.less[0].mean, 125 - 131.80) && near(x.less[0].low, 125 - 5 * T1 - 131.80));
    assert_true(near(x.less[1].mean, 105 - 131.80));
    assert_true(near(x.ratio, 131.80 / 142.33));
    double u = log(120.0 / 150), v = log(130.0 / 140);
    double sd = sqrt((pow(log(120.0 / 130), 2) + pow(log(150.0 / 140), 2)) / 4);
    assert_true(near(spread[0].sd, sd));
    assert_true(near(x.gain[0].mean, exp((u + v) / 2)));
    assert_true(near(x.gain[0].low, exp((u + v) / 2 - T2 * sd)));
    assert_true(near(x.gain[1].mean, sqrt(1.1 * 1.0)));
    assert_false(near(x.gain[0].mean, 125.0 / 145)); /* the ratio of means differs */
    /* a baseline has no gain; a study without one has none either */
    assert_int_equal(published_beside(published_baseline(p), &a, &a, spread, &x), 0);
    assert_true(isnan(x.ratio) && !x.base && x.gain[0].n == 0 && isnan(x.gain[0].mean));
    assert_int_equal(published_beside(p, &a, NULL, spread, &x), 0);
    assert_true(!isnan(x.ratio) && x.gain[0].n == 0);
}

/* A figure of one text has no difference from the other text's; bits have base 2. */
TEST(test_measures)
{
    const RunResult ours = {0, 0, 4, 8, 0, 0}, base = {0, 0, 16, 16, 0, 0};
    Design a = {"a", NULL, 1, 1, &ours, 1}, b = {"b", NULL, 1, 1, &base, 1};
    const Pooled none[2] = {{0, NAN}, {0, NAN}};
    Beside x;
    assert_int_equal(published_beside(row_of("sandwich:24-5", 1, MEASURE_BITS), &a, &b, none, &x),
                     0);
    assert_true(x.value[1].mean == 3 && near(x.less[1].mean, 3 - 0.968) && x.less[0].n == 0);
    assert_true(near(x.gain[1].mean, 0.75) && isnan(x.gain[1].low));
    assert_int_equal(published_beside(row_of("sandwich:16-6", 1, MEASURE_VALID), &a, &b, none, &x),
                     0);
    assert_true(near(x.less[0].mean, 4 - 17.84) && isnan(x.less[1].mean));
    assert_int_equal(published_beside(row_of("sandwich:16-6", 1, MEASURE_TEST), &a, &b, none, &x),
                     0);
    assert_true(isnan(x.less[0].mean) && near(x.less[1].mean, 8 - 17.96));
}

/* ---- files ----------------------------------------------------------------------------------------- */

static const char *const names[] = {"transformer", "heun-layer", "rk4-layer", "heun", "repeat:2"};
enum { NAMES = 5, SEEDS = 2 };
static RunResult results[NAMES][SEEDS];
static Design designs[NAMES];

static PublishedStudy study_of(const Corpus *c)
{
    for (size_t i = 0; i < NAMES; i++) {
        for (size_t k = 0; k < SEEDS; k++)
            results[i][k] = (RunResult){.valid_ppl = 140 - 5 * (double)i + (double)k,
                                        .test_ppl = 130 - 5 * (double)i + (double)(i * k)};
        designs[i] = (Design){names[i], scheme(names[i]), 1, SEEDS, results[i], 1};
    }
    return (PublishedStudy){&zoo, c, size, 2, published_schemes, NAMES, designs};
}

static void free_study(void)
{
    for (size_t i = 0; i < NAMES; i++) table_free((Table *)designs[i].scheme);
}

static const char *fresh(const char *name)
{
    const char *dir = file_path(name);
    mkdir(dir, 0777);
    return dir;
}

TEST(test_files)
{
    Corpus c = treebank();
    PublishedStudy s = study_of(&c);
    Csv csv;
    double x;
    assert_int_equal(published_save(&s, fresh("ptb")), 0);
    assert_int_equal(csv_open(&csv, file_path("ptb/published.csv")), 0);
    assert_int_equal(csv.rows, 4); /* heun over H is in no row; repeat:2 is rk2-unit */
    for (size_t i = 0; i < csv.rows; i++) {
        static const char *const want[] = {"transformer", "heun-layer", "repeat:2", "rk4-layer"};
        assert_string_equal(csv_cell(&csv, i, csv_column(&csv, "scheme")), want[i]);
    }
    assert_int_equal(csv_number(&csv, 1, csv_column(&csv, "valid_less"), &x), 0);
    assert_true(near(x, 135.5 - 131.80));
    assert_int_equal(csv_number(&csv, 1, csv_column(&csv, "valid_ratio"), &x), 0);
    assert_true(near(x, sqrt(135.0 / 140 * 136 / 141)));
    assert_string_equal(csv_cell(&csv, 0, csv_column(&csv, "valid_ratio")), "");
    assert_string_equal(csv_cell(&csv, 0, csv_column(&csv, "size")), "d 8, inner 16, 2 heads");
    csv_close(&csv);
    char text[8192];
    file_read("ptb/published.md", text, sizeof text);
    assert_non_null(strstr(text, "| RK4-block "));
    assert_non_null(strstr(text, "split, number of trainings"));
    assert_true(file_exists("ptb/published.gp"));
    file_read("ptb/published.gp", text, sizeof text);
    assert_null(gnuplot_fault(text));
    free_study();
}

/* Nothing is written for another corpus, or for designs that are in no row. */
TEST(test_nothing_to_compare)
{
    Corpus c = treebank();
    PublishedStudy s = study_of(&c);
    c.text[SPLIT_TRAIN].tokens++;
    assert_int_equal(published_save(&s, fresh("other")), 0);
    assert_false(file_exists("other/published.csv") || file_exists("other/published.md"));
    c = treebank();
    s.design = &designs[3]; /* heun */
    s.designs = 1;
    assert_int_equal(published_save(&s, fresh("other")), 0);
    assert_false(file_exists("other/published.csv") || file_exists("other/published.md"));
    s.design = &designs[1]; /* without the baseline: no ratio of ours, no plot */
    s.designs = 2;
    assert_int_equal(published_save(&s, fresh("base")), 0);
    assert_true(file_exists("base/published.csv") && !file_exists("base/published.gp"));
    free_study();
}

/* The page shows the table beside either kind of study, under its own name for designs. */
TEST(test_report)
{
    static const char *const column[] = {"scheme", "word"};
    static const char *const title[] = {"Comparison of schemes</h2>", "Words of sublayers</h2>"};
    static char page[1 << 17];
    Corpus c = treebank();
    PublishedStudy s = study_of(&c);
    for (int i = 0; i < 2; i++) {
        char line[64];
        s.columns = i ? published_words : published_schemes;
        assert_int_equal(published_save(&s, fresh(column[i])), 0);
        snprintf(line, sizeof line, "report %s", column[i]);
        if (program_run(line) != 0) fail_msg("%s", err);
        snprintf(line, sizeof line, "%s/report.html", column[i]);
        file_read(line, page, sizeof page);
        assert_non_null(strstr(page, title[i]));
        assert_non_null(strstr(page, "figures beside these"));
        assert_non_null(strstr(page, "<dt>published_ratio</dt>"));
        assert_null(strstr(page, "Left out"));
        assert_null(strstr(page, title[1 - i]));
    }
    free_study();
}

/* Each allocation fails until the first pair is complete, then some of the 40,000 after it, which repeat the
 * same. */
TEST(test_short_memory)
{
    Corpus c = treebank();
    PublishedStudy s = study_of(&c);
    size_t live = memory_live();
    int code = -1;
    for (size_t at = 1; code != 0; at += at < 400 ? 1 : at / 20) {
        Beside *list;
        size_t n;
        memory_fail_at(at);
        code = published_find(&s, &list, &n);
        memory_fail_at(0);
        assert_true(code == 0 || (code == ERR_MEMORY && !list && n == 0));
        memory_free(list);
        assert_int_equal(memory_live(), live);
    }
    free_study();
}

TEST_MAIN(begin, end)
