/* compare_train.c: trains the runs of a comparison, has their networks measured, and takes their results. */
#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/compare/compare.h"

static void take_results(Compare *u, const Task *list)
{
    for (size_t i = 0; i < u->cells * u->seeds; i++) {
        Cell *c = &u->cell[i % u->cells];
        u->failed += list[i].state == RUN_FAILED;
        if (!tasks_has_result(&list[i])) continue;
        c->result[i / u->cells] = list[i].result;
        compare_take_measures(u, &list[i].spec, list[i].more);
    }
}

/* Measures all finished runs except diverged ones, which are worse than drawing words at random; their
 * flows may leave the range of numbers after long hours. */
static int measure_all(Compare *u, const Task *list, size_t n, int wait)
{
    Task *there = memory_new(n, sizeof *there);
    size_t m = 0;
    if (!there) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++)
        if (tasks_has_result(&list[i]) && !runs_diverged(&list[i].result, 1, u->corpus.vocab.size))
            there[m++] = (Task){.spec = list[i].spec, .more = list[i].more};
    const Work w = {&u->runs, wait, compare_measure, u};
    int code = tasks_run(&w, there, m);
    memory_free(there);
    return code;
}

/* Trains seed by seed, so that a study that is stopped has whole seeds of all designs. */
int compare_train(Compare *u, int wait)
{
    size_t n = u->cells * u->seeds;
    Task *list = memory_new(n, sizeof *list);
    if (!list) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        Cell *c = &u->cell[i % u->cells];
        list[i] =
            (Task){.spec = compare_spec(u, c, i / u->cells), .more = &c->errors[i / u->cells]};
    }
    const Work w = {.runs = &u->runs, .wait = wait, .config = u->worker.leader ? "compare" : NULL};
    int code = tasks_run(&w, list, n);
    if (code == 0 && compare_measures(u)) code = measure_all(u, list, n, wait);
    if (code == 0) take_results(u, list);
    memory_free(list);
    return code;
}
