/* sweep_table.c: makes the tables of a sweep: a row for each run, a row for each word, halves of good and bad
 * words. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/sweep/sweep.h"

/* A row of the tables of words and of their runs. */
typedef struct {
    const char *word, *family;
    int better, baseline; /* 1: it is so; better -1: there is no baseline */
    size_t seed;
    RunResult run; /* with that seed */
    Word of;
} WordRow;

const Column sweep_run_columns[] = {COLUMN(WordRow, word),
                                    FIELD(WordRow, "area", of.area),
                                    FIELD(WordRow, "evals_F", of.count[0]),
                                    FIELD(WordRow, "evals_G", of.count[1]),
                                    FIELD(WordRow, "params", run.params),
                                    COLUMN(WordRow, seed),
                                    FIELD(WordRow, "valid_ppl", run.valid_ppl),
                                    FIELD(WordRow, "test_ppl", run.test_ppl),
                                    {0}};

const Column sweep_word_columns[] = {
    COLUMN(WordRow, word, .place = 1, .page = 1),
    FIELD(WordRow, "families", family, .place = 2, .page = 1,
          .words = "families that the word belongs to"),
    FIELD(WordRow, "s", of.count[0], .place = 3),
    FIELD(WordRow, "f", of.count[1], .place = 4),
    FIELD(WordRow, "k", of.k),
    FIELD(WordRow, "area", of.area, .place = 5, .page = 1,
          .words = "signed area between the word's path and its chord, the coefficient of [F,G]"),
    FIELD(WordRow, "relative_area", of.share),
    FIELD(WordRow, "FFG", of.FFG),
    FIELD(WordRow, "FGG", of.FGG),
    FIELD(WordRow, "order", of.order, .place = 6, .page = 1,
          .words =
              "exact order of the word as a splitting by exact flows; empty where it has no error"),
    FIELD(WordRow, "order_trained", of.order_trained, .head = "trained", .place = 7, .page = 1,
          .words =
              "exact order of the word as the network trains it, by Euler sub-steps: at most 1"),
    FIELD(WordRow, "error_norm", of.norm, .head = "error norm", .digits = 4, .place = 8, .page = 1,
          .words = "norm of the leading error of the splitting by exact flows"),
    FIELD(WordRow, "euler_norm", of.euler_norm, .page = 1,
          .words = "the same norm for Euler sub-flows, as in the network"),
    FIELD(WordRow, "bottom_s", of.halves.bottom[0]),
    FIELD(WordRow, "bottom_f", of.halves.bottom[1]),
    FIELD(WordRow, "top_s", of.halves.top[0]),
    FIELD(WordRow, "top_f", of.halves.top[1]),
    FIELD(WordRow, "evals_F", of.count[0]),
    FIELD(WordRow, "evals_G", of.count[1]),
    FIELD(WordRow, "params", of.params, .page = 1),
    FIELD(WordRow, "seeds", of.valid.n, .page = 1),
    FIELD(WordRow, "valid_ppl", of.valid.mean, .head = "valid ppl", .half = "±", .low = "valid_low",
          .high = "valid_high", .form = SHEET_FIXED, .digits = 2, .place = 9, .page = 1),
    FIELD(WordRow, "valid_sd", of.valid.sd),
    FIELD(WordRow, "valid_low", of.valid.low, .words = STATISTICS_POSITIVE_LOW),
    FIELD(WordRow, "valid_high", of.valid.high),
    FIELD(WordRow, "test_ppl", of.test.mean, .head = "test ppl", .half = "±", .low = "test_low",
          .high = "test_high", .form = SHEET_FIXED, .digits = 2, .place = 10, .page = 1),
    FIELD(WordRow, "test_sd", of.test.sd),
    FIELD(WordRow, "test_low", of.test.low, .words = STATISTICS_POSITIVE_LOW),
    FIELD(WordRow, "test_high", of.test.high),
    COLUMN(WordRow, better, .form = SHEET_FLAG, .page = 1,
           .words = "whether validation perplexity is lower than the baseline's mean"),
    {0}};

const Column sweep_family_columns[] = {COLUMN(WordRow, family),
                                       COLUMN(WordRow, word),
                                       FIELD(WordRow, "k", of.k),
                                       COLUMN(WordRow, seed),
                                       FIELD(WordRow, "valid_ppl", run.valid_ppl),
                                       FIELD(WordRow, "test_ppl", run.test_ppl),
                                       FIELD(WordRow, "area", of.area),
                                       FIELD(WordRow, "error_norm", of.norm),
                                       {0}};

const Column sweep_sandwich_columns[] = {
    FIELD(WordRow, "k", of.k),
    COLUMN(WordRow, word),
    FIELD(WordRow, "area", of.area),
    FIELD(WordRow, "seeds", of.valid.n),
    FIELD(WordRow, "valid_ppl", of.valid.mean),
    FIELD(WordRow, "valid_low", of.valid.low, .words = STATISTICS_POSITIVE_LOW),
    FIELD(WordRow, "valid_high", of.valid.high),
    {0}};

const Column sweep_ranked_columns[] = {
    COLUMN(WordRow, word),
    COLUMN(WordRow, baseline, .form = SHEET_FLAG),
    COLUMN(WordRow, seed),
    FIELD(WordRow, "area", of.area),
    FIELD(WordRow, "error_norm", of.norm, .digits = 4),
    FIELD(WordRow, "valid_ppl", run.valid_ppl, .form = SHEET_FIXED, .digits = 2),
    {0}};

/* A row of halves.csv: sublayers of a kind in one half of words. */
typedef struct {
    const char *half, *sublayer, *models;
    Interval count; /* over words */
} HalfRow;

