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
#include "studies/runs/recorded.h"
#include "studies/tools/output.h"

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
    VALUE("scheme", .place = 1, .page = 1),
    VALUE("order", .place = 3, .page = 3, .words = "exact order of the scheme"),
    VALUE("system"),
    VALUE("measured", .form = SHEET_FIXED, .digits = 2, .place = 4, .page = 4,
          .words = "slope of the global error on the particle system"),
    VALUE("low"),
    VALUE("high"),
    VALUE("verdict"),
    VALUE(NULL, .head = "evals", .place = 5),
    VALUE("evals_F", .page = 5),
    VALUE("evals_G", .page = 6),
    VALUE("layers", .place = 2, .page = 2),
    VALUE("params", .form = SHEET_FIXED, .head = "parameters", .place = 10, .page = 9),
    VALUE("seeds"),
    VALUE("valid_ppl", .form = SHEET_FIXED, .digits = 2, .low = "valid_low", .high = "valid_high",
          .head = "valid ppl", .half = "±", .place = 11, .page = 10),
    VALUE("valid_sd"),
    VALUE("test_ppl", .form = SHEET_FIXED, .digits = 2, .low = "test_low", .high = "test_high",
          .head = "test ppl", .half = "±", .place = 12, .page = 11),
    VALUE("test_sd"),
    VALUE("tokens_per_s", .form = SHEET_FIXED, .head = "tokens/s", .place = 13, .page = 18),
    VALUE("peak_bytes", .form = SHEET_FIXED, .head = "peak MB", .scale = 1e-6, .place = 14,
          .page = 19, .words = "peak memory of the model"),
    VALUE("beats_unigram",
          .words = "whether the model predicts better than the unigram, the frequencies of tokens"),
    VALUE("valid_low", .words = STATISTICS_POSITIVE_LOW),
    VALUE("valid_high"),
    VALUE("test_low", .words = STATISTICS_POSITIVE_LOW),
    VALUE("test_high"),
    VALUE("baseline"),
    VALUE("valid_diff", .low = "valid_diff_pooled_low", .high = "valid_diff_pooled_high",
          .half = "±", .form = SHEET_FIXED, .digits = 2, .page = 12, .words = "validation" LESS),
    VALUE("valid_diff_pooled_low"),
    VALUE("valid_diff_pooled_high"),
    VALUE("test_diff", .low = "test_diff_pooled_low", .high = "test_diff_pooled_high", .half = "±",
          .form = SHEET_FIXED, .digits = 2, .page = 14, .words = "test" LESS),
    VALUE("test_diff_pooled_low"),
    VALUE("test_diff_pooled_high"),
    VALUE("rate", .page = 16),
    VALUE("dropout", .page = 17),
    VALUE("same_as", .words = "scheme that makes the same map"),
    VALUE("control_of", .words = "schemes for which this one is a control of equal evaluations"),
    VALUE("truncation", .digits = 3, .low = "truncation_low", .high = "truncation_high",
          .head = "error", .half = "±", .place = 6, .page = 7, .words = ERROR),
    VALUE("truncation_low", .words = STATISTICS_POSITIVE_LOW),
    VALUE("truncation_high"),
    VALUE("truncation_slope", .form = SHEET_FIXED, .digits = 2, .head = "slope", .place = 9,
          .page = 8, .words = SLOPE),
    VALUE("layer_truncation", .words = "the same error for the field y' = L(y)"),
    VALUE("layer_truncation_slope", .words = SLOPE),
    VALUE("best_epoch"),
    VALUE("gaining", .words = "runs whose best epoch was their last"),
    VALUE("valid_diff_dunnett_low", .words = "lower" TOGETHER),
    VALUE("valid_diff_dunnett_high", .words = "upper" TOGETHER),
    VALUE("valid_diff_dunnett_p", .digits = 2, .page = 13, .words = P_VALUE),
    VALUE("test_diff_dunnett_low", .words = "lower" TOGETHER),
    VALUE("test_diff_dunnett_high", .words = "upper" TOGETHER),
    VALUE("test_diff_dunnett_p", .digits = 2, .page = 15, .words = P_VALUE),
    VALUE("valid_pooled_sd",
          .words = "standard deviation over seeds within a design, pooled over the designs"),
    VALUE("test_pooled_sd",
          .words = "standard deviation over seeds within a design, pooled over the designs"),
    VALUE("valid_pooled_df", .words = "degrees of freedom of valid_pooled_sd"),
    VALUE("test_pooled_df", .words = "degrees of freedom of test_pooled_sd"),
    VALUE("valid_seeds_paired",
          .words = "whether valid_pooled_sd leaves out the effect of a seed on all designs"),
    VALUE("test_seeds_paired",
          .words = "whether test_pooled_sd leaves out the effect of a seed on all designs"),
    VALUE("valid_seed_correlation", .words = CORRELATION),
    VALUE("test_seed_correlation", .words = CORRELATION),
    VALUE("valid_diff_pooled_error", .words = "standard error of valid_diff"),
    VALUE("test_diff_pooled_error", .words = "standard error of test_diff"),
    VALUE("margin", .sparse = 1, .words = "margin of equivalence, in perplexity"),
    VALUE("valid_equal_p", .sparse = 1, .words = EQUAL),
    VALUE("test_equal_p", .sparse = 1, .words = EQUAL),
    VALUE("truncation_time", .head = "time", .place = 7, .page = 20,
          .words =
              "time of the exact flow against which a step of 1 is measured: the distance that the "
              "scheme goes"),
    VALUE("truncation_leading", .digits = 3, .head = "leading", .place = 8, .page = 21,
          .words = "leading term of that error at h = 1, which theory predicts"),
    VALUE("truncation_governs", .page = 22,
          .words = "whether the order governs h = 1: the mean error is within " TRUNCATION_PERCENT
                   " of the mean leading term"),
    VALUE("one_by_one", .form = SHEET_FIXED, .digits = 2, .low = "one_by_one_low",
          .high = "one_by_one_high", .head = "one by one", .half = "±", .place = 15, .page = 23,
          .sparse = 1,
          .words = "pseudo-perplexity of the beginning of the validation text, one word masked at "
                   "a time"),
    VALUE("one_by_one_low", .sparse = 1, .words = STATISTICS_POSITIVE_LOW),
    VALUE("one_by_one_high", .sparse = 1),
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

