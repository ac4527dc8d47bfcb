/* sweep_table.c: writes the table of runs of a sweep, and makes of it a row for each word, differences, correlations, and
 * the halves of good and bad words. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/sweep/sweep.h"
#include "studies/tools/output.h"

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

int sweep_shown(Study *u, Column **own, Sheet **out)
{
    static const char names[] = "word\0area\0evals_F\0evals_G\0params\0seed\0valid_ppl\0test_ppl\0";
    return study_runs_sheet(u, names, own, out);
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

const Column sweep_sandwich_columns[] = {
    VALUE("k"),          VALUE("word"),
    VALUE("area"),       VALUE("seeds"),
    VALUE("valid_ppl"),  VALUE("valid_low", .words = STATISTICS_POSITIVE_LOW),
    VALUE("valid_high"), {0}};

int sweep_has_baseline(const Study *u)
{
    return u->baseline < u->designs && study_design(u, u->baseline)->mean[0].n > 0;
}

int sweep_is_better(const Study *u, size_t design)
{
    return sweep_has_baseline(u) &&
           study_design(u, design)->mean[0].mean < study_design(u, u->baseline)->mean[0].mean;
}

static int more(const void *study, const RunTable *t, size_t design, const char *name,
                RunValue *out)
{
    const Study *u = study;
    (void)t;
    if (strcmp(name, "better") != 0) return 0;
    *out = (RunValue){!sweep_has_baseline(u)       ? NULL
                      : sweep_is_better(u, design) ? "yes"
                                                   : "no",
                      NAN};
    return 1;
}

int sweep_wide(Study *u, Column **own, Sheet **out)
{
    return study_designs_sheet(u, sweep_word_columns, more, NULL, u->designs, own, out);
}

int sweep_brief(Study *u, Column **own, Sheet **out)
{
    size_t *order = memory_new(u->designs, sizeof *order);
    if (!order) return ERR_MEMORY;
    for (size_t i = 0; i < u->designs; i++) {
        size_t at = i;
        for (; at > 0 &&
               study_design(u, i)->mean[0].mean < study_design(u, order[at - 1])->mean[0].mean;
             at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    int code = study_designs_sheet(u, sweep_word_columns, more, order, u->designs, own, out);
    memory_free(order);
    return code;
}

/* ---- data of plots ------------------------------------------------------------------------------- */

typedef struct {
    const char *family, *word;
    double k, area, error_norm, valid_ppl, test_ppl;
    size_t seed;
} FamilyRow;

const Column sweep_family_columns[] = {
    COLUMN(FamilyRow, family), COLUMN(FamilyRow, word),       COLUMN(FamilyRow, k),
    COLUMN(FamilyRow, seed),   COLUMN(FamilyRow, valid_ppl),  COLUMN(FamilyRow, test_ppl),
    COLUMN(FamilyRow, area),   COLUMN(FamilyRow, error_norm), {0}};

/* Adds the rows that plots read, one for each run and family. The rows of a family follow one another, as
 * gnuplot sums bins only over neighbouring rows. */
int sweep_families(Study *u, Column **own, Sheet **out)
{
    (void)own;
    TRY(sheet_new(sweep_family_columns, out));
    for (int family = 0; family < FAMILIES; family++)
        for (size_t i = 0; i < u->designs; i++) {
            const StudyDesign *d = &u->design[i];
            const SweepWord *w = d->own;
            for (size_t k = 0; sweep_is(w, family) && k < d->seeds; k++) {
                const RunResult *r = &d->run[k].result;
                if (!isnan(r->valid_ppl))
                    sheet_row(*out, &(FamilyRow){sweep_family(family), d->name,
                                                 w->k < 0 ? (double)NAN : (double)w->k, w->area,
                                                 w->norm, r->valid_ppl, r->test_ppl, u->seed + k});
            }
        }
    return 0;
}

int sweep_sandwiches(Study *u, Column **own, Sheet **out)
{
    size_t n = 0, *order = memory_new(u->designs, sizeof *order);
    if (!order) return ERR_MEMORY;
    for (int k = 0; k < (int)sweep_of(u)->pairs; k++)
        for (size_t i = 0; i < u->designs; i++)
            if (sweep_word(u, i)->k == k) order[n++] = i;
    int code = runtable_sheet(&u->table, sweep_sandwich_columns, NULL, NULL, order, n, own, out);
    memory_free(order);
    return code;
}

/* ---- halves -------------------------------------------------------------------------------------- */

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

/* Adds the mean count of a kind of sublayer in a half of the drawn words that are better, or not, than the
 * baseline's mean. x (designs): room. */
static void add_half(const Study *u, const char *half, const char *kind, int better, double *x,
                     Sheet *out)
{
    char name[16];
    size_t n = 0;
    snprintf(name, sizeof name, "%s_%s", half, kind);
    for (size_t i = 0; i < u->designs; i++)
        if ((sweep_is(sweep_word(u, i), FAMILY_PERMUTATION) ||
             sweep_is(sweep_word(u, i), FAMILY_RANDOM)) &&
            study_design(u, i)->mean[0].n && sweep_is_better(u, i) == better)
            x[n++] = runtable_value(&u->table, i, name).x;
    sheet_row(out,
              &(HalfRow){half, kind, better ? "better" : "not better", statistics_mean(x, 1, n)});
}

int sweep_halves(Study *u, Column **own, Sheet **out)
{
    static const char *const half[] = {"bottom", "top"}, *const kind[] = {"s", "f"};
    (void)own;
    TRY(sheet_new(sweep_half_columns, out));
    double *x = memory_new(u->designs, sizeof *x);
    if (!x) return ERR_MEMORY;
    for (int i = 0; i < 2 && sweep_has_baseline(u); i++)
        for (int j = 0; j < 2; j++)
            for (int better = 1; better >= 0; better--)
                add_half(u, half[i], kind[j], better, x, *out);
    memory_free(x);
    return 0;
}

/* ---- correlations ----------------------------------------------------------------------------------------- */

#define QUANTITIES(text, y)                                                           \
    {text, y, "area", "area", NULL}, {text, y, "|area|", "|area|", NULL},             \
        {text, y, "relative_area", "relative_area", NULL}, {text, y, "s", "s", NULL}, \
        {text, y, "f", "f", NULL}, {text, y, "sublayers", "sublayers", NULL},         \
        {text, y, "bottom_s", "bottom_s", NULL}, {text, y, "top_f", "top_f", NULL},   \
    {                                                                                 \
        text, y, "params", "params", NULL                                             \
    }

int sweep_correlations(Study *u, Column **own, Sheet **out)
{
    static const RunRelation all[] = {
        QUANTITIES("validation", "valid_ppl"), QUANTITIES("test", "test_ppl"), {0}};
    (void)own;
    TRY(sheet_new(runtable_correlations, out));
    return runtable_relate(&u->table, all, "families", u->seed, *out);
}

int sweep_related(Study *u, Column **own, Sheet **out)
{
    static const RunRelation shown[] = {QUANTITIES("validation", "valid_ppl"), {0}};
    (void)own;
    TRY(sheet_new(runtable_correlations, out));
    return runtable_relate(&u->table, shown, "families", u->seed, *out);
}
