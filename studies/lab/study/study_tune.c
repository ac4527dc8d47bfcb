/* study_tune.c: tunes all designs equally. Every design gets the same small grid of rate, dropout and, with --tune-epochs, length,
 * one training for each point with a separate seed (--tune-seed), and takes the point with the best validation perplexity of its rows `tuning`. No model sees
 * the test text before every design has chosen: the trainings run with --untested, and this process holds a corpus without
 * it, once it has found at the beginning that it can be read.
 * DIR/study.log has the order of events. */
#include <math.h>
#include <string.h>

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
    while (runs_part(o, name, n, part)) n++;
    return n;
}

/* Sets the i-th point, of which the last option's value changes first. */
static void set_point(const Study *u, size_t i, StudyPoint *p)
{
    const Options *o = u->options;
    size_t each = u->points;
    char part[32];
    for (const char *const *name = runs_tuned; *name; name++) {
        size_t n = count_parts(o, *name);
        if (n == 0) continue;
        each /= n;
        if (runs_part(o, *name, i / each % n, part)) spec_set(&p->own, SPEC_CHOSEN, *name, part);
    }
}

int study_grid(Study *u)
{
    const Options *o = u->options;
    size_t seed = options_size(o, "tune-seed");
    if (seed >= u->seed && seed < u->seed + u->seeds)
        return error_set(
            ERR_INPUT,
            "--tune-seed %zu is one of the seeds compared: what was chosen by it would look better "
            "than it is",
            seed);
    u->points = 1;
    for (const char *const *name = runs_tuned; *name; name++)
        if (runs_tunes(o, *name)) u->points *= count_parts(o, *name);
    u->point = memory_new(u->points, sizeof *u->point);
    if (!u->point) return ERR_MEMORY;
    for (size_t i = 0; i < u->points; i++) {
        u->point[i].seed = seed;
        set_point(u, i, &u->point[i]);
    }
    return study_trials(u);
}

/* Chooses the best of a design's points, the first of equal ones. */
static int choose(Study *u, StudyDesign *d)
{
    const StudyRun *best = NULL;
    char chosen[256];
    double least = INFINITY;
    for (const StudyRun *r = d->trial; r < d->trial + u->points; r++) {
        double valid = study_real(u, r, "valid_ppl");
        if (!best && !isnan(valid)) best = r;
        if (valid < least) best = r;
        least = fmin(least, valid);
    }
    if (!best)
        return error_set(ERR_CHECK, "%s, %zu layer(s): no training of the grid came through",
                         d->name, spec_size(&d->spec.own, "layers"));
    d->chosen = best->point->own;
    spec_print(&d->chosen, SPEC_CHOSEN, ", ", " ", chosen, sizeof chosen);
    runs_note(&u->runs, "%s, %zu layer(s): %s chosen on validation (perplexity %.4f, best of %zu)",
              d->name, spec_size(&d->spec.own, "layers"), chosen + strspn(chosen, ", "),
              study_real(u, best, "valid_ppl"), u->points);
    return 0;
}

int study_tune(Study *u)
{
    TRY(study_train(u, 1, 1, 1));
    for (size_t i = 0; i < u->designs; i++)
        if (!study_recorded(&u->design[i])) TRY(choose(u, &u->design[i]));
    return 0;
}
