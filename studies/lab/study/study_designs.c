/* study_designs.c: the designs of a study and their runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "studies/lab/study/study.h"
#include "studies/base/command.h"

static int new_run(Study *u, uint64_t seed, const StudyPoint *point, StudyRun *out)
{
    *out = (StudyRun){.seed = seed, .point = point, .at = u->runs_csv.rows, .row = SIZE_MAX};
    return frame_row(&u->runs_csv);
}

int study_seeds(Study *u, StudyDesign *d, size_t seeds)
{
    StudyRun *grown = memory_grow(d->run, d->seeds, seeds, sizeof *grown);
    if (!grown) return ERR_MEMORY;
    d->run = grown;
    for (; d->seeds < seeds; d->seeds++)
        TRY(new_run(u, u->seed + d->seeds, NULL, &grown[d->seeds]));
    return 0;
}

int study_trials(Study *u)
{
    for (size_t i = 0; i < u->designs; i++) {
        StudyRun *trial = u->design[i].trial = memory_new(u->points, sizeof *trial);
        if (!trial) return ERR_MEMORY;
        for (size_t k = 0; k < u->points; k++)
            TRY(new_run(u, u->point[k].seed, &u->point[k], &trial[k]));
    }
    return 0;
}

int study_add(Study *u, const char *name, const RunSpec *spec, size_t seeds, StudyDesign **out)
{
    if (u->designs == RUNTABLE_MOST)
        return error_set(ERR_INPUT, "expected at most %d designs, which a table has room for",
                         RUNTABLE_MOST);
    if (!u->columns) TRY(study_open_runs(u, &spec->own));
    if (memory_more(&u->design, u->designs, sizeof *u->design) != 0) return ERR_MEMORY;
    StudyDesign *d = *out = &u->design[u->designs];
    *d = (StudyDesign){.spec = *spec, .same = u->designs++};
    snprintf(d->name, sizeof d->name, "%s", name);
    snprintf(d->label, sizeof d->label, "%s", name);
    d->own = memory_new(1, u->kind->design_bytes);
    return d->own ? study_seeds(u, d, seeds) : ERR_MEMORY;
}

RunSpec study_spec(const StudyDesign *d, const StudyRun *r)
{
    RunSpec s = d->spec;
    const Spec *more = r->point ? &r->point->own : &d->chosen;
    spec_put(&s.own, "seed", r->seed);
    if (r->point) spec_set(&s.own, SPEC_OWN, "untested", "yes");
    for (size_t i = 0; i < more->count; i++)
        spec_set(&s.own, SPEC_CHOSEN, more->option[i].name, more->option[i].text);
    return s;
}

size_t study_count(const Study *u, const StudyDesign *d, const char *column, double above)
{
    size_t n = 0;
    for (size_t k = 0; k < d->seeds; k++) n += study_real(u, &d->run[k], column) > above;
    return n;
}

int study_run_diverged(const Study *u, const StudyRun *r)
{
    double valid = study_real(u, r, "valid_ppl");
    return runs_diverged(valid, r->point ? valid : study_real(u, r, "test_ppl"),
                         u->corpus.vocab.size);
}

int study_has_logs(const Study *u, const StudyDesign *d)
{
    for (size_t k = 0; k < d->seeds; k++)
        if (isnan(study_real(u, &d->run[k], "valid_ppl")) || d->run[k].row != SIZE_MAX) return 0;
    return 1;
}

int study_recorded(const StudyDesign *d)
{
    for (size_t k = 0; k < d->seeds; k++)
        if (d->run[k].row == SIZE_MAX) return 0;
    return 1;
}

int study_tunes(const Study *u)
{
    return options_known(u->options, "tune") && options_flag(u->options, "tune");
}

double study_number(const Study *u, const RunSpec *s, const char *name)
{
    const char *own = spec_text(&s->own, name);
    if (!own && runs_tunes(u->options, name)) return NAN;
    return strtod(own ? own : options_text(u->options, name), NULL);
}
