/* compare_truncation.c: measures the true truncation error of every trained network at h = 1, the network's own
 * step, with its slope and its leading term (bridge/truncation.h). It takes each run's model on a few sentences
 * of the validation text, with its own scheme and weights frozen in each layer, and the median over sentences
 * and layers. The field is F + G; for schemes over L also y' = L(y), the ODE of their paper.
 *
 * A run's numbers are kept in its directory, truncation.csv. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/clock.h"
#include "studies/tools/command.h"
#include "studies/compare/compare.h"
#include "studies/tools/csv.h"
#include "studies/tools/progress.h"
#include "studies/measure/sentences.h"
#include "studies/model/trained.h"
#include "bridge/truncation.h"

enum { DRAW = 1 }; /* seed of the sentences: the same for all */

typedef struct {
    double sentences, tokens, tolerance;
    RunErrors errors;
} ErrorRow;

/* The columns of truncation.csv. A file with other names is of another measure, and the run is measured
 * again. */
static const Column columns[] = {COLUMN(ErrorRow, sentences),
                                 COLUMN(ErrorRow, tokens),
                                 COLUMN(ErrorRow, tolerance),
                                 RUN_ERRORS_FIELDS(ErrorRow),
                                 {0}};

/* ---- one run --------------------------------------------------------------------------------- */

/* Computes the median error and slope for one field; NaN where the scheme has no step of it, or the flow leaves
 * the range of numbers. */
static int measure_field(const Network *n, const Table *t, const Sentences *s, int field,
                         double tolerance, double *error, double *slope, RunErrors *e)
{
    TruncationOptions o = {.field = field,
                           .terms = field == FIELD_SPLIT,
                           .tolerance = tolerance,
                           .stop = &command_stop};
    TruncationSummary r;
    *error = *slope = NAN;
    if (field == FIELD_LAYER && !table_over(t, OP_L)) return 0;
    int code = truncation_summary(n->model, n->table, t, s, &o, &r);
    if (code == ERR_ACCURACY || code == ERR_NUMERIC) return 0;
    if (code == ERR_INTERRUPTED) return command_interrupted();
    TRY(code);
    *error = r.relative.median;
    *slope = r.slope.median;
    e->check = fmax(e->check, r.check);
    if (field == FIELD_SPLIT) e->leading = r.leading.median, e->governed = r.governed;
    return 0;
}

static size_t tokens_of(const Compare *u)
{
    return sentences_tokens(options_size(u->options, "truncation-tokens"),
                            options_size(u->options, "sequence"));
}

static double tolerance_of(const Compare *u)
{
    return options_real(u->options, "truncation-tolerance");
}

static int measure(const Compare *u, const RunSpec *spec, const char *dir, RunErrors *e)
{
    Network n;
    Drawn drawn = {0};
    const Sentences *s = &drawn.of;
    size_t tokens = tokens_of(u);
    TRY(trained_load(dir, tokens, options_size(u->options, "threads"), &n));
    int code = sentences_draw(&u->corpus.vocab, &u->corpus.text[SPLIT_VALID], NULL,
                              options_size(u->options, "truncation"), tokens, DRAW, &drawn);
    double tolerance = sentences_tolerance(tolerance_of(u), n.model);
    e->check = 0;
    e->leading = e->governed = NAN;
    if (code == 0)
        code = measure_field(&n, spec->scheme, s, FIELD_SPLIT, tolerance, &e->split,
                             &e->split_slope, e);
    if (code == 0)
        code = measure_field(&n, spec->scheme, s, FIELD_LAYER, tolerance, &e->layer,
                             &e->layer_slope, e);
    sentences_free(&drawn);
    network_free(&n);
    return code;
}

/* ---- its file -------------------------------------------------------------------------------- */

static ErrorRow row_of(const Compare *u, const RunErrors *e)
{
    return (ErrorRow){(double)options_size(u->options, "truncation"), (double)tokens_of(u),
                      tolerance_of(u), *e};
}

static int save(const Compare *u, const char *dir, const RunErrors *e)
{
    ErrorRow row = row_of(u, e);
    Sheet *s;
    TRY(sheet_new(columns, &s));
    sheet_row(s, &row);
    int code = output_sheet(s, SHEET_CSV, dir, "truncation.csv");
    sheet_free(s);
    return code;
}

/* Returns 1 where the file exists, with the same numbers of sentences and tokens and the same tolerance. */
static int load(const Compare *u, const char *dir, RunErrors *e)
{
    ErrorRow now = row_of(u, e), row = now;
    char path[OUTPUT_PATH];
    Csv c;
    if (output_path(path, dir, "truncation.csv") != 0 || !output_exists(path)) return 0;
    if (csv_open(&c, path) != 0) return 0;
    int there = c.rows == 1 && csv_record(&c, 0, columns, &row) == 0 &&
                row.sentences == now.sentences && row.tokens == now.tokens &&
                row.tolerance == now.tolerance;
    csv_close(&c);
    if (there) *e = row.errors;
    return there;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int wanted(const Compare *u)
{
    return options_size(u->options, "truncation") > 0 &&
           network_bridge(u->options).norm == NORM_PRE;
}

static int measure_and_save(Compare *u, const RunSpec *spec, const char *name, const char *dir,
                            RunErrors *e)
{
    double begun = clock_now();
    progress_show("truncation error of %s", name);
    TRY(measure(u, spec, dir, e));
    TRY(save(u, dir, e));
    runs_note(&u->runs, "%s: truncation error %.4g of the flow at h = 1, slope %.2f, in %.1f s",
              name, e->split, e->split_slope, clock_now() - begun);
    return 0;
}

const Measure compare_truncation = {"truncation.claim", wanted, load, measure_and_save};
