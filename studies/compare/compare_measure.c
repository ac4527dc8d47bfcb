/* compare_measure.c: measures trained networks. Each measure keeps a run's numbers in the run's directory, and is
 * claimed there like the run itself. */
#include "kernels/error.h"
#include "studies/compare/compare.h"
#include "studies/runs/lease.h"

static const Measure *const measures[] = {&compare_truncation, &compare_one_by_one};
enum { MEASURES = sizeof measures / sizeof *measures };

int compare_measures(const Compare *u)
{
    int any = 0;
    for (int i = 0; i < MEASURES; i++) any |= measures[i]->wanted(u);
    return any;
}

/* Makes one measure of a run. *state: RUN_THERE, RUN_BUSY with another process, or RUN_TRAINED. */
static int measure_run(Compare *u, const Measure *m, Task *t, const char *dir, int *state)
{
    char name[512], path[OUTPUT_PATH];
    Lease claim;
    int mine, code = 0;
    *state = RUN_THERE;
    if (m->load(u, dir, t->more)) return 0;
    TRY(runs_name(&t->spec, name));
    TRY(output_path(path, dir, "%s", m->claim));
    TRY(lease_take(path, u->worker.name, &claim, &mine));
    *state = RUN_BUSY;
    if (!mine) return 0;
    *state = RUN_THERE;
    if (!m->load(u, dir, t->more)) {
        *state = RUN_TRAINED;
        code = m->measure(u, &t->spec, name, dir, t->more);
    }
    lease_drop(&claim);
    return code;
}

int compare_measure(void *study, Task *t)
{
    Compare *u = study;
    char dir[OUTPUT_PATH];
    int state[MEASURES];
    t->state = RUN_THERE;
    if (compare_take_measures(u, &t->spec, t->more)) return 0;
    TRY(runs_directory(u->dir, &t->spec, dir));
    for (int i = 0; i < MEASURES; i++) {
        state[i] = RUN_THERE;
        if (measures[i]->wanted(u)) TRY(measure_run(u, measures[i], t, dir, &state[i]));
        if (state[i] == RUN_TRAINED) t->state = RUN_TRAINED;
    }
    for (int i = 0; i < MEASURES; i++)
        if (state[i] == RUN_BUSY) t->state = RUN_BUSY;
    return 0;
}
