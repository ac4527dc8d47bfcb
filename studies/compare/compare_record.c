/* compare_record.c: writes the table of runs of a comparison, and takes from it the runs that have no folder. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/truncation.h"
#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/compare/compare.h"
#include "studies/runs/recorded.h"
#include "studies/tools/output.h"

/* ---- rows of the table --------------------------------------------------------------------------- */

/* A run; what its text says; its results and measures. */
typedef struct {
    const char *scheme, *part, *same_as, *diverged, *system, *verdict, *control_of, *time;
    size_t layers, seed, evals_F, evals_G, evaluations, epochs;
    double rate, dropout, gaining;
    Convergence measured;
    RunResult result;
    RunErrors errors;
    const char *corpus;
} CompareRun;

/* No column is sparse, so that rows of several files can be put together. */
const Column compare_run_columns[] = {
    COLUMN(CompareRun, scheme),
    COLUMN(CompareRun, layers),
    COLUMN(CompareRun, seed),
    FIELD(CompareRun, "valid_ppl", result.valid_ppl),
    FIELD(CompareRun, "test_ppl", result.test_ppl),
    COLUMN(CompareRun, part, .words = "bound: no run, but a perplexity that needs no network"),
    COLUMN(CompareRun, same_as, .words = "scheme that makes the same map"),
    COLUMN(CompareRun, diverged),
    FIELD(CompareRun, "order", measured.theory.order),
    COLUMN(CompareRun, system),
    FIELD(CompareRun, "measured", measured.slope),
    FIELD(CompareRun, "low", measured.low),
    FIELD(CompareRun, "high", measured.high),
    COLUMN(CompareRun, verdict),
    COLUMN(CompareRun, evals_F),
    COLUMN(CompareRun, evals_G),
    COLUMN(CompareRun, evaluations),
    COLUMN(CompareRun, control_of),
    FIELD(CompareRun, "params", result.params),
    COLUMN(CompareRun, rate),
    COLUMN(CompareRun, dropout),
    FIELD(CompareRun, "best_epoch", result.best_epoch),
    COLUMN(CompareRun, gaining, .words = "1: the best epoch was the last"),
    FIELD(CompareRun, "tokens_per_s", result.tokens_per_s),
    FIELD(CompareRun, "peak_bytes", result.peak_bytes),
    FIELD(CompareRun, "valid_exact", result.valid_exact),
    FIELD(CompareRun, "test_exact", result.test_exact),
    FIELD(CompareRun, "truncation", errors.split),
    FIELD(CompareRun, "truncation_slope", errors.split_slope),
    FIELD(CompareRun, "truncation_leading", errors.leading),
    FIELD(CompareRun, "truncation_governed", errors.governed),
    FIELD(CompareRun, "layer_truncation", errors.layer),
    FIELD(CompareRun, "layer_truncation_slope", errors.layer_slope),
    FIELD(CompareRun, "check", errors.check),
    FIELD(CompareRun, "truncation_low", errors.low),
    FIELD(CompareRun, "truncation_high", errors.high),
    FIELD(CompareRun, "truncation_time", time),
    FIELD(CompareRun, "one_by_one", errors.one_by_one),
    COLUMN(CompareRun, epochs, .words = "most epochs of the training"),
    COLUMN(CompareRun, corpus, .words = "checksum of the corpus"),
    {0}};

static int add_cell(const Compare *u, const Cell *c, Sheet *out)
{
    char controlled[512], time[64], corpus[32];
    double far[COLOURS];
    const Convergence *order = &u->orders.scheme[c->index];
    TRY(truncation_own_time(c->scheme, far));
    truncation_time(far, time, sizeof time);
    compare_controlled(u, c->scheme, controlled);
    snprintf(corpus, sizeof corpus, "%016llx", (unsigned long long)u->runs.checksum);
    CompareRun r = {.scheme = c->scheme->name,
                    .layers = c->layers,
                    .same_as = c == &u->cell[c->same] ? NULL : u->cell[c->same].scheme->name,
                    .system = u->orders.system->name,
                    .verdict = verdict_name(order->verdict),
                    .control_of = controlled,
                    .time = *c->time ? c->time : time,
                    .evals_F = table_evals(c->scheme, OP_F),
                    .evals_G = table_evals(c->scheme, OP_G),
                    .epochs = options_size(u->options, "epochs"),
                    .rate = strtod(c->rate, NULL),
                    .dropout = strtod(c->dropout, NULL),
                    .measured = *order,
                    .corpus = corpus};
    r.evaluations = r.evals_F + r.evals_G;
    for (size_t k = 0; k < u->seeds; k++) {
        r.seed = u->seed + k;
        r.result = c->result[k];
        r.errors = c->errors[k];
        r.gaining = c->gaining[k];
        r.diverged = runs_diverged(&c->result[k], 1, u->corpus.vocab.size) ? "yes" : NULL;
        sheet_row(out, &r);
    }
    return 0;
}

