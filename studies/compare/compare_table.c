/* compare_table.c: makes the tables of a comparison: a row for each cell, a row for each difference,
 * curves over the steps. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "bridge/truncation.h"
#include "studies/compare/compare.h"

/* A cell and the values of its row. */
typedef struct {
    const char *scheme, *system, *verdict, *evals, *baseline, *same_as, *control_of, *time;
    int governs;
    Cell cell;
    Convergence measured;
    Layout layout;
    size_t evals_F, evals_G;
    int beats_unigram;
    double rate, dropout;
    double valid_half, test_half,
        margin; /* half of the intervals that hold together; --equivalence */
} CompareRow;

#define ERROR \
    "error of the trained network's step (h = 1), divided by the exact flow's displacement in it"
#define SLOPE "power of h in that error before the division, order + 1 for small h"
#define LESS \
    " perplexity minus the baseline's; its interval has a standard deviation pooled over the designs"
#define TOGETHER \
    " end of the interval that holds for all comparisons with the baseline at once (Dunnett)"
#define P_VALUE "p of no difference, corrected for the comparisons with the baseline (Dunnett)"
#define EQUAL \
    "p of a difference of the margin or more (two one-sided tests), corrected in the same way"
#define CORRELATION "intra-class correlation of the runs of one seed, each minus its design's mean"

