/* test_published.c: the papers' figures: the map of each row, the corpora and networks beside which it is put,
 * the arithmetic against numbers by hand, the files, and that `trotter report` shows them. */
#include "tests/lib/test.h"

#include <sys/stat.h>

#include "studies/model/network.h"
#include "studies/tools/command.h"
#include "studies/study/beside.h"
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
           (p->encoder || !p->scheme || strcmp(p->scheme, name) != 0 || p->layers != layers ||
            p->measure != measure))
        p++;
    assert_true(p < published + published_count);
    return p;
}

/* ---- the figures --------------------------------------------------------------------------------- */

TEST(test_rows)
{
    for (const Published *p = published; p < published + published_count; p++) {
        assert_true(*p->source && *p->row && *p->corpus && *p->size && *p->note);
        assert_true(p->figure > 0 && *published_measures[p->measure].words);
        assert_int_equal(p->layers > 0, p->measure != MEASURE_BLEU);
        if (p->measure >= MEASURE_BLEU) {
            Table *t;
            if (!p->scheme) continue;
            table_free(scheme(p->encoder));
            assert_int_equal(zoo_find_decoder(&zoo, p->scheme, "euler", &t), 0);
            table_free(t);
            continue;
        }
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
    if (beside_same(&zoo, &o, p, t, &is) != 0) fail_msg("%s: %s", name, error_text());
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

enum { DESIGNS = 5, SEEDS = 3 };
static StudyRun runs[DESIGNS][SEEDS];
static StudyDesign designs[DESIGNS];
static Options *options;

/* Makes a study of these designs, none of whose runs has a result. */
static Study study_of(const char *const *names, size_t n)
{
    static const char *const none[] = {"trotter", "compare", "--width", "8",        "--inner",
                                       "16",      "--heads", "2",       "--layers", "1"};
    static const StudyKind kinds[] = {{.asked = {.design = "scheme"}},
                                      {.asked = {.design = "word"}}};
    assert_int_equal(options_new(network_groups, &options), 0);
    for (int i = 2; i < 10; i += 2)
        assert_int_equal(options_set(options, OPTION_ARGUMENT, "", none[i] + 2, none[i + 1]), 0);
    for (size_t i = 0; i < n; i++) {
        designs[i] = (StudyDesign){.spec = {.scheme = scheme(names[i]), .layers = 1},
                                   .same = i,
                                   .seeds = 2,
                                   .run = runs[i]};
        snprintf(designs[i].name, sizeof designs[i].name, "%s", names[i]);
        for (size_t k = 0; k < SEEDS; k++) runs[i][k].result = runs_none;
    }
    return (Study){.kind = kinds,
                   .options = options,
                   .schemes.zoo = zoo,
                   .corpus = treebank(),
                   .designs = n,
                   .design = designs};
}

static void free_study(const Study *u)
{
    for (size_t i = 0; i < u->designs; i++) table_free((Table *)u->design[i].spec.scheme);
    options_free(options);
}

static void give(size_t design, size_t k, double valid, double test)
{
    runs[design][k].result.valid_ppl = valid;
    runs[design][k].result.test_ppl = test;
}

/* By hand, with two seeds: mean of 120 and 130, half of the interval t |120 - 130| / 2. The ratio's logarithm is
 * a difference of means, with a standard deviation pooled over both designs: a deeper one, one that is the same map as
 * another and one that diverged do not count. */
TEST(test_arithmetic)
{
    static const char *const names[] = {"euler", "heun", "rk4", "transformer", "macaron"};
    Study u = study_of(names, DESIGNS);
    static const double made[DESIGNS][4] = {{120, 110, 130, 100},
                                            {150, 100, 140, 100},
                                            {10, 10, 20, 20},
                                            {10, 10, 20, 20},
                                            {10, 10, 1e5, 20}};
    for (size_t i = 0; i < DESIGNS; i++)
        for (size_t k = 0; k < 2; k++) give(i, k, made[i][2 * k], made[i][2 * k + 1]);
    designs[0].seeds = 3;
    designs[2].spec.layers = 2;
    designs[3].same = 1;
    const StudyDesign *a = &designs[0], *b = &designs[1];
    const Published *p = row_of("heun-layer", 1, MEASURE_UNSAID);
    Pooled spread[2];
    Beside x;
    assert_int_equal(beside_spread(&u, p, spread), 0);
    assert_true(spread[0].df == 2 && spread[1].df == 2);
    assert_int_equal(beside_compare(p, a, b, spread, &x), 0);
    assert_true(x.value[0].n == 2 && near(x.value[0].mean, 125));
    assert_true(near(x.value[0].high, 125 + 5 * T1));
    assert_true(near(x.less[0].mean, 125 - 131.80) && near(x.less[0].low, 125 - 5 * T1 - 131.80));
    assert_true(near(x.less[1].mean, 105 - 131.80));
    assert_true(near(x.ratio, 131.80 / 142.33));
    double l = log(120.0 / 150), v = log(130.0 / 140);
    double sd = sqrt((pow(log(120.0 / 130), 2) + pow(log(150.0 / 140), 2)) / 4);
    assert_true(near(spread[0].sd, sd));
    assert_true(near(x.gain[0].mean, exp((l + v) / 2)));
    assert_true(near(x.gain[0].low, exp((l + v) / 2 - T2 * sd)));
    assert_true(near(x.gain[1].mean, sqrt(1.1 * 1.0)));
    assert_false(near(x.gain[0].mean, 125.0 / 145)); /* the ratio of means differs */
    /* a baseline has no gain; a study without one has none either */
    assert_int_equal(beside_compare(published_baseline(p), a, a, spread, &x), 0);
    assert_true(isnan(x.ratio) && !x.base && x.gain[0].n == 0 && isnan(x.gain[0].mean));
    assert_int_equal(beside_compare(p, a, NULL, spread, &x), 0);
    assert_true(!isnan(x.ratio) && x.gain[0].n == 0);
    free_study(&u);
}

/* A figure of one text has no difference from the other text's; bits have base 2. */
TEST(test_measures)
{
    static const char *const names[] = {"euler", "heun"};
    Study u = study_of(names, 2);
    const Pooled none[2] = {{0, NAN}, {0, NAN}};
    Beside x;
    give(0, 0, 4, 8);
    give(1, 0, 16, 16);
    assert_int_equal(beside_compare(row_of("sandwich:24-5", 1, MEASURE_BITS), &designs[0],
                                    &designs[1], none, &x),
                     0);
    assert_true(x.value[1].mean == 3 && near(x.less[1].mean, 3 - 0.968) && x.less[0].n == 0);
    assert_true(near(x.gain[1].mean, 0.75) && isnan(x.gain[1].low));
    assert_int_equal(beside_compare(row_of("sandwich:16-6", 1, MEASURE_VALID), &designs[0],
                                    &designs[1], none, &x),
                     0);
    assert_true(near(x.less[0].mean, 4 - 17.84) && isnan(x.less[1].mean));
    assert_int_equal(beside_compare(row_of("sandwich:16-6", 1, MEASURE_TEST), &designs[0],
                                    &designs[1], none, &x),
                     0);
    assert_true(isnan(x.less[0].mean) && near(x.less[1].mean, 8 - 17.96));
    free_study(&u);
}

/* ---- files ----------------------------------------------------------------------------------------- */

static Study made_study(const char *dir)
{
    static const char *const names[] = {"transformer", "heun-layer", "rk4-layer", "heun",
                                        "repeat:2"};
    Study u = study_of(names, DESIGNS);
    for (size_t i = 0; i < DESIGNS; i++)
        for (size_t k = 0; k < 2; k++)
            give(i, k, 140 - 5 * (double)i + (double)k, 130 - 5 * (double)i + (double)(i * k));
    u.dir = file_path(dir);
    mkdir(u.dir, 0777);
    return u;
}

TEST(test_files)
{
    Study u = made_study("ptb");
    Csv csv;
    double x;
    assert_int_equal(study_published(&u), 0);
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
    free_study(&u);
}

/* Nothing is written for another corpus, or for designs that are in no row. */
TEST(test_nothing_to_compare)
{
    Study u = made_study("other"), part = u;
    part.corpus.text[SPLIT_TRAIN].tokens++;
    assert_int_equal(study_published(&part), 0);
    assert_false(file_exists("other/published.csv"));
    part = u;
    part.design = &designs[3]; /* heun */
    part.designs = 1;
    assert_int_equal(study_published(&part), 0);
    assert_false(file_exists("other/published.csv"));
    part.design = &designs[1]; /* without the baseline: no ratio of ours */
    part.designs = 2;
    assert_int_equal(study_published(&part), 0);
    assert_true(file_exists("other/published.csv"));
    free_study(&u);
}

/* The page shows the table beside either kind of study, under its own name for designs. */
TEST(test_report)
{
    static const char *const column[] = {"scheme", "word"};
    static const char *const title[] = {"Comparison of schemes</h2>", "Words of sublayers</h2>"};
    static char page[1 << 17];
    for (int i = 0; i < 2; i++) {
        Study u = made_study(column[i]);
        char line[64];
        u.kind += i;
        assert_int_equal(study_published(&u), 0);
        snprintf(line, sizeof line, "report %s", column[i]);
        if (program_run(line) != 0) fail_msg("%s", err);
        snprintf(line, sizeof line, "%s/report.html", column[i]);
        file_read(line, page, sizeof page);
        assert_non_null(strstr(page, title[i]));
        assert_non_null(strstr(page, "figures beside these"));
        assert_non_null(strstr(page, "<dt>published_ratio</dt>"));
        assert_null(strstr(page, "Left out"));
        assert_null(strstr(page, title[1 - i]));
        free_study(&u);
    }
}

/* Each allocation fails until the first pair is complete, then some of the 40,000 after it, which repeat the
 * same. */
TEST(test_short_memory)
{
    Study u = made_study("short");
    size_t live = memory_live();
    int code = -1;
    for (size_t at = 1; code != 0; at += at < 400 ? 1 : at / 20) {
        Beside *list;
        size_t n;
        memory_fail_at(at);
        code = beside_find(&u, &list, &n);
        memory_fail_at(0);
        assert_true(code == 0 || (code == ERR_MEMORY && !list && n == 0));
        memory_free(list);
        assert_int_equal(memory_live(), live);
    }
    free_study(&u);
}

TEST_MAIN(begin, end)
