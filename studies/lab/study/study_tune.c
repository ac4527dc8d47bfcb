/* study_tune.c: tunes all designs equally. Every design gets the same small grid of rate, dropout and, with --tune-epochs, length,
 * one training for each point with a separate seed (--tune-seed), and takes the point with the best validation perplexity of its rows `tuning`. No model sees
 * the test text before every design has chosen: the trainings run with --untested, and this process holds a corpus without
 * it, once it has found at the beginning that it can be read.
 * DIR/study.log has the order of events. */
#include <math.h>
#include <stdio.h>

#include "studies/lab/study/study.h"
#include "studies/base/command.h"

const OptionGroup study_tune_group = {
    "Tuning", 1,
    OPTIONS(
        {"tune", OPTION_FLAG, NULL, NULL,
         "equal tuning: first choose rate and dropout of each scheme on validation, from the same "
         "grid for all, and with --tune-epochs the length; no model sees the test text before the "
         "last choice"},
        {"tune-rate", OPTION_REALS, "3e-4,1e-3,3e-3", "X,...", "rates of the grid", 1e-12, 100,
         .needs = "tune"},
        {"tune-dropout", OPTION_REALS, "0,0.1,0.3", "P,...", "dropouts of the grid", 0, 0.99,
         .needs = "tune"},
        {"tune-epochs", OPTION_SIZES, NULL, "N,...",
         "lengths of the grid, in epochs; the rate's schedule is that of the length (default: "
         "--epochs alone)",
         1, 1000000, .needs = "tune"},
        {"tune-seed", OPTION_SIZE, "0", "N",
         "seed of the grid's trainings; it must not be a seed that is compared", 0, 1e18,
         .needs = "tune"})};

static size_t count_parts(const Options *o, const char *name)
{
    char part[32];
    size_t n = 0;
    while (options_part(o, name, n, part)) n++;
    return n;
}

int study_grid(Study *u)
{
    const Options *o = u->options;
    size_t seed = options_size(o, "tune-seed"), dropouts = count_parts(o, "tune-dropout"),
           lengths = study_tunes_epochs(u) ? count_parts(o, "tune-epochs") : 0,
           each = lengths + !lengths;
    if (seed >= u->seed && seed < u->seed + u->seeds)
        return error_set(
            ERR_INPUT,
            "--tune-seed %zu is one of the seeds compared: what was chosen by it would look better "
            "than it is",
            seed);
    u->points = count_parts(o, "tune-rate") * dropouts * each;
    u->point = memory_new(u->points, sizeof *u->point);
    if (!u->point) return ERR_MEMORY;
    for (size_t i = 0; i < u->points; i++) {
        u->point[i].seed = seed;
        options_part(o, "tune-rate", i / each / dropouts, u->point[i].rate);
        options_part(o, "tune-dropout", i / each % dropouts, u->point[i].dropout);
        if (lengths) options_part(o, "tune-epochs", i % each, u->point[i].epochs);
    }
    return study_trials(u);
}

/* Chooses the best of a design's points, the first of equal ones. */
static int choose(Study *u, StudyDesign *d)
{
    const StudyRun *best = NULL;
    for (const StudyRun *r = d->trial; r < d->trial + u->points; r++)
        if (!isnan(r->result.valid_ppl) && (!best || r->result.valid_ppl < best->result.valid_ppl))
            best = r;
    if (!best)
        return error_set(ERR_CHECK, "%s, %zu layer(s): no training of the grid came through",
                         d->name, d->spec.layers);
    snprintf(d->rate, sizeof d->rate, "%s", best->point->rate);
    snprintf(d->dropout, sizeof d->dropout, "%s", best->point->dropout);
    snprintf(d->epochs, sizeof d->epochs, "%s", best->point->epochs);
    runs_note(
        &u->runs,
        "%s, %zu layer(s): rate %s, dropout %s%s%s chosen on validation (perplexity %.4f, best of %zu)",
        d->name, d->spec.layers, d->rate, d->dropout, *d->epochs ? ", epochs " : "", d->epochs,
        best->result.valid_ppl, u->points);
    return 0;
}

int study_tune(Study *u)
{
    TRY(study_train(u, 1, 1, 1));
    for (size_t i = 0; i < u->designs; i++)
        if (!study_recorded(&u->design[i])) TRY(choose(u, &u->design[i]));
    return 0;
}
