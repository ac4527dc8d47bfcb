/* compare_table.c: the tables of a comparison: a row a cell, a row a difference, curves over the steps. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/compare/compare.h"

static const char *const columns[] = {"scheme",
                                      "order",
                                      "system",
                                      "measured",
                                      "low",
                                      "high",
                                      "verdict",
                                      "evals_F",
                                      "evals_G",
                                      "layers",
                                      "params",
                                      "seeds",
                                      "valid_ppl",
                                      "valid_sd",
                                      "test_ppl",
                                      "test_sd",
                                      "tokens_per_s",
                                      "peak_bytes",
                                      "beats_unigram",
                                      "valid_low",
                                      "valid_high",
                                      "test_low",
                                      "test_high",
                                      "baseline",
                                      "valid_diff",
                                      "valid_diff_pooled_low",
                                      "valid_diff_pooled_high",
                                      "test_diff",
                                      "test_diff_pooled_low",
                                      "test_diff_pooled_high",
                                      "rate",
                                      "dropout",
                                      "same_as",
                                      "control_of",
                                      "truncation",
                                      "truncation_low",
                                      "truncation_high",
                                      "truncation_slope",
                                      "layer_truncation",
                                      "layer_truncation_slope",
                                      "best_epoch",
                                      "gaining",
                                      "valid_diff_pooled_p",
                                      "test_diff_pooled_p",
                                      "valid_pooled_sd",
                                      "test_pooled_sd",
                                      "pooled_df"};
static const char *const shown[] = {"scheme",   "layers", "order",      "measured",  "evals",
                                    "error",    "slope",  "parameters", "valid ppl", "±",
                                    "test ppl", "±",      "tokens/s",   "peak MB"};
static const char *const difference_columns[] = {"scheme", "layers",    "runs", "valid diff", "±",
                                                 "p",      "test diff", "±",    "p"};
static const char *const curve_columns[] = {"scheme",     "step",      "epoch",     "tokens",
                                            "train_loss", "valid_ppl", "grad_norm", "layers"};
#define COUNT(list) (sizeof(list) / sizeof *(list))

int compare_column(const char *name)
{
    size_t i = 0;
    while (strcmp(columns[i], name) != 0) i++;
    return (int)i + 1;
}

void compare_cell_name(const Compare *u, const Cell *c, char out[CELL_NAME])
{
    int n = snprintf(out, CELL_NAME, "%s", c->scheme->name);
    if (u->depths > 1)
        snprintf(out + n, CELL_NAME - (size_t)n, ", %zu layer%s", c->layers,
                 c->layers == 1 ? "" : "s");
}

int compare_beats_unigram(const Compare *u, const Cell *c)
{
    return c->valid.mean < u->unigram_valid && c->test.mean < u->unigram_test;
}

/* ---- a row a cell ---------------------------------------------------------------------------- */

static void add_interval(Report *r, double low, double high)
{
    report_fixed(r, low, 2);
    report_fixed(r, high, 2);
}

static void add_difference(Report *r, const Difference *d)
{
    report_fixed(r, d->mean, 2);
    add_interval(r, d->low, d->high);
}

static void add_training(Report *r, const Compare *u, const Cell *c)
{
    report_fixed(r, c->params, 0);
    report_size(r, c->runs);
    report_fixed(r, c->valid.mean, 2);
    report_fixed(r, c->valid.sd, 2);
    report_fixed(r, c->test.mean, 2);
    report_fixed(r, c->test.sd, 2);
    report_fixed(r, c->speed, 0);
    report_fixed(r, c->bytes, 0);
    report_flag(r, compare_beats_unigram(u, c));
    add_interval(r, c->valid.low, c->valid.high);
    add_interval(r, c->test.low, c->test.high);
    report_text(r, u->schemes.scheme[u->baseline]->name);
    add_difference(r, &c->valid_diff);
    add_difference(r, &c->test_diff);
    report_real(r, strtod(c->rate, NULL), 6);
    report_real(r, strtod(c->dropout, NULL), 6);
}

static void add_row(Compare *u, const Cell *c)
{
    const Convergence *order = &u->orders.scheme[c->index];
    char controlled[512];
    Report *r = u->table;
    report_text(r, c->scheme->name);
    report_size(r, (uint64_t)order->theory.order);
    report_text(r, u->orders.system->name);
    report_fixed(r, order->slope, 3);
    report_fixed(r, order->low, 3);
    report_fixed(r, order->high, 3);
    report_text(r, verdict_name(order->verdict));
    report_size(r, table_evals(c->scheme, OP_F));
    report_size(r, table_evals(c->scheme, OP_G));
    report_size(r, c->layers);
    add_training(r, u, c);
    report_text(r, c == &u->cell[c->same] ? "" : u->cell[c->same].scheme->name);
    compare_controlled(u, c->scheme, controlled);
    report_text(r, controlled);
    report_real(r, c->split.mean, 6);
    report_real(r, c->split.low, 6);
    report_real(r, c->split.high, 6);
    report_fixed(r, c->split_slope.mean, 3);
    report_real(r, c->layer.mean, 6);
    report_fixed(r, c->layer_slope.mean, 3);
    report_fixed(r, c->best_epoch, 1);
    report_size(r, c->gaining);
    report_real(r, c->valid_p, 2);
    report_real(r, c->test_p, 2);
    const Layout *l = &u->layout[(size_t)(c - u->cell) % u->depths];
    report_real(r, l->valid.sd, 3);
    report_real(r, l->test.sd, 3);
    report_size(r, l->valid.df);
}

