/* compare_tune.c: tunes all cells equally. Every cell gets the same small grid of rate and dropout,
 * one training for each point with a separate seed (--tune-seed), and takes the point with the best
 * validation perplexity. The test text is not opened before every cell has chosen: the trainings
 * run with --untested, and this process holds a corpus without it. DIR/study.log has the order of
 * events. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "studies/tools/command.h"
#include "studies/compare/compare.h"
#include "studies/tools/output.h"
#include "studies/tools/progress.h"

typedef struct {
    const char *scheme;
    size_t layers, seed;
    double rate, dropout, valid_ppl, best_epoch;
    int chosen;
} TuneRow;

const Column tune_columns[] = {
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

static int read_grid(const Compare *u, Grid *g)
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

static RunSpec grid_spec(const Compare *u, const Grid *g, const Cell *c, size_t at)
{
    return (RunSpec){.scheme = c->scheme,
                     .layers = c->layers,
                     .seed = options_size(u->options, "tune-seed"),
                     .rate = g->rate[at / g->dropouts],
                     .dropout = g->dropout[at % g->dropouts],
                     .untested = 1};
}

/* Returns the index of the best of a cell's points, the first of equal ones; `points` where none
 * has a result. */
static size_t find_best(const Task *t, size_t points)
{
    size_t best = points;
    for (size_t i = 0; i < points; i++) {
        if (!tasks_has_result(&t[i])) continue;
        if (best == points || t[i].result.valid_ppl < t[best].result.valid_ppl) best = i;
    }
    return best;
}

static void add_point(Sheet *s, const Task *t, int chosen)
{
    int there = tasks_has_result(t);
    sheet_row(s, &(TuneRow){t->spec.scheme->name, t->spec.layers, t->spec.seed,
                            strtod(t->spec.rate, NULL), strtod(t->spec.dropout, NULL),
                            there ? t->result.valid_ppl : NAN, there ? t->result.best_epoch : NAN,
                            chosen});
}

static int choose(Compare *u, Cell *c, const Task *t, size_t points)
{
    size_t best = find_best(t, points);
    if (best == points)
        return error_set(ERR_CHECK, "%s, %zu layer(s): no training of the grid came through",
                         c->scheme->name, c->layers);
    snprintf(c->rate, sizeof c->rate, "%s", t[best].spec.rate);
    snprintf(c->dropout, sizeof c->dropout, "%s", t[best].spec.dropout);
    for (size_t i = 0; i < points; i++) add_point(u->choices, &t[i], i == best);
    runs_note(
        &u->runs,
        "%s, %zu layer(s): rate %s, dropout %s chosen on validation (perplexity %.4f, best of %zu)",
        c->scheme->name, c->layers, c->rate, c->dropout, t[best].result.valid_ppl, points);
    return 0;
}

/* list: as compare_tune fills it. */
static int choose_all(Compare *u, const Grid *g, const Task *list)
{
    TRY(sheet_new(tune_columns, &u->choices));
    for (size_t i = 0; i < u->cells; i++) {
        if (compare_taken(u, &u->cell[i])) continue;
        TRY(choose(u, &u->cell[i], list, g->points));
        list += g->points;
    }
    return output_sheet(u->choices, SHEET_CSV, u->dir, "tune.csv");
}

int compare_tune(Compare *u)
{
    Grid g;
    TRY(read_grid(u, &g));
    size_t n = 0;
    Task *list = memory_new(u->cells * g.points, sizeof *list);
    if (!list) return ERR_MEMORY;
    for (size_t i = 0; i < u->cells; i++)
        for (size_t k = 0; !compare_taken(u, &u->cell[i]) && k < g.points; k++)
            list[n++].spec = grid_spec(u, &g, &u->cell[i], k);
    const Work w = {
        .runs = &u->runs, .wait = 1, .config = u->worker.leader ? "compare" : NULL, .follow = 1};
    int code = n ? tasks_run(&w, list, n) : 0;
    if (code == 0 && n) code = choose_all(u, &g, list);
    memory_free(list);
    return code;
}
