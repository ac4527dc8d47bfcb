/* study_train.c: the designs of a study and their trainings. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/runs/recorded.h"
#include "studies/study/study.h"
#include "studies/tools/command.h"

/* ---- designs ------------------------------------------------------------------------------------- */

int study_seeds(StudyDesign *d, size_t seeds)
{
    StudyRun *grown = memory_grow(d->run, d->seeds, seeds, sizeof *grown);
    if (!grown) return ERR_MEMORY;
    d->run = grown;
    for (; d->seeds < seeds; d->seeds++) {
        grown[d->seeds] = (StudyRun){.result = runs_none};
        for (int i = 0; i < STUDY_VALUES; i++) grown[d->seeds].value[i] = NAN;
    }
    return 0;
}

int study_add(Study *u, const char *name, const RunSpec *spec, size_t seeds, StudyDesign **out)
{
    if (memory_more(&u->design, u->designs, sizeof *u->design) != 0) return ERR_MEMORY;
    StudyDesign *d = *out = &u->design[u->designs];
    *d = (StudyDesign){.spec = *spec, .same = u->designs++};
    snprintf(d->name, sizeof d->name, "%s", name);
    snprintf(d->label, sizeof d->label, "%s", name);
    d->own = memory_new(1, u->kind->design_bytes);
    return d->own ? study_seeds(d, seeds) : ERR_MEMORY;
}

RunSpec study_spec(const Study *u, const StudyDesign *d, size_t k)
{
    RunSpec s = d->spec;
    s.seed = u->seed + k;
    s.rate = *d->rate ? d->rate : NULL;
    s.dropout = *d->dropout ? d->dropout : NULL;
    return s;
}

int study_diverged(const Study *u, const StudyDesign *d)
{
    int any = 0;
    for (size_t k = 0; k < d->seeds; k++)
        any |= runs_diverged(&d->run[k].result, 1, u->corpus.vocab.size);
    return any;
}

int study_has_logs(const Study *u, const StudyDesign *d)
{
    for (size_t k = 0; k < d->seeds; k++) {
        RunSpec s = study_spec(u, d, k);
        if (isnan(d->run[k].result.valid_ppl) || recorded_alone(&u->runs, &s) != SIZE_MAX) return 0;
    }
    return 1;
}

/* ---- training ------------------------------------------------------------------------------------ */

/* Lists the runs that were not tried, seed by seed; their StudyRun is `more`. Returns how many. */
static size_t list_open(const Study *u, Task *list)
{
    size_t n = 0, most = 0;
    for (size_t i = 0; i < u->designs; i++)
        if (u->design[i].seeds > most) most = u->design[i].seeds;
    for (size_t k = 0; k < most; k++)
        for (size_t i = 0; i < u->designs; i++) {
            const StudyDesign *d = &u->design[i];
            if (k < d->seeds && d->run[k].state == RUN_OPEN)
                list[n++] = (Task){.spec = study_spec(u, d, k), .more = &d->run[k]};
        }
    return n;
}

int study_train(Study *u, int wait, int follow)
{
    size_t most = 0;
    for (size_t i = 0; i < u->designs; i++) most += u->design[i].seeds;
    Task *list = memory_new(most, sizeof *list);
    if (!list) return ERR_MEMORY;
    size_t n = list_open(u, list);
    const Work w = {.runs = &u->runs,
                    .wait = wait,
                    .config = u->worker.leader ? u->kind->command : NULL,
                    .follow = follow};
    int code = tasks_run(&w, list, n);
    for (size_t i = 0; code == 0 && i < n; i++) {
        StudyRun *run = list[i].more;
        run->state = list[i].state;
        u->failed += list[i].state == RUN_FAILED;
        if (tasks_has_result(&list[i])) run->result = list[i].result;
    }
    memory_free(list);
    return code;
}