const Column compare_columns[] = {
    COLUMN(CompareRow, scheme, .place = 1, .page = 1),
    FIELD(CompareRow, "order", measured.theory.order, .place = 3, .page = 3,
          .words = "exact order of the scheme"),
    COLUMN(CompareRow, system),
    FIELD(CompareRow, "measured", measured.slope, .form = SHEET_FIXED, .digits = 2, .place = 4,
          .page = 4, .words = "slope of the global error on the particle system"),
    FIELD(CompareRow, "low", measured.low),
    FIELD(CompareRow, "high", measured.high),
    COLUMN(CompareRow, verdict),
    FIELD(CompareRow, NULL, evals, .head = "evals", .place = 5),
    COLUMN(CompareRow, evals_F, .page = 5),
    COLUMN(CompareRow, evals_G, .page = 6),
    FIELD(CompareRow, "layers", cell.layers, .place = 2, .page = 2),
    FIELD(CompareRow, "params", cell.params, .form = SHEET_FIXED, .head = "parameters", .place = 10,
          .page = 9),
    FIELD(CompareRow, "seeds", cell.runs),
    FIELD(CompareRow, "valid_ppl", cell.valid.mean, .form = SHEET_FIXED, .digits = 2,
          .low = "valid_low", .high = "valid_high", .head = "valid ppl", .half = "±", .place = 11,
          .page = 10),
    FIELD(CompareRow, "valid_sd", cell.valid.sd),
    FIELD(CompareRow, "test_ppl", cell.test.mean, .form = SHEET_FIXED, .digits = 2,
          .low = "test_low", .high = "test_high", .head = "test ppl", .half = "±", .place = 12,
          .page = 11),
    FIELD(CompareRow, "test_sd", cell.test.sd),
    FIELD(CompareRow, "tokens_per_s", cell.speed, .form = SHEET_FIXED, .head = "tokens/s",
          .place = 13, .page = 18),
    FIELD(CompareRow, "peak_bytes", cell.bytes, .form = SHEET_FIXED, .head = "peak MB",
          .scale = 1e-6, .place = 14, .page = 19, .words = "peak memory of the model"),
    COLUMN(CompareRow, beats_unigram, .form = SHEET_FLAG,
           .words =
               "whether the model predicts better than the unigram, the frequencies of tokens"),
    FIELD(CompareRow, "valid_low", cell.valid.low, .words = STATISTICS_POSITIVE_LOW),
    FIELD(CompareRow, "valid_high", cell.valid.high),
    FIELD(CompareRow, "test_low", cell.test.low, .words = STATISTICS_POSITIVE_LOW),
    FIELD(CompareRow, "test_high", cell.test.high),
    COLUMN(CompareRow, baseline),
    FIELD(CompareRow, "valid_diff", cell.valid_diff.mean, .low = "valid_diff_pooled_low",
          .high = "valid_diff_pooled_high", .half = "±", .form = SHEET_FIXED, .digits = 2,
          .page = 12, .words = "validation" LESS),
    FIELD(CompareRow, "valid_diff_pooled_low", cell.valid_diff.low),
    FIELD(CompareRow, "valid_diff_pooled_high", cell.valid_diff.high),
    FIELD(CompareRow, "test_diff", cell.test_diff.mean, .low = "test_diff_pooled_low",
          .high = "test_diff_pooled_high", .half = "±", .form = SHEET_FIXED, .digits = 2,
          .page = 14, .words = "test" LESS),
    FIELD(CompareRow, "test_diff_pooled_low", cell.test_diff.low),
    FIELD(CompareRow, "test_diff_pooled_high", cell.test_diff.high),
    COLUMN(CompareRow, rate, .page = 16),
    COLUMN(CompareRow, dropout, .page = 17),
    COLUMN(CompareRow, same_as, .words = "scheme that makes the same map"),
    COLUMN(CompareRow, control_of,
           .words = "schemes for which this one is a control of equal evaluations"),
    FIELD(CompareRow, "truncation", cell.split.mean, .digits = 3, .low = "truncation_low",
          .high = "truncation_high", .head = "error", .half = "±", .place = 6, .page = 7,
          .words = ERROR),
    FIELD(CompareRow, "truncation_low", cell.split.low, .words = STATISTICS_POSITIVE_LOW),
    FIELD(CompareRow, "truncation_high", cell.split.high),
    FIELD(CompareRow, "truncation_slope", cell.split_slope.mean, .form = SHEET_FIXED, .digits = 2,
          .head = "slope", .place = 9, .page = 8, .words = SLOPE),
    FIELD(CompareRow, "layer_truncation", cell.layer.mean,
          .words = "the same error for the field y' = L(y)"),
    FIELD(CompareRow, "layer_truncation_slope", cell.layer_slope.mean, .words = SLOPE),
    FIELD(CompareRow, "best_epoch", cell.best_epoch),
    FIELD(CompareRow, "gaining", cell.gaining, .words = "runs whose best epoch was their last"),
    FIELD(CompareRow, "valid_diff_dunnett_low", cell.valid_together.low, .words = "lower" TOGETHER),
    FIELD(CompareRow, "valid_diff_dunnett_high", cell.valid_together.high,
          .words = "upper" TOGETHER),
    FIELD(CompareRow, "valid_diff_dunnett_p", cell.valid_together.p, .digits = 2, .page = 13,
          .words = P_VALUE),
    FIELD(CompareRow, "test_diff_dunnett_low", cell.test_together.low, .words = "lower" TOGETHER),
    FIELD(CompareRow, "test_diff_dunnett_high", cell.test_together.high, .words = "upper" TOGETHER),
    FIELD(CompareRow, "test_diff_dunnett_p", cell.test_together.p, .digits = 2, .page = 15,
          .words = P_VALUE),
    FIELD(CompareRow, "valid_pooled_sd", layout.valid.pooled.sd,
          .words = "standard deviation over seeds within a design, pooled over the designs"),
    FIELD(CompareRow, "test_pooled_sd", layout.test.pooled.sd,
          .words = "standard deviation over seeds within a design, pooled over the designs"),
    FIELD(CompareRow, "valid_pooled_df", layout.valid.pooled.df,
          .words = "degrees of freedom of valid_pooled_sd"),
    FIELD(CompareRow, "test_pooled_df", layout.test.pooled.df,
          .words = "degrees of freedom of test_pooled_sd"),
    FIELD(CompareRow, "valid_seeds_paired", layout.valid.paired, .form = SHEET_FLAG,
          .words = "whether valid_pooled_sd leaves out the effect of a seed on all designs"),
    FIELD(CompareRow, "test_seeds_paired", layout.test.paired, .form = SHEET_FLAG,
          .words = "whether test_pooled_sd leaves out the effect of a seed on all designs"),
    FIELD(CompareRow, "valid_seed_correlation", layout.valid.correlation, .words = CORRELATION),
    FIELD(CompareRow, "test_seed_correlation", layout.test.correlation, .words = CORRELATION),
    FIELD(CompareRow, "valid_diff_pooled_error", cell.valid_diff.error,
          .words = "standard error of valid_diff"),
    FIELD(CompareRow, "test_diff_pooled_error", cell.test_diff.error,
          .words = "standard error of test_diff"),
    COLUMN(CompareRow, margin, .sparse = 1, .words = "margin of equivalence, in perplexity"),
    FIELD(CompareRow, "valid_equal_p", cell.valid_equal, .sparse = 1, .words = EQUAL),
    FIELD(CompareRow, "test_equal_p", cell.test_equal, .sparse = 1, .words = EQUAL),
    FIELD(CompareRow, "truncation_time", time, .head = "time", .place = 7, .page = 20,
          .words =
              "time of the exact flow against which a step of 1 is measured: the distance that the "
              "scheme goes"),
    FIELD(CompareRow, "truncation_leading", cell.leading, .digits = 3, .head = "leading",
          .place = 8, .page = 21,
          .words = "leading term of that error at h = 1, which theory predicts"),
    FIELD(CompareRow, "truncation_governs", governs, .form = SHEET_FLAG, .page = 22,
          .words = "whether the order governs h = 1: the mean error is within " TRUNCATION_PERCENT
                   " of the mean leading term"),
    FIELD(CompareRow, "one_by_one", cell.one_by_one.mean, .form = SHEET_FIXED, .digits = 2,
          .low = "one_by_one_low", .high = "one_by_one_high", .head = "one by one", .half = "±",
          .place = 15, .page = 23, .sparse = 1,
          .words = "pseudo-perplexity of the beginning of the validation text, one word masked at "
                   "a time"),
    FIELD(CompareRow, "one_by_one_low", cell.one_by_one.low, .sparse = 1,
          .words = STATISTICS_POSITIVE_LOW),
    FIELD(CompareRow, "one_by_one_high", cell.one_by_one.high, .sparse = 1),
    {0}};

