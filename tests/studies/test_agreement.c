/* test_agreement.c: metrics of predictions against gold labels by hand, and their bootstrap. */
#include "tests/lib/test.h"

#include "kernels/base/random.h"
#include "studies/model/metrics/agreement.h"
#include "tests/lib/scratch.h"

static double score(int metric, const Answers *p, const Answers *g)
{
    double x = NAN;
    assert_int_equal(agreement_score(metric, p, g, &x), 0);
    return x;
}

static void expect(int metric, size_t row, double got, double want)
{
    int same = isnan(want) ? isnan(got) : fabs(got - want) <= 1e-14;
    if (!same) fail_msg("%s, row %zu: %.17g, not %.17g", agreements[metric].name, row, got, want);
}

/* Reads the labels from a text of digits. */
static Answers labels_of(const char *digits, int32_t label[16])
{
    size_t n = strlen(digits);
    for (size_t i = 0; i < n; i++) label[i] = digits[i] - '0';
    return (Answers){n, label, NULL};
}

TEST(classes_by_hand)
{
    const struct {
        const char *predicted, *gold;
        double accuracy, f1, matthews;
    } row[] = {
        /* TP 2, FP 1, FN 1, TN 2: F1 = 4/6, Matthews = (4 - 1) / sqrt(3 3 3 3) */
        {"101100", "100110", 4 / 6., 2 / 3., 1 / 3.},
        /* TP 6, FP 1, FN 2, TN 3: F1 = 12/15, Matthews = (18 - 2) / sqrt(7 8 4 5) */
        {"111111100000", "111111011000", 9 / 12., .8, 16 / sqrt(1120)},
        {"101", "101", 1, 1, 1},  /* perfect */
        {"010", "101", 0, 0, -1}, /* reversed */
        /* constant predictions: all 1 has P = 1/2 and R = 1, all 0 neither */
        {"1111", "1001", .5, 2 / 3., 0},
        {"0000", "1001", .5, 0, 0},
        /* one gold class alone: F1 is 0 / 0 where class 1 is nowhere; TP 2, FN 1 */
        {"0000", "0000", 1, 0, 0},
        {"1111", "1111", 1, 1, 0},
        {"101", "111", 2 / 3., .8, 0},
        {"010", "000", 2 / 3., 0, 0},
        {"1", "0", 0, 0, 0},
        /* three classes, each twice in both, 3 right: (18 - 12) / (36 - 12); F1 does not fit three classes */
        {"012012", "012120", 3 / 6., NAN, .25},
        {"011220", "001122", 3 / 6., NAN, .25},
        {"112200", "001122", 0, NAN, -.5},
        {"001122", "001122", 1, NAN, 1},
        /* class 2 is never predicted, and Matthews is still not 0: a = 2 4 0, c = 4, (24 - 12) / sqrt((36 - 20) (36 -
         * 12)) */
        {"001111", "001122", 4 / 6., NAN, 12 / sqrt(16 * 24)},
        /* all predictions of one class */
        {"222222", "001122", 2 / 6., NAN, 0},
        /* a class that neither has changes nothing: row 0 with 3 in the place of 1 */
        {"303300", "300330", 4 / 6., NAN, 1 / 3.},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        int32_t label[2][16];
        Answers p = labels_of(row[i].predicted, label[0]), g = labels_of(row[i].gold, label[1]);
        assert_true(p.n == g.n);
        expect(AGREEMENT_ACCURACY, i, score(AGREEMENT_ACCURACY, &p, &g), row[i].accuracy);
        expect(AGREEMENT_MATTHEWS, i, score(AGREEMENT_MATTHEWS, &p, &g), row[i].matthews);
        expect(AGREEMENT_MATTHEWS, i, score(AGREEMENT_MATTHEWS, &g, &p), row[i].matthews);
        if (!isnan(row[i].f1)) expect(AGREEMENT_F1, i, score(AGREEMENT_F1, &p, &g), row[i].f1);
    }
}

