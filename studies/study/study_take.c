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
    int tuned = options_known(o, "tune") && options_flag(o, "tune");
    double x = number_at(t, row, name);
    if (isnan(x)) return 0;
    if (x != strtod(now, NULL) && (*out || !tuned))
        return error_set(ERR_INPUT, "%s:%zu: %s has %s %s, and %s %s (--%s)", t->file,
                         t->line[row + 1], d->name, name, there, now,
                         tuned ? "in another row" : "with these options", name);
    snprintf(out, sizeof d->rate, "%s", there);
    return 0;
}

/* spec: of the run. */
static int take_run(Study *u, StudyDesign *d, StudyRun *run, const RunSpec *spec, size_t row)
{
    const Csv *t = &u->runs.recorded.table;
    const StudyMeasured r = {.study = u, .run = run, .spec = *spec, .design = d->name};
    const Column *c;
    double *x = run->value;
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
    for (size_t i = 0; i < u->designs; i++)
        for (size_t k = 0; k < u->design[i].seeds; k++) {
            StudyDesign *d = &u->design[i];
            RunSpec s = study_spec(u, d, k);
            size_t row = recorded_alone(&u->runs, &s);
            if (row != SIZE_MAX) TRY(take_run(u, d, &d->run[k], &s, row));
        }
    return 0;
}
