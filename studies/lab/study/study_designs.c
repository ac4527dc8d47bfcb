/* study_designs.c: the designs of a study and their runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "studies/lab/study/study.h"
#include "studies/base/command.h"

static StudyRun new_run(uint64_t seed, const StudyPoint *point)
{
    StudyRun r = {.seed = seed, .point = point, .row = SIZE_MAX, .result = runs_none};
    for (int i = 0; i < STUDY_VALUES; i++) r.value[i] = NAN;
    return r;
}

int study_seeds(const Study *u, StudyDesign *d, size_t seeds)
{
    StudyRun *grown = memory_grow(d->run, d->seeds, seeds, sizeof *grown);
    if (!grown) return ERR_MEMORY;
    d->run = grown;
    for (; d->seeds < seeds; d->seeds++) grown[d->seeds] = new_run(u->seed + d->seeds, NULL);
    return 0;
}

int study_trials(Study *u)
{
    for (size_t i = 0; i < u->designs; i++) {
        StudyRun *trial = u->design[i].trial = memory_new(u->points, sizeof *trial);
        if (!trial) return ERR_MEMORY;
        for (size_t k = 0; k < u->points; k++) trial[k] = new_run(u->point[k].seed, &u->point[k]);
    }
    return 0;
}

int study_add(Study *u, const char *name, const RunSpec *spec, size_t seeds, StudyDesign **out)
{
    if (u->designs == RUNTABLE_MOST)
        return error_set(ERR_INPUT, "expected at most %d designs, which a table has room for",
                         RUNTABLE_MOST);
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
    s.seed = r->seed;
    s.untested = r->point != NULL;
    for (size_t i = 0; i < more->count; i++)
        spec_set(&s.own, more->option[i].name, more->option[i].text);
    return s;
}

int study_run_diverged(const Study *u, const StudyRun *r)
{
    double V = (double)u->corpus.vocab.size;
    if (r->point) return !isnan(r->result.valid_ppl) && !(r->result.valid_ppl < V);
    return runs_diverged(&r->result, 1, u->corpus.vocab.size);
}

int study_has_logs(const StudyDesign *d)
{
    for (size_t k = 0; k < d->seeds; k++)
        if (isnan(d->run[k].result.valid_ppl) || d->run[k].row != SIZE_MAX) return 0;
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