TEST(values_by_hand)
{
    const struct {
        size_t n;
        double x[5], y[5], pearson, spearman;
    } row[] = {
        {4, {1, 2, 3, 4}, {2, 4, 6, 8}, 1, 1},
        {4, {1, 2, 3, 4}, {8, 6, 4, 2}, -1, -1},
        /* -1 0 1 and -1 1 0: 1 / sqrt(2 2) */
        {3, {1, 2, 3}, {1, 3, 2}, .5, .5},
        /* -21 -20 -19 -18 78 and -2 -1 0 1 2: 200 / sqrt(7610 10); the ranks are the same */
        {5, {1, 2, 3, 4, 100}, {1, 2, 3, 4, 5}, 200 / sqrt(76100), 1},
        /* -2.75 -1.75 -1.75 6.25 and -1.5 -.5 .5 1.5: 13.5 / sqrt(52.75 5); ranks 1 2.5 2.5 4: 4.5 / sqrt(4.5 5) */
        {4, {1, 2, 2, 10}, {1, 2, 3, 4}, 13.5 / sqrt(52.75 * 5), sqrt(.9)},
        /* ranks 1.5 1.5 3.5 3.5 and 1 3 3 3: 2 / sqrt(4 3), as of the values */
        {4, {1, 1, 2, 2}, {1, 2, 2, 2}, 1 / sqrt(3), 1 / sqrt(3)},
        /* the same in another order, x moved and stretched */
        {4, {7, 3, 7, 3}, {2, 1, 2, 2}, 1 / sqrt(3), 1 / sqrt(3)},
        /* ranks 2 2 2 4 and 4 2 2 2 about 2.5: (-.75 + .25 + .25 - .75) / 3 */
        {4, {0, 0, 0, 9}, {9, 0, 0, 0}, -1 / 3., -1 / 3.},
        /* constants, and a single example */
        {3, {.1, .1, .1}, {1, 2, 3}, 0, 0},
        {3, {1, 2, 3}, {.1, .1, .1}, 0, 0},
        {3, {2, 2, 2}, {2, 2, 2}, 0, 0},
        {1, {1}, {1}, 0, 0},
        {3, {1, NAN, 3}, {1, 2, 3}, NAN, NAN},
        {3, {1, 2, 3}, {1, INFINITY, 3}, NAN, NAN},
        {3, {NAN, NAN, NAN}, {1, 1, 1}, NAN, NAN},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Answers p = {row[i].n, NULL, row[i].x}, g = {row[i].n, NULL, row[i].y};
        expect(AGREEMENT_PEARSON, i, score(AGREEMENT_PEARSON, &p, &g), row[i].pearson);
        expect(AGREEMENT_PEARSON, i, score(AGREEMENT_PEARSON, &g, &p), row[i].pearson);
        expect(AGREEMENT_SPEARMAN, i, score(AGREEMENT_SPEARMAN, &p, &g), row[i].spearman);
        expect(AGREEMENT_SPEARMAN, i, score(AGREEMENT_SPEARMAN, &g, &p), row[i].spearman);
    }
}

TEST(names)
{
    for (int m = 0; m < AGREEMENTS; m++) {
        int of = agreements[m].of;
        assert_int_equal(agreement_find(agreements[m].name), m);
        assert_int_equal(agreement_fits(m, 0), of == ANSWERS_VALUES ? 0 : ERR_INPUT);
        assert_int_equal(agreement_fits(m, 2), of == ANSWERS_VALUES ? ERR_INPUT : 0);
        assert_int_equal(agreement_fits(m, 3), of == ANSWERS_CLASSES ? 0 : ERR_INPUT);
    }
    assert_int_equal(agreement_find("bleu"), -1);
    assert_int_equal(agreement_fits(AGREEMENT_F1, 3), ERR_INPUT);
    assert_string_equal(error_text(), "f1 needs labels of two classes: these are of 3 classes");
    assert_int_equal(agreement_fits(AGREEMENT_F1, 0), ERR_INPUT);
    assert_string_equal(error_text(), "f1 needs labels of two classes: these are values");
    assert_int_equal(agreement_fits(AGREEMENT_PEARSON, 2), ERR_INPUT);
    assert_string_equal(error_text(),
                        "pearson needs labels that are values: these are of 2 classes");
}

