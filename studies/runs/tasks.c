/* tasks.c: works off a list of trainings (tasks.h). */
#include "studies/runs/tasks.h"

#include <time.h>

#include "kernels/clock.h"
#include "studies/runs/lease.h"
#include "studies/runs/recorded.h"
#include "studies/tools/command.h"
#include "studies/tools/progress.h"

/* Runs trained so far in this call, for the forecast of the time left. */
typedef struct {
    size_t trained;
    double seconds;
} Pace;

int tasks_has_result(const Task *t)
{
    return t->state == RUN_THERE || t->state == RUN_TRAINED;
}

static size_t count_left(const Task *list, size_t n)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++) left += list[i].state <= RUN_BUSY;
    return left;
}

/* Reports the result of a training; measuring reports for itself. */
static void tell_task(const Task *list, size_t n, size_t i, Pace *p, double seconds)
{
    const Task *t = &list[i];
    size_t left = count_left(list, n);
    char time[32];
    if (t->state == RUN_BUSY) progress_note("    another process has it");
    if (t->state == RUN_FAILED) progress_note("    failed");
    if (t->state == RUN_THERE)
        progress_note("    is there already: perplexity %.2f on validation", t->result.valid_ppl);
    if (t->state != RUN_TRAINED) return;
    p->trained++;
    p->seconds += seconds;
    progress_time(p->seconds / (double)p->trained * (double)left, time);
    if (left) progress_note("    about %s left for the other runs", time);
}

static int do_task(const Work *w, Task *list, size_t n, size_t i, Pace *p)
{
    Task *t = &list[i];
    char name[512];
    int was = t->state;
    double begun = clock_now();
    if (command_stop) return command_interrupted();
    if (w->measure) {
        TRY(w->measure(w->study, t));
    } else {
        runs_name(&t->spec, name);
        if (was == RUN_OPEN) progress_note("run %zu of %zu: %s", i + 1, n, name);
        TRY(runs_do(w->runs, &t->spec, &t->result, &t->state));
        if (t->state == was) return 0;
        if (was == RUN_BUSY) progress_note("run %zu of %zu: %s", i + 1, n, name);
        tell_task(list, n, i, p, clock_now() - begun);
    }
    if (!w->ended || t->state <= RUN_BUSY) return 0;
    return w->ended(w->study, t, was == RUN_BUSY || t->state != RUN_THERE);
}

/* Waits a second, or less if the command is to stop. */
static int wait_a_little(void)
{
    const struct timespec pause = {0, 100000000};
    for (int i = 0; i < 10 && !command_stop; i++) nanosleep(&pause, NULL);
    return command_stop ? command_interrupted() : 0;
}

static int save_config(const Runs *r, const char *command)
{
    Output o;
    TRY(output_open(&o));
    fprintf(o.f, "# trotter %s --config FILE does this again\n", command);
    return output_put(&o, options_write(r->options, o.f), r->dir, "config.ini");
}

int tasks_run(const Work *w, Task *list, size_t n)
{
    Pace pace = {0};
    for (size_t i = 0; i < n && !w->measure; i++) TRY(runs_spare(w->runs, &list[i].spec));
    if (!w->measure && !w->follow) TRY(recorded_keep(w->runs));
    if (w->config) TRY(save_config(w->runs, w->config));
    for (;;) {
        for (size_t i = 0; i < n; i++)
            if (list[i].state <= RUN_BUSY) TRY(do_task(w, list, n, i, &pace));
        size_t left = count_left(list, n);
        if (left == 0 || !w->wait) return 0;
        progress_show("%zu run(s) with other processes", left);
        TRY(wait_a_little());
    }
}

/* ---- what a study leaves ----------------------------------------------------------------------- */

int tasks_write_tables(int leader)
{
    if (!leader)
        progress_note("nothing is left to train here; the first process writes the tables");
    return leader;
}

int tasks_verdict(size_t failed, const char *word, const char *worse)
{
    if (failed) return error_set(ERR_CHECK, "%zu run(s) failed", failed);
    if (*worse)
        return error_set(ERR_CHECK,
                         "no better than %s frequencies, so there is nothing to compare: %s", word,
                         worse);
    return 0;
}

int tasks_save_tables(const Runs *r, int (*save)(void *study), void *study)
{
    char path[OUTPUT_PATH];
    Lease claim;
    int mine;
    TRY(output_path(path, r->dir, "tables.claim"));
    TRY(lease_take(path, r->who, &claim, &mine));
    if (!mine) return 0;
    int code = save(study);
    lease_drop(&claim);
    if (code == 0) runs_note(r, "tables and plots are written");
    return code;
}