/* A number and half of its interval. */
static void add_half(Report *r, double mean, double low, double high)
{
    report_fixed(r, mean, 2);
    report_fixed(r, 0.5 * (high - low), 2);
}

static void add_brief(Compare *u, const Cell *c)
{
    char evals[64];
    Report *r = u->brief;
    snprintf(evals, sizeof evals, "%zu F + %zu G", table_evals(c->scheme, OP_F),
             table_evals(c->scheme, OP_G));
    report_text(r, c->scheme->name);
    report_size(r, c->layers);
    report_size(r, (uint64_t)u->orders.scheme[c->index].theory.order);
    report_fixed(r, u->orders.scheme[c->index].slope, 2);
    report_text(r, evals);
    report_real(r, c->split.mean, 3);
    report_fixed(r, c->split_slope.mean, 2);
    report_fixed(r, c->params, 0);
    add_half(r, c->valid.mean, c->valid.low, c->valid.high);
    add_half(r, c->test.mean, c->test.low, c->test.high);
    report_fixed(r, c->speed, 0);
    report_fixed(r, c->bytes * 1e-6, 0);
}

/* Of what is not the baseline's map. */
static void add_compared(Compare *u, const Cell *c)
{
    Report *r = u->differences;
    if (c->same == compare_baseline(u, c)->same) return;
    report_text(r, c->scheme->name);
    report_size(r, c->layers);
    report_size(r, c->runs);
    add_half(r, c->valid_diff.mean, c->valid_diff.low, c->valid_diff.high);
    report_real(r, c->valid_p, 2);
    add_half(r, c->test_diff.mean, c->test_diff.low, c->test_diff.high);
    report_real(r, c->test_p, 2);
}

/* The cell of one column in a row for what needs no network; empty where it has none. */
static void add_bound_cell(Report *r, const char *column, const char *name, double valid,
                           double test)
{
    if (strcmp(column, "scheme") == 0)
        report_text(r, name);
    else if (strcmp(column, "valid_ppl") == 0 || strcmp(column, "valid ppl") == 0)
        report_fixed(r, valid, 2);
    else if (strcmp(column, "test_ppl") == 0 || strcmp(column, "test ppl") == 0)
        report_fixed(r, test, 2);
    else
        report_none(r);
}

static void add_bound(Compare *u, const char *name, double valid, double test)
{
    for (size_t j = 0; j < COUNT(columns); j++)
        add_bound_cell(u->table, columns[j], name, valid, test);
    for (size_t j = 0; j < COUNT(shown); j++) add_bound_cell(u->brief, shown[j], name, valid, test);
}

/* ---- curves ---------------------------------------------------------------------------------- */

/* sum += row by row, as far as both go: seeds cut the text at other places, so that one of them may
 * have a row more. */
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

static void report_curve(Report *r, const Cell *c, const RunRow *sum, double n)
{
    report_text(r, c->scheme->name);
    report_fixed(r, sum->step / n, 1);
    report_fixed(r, sum->epoch, 0);
    report_fixed(r, sum->tokens / n, 0);
    report_fixed(r, sum->train_loss / n, 4);
    report_fixed(r, sum->valid_ppl / n, 2);
    report_real(r, sum->grad_norm / n, 6);
    report_size(r, c->layers);
}

/* The mean over the seeds, row by row of their logs. */
static int add_curve(Compare *u, const Cell *c)
{
    size_t rows = 0;
    RunRow *sum = NULL;
    int code = 0;
    for (size_t k = 0; code == 0 && k < u->seeds; k++) {
        RunSpec s = compare_spec(u, c, k);
        code = add_log(u, &s, &sum, &rows);
    }
    for (size_t i = 0; code == 0 && i < rows; i++)
        report_curve(u->curves, c, &sum[i], (double)u->seeds);
    memory_free(sum);
    return code;
}

/* ---- all ------------------------------------------------------------------------------------- */

int compare_tables(Compare *u)
{
    TRY(compare_epochs(u));
    TRY(compare_differences(u));
    TRY(report_new(COUNT(columns), columns, &u->table));
    TRY(report_new(COUNT(shown), shown, &u->brief));
    TRY(report_new(COUNT(difference_columns), difference_columns, &u->differences));
    TRY(report_new(COUNT(curve_columns), curve_columns, &u->curves));
    for (size_t i = 0; i < u->cells; i++) {
        add_row(u, &u->cell[i]);
        add_brief(u, &u->cell[i]);
        add_compared(u, &u->cell[i]);
        if (u->cell[i].runs == u->seeds && !compare_recorded(u)) TRY(add_curve(u, &u->cell[i]));
    }
    add_bound(u, "unigram", u->unigram_valid, u->unigram_test);
    double least = exp(u->corpus.entropy_rate);
    if (!isnan(least)) add_bound(u, "entropy rate", least, least);
    return compare_correlations(u);
}