enum { N = 300 };

/* Makes gold labels that are 0 and 1 in turn, and predictions of which a share is right; values likewise. */
static Answers system_of(double right, uint64_t stream, int32_t *label, double *value)
{
    for (size_t i = 0; i < N; i++) {
        int hit = random_uniform(5, stream, i) < right;
        label[i] = (int32_t)(hit ? i % 2 : 1 - i % 2);
        value[i] = (double)(i % 10) + (1 - right) * 10 * random_normal(6, stream, i);
    }
    return (Answers){N, label, value};
}

static int32_t label[3][N];
static double value[3][N];

/* The engine is that of texts, whose tests are in test_bleu.c. A system of several runs has the mean of their scores. */
TEST(bootstrap)
{
    Answers gold = system_of(1, 0, label[0], value[0]), a = system_of(.6, 1, label[1], value[1]),
            b = system_of(.9, 2, label[2], value[2]);
    const Answers two[2] = {a, b}, three[3] = {a, a, b};
    for (int m = 0; m < AGREEMENTS; m++) {
        Resampled x[2], mean[2], none[2];
        assert_int_equal(agreement_bootstrap(m, &gold, two, NULL, 2, 400, 1, x), 0);
        assert_int_equal(agreement_bootstrap(m, &gold, two, NULL, 2, 0, 1, none), 0);
        assert_int_equal(agreement_bootstrap(m, &gold, three, (size_t[]){1, 2}, 2, 400, 1, mean),
                         0);
        for (int i = 0; i < 2; i++) {
            assert_true(x[i].score == score(m, &two[i], &gold) && none[i].score == x[i].score);
            assert_true(x[i].low < x[i].score && x[i].score < x[i].high && isnan(none[i].low));
            assert_true(fabs(x[i].mean - x[i].score) < x[i].high - x[i].low);
        }
        assert_true(x[1].difference == x[1].score - x[0].score);
        assert_true(x[1].difference_low > 0 && x[1].p_two_sided < .01);
        assert_true(fabs(mean[1].difference - x[1].difference / 2) <= 1e-12);
        assert_true(fabs(mean[1].difference_low - x[1].difference_low / 2) <= 1e-12);
    }
}

/* A system with a NaN has no interval, and the others' do not change. */
TEST(what_is_not_finite)
{
    Answers gold = system_of(1, 0, label[0], value[0]);
    for (int m = 0; m < AGREEMENTS; m++) {
        if (agreements[m].of != ANSWERS_VALUES) continue;
        Answers s[2] = {system_of(.6, 1, label[1], value[1]), system_of(.6, 2, label[2], value[2])};
        Resampled x[2], alone;
        value[2][5] = NAN;
        assert_int_equal(agreement_bootstrap(m, &gold, s, NULL, 2, 100, 1, x), 0);
        assert_int_equal(agreement_bootstrap(m, &gold, s, NULL, 1, 100, 1, &alone), 0);
        assert_true(x[0].low == alone.low && x[0].high == alone.high);
        assert_true(isnan(x[1].score) && isnan(x[1].mean) && isnan(x[1].low) && isnan(x[1].high));
        assert_true(isnan(x[1].difference) && isnan(x[1].difference_low) && isnan(x[1].p) &&
                    isnan(x[1].p_two_sided));
    }
}

static int starved;

static int bootstrap_job(void)
{
    Answers gold = {4, label[0], value[0]},
            run[2] = {{4, label[1], value[1]}, {4, label[1], value[1]}};
    Resampled x[2];
    return agreement_bootstrap(starved, &gold, run, NULL, 2, 3, 1, x);
}

TEST(short_memory)
{
    system_of(1, 0, label[0], value[0]);
    system_of(.6, 1, label[1], value[1]);
    for (starved = 0; starved < AGREEMENTS; starved++)
        assert_true(fail_each(bootstrap_job, ERR_MEMORY) >= 5);
    assert_int_equal(memory_live(), 0); /* no test of this program has left any */
}

TEST_MAIN(NULL, NULL)