/* ---- a row a cell ---------------------------------------------------------------------------- */

int compare_beats_unigram(const Compare *u, const Cell *c)
{
    const RunDesign *d = compare_design(u, c);
    return runs_beats_unigram(d->mean[0].mean, d->mean[1].mean, &u->unigram);
}

static double mean_of(const Compare *u, const Cell *c, const char *name)
{
    return runtable_value(&u->runtable, (size_t)(c - u->cell), name).x;
}

int compare_governs(const Compare *u, const Cell *c)
{
    if (isnan(mean_of(u, c, "truncation_governed"))) return -1;
    return truncation_governs(mean_of(u, c, "truncation"), mean_of(u, c, "truncation_leading"));
}

static double most_bytes(const Compare *u, const Cell *c)
{
    double most = NAN;
    for (size_t k = 0; k < u->seeds; k++) most = fmax(most, c->result[k].peak_bytes);
    return most;
}

static double count_gaining(const Compare *u, const Cell *c)
{
    double n = 0;
    for (size_t k = 0; k < u->seeds; k++) n += c->gaining[k] > 0;
    return n;
}

static const char *yes(int is)
{
    return is < 0 ? NULL : is ? "yes" : "no";
}

/* The values that are no means over runs. */
static int more(const void *study, const RunTable *t, size_t design, const char *name,
                RunValue *out)
{
    static char evals[64]; /* copied into the sheet at once */
    const Compare *u = study;
    const Cell *c = &u->cell[design];
    (void)t;
    *out = (RunValue){NULL, NAN};
    if (strcmp(name, "beats_unigram") == 0)
        out->text = yes(compare_beats_unigram(u, c));
    else if (strcmp(name, "truncation_governs") == 0)
        out->text = yes(compare_governs(u, c));
    else if (strcmp(name, "gaining") == 0)
        out->x = count_gaining(u, c);
    else if (strcmp(name, "peak_bytes") == 0)
        out->x = most_bytes(u, c);
    else if (strcmp(name, "evals") == 0) {
        snprintf(evals, sizeof evals, "%zu F + %zu G", table_evals(c->scheme, OP_F),
                 table_evals(c->scheme, OP_G));
        out->text = evals;
    } else
        return 0;
    return 1;
}

