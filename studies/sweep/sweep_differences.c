/* sweep_differences.c: computes every word's perplexity less the interleaved word's, with the designs and seeds of
 * statistics.h and Dunnett's correction for the number of words (simultaneous.h), and with --all-pairs the differences
 * of all pairs of words from the same model, with Tukey's.
 *
 * A sandwich that its first seed chose (--confirm) is counted without that seed, which is a lucky one. Words with a run that
 * diverged are left out.
 */
#include <math.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/statistics/differences.h"
#include "studies/sweep/sweep.h"

/* A word that is compared. */
typedef struct {
    const Word *word;
    Interval mean[2]; /* over the runs that count, on validation and test text */
} Compared;

typedef struct {
    const char *word;
    size_t runs;
    Difference valid, test, valid_together, test_together;
    double valid_half, test_half;
} DifferenceRow;

#define P_VALUE "p of no difference, corrected for the number of words (Dunnett)"
#define DIFFERENCE(text, place_1, place_2, place_3)                                                \
    FIELD(DifferenceRow, #text "_diff", text.mean, .form = SHEET_FIXED, .digits = 2,               \
          .low = #text "_diff_pooled_low", .high = #text "_diff_pooled_high",                      \
          .head = #text " diff", .half = "± alone", .place = place_1, .page = place_1,             \
          .words = "perplexity minus the interleaved word's"),                                     \
        FIELD(DifferenceRow, #text "_diff_pooled_low", text.low),                                  \
        FIELD(DifferenceRow, #text "_diff_pooled_high", text.high),                                \
        FIELD(DifferenceRow, NULL, text##_half, .form = SHEET_FIXED, .digits = 2,                  \
              .head = "± together", .place = place_2),                                             \
        FIELD(DifferenceRow, #text "_diff_dunnett_low", text##_together.low,                       \
              .words = "lower end of the interval that holds for all words at once"),              \
        FIELD(DifferenceRow, #text "_diff_dunnett_high", text##_together.high,                     \
              .words = "upper end of the same interval"),                                          \
        FIELD(DifferenceRow, #text "_diff_dunnett_p", text##_together.p, .digits = 2, .head = "p", \
              .place = place_3, .page = place_3, .words = P_VALUE)

const Column sweep_difference_columns[] = {
    COLUMN(DifferenceRow, word, .place = 1, .page = 1),
    COLUMN(DifferenceRow, runs, .place = 2, .page = 2, .words = "number of runs that count here"),
    DIFFERENCE(valid, 3, 4, 5),
    DIFFERENCE(test, 6, 7, 8),
    {0}};

static int is_compared(const Sweep *u, const Word *w)
{
    return w->valid.n > 0 && !runs_diverged(w->result, w->seeds, u->corpus.vocab.size);
}

int sweep_chosen(const Sweep *u, const Word *w)
{
    return options_flag(u->options, "confirm") && w == &u->word[u->best] && w->seeds > 1;
}

/* Lists the runs that count, on validation or test text: y (words, seeds) out, with a row for each compared word; NaN
 * where there is no run. */
static void list_runs(const Sweep *u, int test, size_t seeds, double *y)
{
    size_t n = 0;
    for (size_t i = 0; i < u->words; i++) {
        const Word *w = &u->word[i];
        if (!is_compared(u, w)) continue;
        for (size_t k = 0; k < seeds; k++) {
            int counts = k < w->seeds && (k > 0 || !sweep_chosen(u, w));
            y[n * seeds + k] = !counts ? NAN
                               : test  ? w->result[k].test_ppl
                                       : w->result[k].valid_ppl;
        }
        n++;
    }
}

/* Computes the model of a text and the mean of every word: list (n) out. y: as list_runs made it. */
static int find_model(Sweep *u, int test, size_t seeds, const double *y, Compared *list, size_t n)
{
    u->layout[test] = statistics_seeds(y, n, seeds);
    for (size_t i = 0; i < n; i++) list[i].mean[test] = statistics_mean(y + i * seeds, 1, seeds);
    return statistics_shared(y, n, seeds, &u->shared[test]);
}

/* ---- less the interleaved word --------------------------------------------------------------------- */

/* Computes the correction for the words on a text, base being the interleaved one; runs (n): room. */
static int correct(const Sweep *u, int test, const Compared *list, size_t n, size_t base,
                   size_t *runs, Simultaneous *out)
{
    size_t others = 0;
    for (size_t i = 0; i < n; i++)
        if (i != base) runs[others++] = list[i].mean[test].n;
    return simultaneous_dunnett(u->layout[test].pooled.df, list[base].mean[test].n, runs, others,
                                out);
}

static void add_difference(Sweep *u, const Simultaneous together[2], const Compared *c,
                           const Compared *base)
{
    Difference alone[2], all[2];
    for (int test = 0; test < 2; test++) {
        alone[test] =
            statistics_difference(&u->layout[test].pooled, &c->mean[test], &base->mean[test]);
        all[test] = simultaneous_difference(&together[test], &alone[test]);
    }
    sheet_row(u->differences,
              &(DifferenceRow){c->word->letters, c->mean[1].n, alone[0], alone[1], all[0], all[1],
                               0.5 * (all[0].high - all[0].low), 0.5 * (all[1].high - all[1].low)});
}

static int add_differences(Sweep *u, const Compared *list, size_t n)
{
    Simultaneous together[2] = {0};
    size_t base = 0;
    while (base < n && list[base].word != &u->word[u->interleaved]) base++;
    if (base == n) return 0;
    size_t *runs = memory_new(n, sizeof *runs);
    int code = runs ? 0 : ERR_MEMORY;
    for (int test = 0; code == 0 && test < 2; test++)
        code = correct(u, test, list, n, base, runs, &together[test]);
    for (size_t i = 0; code == 0 && i < n; i++)
        if (i != base) add_difference(u, together, &list[i], &list[base]);
    for (int test = 0; test < 2; test++) simultaneous_free(&together[test]);
    memory_free(runs);
    return code;
}

/* ---- all pairs --------------------------------------------------------------------------------------- */

typedef struct {
    const char *word, *less;
    Difference valid, test;
} PairRow;

const Column sweep_pair_columns[] = {
    COLUMN(PairRow, word, .words = "the first word of the pair"),
    COLUMN(PairRow, less, .words = "the second word, whose perplexity is subtracted"),
    DIFFERENCES_PAIR(PairRow, "p of no difference, corrected for all pairs of words (Tukey)"),
    {0}};

/* Adds the pairs of words with a run that counts: the later one less the earlier one. */
static void add_pairs(Sweep *u, const Compared *list, size_t n)
{
    Simultaneous together[2];
    for (int test = 0; test < 2; test++) {
        size_t designs = 0;
        for (size_t i = 0; i < n; i++) designs += list[i].mean[test].n > 0;
        simultaneous_tukey(u->layout[test].pooled.df, designs, &together[test]);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            const Compared *a = &list[i], *b = &list[j];
            PairRow row = {.word = a->word->letters, .less = b->word->letters};
            if (a->mean[0].n == 0 || b->mean[0].n == 0) continue;
            row.valid =
                differences_pair(&together[0], &u->layout[0].pooled, &a->mean[0], &b->mean[0]);
            row.test =
                differences_pair(&together[1], &u->layout[1].pooled, &a->mean[1], &b->mean[1]);
            sheet_row(u->all_pairs, &row);
        }
}

/* ---- both -------------------------------------------------------------------------------------------- */

int sweep_differences(Sweep *u)
{
    size_t seeds = 0, n = 0;
    TRY(sheet_new(sweep_difference_columns, &u->differences));
    if (options_flag(u->options, "all-pairs")) TRY(sheet_new(sweep_pair_columns, &u->all_pairs));
    for (size_t i = 0; i < u->words; i++)
        if (u->word[i].seeds > seeds) seeds = u->word[i].seeds;
    double *y = memory_new(u->words, seeds * sizeof *y);
    Compared *list = memory_new(u->words, sizeof *list);
    int code = y && list ? 0 : ERR_MEMORY;
    for (size_t i = 0; code == 0 && i < u->words; i++)
        if (is_compared(u, &u->word[i])) list[n++].word = &u->word[i];
    for (int test = 0; code == 0 && test < 2; test++) {
        list_runs(u, test, seeds, y);
        code = find_model(u, test, seeds, y, list, n);
    }
    if (code == 0) code = add_differences(u, list, n);
    if (code == 0 && u->all_pairs) add_pairs(u, list, n);
    memory_free(y);
    memory_free(list);
    return code;
}
