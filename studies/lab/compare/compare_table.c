/* compare_table.c: the tables of a comparison of schemes: a row a run, a row a design, correlations. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bridge/truncation.h"
#include "studies/lab/compare/compare.h"

/* ---- runs.csv ------------------------------------------------------------------------------------ */

const char compare_run_names[] =
    "scheme\0layers\0seed\0valid_ppl\0test_ppl\0part\0same_as\0diverged\0order\0system\0"
    "measured\0low\0high\0verdict\0evals_F\0evals_G\0evaluations\0control_of\0params\0rate\0"
    "dropout\0best_epoch\0gaining\0tokens_per_s\0peak_bytes\0valid_exact\0test_exact\0"
    "truncation\0truncation_slope\0truncation_leading\0truncation_governed\0"
    "layer_truncation\0layer_truncation_slope\0check\0truncation_low\0truncation_high\0"
    "truncation_time\0epochs\0corpus\0?objective\0?integrator\0";
const Column compare_run_columns[] = {
    VALUE("scheme"), VALUE("layers"), VALUE("seed"), VALUE("valid_ppl"), {0}};

void compare_fill(Study *u, const StudyDesign *d, const StudyRun *r)
{
    char controlled[512];
    const CompareDesign *c = d->own;
    const ConvergenceStudy *orders = &compare_of(u)->orders;
    const Convergence *m = &orders->scheme[c->index];
    compare_controlled(u, d->spec.stacks.layers, controlled);
    study_put(u, r, "order", m->theory.order < 0 ? (double)NAN : (double)m->theory.order);
    study_put(u, r, "measured", m->slope);
    study_put(u, r, "low", m->low);
    study_put(u, r, "high", m->high);
    study_set(u, r, "system", orders->system->name);
    study_set(u, r, "verdict", verdict_name(m->verdict));
    study_set(u, r, "control_of", controlled);
    if (options_item(u->options, "vary",
                     0)) /* `scheme` is then the design's name, with what it varies */
        study_set(u, r, "integrator", d->spec.stacks.layers->name);
    if (!*frame_text(&u->runs_csv, r->at, "truncation_time")) /* else that of a recorded run */
        study_set(u, r, "truncation_time", c->time);
}

/* ---- a row a design ------------------------------------------------------------------------------ */

#define ERROR \
    "error of the trained network's step (h = 1), divided by the exact flow's displacement in it"
#define SLOPE \
    "power of h in that error before the division: order + 1 for small h, above 2.5 for smooth models (GELU) alone"

const Column compare_columns[] = {
    VALUE("scheme", .place = 1, .page = 1),
    VALUE("order", .place = 3, .page = 3,
          .words = "exact order p of the scheme, with local error O(h^(p+1))"),
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
    VALUE("params", .head = "parameters", .place = 10, .page = 9),
    VALUE("seeds"),
    VALUE("valid_ppl", .low = "valid_low", .high = "valid_high", .head = "valid ppl", .half = "±",
          .place = 11, .page = 10),
    VALUE("valid_sd"),
    VALUE("test_ppl", .low = "test_low", .high = "test_high", .head = "test ppl", .half = "±",
          .place = 12, .page = 11),
    VALUE("test_sd"),
    VALUE("tokens_per_s", .head = "tokens/s", .place = 13, .page = 18),
    VALUE("peak_bytes", .form = SHEET_FIXED, .digits = 1, .head = "peak MB", .scale = 1e-6,
          .place = 14, .page = 19, .words = "peak memory of the model"),
    VALUE("beats_unigram",
          .words = "whether the model predicts better than the unigram, the frequencies of tokens"),
    VALUE("valid_low", .words = STATISTICS_POSITIVE_LOW),
    VALUE("valid_high"),
    VALUE("test_low", .words = STATISTICS_POSITIVE_LOW),
    VALUE("test_high"),
    VALUE("rate", .page = 16),
    VALUE("dropout", .page = 17),
    VALUE("epochs", .form = SHEET_FIXED, .page = 23, .sparse = 1,
          .words = "length chosen by --tune-epochs, or varied"),
    VALUE("same_as", .words = "scheme that makes the same map"),
    VALUE("control_of", .words = "schemes for which this one is a control of equal evaluations"),
    VALUE("truncation", .low = "truncation_low", .high = "truncation_high", .head = "error",
          .half = "±", .place = 6, .page = 7, .words = ERROR),
    VALUE("truncation_low", .words = STATISTICS_POSITIVE_LOW),
    VALUE("truncation_high"),
    VALUE("truncation_slope", .form = SHEET_FIXED, .digits = 2, .head = "slope", .place = 9,
          .page = 8, .words = SLOPE),
    VALUE("layer_truncation", .words = "the same error for the field y' = L(y)"),
    VALUE("layer_truncation_slope", .words = SLOPE),
    VALUE("best_epoch"),
    VALUE("gaining", .words = "runs whose best epoch was their last"),
    VALUE("truncation_time", .head = "time", .place = 7, .page = 20,
          .words =
              "time of the exact flow against which a step of 1 is measured: the distance that the "
              "scheme goes"),
    VALUE("truncation_leading", .head = "leading", .place = 8, .page = 21,
          .words = "leading term of that error at h = 1, which theory predicts"),
    VALUE("truncation_governs", .page = 22,
          .words = "whether the order governs h = 1: the mean error is within " TRUNCATION_PERCENT
                   " of the mean leading term"),
    {0}};

static double mean_of(const Study *u, size_t i, const char *name)
{
    return runtable_value(&u->table, i, name).x;
}

int compare_governs(const Study *u, size_t i)
{
    if (isnan(mean_of(u, i, "truncation_governed"))) return -1;
    return truncation_governs(mean_of(u, i, "truncation"), mean_of(u, i, "truncation_leading"));
}

static double most_bytes(const Study *u, const StudyDesign *d)
{
    double most = NAN;
    for (size_t k = 0; k < d->seeds; k++)
        most = fmax(most, study_real(u, &d->run[k], "peak_bytes"));
    return most;
}

static const char *yes(int is)
{
    return is < 0 ? NULL : is ? "yes" : "no";
}

/* Sets the values that are no means over runs. */
void compare_more(const void *study, const RunTable *t, size_t design, Frame *out, size_t row)
{
    char evals[64];
    const Study *u = study;
    const StudyDesign *d = &u->design[design];
    const RunSpec s = study_spec(d, d->run);
    (void)t;
    snprintf(evals, sizeof evals, "%zu F + %zu G", table_evals(d->spec.stacks.layers, OP_F),
             table_evals(d->spec.stacks.layers, OP_G));
    frame_set(out, row, "evals", evals);
    frame_set(out, row, "beats_unigram", yes(study_beats_unigram(u, design)));
    frame_set(out, row, "truncation_governs", yes(compare_governs(u, design)));
    frame_put(out, row, "gaining", (double)study_count(u, d, "gaining", 0));
    frame_put(out, row, "peak_bytes", most_bytes(u, d));
    frame_set(out, row, "epochs", spec_text(&s.own, "epochs"));
}

/* What perplexity may depend on. The last row shows how far the study can separate evaluations and truncation error. */
const RunRelation compare_relations[] = {
    {"truncation", "truncation"},
    {"truncation, order > 0", "truncation", "order"},
    {"evaluations", "evaluations"},
    {"parameters", "params"},
    {"truncation, order > 0", "truncation", "order", "(evaluations)", "evaluations"},
    {0}};
