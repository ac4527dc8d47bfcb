/* sweep_differences.c: computes every word's perplexity less the interleaved word's, with the designs and seeds of
 * statistics.h and Dunnett's correction for the number of words (simultaneous.h).
 *
 * A sandwich that its first seed chose (--confirm) is counted without that seed, which is a lucky one. Words with a run that
 * diverged are left out.
 */
#include <math.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/sweep/sweep.h"

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

/* Computes the differences on a text, alone and together. mean, runs (words): room; row (words) collects both texts. */
static int find(Sweep *u, int test, size_t seeds, const double *y, Interval *mean, size_t *runs,
                DifferenceRow *row)
{
    size_t n = 0, base = 0, others = 0;
    for (size_t i = 0; i < u->words; i++) {
        if (!is_compared(u, &u->word[i])) continue;
        if (i == u->interleaved) base = n;
        mean[n] = statistics_mean(y + n * seeds, 1, seeds);
        if (i != u->interleaved) runs[others++] = mean[n].n;
        row[n].word = u->word[i].letters;
        row[n].runs = mean[n].n;
        n++;
    }
    Seeds s = u->layout[test] = statistics_seeds(y, n, seeds);
    Simultaneous together;
    TRY(simultaneous_dunnett(s.pooled.df, mean[base].n, runs, others, &together));
    for (size_t i = 0; i < n; i++) {
        Difference d = statistics_difference(&s.pooled, &mean[i], &mean[base]);
        Difference all = simultaneous_difference(&together, &d);
        *(test ? &row[i].test : &row[i].valid) = d;
        *(test ? &row[i].test_together : &row[i].valid_together) = all;
        *(test ? &row[i].test_half : &row[i].valid_half) = 0.5 * (all.high - all.low);
    }
    simultaneous_free(&together);
    for (size_t i = 0; test && i < n; i++)
        if (i != base) sheet_row(u->differences, &row[i]);
    return 0;
}

int sweep_differences(Sweep *u)
{
    TRY(sheet_new(sweep_difference_columns, &u->differences));
    if (!sweep_has_baseline(u) || !is_compared(u, &u->word[u->interleaved])) return 0;
    size_t seeds = 0;
    for (size_t i = 0; i < u->words; i++)
        if (u->word[i].seeds > seeds) seeds = u->word[i].seeds;
    double *y = memory_new(u->words, seeds * sizeof *y);
    Interval *mean = memory_new(u->words, sizeof *mean);
    size_t *runs = memory_new(u->words, sizeof *runs);
    DifferenceRow *row = memory_new(u->words, sizeof *row);
    int code = y && mean && runs && row ? 0 : ERR_MEMORY;
    for (int test = 0; code == 0 && test < 2; test++) {
        list_runs(u, test, seeds, y);
        code = find(u, test, seeds, y, mean, runs, row);
    }
    memory_free(y);
    memory_free(mean);
    memory_free(runs);
    memory_free(row);
    return code;
}
