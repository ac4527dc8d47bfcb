/* study_tune.c: tunes all designs equally. Every design gets the same small grid of rate and dropout, one training for each
 * point with a separate seed (--tune-seed), and takes the point with the best validation perplexity. The test text is not
 * opened before every design has chosen: the trainings run with --untested, and this process holds a corpus without it.
 * DIR/study.log has the order of events. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "studies/runs/recorded.h"
#include "studies/study/study.h"
#include "studies/tools/command.h"

static const Option tune_options[] = {
    {"tune", OPTION_FLAG, NULL, NULL,
     "equal tuning: first choose rate and dropout of each scheme on validation, from the same "
     "grid for all; the test text is opened after the last choice",
     0, 0},
    {"tune-rate", OPTION_REALS, "3e-4,1e-3,3e-3", "X,...", "rates of the grid", 1e-12, 100,
     .needs = "tune"},
    {"tune-dropout", OPTION_REALS, "0,0.1,0.3", "P,...", "dropouts of the grid", 0, 0.99,
     .needs = "tune"},
    {"tune-seed", OPTION_SIZE, "0", "N",
     "seed of the grid's trainings; it must not be a seed that is compared", 0, 1e18,
     .needs = "tune"},
    {0},
};
const OptionGroup study_tune_group = {"Tuning", 1, tune_options};

typedef struct {
    const char *scheme;
    size_t layers, seed;
    double rate, dropout, valid_ppl, best_epoch;
    int chosen;
} TuneRow;

const Column study_tune_columns[] = {
    COLUMN(TuneRow, scheme),
    COLUMN(TuneRow, layers),
    COLUMN(TuneRow, rate),
    COLUMN(TuneRow, dropout),
    COLUMN(TuneRow, seed),
    COLUMN(TuneRow, valid_ppl),
    COLUMN(TuneRow, best_epoch),
    COLUMN(TuneRow, chosen, .form = SHEET_FLAG,
           .words = "whether it was chosen, by validation perplexity with a separate seed"),
    {0}};

typedef char Number[32];

/* The grid (rates, dropouts). */
typedef struct {
    size_t rates, dropouts, points;
    Number rate[16], dropout[16];
} Grid;

static int read_list(const Options *o, const char *name, Number list[16], size_t *count)
{
    Number more;
    for (*count = 0; *count < 16 && options_part(o, name, *count, list[*count]); ++*count) {}
    if (options_part(o, name, 16, more))
        return error_set(ERR_INPUT, "--%s: expected at most 16 numbers", name);
    return 0;
}

static int read_grid(const Study *u, Grid *g)
{
    const Options *o = u->options;
    size_t seed = options_size(o, "tune-seed");
    TRY(read_list(o, "tune-rate", g->rate, &g->rates));
    TRY(read_list(o, "tune-dropout", g->dropout, &g->dropouts));
    g->points = g->rates * g->dropouts;
    if (seed >= u->seed && seed < u->seed + u->seeds)
        return error_set(
            ERR_INPUT,
            "--tune-seed %zu is one of the seeds compared: what was chosen by it would look better "
            "than it is",
            seed);
    return 0;
}

static RunSpec grid_spec(const Study *u, const Grid *g, const StudyDesign *d, size_t at)
{
    RunSpec s = d->spec;
    s.seed = options_size(u->options, "tune-seed");
    s.rate = g->rate[at / g->dropouts];
    s.dropout = g->dropout[at % g->dropouts];
    s.untested = 1;
    s.numbers = 0;
    return s;
}

/* Returns 1 where all runs of a design are recorded. */
static int is_taken(const Study *u, const StudyDesign *d)
{
    for (size_t k = 0; k < d->seeds; k++) {
        RunSpec s = study_spec(u, d, k);
        if (recorded_alone(&u->runs, &s) == SIZE_MAX) return 0;
    }
    return 1;
}

/* Chooses the best of a design's points, the first of equal ones, and adds their rows. */
static int choose(Study *u, StudyDesign *d, const Task *t, size_t points, Sheet *choices)
{
    size_t best = points;
    for (size_t i = 0; i < points; i++)
        if (tasks_has_result(&t[i]) &&
            (best == points || t[i].result.valid_ppl < t[best].result.valid_ppl))
            best = i;
    if (best == points)
        return error_set(ERR_CHECK, "%s, %zu layer(s): no training of the grid came through",
                         d->name, d->spec.layers);
    snprintf(d->rate, sizeof d->rate, "%s", t[best].spec.rate);
    snprintf(d->dropout, sizeof d->dropout, "%s", t[best].spec.dropout);
    for (size_t i = 0; i < points; i++) {
        int there = tasks_has_result(&t[i]);
        sheet_row(choices,
                  &(TuneRow){d->name, d->spec.layers, t[i].spec.seed, strtod(t[i].spec.rate, NULL),
                             strtod(t[i].spec.dropout, NULL), there ? t[i].result.valid_ppl : NAN,
                             there ? t[i].result.best_epoch : NAN, i == best});
    }
    runs_note(
        &u->runs,
        "%s, %zu layer(s): rate %s, dropout %s chosen on validation (perplexity %.4f, best of %zu)",
        d->name, d->spec.layers, d->rate, d->dropout, t[best].result.valid_ppl, points);
    return 0;
}

/* list: the points of the designs that are not recorded. */
static int choose_all(Study *u, const Grid *g, const Task *list)
{
    Sheet *choices;
    TRY(sheet_new(study_tune_columns, &choices));
    int code = 0;
    for (size_t i = 0; code == 0 && i < u->designs; i++) {
        if (is_taken(u, &u->design[i])) continue;
        code = choose(u, &u->design[i], list, g->points, choices);
        list += g->points;
    }
    if (code == 0) code = output_sheet(choices, SHEET_CSV, u->dir, "tune.csv");
    sheet_free(choices);
    return code;
}

int study_tune(Study *u)
{
    Grid g;
    TRY(read_grid(u, &g));
    size_t n = 0;
    Task *list = memory_new(u->designs * g.points, sizeof *list);
    if (!list) return ERR_MEMORY;
    for (size_t i = 0; i < u->designs; i++)
        for (size_t k = 0; !is_taken(u, &u->design[i]) && k < g.points; k++)
            list[n++].spec = grid_spec(u, &g, &u->design[i], k);
    const Work w = {.runs = &u->runs,
                    .wait = 1,
                    .config = u->worker.leader ? u->kind->command : NULL,
                    .follow = 1};
    int code = n ? tasks_run(&w, list, n) : 0;
    if (code == 0 && n) code = choose_all(u, &g, list);
    memory_free(list);
    return code;
}
