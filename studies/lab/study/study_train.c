/* study_train.c: works off lists of runs, to be trained or measured. Each process goes through a list and does what no other
 * process has (runs.h, lease.h). It looks again at what others have until that is done, or leaves it to them. */
#include <time.h>

#include "kernels/base/clock.h"
#include "studies/lab/study/study.h"
#include "studies/base/command.h"

/* trained, seconds: runs trained so far in this call, for the forecast of the time left. */
typedef struct {
    Study *u;
    StudyWork *measure; /* NULL: the runs are trained */
    StudyTask *list;
    size_t n, trained;
    double seconds;
} Work;

static size_t count_left(const Work *w)
{
    size_t left = 0;
    for (size_t i = 0; i < w->n; i++) left += w->list[i].state <= RUN_BUSY;
    return left;
}

static void tell_training(Work *w, const StudyTask *t, double seconds)
{
    size_t left = count_left(w);
    char time[32];
    if (t->state == RUN_BUSY) progress_note("    another process has it");
    if (t->state == RUN_FAILED) progress_note("    failed");
    if (t->state == RUN_THERE)
        progress_note("    is there already: perplexity %.2f on validation",
                      study_real(w->u, t->run, "valid_ppl"));
    if (t->state != RUN_TRAINED) return;
    w->trained++;
    w->seconds += seconds;
    progress_time(w->seconds / (double)w->trained * (double)left, time);
    if (left) progress_note("    about %s left for the other runs", time);
}

static int train(Work *w, StudyTask *t)
{
    const RunSpec s = study_spec(t->design, t->run);
    size_t number = (size_t)(t - w->list) + 1;
    char name[512];
    int was = t->state;
    double begun = clock_now();
    runs_name(&s.own, name);
    if (was == RUN_OPEN) progress_note("run %zu of %zu: %s", number, w->n, name);
    TRY(runs_do(&w->u->runs, &s, &w->u->runs_csv, t->run->at, &t->state));
    if (t->state == was) return 0;
    if (was == RUN_BUSY) progress_note("run %zu of %zu: %s", number, w->n, name);
    tell_training(w, t, clock_now() - begun);
    return 0;
}

static int do_task(Work *w, StudyTask *t)
{
    Study *u = w->u;
    StudyWork *own = w->measure ? w->measure : u->kind->one;
    int was = t->state;
    if (command_stop) return command_interrupted();
    TRY(own ? own(u, t) : train(w, t));
    if (t->state <= RUN_BUSY) return 0;
    if (!w->measure) {
        t->run->state = t->state;
        u->failed += t->state == RUN_FAILED && !t->run->point;
    }
    return was == RUN_BUSY || t->state != RUN_THERE ? study_remake(u) : 0;
}

/* Waits a second, or less if the command is to stop. */
static int wait_a_little(void)
{
    const struct timespec pause = {0, 100000000};
    for (int i = 0; i < 10 && !command_stop; i++) nanosleep(&pause, NULL);
    return command_stop ? command_interrupted() : 0;
}

int study_work(Study *u, StudyWork *measure, StudyTask *list, size_t n, int wait)
{
    Work w = {.u = u, .measure = measure, .list = list, .n = n};
    for (;;) {
        for (size_t i = 0; i < w.n; i++)
            if (w.list[i].state <= RUN_BUSY) TRY(do_task(&w, &w.list[i]));
        size_t left = count_left(&w);
        if (left == 0 || !wait) return 0;
        progress_show("%zu run(s) with other processes", left);
        TRY(wait_a_little());
    }
}

StudyTask *study_tasks(const Study *u)
{
    size_t most = u->designs * u->points;
    for (size_t i = 0; i < u->designs; i++) most += u->design[i].seeds;
    return memory_new(most, sizeof(StudyTask));
}

/* ---- trainings ----------------------------------------------------------------------------------- */

static size_t add_open(StudyDesign *d, StudyRun *r, StudyTask *list, size_t n)
{
    if (r->state == RUN_OPEN) list[n++] = (StudyTask){d, r, RUN_OPEN};
    return n;
}

/* Lists the runs that were not tried: seed by seed, or the trials design by design. Returns how many. */
static size_t list_open(const Study *u, int trials, StudyTask *list)
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

static int save_config(const Study *u)
{
    Output o;
    TRY(output_open(&o));
    fprintf(o.f, "# trotter %s --config FILE does this again\n", u->kind->command);
    return output_put(&o, options_write(u->options, 0, o.f), u->dir, "config.ini");
}

/* Refuses to destroy what is there, before anything is trained. */
static int begin(const Study *u, const StudyTask *list, size_t n, int follow)
{
    for (size_t i = 0; i < n && !u->kind->one; i++) {
        const RunSpec s = study_spec(list[i].design, list[i].run);
        TRY(runs_spare(&u->runs, &s));
    }
    if (!u->kind->one && !follow) TRY(study_keep(u));
    return u->worker.leader ? save_config(u) : 0;
}

/* Takes runs that failed here and that another process has done since. */
static int look_again(Study *u)
{
    for (size_t i = 0; i < u->designs; i++)
        for (size_t k = 0; k < u->design[i].seeds; k++) {
            StudyRun *r = &u->design[i].run[k];
            const RunSpec s = study_spec(&u->design[i], r);
            int there = 0;
            if (r->state != RUN_FAILED) continue;
            TRY(runs_look(&u->runs, &s, &u->runs_csv, r->at, &there));
            if (there) r->state = RUN_THERE;
            u->failed -= (size_t)there;
        }
    return 0;
}

int study_train(Study *u, int trials, int wait, int follow)
{
    SCOPED(memory_drop) StudyTask *list = study_tasks(u);
    if (!list) return ERR_MEMORY;
    size_t n = list_open(u, trials, list);
    TRY(begin(u, list, n, follow));
    TRY(study_work(u, NULL, list, n, wait));
    return u->kind->one || trials ? 0 : look_again(u);
}
