/* study_take.c: takes what DIR/runs.csv tells of runs that have no folder. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "studies/runs/recorded.h"
#include "studies/study/study.h"
#include "studies/tools/command.h"

/* Returns the number of a cell; NaN where there is none. */
static double number_at(const Csv *t, size_t row, const char *name)
{
    double x = NAN;
    int at = csv_column(t, name);
    if (at >= 0 && csv_number(t, row, at, &x) != 0) x = NAN;
    return x;
}

/* Takes a number of a row, as written, as the design's, which all its runs must share. */
static int take_text(const Study *u, const StudyDesign *d, size_t row, const char *name, char *out)
{
    const Csv *t = &u->runs.recorded.table;
    const Options *o = u->options;
    const char *there = csv_named(t, row, name), *now = *out ? out : options_text(o, name);
    int tuned = study_tunes(u);
    double x = number_at(t, row, name);
    if (isnan(x)) return 0;
    if (x != strtod(now, NULL) && (*out || !tuned))
        return error_set(ERR_INPUT, "%s:%zu: %s has %s %s, and %s %s (--%s)", t->file,
                         t->line[row + 1], d->name, name, there, now,
                         tuned ? "in another row" : "with these options", name);
    snprintf(out, sizeof d->rate, "%s", there);
    return 0;
}

static int take_run(Study *u, StudyDesign *d, StudyRun *run)
{
    const Csv *t = &u->runs.recorded.table;
    const StudyMeasured r = {.study = u, .run = run, .spec = study_spec(d, run), .design = d->name};
    const Column *c;
    double *x = run->value;
    size_t row = run->state == RUN_OPEN ? recorded_alone(&u->runs, &r.spec) : SIZE_MAX;
    if (row == SIZE_MAX) return 0;
    TRY(recorded_result(&u->runs, &r.spec, row, &run->result));
    run->row = row;
    run->state = RUN_THERE;
    if (run->point) return 0;
    TRY(take_text(u, d, row, "rate", d->rate));
    TRY(take_text(u, d, row, "dropout", d->dropout));
    for (const StudyMeasure *const *m = study_measures; *m; m++) {
        for (c = (*m)->columns; c->name; c++) *x++ = number_at(t, row, c->name);
        if ((*m)->load && (*m)->wanted(u) > 0 && !*csv_named(t, row, "diverged"))
            TRY((*m)->load(&r));
    }
    return 0;
}

int study_take(Study *u)
{
    size_t taken = 0;
    for (size_t i = 0; i < u->designs; i++) {
        StudyDesign *d = &u->design[i];
        for (size_t k = 0; k < d->seeds; k++) {
            TRY(take_run(u, d, &d->run[k]));
            taken += d->run[k].row != SIZE_MAX;
        }
        for (size_t k = 0; d->trial && k < u->points; k++) TRY(take_run(u, d, &d->trial[k]));
    }
    if (taken) runs_note(&u->runs, "%zu runs are recorded in %s", taken, u->runs.recorded.path);
    return 0;
}
