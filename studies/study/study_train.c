/* study_train.c: the trainings of a study. */
#include "studies/study/study.h"
#include "studies/tools/command.h"

static size_t add_open(StudyDesign *d, StudyRun *r, Task *list, size_t n)
{
    if (r->state == RUN_OPEN) list[n++] = (Task){.spec = study_spec(d, r), .more = r};
    return n;
}

/* Lists the runs that were not tried: seed by seed, or the trials design by design. Returns how many. */
static size_t list_open(const Study *u, int trials, Task *list)
{
    size_t n = 0, most = 0;
    for (size_t i = 0; i < u->designs; i++) {
        StudyDesign *d = &u->design[i];
        if (d->seeds > most) most = d->seeds;
        for (size_t k = 0; trials && !study_recorded(d) && k < u->points; k++)
            n = add_open(d, &d->trial[k], list, n);
    }
    for (size_t k = 0; !trials && k < most; k++)
        for (size_t i = 0; i < u->designs; i++)
            if (k < u->design[i].seeds) n = add_open(&u->design[i], &u->design[i].run[k], list, n);
    return n;
}

static int ended(void *study, Task *t, int fresh)
{
    Study *u = study;
    StudyRun *run = t->more;
    run->state = t->state;
    u->failed += t->state == RUN_FAILED && !run->point;
    if (tasks_has_result(t) && !u->kind->one) run->result = t->result;
    return fresh ? study_remake(u) : 0;
}

int study_train(Study *u, int trials, int wait, int follow)
{
    size_t most = u->designs * u->points;
    for (size_t i = 0; i < u->designs; i++) most += u->design[i].seeds;
    Task *list = memory_new(most, sizeof *list);
    if (!list) return ERR_MEMORY;
    const Work w = {.runs = &u->runs,
                    .wait = wait,
                    .measure = u->kind->one,
                    .ended = ended,
                    .study = u,
                    .config = u->worker.leader ? u->kind->command : NULL,
                    .follow = follow};
    int code = tasks_run(&w, list, list_open(u, trials, list));
    memory_free(list);
    return code;
}
