/* compare_truncation.c: the true truncation error of every trained network at h = 1, the
 * network's own step, and its slope (bridge/truncation.h): each run's model on a few sentences
 * of the validation text, its own scheme, weights frozen in each layer; the median over
 * sentences and layers. The field is F + G; of schemes over L also y' = L(y), the ODE of their
 * paper.
 *
 * A run's numbers are kept in its directory, truncation.csv, and claimed like the run itself. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/runs/lease.h"
#include "studies/tools/command.h"
#include "studies/compare/compare.h"
#include "studies/tools/csv.h"
#include "studies/tools/progress.h"
#include "studies/measure/sentences.h"
#include "studies/model/trained.h"
#include "bridge/truncation.h"

enum { DRAW = 1 }; /* seed of the sentences: the same for all */

/* A file with other names is of another measure, and measured again. */
static const char *const columns[] = {"sentences",          "tokens",      "network_step", "slope",
                                      "layer_network_step", "layer_slope", "check"};
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---- one run --------------------------------------------------------------------------------- */

/* Median error and slope for one field; NaN where the scheme has no step of it, or the flow
 * leaves the numbers. */
static int measure_field(const Network *n, const Table *t, const Sentences *s, int field,
                         double *error, double *slope, double *check)
{
    TruncationOptions o = {.field = field};
    TruncationSummary r;
    *error = *slope = NAN;
    if (field == FIELD_LAYER && !table_over(t, OP_L)) return 0;
    int code = truncation_summary(n->model, n->table, t, s, &o, &r);
    if (code == ERR_ACCURACY || code == ERR_NUMERIC) return 0;
    TRY(code);
    *error = r.relative.median;
    *slope = r.slope.median;
    *check = fmax(*check, r.check);
    return 0;
}

static int measure(const Compare *u, const RunSpec *spec, const char *dir, RunErrors *e)
{
    Network n;
    Sentences s;
    size_t *start = NULL, tokens = options_size(u->options, "truncation-tokens");
    int32_t *token = NULL;
    if (tokens > options_size(u->options, "sequence"))
        tokens = options_size(u->options, "sequence");
    TRY(trained_load(dir, tokens, options_size(u->options, "threads"), &n));
    int code =
        sentences_draw(&u->corpus.vocab, &u->corpus.text[SPLIT_VALID],
                       options_size(u->options, "truncation"), tokens, DRAW, &start, &token, &s);
    e->check = 0;
    if (code == 0)
        code =
            measure_field(&n, spec->scheme, &s, FIELD_SPLIT, &e->split, &e->split_slope, &e->check);
    if (code == 0)
        code =
            measure_field(&n, spec->scheme, &s, FIELD_LAYER, &e->layer, &e->layer_slope, &e->check);
    memory_free(start);
    memory_free(token);
    network_free(&n);
    return code;
}

/* ---- its file -------------------------------------------------------------------------------- */

static int save(const Compare *u, const char *dir, const RunErrors *e)
{
    const double value[] = {e->split, e->split_slope, e->layer, e->layer_slope, e->check};
    Report *r;
    TRY(report_new(COUNT(columns), columns, &r));
    report_size(r, options_size(u->options, "truncation"));
    report_size(r, options_size(u->options, "truncation-tokens"));
    for (size_t i = 0; i < COUNT(value); i++) report_real(r, value[i], 6);
    int code = output_report(r, REPORT_CSV, dir, "truncation.csv");
    report_free(r);
    return code;
}

/* 1 where the file is there, of the same sentences. */
static int load(const Compare *u, const char *dir, RunErrors *e)
{
    double value[COUNT(columns)];
    char path[OUTPUT_PATH];
    Csv c;
    if (output_path(path, dir, "truncation.csv") != 0 || !output_exists(path)) return 0;
    if (csv_open(&c, path) != 0) return 0;
    int there = c.rows == 1;
    for (size_t i = 0; there && i < COUNT(columns); i++) {
        int column = csv_column(&c, columns[i]);
        there = column >= 0 && csv_number(&c, 0, column, &value[i]) == 0;
    }
    csv_close(&c);
    if (!there || value[0] != (double)options_size(u->options, "truncation") ||
        value[1] != (double)options_size(u->options, "truncation-tokens"))
        return 0;
    *e = (RunErrors){value[2], value[3], value[4], value[5], value[6]};
    return 1;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int do_claimed(const Compare *u, Task *t, const char *name, const char *dir)
{
    RunErrors *e = t->more;
    t->state = RUN_THERE;
    if (load(u, dir, e)) return 0;
    double begun = progress_now();
    progress_show("truncation error of %s", name);
    TRY(measure(u, &t->spec, dir, e));
    TRY(save(u, dir, e));
    t->state = RUN_TRAINED;
    runs_note(&u->runs, "%s: truncation error %.4g of the flow at h = 1, slope %.2f, in %.1f s",
              name, e->split, e->split_slope, progress_now() - begun);
    return 0;
}

int compare_truncates(const Compare *u)
{
    return options_size(u->options, "truncation") > 0 &&
           network_bridge(u->options).norm == NORM_PRE;
}

int compare_measure(void *study, Task *t)
{
    Compare *u = study;
    char name[512], dir[OUTPUT_PATH], path[OUTPUT_PATH];
    Claim claim;
    int mine;
    TRY(runs_name(&t->spec, name));
    TRY(runs_directory(u->dir, &t->spec, dir));
    t->state = RUN_THERE;
    if (load(u, dir, t->more)) return 0;
    TRY(output_path(path, dir, "truncation.claim"));
    TRY(claim_take(path, u->worker.name, &claim, &mine));
    t->state = RUN_BUSY;
    if (!mine) return 0;
    int code = do_claimed(u, t, name, dir);
    claim_drop(&claim);
    return code;
}
