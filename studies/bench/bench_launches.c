/* bench_launches.c: the time of each launch of a training step on a device, for `bench train --launches`.
 *
 * The device times its launches one by one (Backend.time), in a step that is not recorded. Steps that are replayed run
 * before it, so that the device is busy until all calls of this one are asked for, and waits for none. All batches have
 * one shape, so every step has the same launches in the same order. The first interval has nothing in it: what an event
 * costs, which is taken from each of the others. */
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/bench/bench.h"
#include "studies/base/progress.h"

/* launch: its place in the step, from 1. call: the function of the backend, LAUNCH_PRODUCT, or GAPS, whose seconds are what a
 * step takes beyond its launches, less than 0 where launches overlap, and whose `launch` is their number. */
typedef struct {
    const char *backend, *scheme, *size, *call;
    double launch, seconds;
} LaunchRow;

const Column launch_columns[] = {COLUMN(LaunchRow, backend),
                                 COLUMN(LaunchRow, scheme),
                                 COLUMN(LaunchRow, size),
                                 COLUMN(LaunchRow, launch),
                                 COLUMN(LaunchRow, call),
                                 COLUMN(LaunchRow, seconds, .words = "median of the rounds"),
                                 {0}};

static const char GAPS[] = "gaps";

/* The launches of a step: what they are, and (count) their times. The first is the empty interval. */
typedef struct {
    Launch *launch;
    size_t count;
    Sample *seconds;
} Laps;

static void laps_close(Laps *l)
{
    memory_free(l->launch);
    memory_free(l->seconds);
}

/* Adds the times of a step. The first step says what is launched, and the others must agree. */
static int take(Laps *all, Launch **launch, size_t count)
{
    if (!all->launch) {
        all->seconds = memory_new(count, sizeof *all->seconds);
        if (!all->seconds) return ERR_MEMORY;
        all->launch = *launch, all->count = count;
        *launch = NULL;
    }
    const Launch *l = *launch ? *launch : all->launch;
    if (count != all->count)
        return error_set(ERR_CHECK, "a step has %zu launches, and another %zu", all->count - 1,
                         count - 1);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(l[i].where, all->launch[i].where) != 0)
            return error_set(ERR_CHECK, "launch %zu of a step is %s, and of another %s", i,
                             all->launch[i].where, l[i].where);
        sample_add(&all->seconds[i], fmax(0, l[i].seconds - l[0].seconds));
    }
    return 0;
}

static int time_step(Block *b, Laps *all)
{
    enum { AHEAD = 4 };
    SCOPED(memory_drop) Launch *launch = NULL;
    size_t count = 0;
    for (int i = 0; i < AHEAD; i++) TRY(block_step(b));
    TRY(b->backend->time());
    products_recorded(0);
    int code = block_step(b);
    products_recorded(1);
    int timed = b->backend->timed(&launch, &count);
    TRY(code);
    TRY(timed);
    return take(all, &launch, count);
}

static void put_rows(const Block *b, Laps *all)
{
    LaunchRow r = {b->backend->name, b->scheme->name, b->size->name, NULL, 0, 0};
    double sum = 0;
    for (size_t i = 1; i < all->count; i++) {
        sample_close(&all->seconds[i]);
        r.launch = (double)i, r.call = all->launch[i].where, r.seconds = all->seconds[i].q[1];
        sum += r.seconds;
        sheet_row(b->launches, &r);
    }
    r.launch = (double)(all->count - 1), r.call = GAPS;
    r.seconds = b->step.q[1] * (double)b->size->N - sum;
    sheet_row(b->launches, &r);
}

int launches_measure(Block *b)
{
    size_t rounds = options_size(b->o, "repeats");
    SCOPED(laps_close) Laps all = {0};
    for (size_t r = 0; r < rounds; r++) {
        progress_show("%s at %s, launches, round %zu", b->scheme->name, b->size->name, r + 1);
        TRY(time_step(b, &all));
    }
    put_rows(b, &all);
    return 0;
}
