/* bench_growth.c: `trotter bench ode --growth`: measures how the cost of fields and steps grows with their
 * size. Each axis doubles one size; the power of a point is that of its time between it and the point before. */
#include <math.h>

#include "studies/bench/bench.h"
#include "studies/tools/command.h"

/* The cost of a field F, or of a step. */
enum { OF_FIELD, OF_STEP };
typedef struct {
    const char *what;
    int kind;
    const char *system, *scheme;
    size_t from, to; /* particles */
} Axis;

static const Axis axes[] = {
    {"attention", OF_FIELD, "attention", "euler", 128, 2048},
    {"exchange of all with all", OF_FIELD, "convection-diffusion", "euler", 64, 512},
    {"exchange by cells", OF_FIELD, "convection-diffusion", "euler", 1024, 8192},
    {"grid", OF_FIELD, "transport", "euler", 256, 4096},
    {"rk4 on a grid", OF_STEP, "transport", "rk4", 256, 4096},
    {"implicit-midpoint on a grid", OF_STEP, "transport", "implicit-midpoint", 32, 512},
    {"etd-rk2 on a grid", OF_STEP, "transport", "etd-rk2", 32, 512},
};

typedef struct {
    const char *axis;
    size_t at;
    double seconds, low, high, power;
} Growth;

static const Column growth_columns[] = {COLUMN(Growth, axis),
                                        COLUMN(Growth, at),
                                        FIELD(Growth, "us", seconds, .scale = 1e6, .digits = 4),
                                        FIELD(Growth, "from", low, .scale = 1e6, .digits = 4),
                                        FIELD(Growth, "to", high, .scale = 1e6, .digits = 4),
                                        COLUMN(Growth, power, .form = SHEET_FIXED, .digits = 2),
                                        {0}};

/* The objects timed at one point. */
typedef struct {
    const Axis *axis;
    const Table *table;
    System *system;
    Stepper *stepper;
    double *dy;
} Work;

static int work_once(Work *w)
{
    if (w->axis->kind == OF_STEP) return stepper_step(w->stepper);
    w->system->field[OP_F](w->system, 1, 0, w->system->initial, w->dy);
    return 0;
}

/* Measures the seconds of one run, in pieces of a few milliseconds. */
static int measure(Work *w, size_t repeats, Sample *s)
{
    size_t count = 1;
    TRY(work_once(w)); /* once without timing, for caches and memory */
    for (size_t i = 0; i < repeats; i++) {
        double begun = bench_now(1), passed;
        for (size_t k = 0; k < count; k++) TRY(work_once(w));
        passed = bench_now(1) - begun;
        sample_add(s, passed / (double)count);
        if (i == 0 && passed < 5e-3) count = (size_t)(5e-3 / fmax(passed, 1e-7)) + 1;
    }
    sample_close(s);
    return 0;
}

static int open_system(Work *w, size_t at)
{
    size_t N;
    TRY(system_new(w->axis->system, at, 0, 1, &w->system));
    N = w->system->n * w->system->d;
    if (!(w->dy = memory_new(N, sizeof(double)))) return ERR_MEMORY;
    if (w->axis->kind == OF_FIELD) return 0;
    TRY(stepper_new(w->table, w->system, &w->stepper));
    return stepper_begin(w->stepper, 0, 0x1p-20, w->system->initial, START_GIVEN, NULL);
}

static int put_point(Work *w, size_t at, size_t repeats, double before[2], BenchReport *out)
{
    Sample *s = memory_new(1, sizeof *s);
    int code = s ? 0 : ERR_MEMORY;
    progress_show("%s, %zu", w->axis->what, at);
    if (code == 0) code = open_system(w, at);
    if (code == 0) code = measure(w, repeats, s);
    if (code == 0) {
        Growth g = {w->axis->what, at, s->q[1], s->q[0], s->q[2], NAN};
        char text[32];
        g.power = bench_power(before, g.seconds, (double)g.at);
        sheet_row(out->table, &g);
        sheet_number((double)g.at, text);
        bench_value(out, text, g.seconds * 1e6, "us", "growth.%s", w->axis->what);
    }
    stepper_free(w->stepper);
    system_free(w->system);
    memory_free(w->dy);
    memory_free(s);
    return code;
}

static int run_axis(const Zoo *z, const Axis *a, size_t repeats, BenchReport *out)
{
    Table *t, *frozen;
    double before[2] = {NAN, NAN};
    TRY(zoo_find(z, a->scheme, "exact", &t));
    frozen = table_freeze(t);
    table_free(t);
    int code = frozen ? 0 : ERR_MEMORY;
    for (size_t at = a->from; code == 0 && at <= a->to; at *= 2) {
        Work w = {.axis = a, .table = frozen};
        code = put_point(&w, at, repeats, before, out);
    }
    table_free(frozen);
    return code;
}

static int fill(const Options *o, BenchReport *out)
{
    Zoo z;
    TRY(zoo_open(&z));
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof axes / sizeof *axes; i++)
        code = run_axis(&z, &axes[i], options_size(o, "repeats"), out);
    zoo_close(&z);
    return code;
}

int bench_growth(const Options *o)
{
    return bench_tell(o, "ode-growth", growth_columns, fill);
}
