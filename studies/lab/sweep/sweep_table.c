/* sweep_table.c: what the runs and the words of a sweep have in its tables, what is correlated, and what stands above. */
#include <math.h>
#include <stdio.h>

#include "studies/lab/sweep/sweep.h"

/* ---- runs.csv ------------------------------------------------------------------------------------ */

const char sweep_run_names[] =
    "word\0seed\0valid_ppl\0test_ppl\0part\0diverged\0families\0scheme\0layers\0s\0f\0"
    "sublayers\0k\0area\0|area|\0relative_area\0FFG\0FGG\0order\0order_trained\0error_norm\0"
    "euler_norm\0bottom_s\0bottom_f\0top_s\0top_f\0evals_F\0evals_G\0params\0best_epoch\0"
    "tokens_per_s\0peak_bytes\0epochs\0?objective\0";
const Column sweep_run_columns[] = {
    VALUE("word"), VALUE("seed"), VALUE("valid_ppl"), VALUE("test_ppl"), {0}};

/* The sandwich that its first seed chose is counted without that seed, which is a lucky one; the others confirm it. */
static const char *part_of(const Study *u, const StudyDesign *d, const StudyRun *r)
{
    size_t best = sweep_of(u)->best;
    if (!options_flag(u->options, "confirm") || best >= u->designs || d != &u->design[best])
        return NULL;
    return d->seeds == 1 ? NULL : r == d->run ? "choice" : "confirmation";
}

void sweep_fill(Study *u, const StudyDesign *d, const StudyRun *r)
{
    const SweepWord *w = d->own;
    const double none = NAN, s = (double)w->count[0], f = (double)w->count[1];
    study_put(u, r, "s", s);
    study_put(u, r, "f", f);
    study_put(u, r, "sublayers", s + f);
    study_put(u, r, "k", w->k < 0 ? none : (double)w->k);
    study_put(u, r, "area", w->area);
    study_put(u, r, "|area|", fabs(w->area));
    study_put(u, r, "relative_area", w->share);
    study_put(u, r, "FFG", w->FFG);
    study_put(u, r, "FGG", w->FGG);
    study_put(u, r, "order", w->order < 0 ? none : (double)w->order);
    study_put(u, r, "order_trained", (double)w->order_trained);
    study_put(u, r, "error_norm", w->norm);
    study_put(u, r, "euler_norm", w->euler_norm);
    study_put(u, r, "bottom_s", w->halves.bottom[0]);
    study_put(u, r, "bottom_f", w->halves.bottom[1]);
    study_put(u, r, "top_s", w->halves.top[0]);
    study_put(u, r, "top_f", w->halves.top[1]);
    study_set(u, r, "families", w->families);
    study_set(u, r, "part", part_of(u, d, r));
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
          .place = 9, .page = 1),
    VALUE("valid_sd"),
    VALUE("valid_low", .words = STATISTICS_POSITIVE_LOW),
    VALUE("valid_high"),
    VALUE("test_ppl", .head = "test ppl", .half = "±", .low = "test_low", .high = "test_high",
          .place = 10, .page = 1),
    VALUE("test_sd"),
    VALUE("test_low", .words = STATISTICS_POSITIVE_LOW),
    VALUE("test_high"),
    {0}};

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

/* ---- what stands above the tables ----------------------------------------------------------------- */

static void print_families(const Study *u, FILE *f)
{
    const Options *o = u->options;
    size_t n[FAMILIES] = {0};
    for (size_t i = 0; i < u->designs; i++)
        for (int family = 0; family < FAMILIES; family++)
            n[family] += (size_t)sweep_is(sweep_word(u, i), family);
    fprintf(f, "There are %zu words of %zu pairs (--word-seed %zu):", u->designs,
            sweep_of(u)->pairs, options_size(o, "word-seed"));
    for (int family = 0, comma = 0; family < FAMILIES; family++)
        if (n[family]) fprintf(f, "%s %zu %s", comma++ ? "," : "", n[family], sweep_family(family));
    fprintf(f,
            ".\nThe interleaved word and those given have seeds %zu .. %zu; each of the others has "
            "%zu, from %zu on.\n",
            u->seed, u->seed + options_size(o, "seeds") - 1, options_size(o, "family-seeds"),
            u->seed);
    if (sweep_of(u)->best < u->designs && options_flag(o, "confirm"))
        fprintf(f,
                "%s was the best sandwich on validation with seed %zu, so it was trained with all "
                "seeds;\nthe first of them chose it, and is in no difference.\n",
                u->design[sweep_of(u)->best].name, u->seed);
}

int sweep_caption(const Study *u, int brief, FILE *f)
{
    study_print_recipe(u, f);
    fprintf(f,
            "The rate is %s, the dropout %s. ± is half of the 95 %% interval over seeds "
            "(Student's t)%s.\n",
            options_text(u->options, "rate"), options_text(u->options, "dropout"),
            brief ? "; --explain tells more" : "");
    print_families(u, f);
    if (!brief)
        fprintf(
            f,
            "A word lists its sublayers in order of time: s is attention (F), f is feed-forward (G).\n"
            "relative_area is area divided by the largest that as many s and f can have; bottom_s and "
            "top_f are the\nnumbers of s in the first half of a word's parameters and of f in the second.\n");
    return 0;
}