/* A table for people alone. */
static const Column difference_columns[] = {
    COLUMN(CompareRow, scheme, .place = 1),
    FIELD(CompareRow, "layers", cell.layers, .place = 2),
    FIELD(CompareRow, "runs", cell.runs, .place = 3),
    FIELD(CompareRow, "valid_diff", cell.valid_diff.mean, .form = SHEET_FIXED, .digits = 2,
          .low = "valid_low", .high = "valid_high", .head = "valid diff", .half = "± alone",
          .place = 4),
    FIELD(CompareRow, "valid_low", cell.valid_diff.low),
    FIELD(CompareRow, "valid_high", cell.valid_diff.high),
    COLUMN(CompareRow, valid_half, .form = SHEET_FIXED, .digits = 2, .head = "± together",
           .place = 5),
    FIELD(CompareRow, "valid_p", cell.valid_together.p, .digits = 2, .head = "p", .place = 6),
    FIELD(CompareRow, "valid_equal", cell.valid_equal, .digits = 2, .head = "p equal", .place = 7,
          .sparse = 1),
    FIELD(CompareRow, "test_diff", cell.test_diff.mean, .form = SHEET_FIXED, .digits = 2,
          .low = "test_low", .high = "test_high", .head = "test diff", .half = "± alone",
          .place = 8),
    FIELD(CompareRow, "test_low", cell.test_diff.low),
    FIELD(CompareRow, "test_high", cell.test_diff.high),
    COLUMN(CompareRow, test_half, .form = SHEET_FIXED, .digits = 2, .head = "± together",
           .place = 9),
    FIELD(CompareRow, "test_p", cell.test_together.p, .digits = 2, .head = "p", .place = 10),
    FIELD(CompareRow, "test_equal", cell.test_equal, .digits = 2, .head = "p equal", .place = 11,
          .sparse = 1),
    {0}};

/* Means over the seeds. */
typedef struct {
    const char *scheme;
    size_t layers;
    RunRow at;
} CurveRow;

const Column curve_columns[] = {COLUMN(CurveRow, scheme),
                                FIELD(CurveRow, "step", at.step),
                                FIELD(CurveRow, "epoch", at.epoch),
                                FIELD(CurveRow, "tokens", at.tokens),
                                FIELD(CurveRow, "train_loss", at.train_loss),
                                FIELD(CurveRow, "valid_ppl", at.valid_ppl),
                                FIELD(CurveRow, "grad_norm", at.grad_norm),
                                COLUMN(CurveRow, layers),
                                {0}};

int compare_beats_unigram(const Compare *u, const Cell *c)
{
    return runs_beats_unigram(c->valid.mean, c->test.mean, &u->unigram);
}

/* ---- a row a cell ---------------------------------------------------------------------------- */

int compare_governs(const Cell *c)
{
    return isnan(c->governed) ? -1 : truncation_governs(c->split.mean, c->leading);
}