const Column sweep_half_columns[] = {
    COLUMN(HalfRow, half, .words = "half of the word; bottom is nearest the input"),
    COLUMN(HalfRow, sublayer, .words = "s: attention; f: feed-forward"),
    COLUMN(HalfRow, models, .words = "whether the words are better than the baseline's mean"),
    FIELD(HalfRow, "words", count.n),
    FIELD(HalfRow, "mean", count.mean, .low = "low", .high = "high",
          .words = "mean number of these sublayers in that half"),
    FIELD(HalfRow, "low", count.low),
    FIELD(HalfRow, "high", count.high),
    {0}};

/* Ranks the words with a perplexity, from the best to the worst on validation: index (words) out. Returns their
 * number. */
static size_t rank_words(const Sweep *u, size_t *index)
{
    size_t n = 0;
    for (size_t i = 0; i < u->words; i++) {
        if (u->word[i].valid.n == 0) continue;
        size_t at = n++;
        for (; at > 0 && u->word[i].valid.mean < u->word[index[at - 1]].valid.mean; at--)
            index[at] = index[at - 1];
        index[at] = i;
    }
    return n;
}

/* ---- rows -------------------------------------------------------------------------------------------- */

void sweep_row(const Sweep *u, const Word *w, size_t k, const char *family, Sheet *out)
{
    sheet_row(out,
              &(WordRow){w->letters, family, sweep_has_baseline(u) ? sweep_is_better(u, w) : -1,
                         sweep_is(w, FAMILY_INTERLEAVED), u->seed + k, w->result[k], *w});
}

int sweep_result(const Csv *c, size_t row, RunResult *out)
{
    WordRow r = {.run = runs_none};
    TRY(csv_record(c, row, sweep_run_columns, &r));
    *out = r.run;
    return 0;
}

/* Adds the rows that plots read, one for each run and family. The rows of a family follow one another, as
 * gnuplot sums bins only over neighbouring rows. */
static void add_families(Sweep *u)
{
    for (int family = 0; family < FAMILIES; family++)
        for (size_t i = 0; i < u->words; i++) {
            const Word *w = &u->word[i];
            for (size_t k = 0; sweep_is(w, family) && k < w->seeds; k++)
                if (!isnan(w->result[k].valid_ppl))
                    sweep_row(u, w, k, sweep_family(family), u->plotted);
        }
}

static void add_word(const Sweep *u, const Word *w, Sheet *out)
{
    char families[96];
    size_t n = 0;
    for (int family = 0; family < FAMILIES; family++)
        if (sweep_is(w, family))
            n += (size_t)snprintf(families + n, sizeof families - n, "%s%s", n ? " " : "",
                                  sweep_family(family));
    sweep_row(u, w, 0, families, out);
}

/* ---- halves ------------------------------------------------------------------------------------------- */

static double half_count(const Word *w, int top, int kind)
{
    return top ? w->halves.top[kind] : w->halves.bottom[kind];
}

/* Adds the mean count of a kind of sublayer in a half of the drawn words that are better, or not, than the
 * baseline's mean. x (words): room. */
static void add_half(Sweep *u, int top, int kind, int better, double *x)
{
    static const char *const half[] = {"bottom", "top"}, *const letter[] = {"s", "f"};
    size_t n = 0;
    for (size_t i = 0; i < u->words; i++) {
        const Word *w = &u->word[i];
        int drawn = sweep_is(w, FAMILY_PERMUTATION) || sweep_is(w, FAMILY_RANDOM);
        if (drawn && w->valid.n && sweep_is_better(u, w) == better)
            x[n++] = half_count(w, top, kind);
    }
    sheet_row(u->halves, &(HalfRow){half[top], letter[kind], better ? "better" : "not better",
                                    statistics_mean(x, 1, n)});
}

static int add_halves(Sweep *u)
{
    double *x = memory_new(u->words, sizeof *x);
    if (!x) return ERR_MEMORY;
    for (int top = 0; top < 2 && sweep_has_baseline(u); top++)
        for (int kind = 0; kind < 2; kind++)
            for (int better = 1; better >= 0; better--) add_half(u, top, kind, better, x);
    memory_free(x);
    return 0;
}

/* ---- all ---------------------------------------------------------------------------------------------- */

int sweep_tables(Sweep *u)
{
    TRY(sheet_new(sweep_run_columns, &u->runs_table));
    TRY(sheet_new(sweep_word_columns, &u->wide));
    TRY(sheet_new(sweep_word_columns, &u->brief));
    TRY(sheet_new(sweep_family_columns, &u->plotted));
    TRY(sheet_new(sweep_half_columns, &u->halves));
    TRY(sheet_new(sweep_sandwich_columns, &u->sandwiches));
    size_t *index = memory_new(u->words, sizeof *index);
    if (!index) return ERR_MEMORY;
    size_t ranked = rank_words(u, index);
    for (size_t i = 0; i < ranked; i++) add_word(u, &u->word[index[i]], u->brief);
    memory_free(index);
    for (size_t i = 0; i < u->words; i++) {
        add_word(u, &u->word[i], u->wide);
        for (size_t k = 0; k < u->word[i].seeds; k++)
            sweep_row(u, &u->word[i], k, NULL, u->runs_table);
    }
    for (int k = 0; k < (int)u->pairs; k++)
        for (size_t i = 0; i < u->words; i++)
            if (u->word[i].k == k) sweep_row(u, &u->word[i], 0, NULL, u->sandwiches);
    add_families(u);
    TRY(add_halves(u));
    TRY(sweep_differences(u));
    return sweep_correlations(u);
}
