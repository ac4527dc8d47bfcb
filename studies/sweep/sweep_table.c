/* sweep_table.c: what the runs and the words of a sweep have in its tables, and what is correlated. */
#include <math.h>
#include <string.h>

#include "studies/sweep/sweep.h"

/* ---- runs.csv ------------------------------------------------------------------------------------ */

const char sweep_run_names[] =
    "word\0seed\0valid_ppl\0test_ppl\0part\0diverged\0families\0scheme\0layers\0s\0f\0"
    "sublayers\0k\0area\0|area|\0relative_area\0FFG\0FGG\0order\0order_trained\0error_norm\0"
    "euler_norm\0bottom_s\0bottom_f\0top_s\0top_f\0evals_F\0evals_G\0params\0best_epoch\0"
    "tokens_per_s\0peak_bytes\0epochs\0";
const Column sweep_run_columns[] = {
    VALUE("word", .page = 1),
    VALUE("seed", .page = 1),
    VALUE("valid_ppl", .form = SHEET_FIXED, .digits = 2, .page = 1),
    VALUE("test_ppl", .form = SHEET_FIXED, .digits = 2, .page = 1),
    VALUE("part", .page = 1,
          .words =
              "choice: it chose the best sandwich, in no comparison; confirmation: its others"),
    {0}};

/* The sandwich that its first seed chose is counted without that seed, which is a lucky one; the others confirm it. */
static const char *part_of(const Study *u, const StudyDesign *d, const StudyRun *r)
{
    size_t best = sweep_of(u)->best;
    if (!options_flag(u->options, "confirm") || best >= u->designs || d != &u->design[best])
        return NULL;
    return d->seeds == 1 ? NULL : r == d->run ? "choice" : "confirmation";
}

int sweep_value(const Study *u, const StudyDesign *d, const StudyRun *r, const char *name,
                RunValue *out)
{
    const SweepWord *w = d->own;
    const double none = NAN, s = (double)w->count[0], f = (double)w->count[1];
    const RunNamed list[] = {{"s", {NULL, s}},
                             {"f", {NULL, f}},
                             {"sublayers", {NULL, s + f}},
                             {"k", {NULL, w->k < 0 ? none : (double)w->k}},
                             {"area", {NULL, w->area}},
                             {"|area|", {NULL, fabs(w->area)}},
                             {"relative_area", {NULL, w->share}},
                             {"FFG", {NULL, w->FFG}},
                             {"FGG", {NULL, w->FGG}},
                             {"order", {NULL, w->order < 0 ? none : (double)w->order}},
                             {"order_trained", {NULL, (double)w->order_trained}},
                             {"error_norm", {NULL, w->norm}},
                             {"euler_norm", {NULL, w->euler_norm}},
                             {"bottom_s", {NULL, w->halves.bottom[0]}},
                             {"bottom_f", {NULL, w->halves.bottom[1]}},
                             {"top_s", {NULL, w->halves.top[0]}},
                             {"top_f", {NULL, w->halves.top[1]}},
                             {"families", {w->families, NAN}},
                             {"part", {part_of(u, d, r), NAN}},
                             {NULL, {NULL, NAN}}};
    return runtable_named(list, name, out);
}

/* ---- words --------------------------------------------------------------------------------------- */

const Column sweep_word_columns[] = {
    VALUE("word", .place = 1, .page = 1),
    VALUE("families", .place = 2, .page = 1, .words = "families that the word belongs to"),
    VALUE("s", .place = 3),
    VALUE("f", .place = 4),
    VALUE("k"),
    VALUE("area", .place = 5, .page = 1,
          .words = "signed area between the word's path and its chord, the coefficient of [F,G]"),
    VALUE("relative_area"),
    VALUE("FFG"),
    VALUE("FGG"),
    VALUE("order", .place = 6, .page = 1,
          .words =
              "exact order of the word as a splitting by exact flows; empty where it has no error"),
    VALUE("order_trained", .head = "trained", .place = 7, .page = 1,
          .words =
              "exact order of the word as the network trains it, by Euler sub-steps: at most 1"),
    VALUE("error_norm", .head = "error norm", .digits = 4, .place = 8, .page = 1,
          .words = "norm of the leading error of the splitting by exact flows"),
    VALUE("euler_norm", .page = 1, .words = "the same norm for Euler sub-flows, as in the network"),
    VALUE("bottom_s"),
    VALUE("bottom_f"),
    VALUE("top_s"),
    VALUE("top_f"),
    VALUE("evals_F"),
    VALUE("evals_G"),
    VALUE("params", .page = 1),
    VALUE("seeds", .page = 1),
    VALUE("valid_ppl", .head = "valid ppl", .half = "±", .low = "valid_low", .high = "valid_high",
          .form = SHEET_FIXED, .digits = 2, .place = 9, .page = 1),
    VALUE("valid_sd"),
    VALUE("valid_low", .words = STATISTICS_POSITIVE_LOW),
    VALUE("valid_high"),
    VALUE("test_ppl", .head = "test ppl", .half = "±", .low = "test_low", .high = "test_high",
          .form = SHEET_FIXED, .digits = 2, .place = 10, .page = 1),
    VALUE("test_sd"),
    VALUE("test_low", .words = STATISTICS_POSITIVE_LOW),
    VALUE("test_high"),
    VALUE("better", .page = 1,
          .words = "whether validation perplexity is lower than the baseline's mean"),
    {0}};

int sweep_has_baseline(const Study *u)
{
    return u->baseline < u->designs && study_design(u, u->baseline)->mean[0].n > 0;
}

int sweep_more(const void *study, const RunTable *t, size_t design, const char *name, RunValue *out)
{
    const Study *u = study;
    if (strcmp(name, "better") != 0) return 0;
    *out = runtable_text(NULL);
    if (sweep_has_baseline(u))
        out->text =
            t->design[design].mean[0].mean < t->design[u->baseline].mean[0].mean ? "yes" : "no";
    return 1;
}

const RunRelation sweep_relations[] = {{"area", "area"},
                                       {"|area|", "|area|"},
                                       {"relative_area", "relative_area"},
                                       {"s", "s"},
                                       {"f", "f"},
                                       {"sublayers", "sublayers"},
                                       {"bottom_s", "bottom_s"},
                                       {"top_f", "top_f"},
                                       {"params", "params"},
                                       {0}};