static int add_row(Compare *u, const Cell *c)
{
    double far[COLOURS];
    char time[64];
    TRY(truncation_own_time(c->scheme, far));
    truncation_time(far, time, sizeof time);
    const Convergence *order = &u->orders.scheme[c->index];
    char controlled[512], evals[64];
    size_t f = table_evals(c->scheme, OP_F), g = table_evals(c->scheme, OP_G);
    compare_controlled(u, c->scheme, controlled);
    snprintf(evals, sizeof evals, "%zu F + %zu G", f, g);
    const CompareRow row = {
        .scheme = c->scheme->name,
        .system = u->orders.system->name,
        .verdict = verdict_name(order->verdict),
        .evals = evals,
        .baseline = u->schemes.scheme[u->baseline]->name,
        .same_as = c == &u->cell[c->same] ? NULL : u->cell[c->same].scheme->name,
        .control_of = controlled,
        .time = *c->time ? c->time : time,
        .governs = compare_governs(c),
        .cell = *c,
        .measured = *order,
        .layout = u->layout[(size_t)(c - u->cell) % u->depths],
        .evals_F = f,
        .evals_G = g,
        .beats_unigram = compare_beats_unigram(u, c),
        .rate = strtod(c->rate, NULL),
        .dropout = strtod(c->dropout, NULL),
        .valid_half = 0.5 * (c->valid_together.high - c->valid_together.low),
        .test_half = 0.5 * (c->test_together.high - c->test_together.low),
        .margin = isnan(c->valid_equal) ? NAN : options_real(u->options, "equivalence"),
    };
    sheet_row(u->table, &row);
    if (c->same != compare_baseline(u, c)->same) sheet_row(u->differences, &row);
    return 0;
}

/* Adds a row for a bound that needs no network. */
static void add_bound(Compare *u, const char *name, double valid, double test)
{
    static const char *const names[] = {"valid_ppl", "test_ppl", NULL};
    sheet_bound(u->table, name, names, (const double[]){valid, test});
}

/* ---- curves ---------------------------------------------------------------------------------- */

/* Adds the rows to sum, as many as both have: seeds cut the text at different places, so one may have a
 * row more. */
static void sum_rows(RunRow *sum, size_t *rows, const RunRow *row, size_t n)
{
    if (n < *rows) *rows = n;
    for (size_t i = 0; i < *rows; i++) {
        sum[i].step += row[i].step;
        sum[i].tokens += row[i].tokens;
        sum[i].train_loss += row[i].train_loss;
        sum[i].valid_ppl += row[i].valid_ppl;
        sum[i].grad_norm += row[i].grad_norm;
    }
}

static int add_log(const Compare *u, const RunSpec *s, RunRow **sum, size_t *rows)
{
    RunRow *row;
    size_t n;
    TRY(runs_log(u->dir, s, &row, &n));
    if (!*sum) {
        *sum = row;
        *rows = n;
        return 0;
    }
    sum_rows(*sum, rows, row, n);
    memory_free(row);
    return 0;
}

/* Adds the mean over the seeds, row by row of their logs. */
static int add_curve(Compare *u, const Cell *c)
{
    size_t rows = 0;
    RunRow *sum = NULL;
    int code = 0;
    for (size_t k = 0; code == 0 && k < u->seeds; k++) {
        RunSpec s = compare_spec(u, c, k);
        code = add_log(u, &s, &sum, &rows);
    }
    double n = (double)u->seeds;
    for (size_t i = 0; code == 0 && i < rows; i++)
        sheet_row(u->curves, &(CurveRow){c->scheme->name,
                                         c->layers,
                                         {.step = sum[i].step / n,
                                          .epoch = sum[i].epoch,
                                          .tokens = sum[i].tokens / n,
                                          .train_loss = sum[i].train_loss / n,
                                          .valid_ppl = sum[i].valid_ppl / n,
                                          .grad_norm = sum[i].grad_norm / n}});
    memory_free(sum);
    return code;
}

/* Sets units for people: characters are not tokens, and little memory is shown in kB. */
static void name_units(Compare *u)
{
    double most = 0;
    for (size_t i = 0; i < u->cells; i++) most = fmax(most, u->cell[i].bytes);
    if (u->corpus.vocab.level == LEVEL_CHAR)
        sheet_show(u->table, "tokens_per_s", "characters/s", 0);
    if (most < 1e7) sheet_show(u->table, "peak_bytes", "peak kB", 1e-3);
}

/* ---- all ------------------------------------------------------------------------------------- */

int compare_tables(Compare *u)
{
    TRY(compare_epochs(u));
    TRY(compare_differences(u));
    TRY(compare_pairs(u));
    TRY(compare_contrasts(u));
    TRY(compare_regression(u));
    TRY(sheet_new(compare_columns, &u->table));
    TRY(sheet_new(difference_columns, &u->differences));
    TRY(sheet_new(curve_columns, &u->curves));
    name_units(u);
    for (size_t i = 0; i < u->cells; i++) {
        TRY(add_row(u, &u->cell[i]));
        if (u->cell[i].runs == u->seeds && !compare_recorded(u)) TRY(add_curve(u, &u->cell[i]));
    }
    add_bound(u, "unigram", u->unigram.valid, u->unigram.test);
    double least = exp(u->corpus.entropy_rate);
    if (!isnan(least)) add_bound(u, "entropy rate", least, least);
    return compare_correlations(u);
}