static int add_bounds(Compare *u)
{
    static const char *const names[] = {"valid_ppl", "test_ppl", NULL};
    for (size_t i = 0; i < u->runtable.bounds; i++)
        sheet_bound(u->table, u->runtable.bound[i].name, names, u->runtable.bound[i].value);
    return 0;
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

/* ---- all ------------------------------------------------------------------------------------- */

/* Returns the columns of the table, with units for people: characters are not tokens, and little memory is shown in kB.
 * The caller frees them. */
static Column *columns_for(const Compare *u)
{
    Column *own = memory_new(sizeof compare_columns / sizeof *compare_columns, sizeof *own);
    double most = 0;
    if (!own) return NULL;
    memcpy(own, compare_columns, sizeof compare_columns);
    for (size_t i = 0; i < u->cells; i++) most = fmax(most, most_bytes(u, &u->cell[i]));
    for (Column *c = own; c->name || c->head; c++) {
        if (!c->name) continue;
        if (u->corpus.vocab.level == LEVEL_CHAR && strcmp(c->name, "tokens_per_s") == 0)
            c->head = "characters/s";
        if (most < 1e7 && strcmp(c->name, "peak_bytes") == 0) {
            c->head = "peak kB";
            c->scale = 1e-3;
        }
    }
    return own;
}

static int open_table(Compare *u)
{
    static const char *const positive[] = {"truncation", "layer_truncation", "one_by_one", NULL};
    static const RunTableAsked asked = {
        .design = "scheme",
        .seed = "seed",
        .by = "layers",
        .measure = {{"valid_ppl", "valid", "validation", 0, 1}, {"test_ppl", "test", "test", 0, 1}},
        .positive = positive};
    TRY(output_path(u->runs_file, u->dir, "runs.csv"));
    return runtable_open((const char *[]){u->runs_file}, 1, &asked, &u->runtable);
}

static int add_differences(Compare *u)
{
    const Options *o = u->options;
    RunTable *t = &u->runtable;
    const char *text;
    TRY(runtable_new(t, runtable_differences, &u->own[1], &u->differences));
    TRY(runtable_baseline(t, u->schemes.scheme[u->baseline]->name, options_real(o, "equivalence")));
    TRY(runtable_dunnett(t, u->differences));
    for (size_t i = 0; (text = options_item(o, "contrast", i)); i++) {
        char *spelt;
        TRY(compare_contrast(u, text, &spelt));
        int code = runtable_contrast(t, "--contrast", spelt, NULL, u->differences);
        memory_free(spelt);
        TRY(code);
    }
    return options_flag(o, "all-pairs") ? runtable_tukey(t, u->differences) : 0;
}

/* What perplexity may depend on. The last row shows how far the study can separate evaluations and truncation error. */
static int add_correlations(Compare *u)
{
#define QUANTITIES(text, y)                                        \
    {text, y, "truncation", "truncation", NULL},                   \
        {text, y, "truncation, order > 0", "truncation", "order"}, \
        {text, y, "evaluations", "evaluations", NULL},             \
    {                                                              \
        text, y, "parameters", "params", NULL                      \
    }
    static const RunRelation list[] = {
        QUANTITIES("validation", "valid_ppl"),
        QUANTITIES("test", "test_ppl"),
        {"(evaluations)", "evaluations", "truncation, order > 0", "truncation", "order"},
        {0}};
    TRY(runtable_new(&u->runtable, runtable_correlations, &u->own[2], &u->correlations));
    return runtable_relate(&u->runtable, list, NULL, u->seed, u->correlations);
}

/* Returns 1 where every run of a cell has its log. */
static int has_logs(const Compare *u, const Cell *c)
{
    for (size_t k = 0; k < u->seeds; k++) {
        RunSpec s = compare_spec(u, c, k);
        if (isnan(c->result[k].valid_ppl) || recorded_alone(&u->runs, &s) != SIZE_MAX) return 0;
    }
    return 1;
}

static int add_curves(Compare *u)
{
    TRY(sheet_new(curve_columns, &u->curves));
    for (size_t i = 0; i < u->cells; i++)
        if (has_logs(u, &u->cell[i])) TRY(add_curve(u, &u->cell[i]));
    return 0;
}

int compare_tables(Compare *u)
{
    TRY(open_table(u));
    TRY(add_differences(u));
    TRY(compare_regression(u));
    Column *own = columns_for(u);
    int code =
        own ? runtable_sheet(&u->runtable, own, more, u, NULL, u->cells, &u->own[0], &u->table)
            : ERR_MEMORY;
    memory_free(own);
    TRY(code);
    TRY(add_bounds(u));
    TRY(add_curves(u));
    return add_correlations(u);
}
