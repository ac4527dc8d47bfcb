/* bench_launches.c: the time of each call of a training step on a device, for `bench model --measure`.
 *
 * The device times its launches one by one (Backend.time), in a step that is not recorded. Steps that are replayed run
 * before it, so that the device is busy until all calls of this one are asked for, and waits for none. A call of the
 * list that the counting backend made (kernels/counts.h) is as many launches as it counts there, in the same order; a
 * product where none is counted, or none where one is, shows that the two differ.
 *
 * launches_fit turns such a list into the model's numbers. */
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/bench/bench.h"
#include "studies/base/csv.h"
#include "studies/base/progress.h"

const Column launch_columns[] = {COLUMN(LaunchRow, backend),
                                 COLUMN(LaunchRow, scheme),
                                 COLUMN(LaunchRow, size),
                                 COLUMN(LaunchRow, layers),
                                 COLUMN(LaunchRow, call),
                                 COLUMN(LaunchRow, kind),
                                 COLUMN(LaunchRow, kernels),
                                 COLUMN(LaunchRow, products),
                                 COLUMN(LaunchRow, copies),
                                 COLUMN(LaunchRow, m),
                                 COLUMN(LaunchRow, n),
                                 COLUMN(LaunchRow, k),
                                 COLUMN(LaunchRow, bytes),
                                 COLUMN(LaunchRow, flops),
                                 COLUMN(LaunchRow, tensor),
                                 COLUMN(LaunchRow, model, .words = "seconds by the model"),
                                 COLUMN(LaunchRow, measured, .words = "seconds on the device"),
                                 {0}};

static size_t launches_of(const CountedCall *c)
{
    return c->kernels + c->products + c->copies;
}

/* Is launch k one of this call? Products are told apart from all else. */
static int belongs(const CountedCall *c, size_t k, const Launch *l)
{
    return (k < c->products) == (strcmp(l->where, LAUNCH_PRODUCT) == 0);
}

/* Adds the times of a step's launches to the samples of its calls; an interval with nothing in it is taken away. */
static int take(const CountedList *calls, const Launch *l, size_t count, Sample *sample)
{
    size_t at = 1;
    for (size_t i = 0; i < calls->count; i++) {
        const CountedCall *c = &calls->call[i];
        double sum = 0;
        for (size_t k = 0; k < launches_of(c); k++, at++) {
            if (at >= count || !belongs(c, k, &l[at]))
                return error_set(ERR_CHECK, "launch %zu of the step is %s, where %s is counted", at,
                                 at < count ? l[at].where : "missing", c->call);
            sum += fmax(0, l[at].seconds - l[0].seconds);
        }
        sample_add(&sample[i], sum);
    }
    return at == count ? 0
                       : error_set(ERR_CHECK, "a step has %zu launches, and %zu are counted",
                                   count - 1, at - 1);
}

static int time_step(Block *b, const CountedList *calls, Sample *sample)
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
    return take(calls, launch, count, sample);
}

int launches_measure(Block *b, const CountedList *calls, double *seconds)
{
    size_t most = options_size(b->o, "repeats");
    if (calls->count > COUNTED_MOST)
        return error_set(ERR_INPUT, "%zu calls a step are too many to be listed", calls->count);
    SCOPED(memory_drop) Sample *sample = memory_new(calls->count, sizeof *sample);
    if (!sample) return ERR_MEMORY;
    for (size_t r = 0; r < most; r++) {
        progress_show("%s at %s, launches, round %zu", b->scheme->name, b->size->name, r + 1);
        TRY(time_step(b, calls, sample));
    }
    for (size_t i = 0; i < calls->count; i++) {
        sample_close(&sample[i]);
        seconds[i] = sample[i].q[1];
    }
    return 0;
}

/* ---- the model's numbers from a list --------------------------------------------------------------- */

typedef struct {
    CountedCall call;
    double measured;
} Timed;

/* Returns the mean square of the logarithm of model by measured, each call by its part of the time: a call that takes
 * ten times as long counts ten times. */
static double misfit(const Timed *t, size_t n, const Speeds *s)
{
    double sum = 0, weight = 0;
    for (size_t i = 0; i < n; i++) {
        double d = log(counts_seconds(&t[i].call, s) / t[i].measured);
        sum += t[i].measured * d * d;
        weight += t[i].measured;
    }
    return sum / weight;
}

/* Improves one number after the other by factors that become smaller, down to a thousandth. */
static void descend(const Timed *t, size_t n, Speeds *s)
{
    double *const x[] = {&s->launch, &s->bandwidth, &s->products, &s->vector};
    double best = misfit(t, n, s);
    for (double step = 0.5; step > 1e-3;) {
        int better = 0;
        for (int i = 0; i < 8; i++) {
            double old = *x[i / 2];
            *x[i / 2] *= i % 2 ? 1 + step : 1 / (1 + step);
            double now = misfit(t, n, s);
            if (now < best)
                best = now, better = 1;
            else
                *x[i / 2] = old;
        }
        if (!better) step /= 2;
    }
}

static Timed timed_of(const LaunchRow *r)
{
    return (Timed){{.tensor = r->tensor != 0,
                    .kernels = (size_t)r->kernels,
                    .products = (size_t)r->products,
                    .bytes = r->bytes,
                    .flops = r->flops},
                   r->measured};
}

/* Reads the calls of a backend that were measured, and the mean gap. Copies have no launch in the model. */
static int read_calls(const Csv *c, const char *backend, Timed *t, size_t *n, double *gap)
{
    double gaps = 0, launches = 0;
    *n = 0;
    for (size_t i = 0; i < c->rows; i++) {
        LaunchRow r;
        TRY(csv_record(c, i, launch_columns, &r));
        if (strcmp(csv_named(c, i, "backend"), backend) != 0 || isnan(r.measured)) continue;
        if (strcmp(csv_named(c, i, "call"), LAUNCH_GAPS) == 0)
            gaps += r.measured, launches += r.kernels;
        else if (r.kernels + r.products > 0 && r.measured > 0)
            t[(*n)++] = timed_of(&r);
    }
    if (*n < 4)
        return error_set(ERR_INPUT, "%s has %zu measured calls of %s: --measure makes them",
                         c->file, *n, backend);
    *gap = launches > 0 ? fmax(0, gaps / launches) : 0;
    return 0;
}

int launches_fit(const char *file, const char *backend, Speeds *s, double *gap)
{
    SCOPED(csv_close) Csv c = {0};
    size_t n = 0;
    TRY(csv_open(&c, file));
    SCOPED(memory_drop) Timed *t = memory_new(c.rows, sizeof *t);
    if (!t) return ERR_MEMORY;
    TRY(read_calls(&c, backend, t, &n, gap));
    descend(t, n, s);
    return 0;
}