/* Adds a row for a perplexity that needs no network. */
static void add_bound(const char *name, double valid, double test, Sheet *out)
{
    CompareRun r = {.scheme = name,
                    .part = "bound",
                    .layers = SIZE_MAX,
                    .seed = SIZE_MAX,
                    .evals_F = SIZE_MAX,
                    .evals_G = SIZE_MAX,
                    .evaluations = SIZE_MAX,
                    .epochs = SIZE_MAX,
                    .rate = NAN,
                    .dropout = NAN,
                    .gaining = NAN,
                    .measured = {.theory.order = -1, .slope = NAN, .low = NAN, .high = NAN},
                    .result = runs_none,
                    .errors = compare_unmeasured};
    r.result.valid_ppl = valid;
    r.result.test_ppl = test;
    sheet_row(out, &r);
}

int compare_record(const Compare *u)
{
    Sheet *s;
    double least = exp(u->corpus.entropy_rate);
    TRY(sheet_new(compare_run_columns, &s));
    int code = 0;
    for (size_t i = 0; code == 0 && i < u->cells; i++) code = add_cell(u, &u->cell[i], s);
    add_bound("unigram", u->unigram.valid, u->unigram.test, s);
    if (!isnan(least)) add_bound("entropy rate", least, least, s);
    if (code == 0) code = output_sheet(s, SHEET_CSV, u->dir, "runs.csv");
    sheet_free(s);
    return code;
}

/* ---- runs that were recorded --------------------------------------------------------------------- */

/* Returns the number of a cell; NaN where there is none. */
static double number_at(const Csv *t, size_t row, const char *name)
{
    double x = NAN;
    int at = csv_column(t, name);
    if (at >= 0 && csv_number(t, row, at, &x) != 0) x = NAN;
    return x;
}

/* Takes a text of a row as the cell's, which all runs of the cell must share. */
static int take_text(const Compare *u, const Cell *c, size_t row, const char *name, int first,
                     char out[32])
{
    const Csv *t = &u->runs.recorded.table;
    const char *there = csv_named(t, row, name);
    double now = strtod(out, NULL), x = number_at(t, row, name);
    int tuned = options_flag(u->options, "tune");
    if (isnan(x)) return 0;
    if (x != now && !(tuned && first))
        return error_set(ERR_INPUT, "%s:%zu: %s has %s %s, and %s %s (--%s)", t->file,
                         t->line[row + 1], c->scheme->name, name, there, out,
                         tuned ? "in another row" : "with these options", name);
    snprintf(out, 32, "%s", there);
    return 0;
}

int compare_take(Compare *u)
{
    for (size_t i = 0; i < u->cells; i++) {
        Cell *c = &u->cell[i];
        int first = 1;
        for (size_t k = 0; k < u->seeds; k++) {
            RunSpec s = compare_spec(u, c, k);
            size_t row = recorded_alone(&u->runs, &s);
            if (row == SIZE_MAX) continue;
            TRY(take_text(u, c, row, "rate", first, c->rate));
            TRY(take_text(u, c, row, "dropout", first, c->dropout));
            const char *time = csv_named(&u->runs.recorded.table, row, "truncation_time");
            if (*time) snprintf(c->time, sizeof c->time, "%s", time);
            c->gaining[k] = number_at(&u->runs.recorded.table, row, "gaining");
            first = 0;
        }
    }
    return 0;
}

int compare_taken(const Compare *u, const Cell *c)
{
    for (size_t k = 0; k < u->seeds; k++) {
        RunSpec s = compare_spec(u, c, k);
        if (recorded_alone(&u->runs, &s) == SIZE_MAX) return 0;
    }
    return 1;
}

int compare_take_measures(const Compare *u, const RunSpec *s, RunErrors *e)
{
    const Csv *t = &u->runs.recorded.table;
    size_t row = recorded_alone(&u->runs, s);
    if (row == SIZE_MAX) return 0;
    *e = (RunErrors){.split = number_at(t, row, "truncation"),
                     .split_slope = number_at(t, row, "truncation_slope"),
                     .layer = number_at(t, row, "layer_truncation"),
                     .layer_slope = number_at(t, row, "layer_truncation_slope"),
                     .check = number_at(t, row, "check"),
                     .leading = number_at(t, row, "truncation_leading"),
                     .governed = number_at(t, row, "truncation_governed"),
                     .one_by_one = number_at(t, row, "one_by_one"),
                     .low = number_at(t, row, "truncation_low"),
                     .high = number_at(t, row, "truncation_high")};
    return 1;
}
