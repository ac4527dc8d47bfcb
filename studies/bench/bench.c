/* bench.c: clocks, medians and quartiles, rows. */
#include "studies/bench/bench.h"

#include <errno.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "kernels/base/error.h"
#include "studies/base/output.h"
#include "studies/base/progress.h"

double bench_now(int threads)
{
    struct timespec t;
    clock_gettime(threads ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int bench_on_device(const Backend *b)
{
    return b->device;
}

double bench_time(const Backend *b)
{
    return bench_now(bench_on_device(b) || omp_get_max_threads() > 1);
}

/* ---- quartiles ----------------------------------------------------------------------------------- */

void sample_add(Sample *s, double x)
{
    if (s->n < BENCH_REPEATS) s->x[s->n++] = x;
}

void sample_close(Sample *s)
{
    gsl_sort(s->x, 1, s->n);
    for (int i = 0; i < 3; i++)
        s->q[i] = s->n ? gsl_stats_quantile_from_sorted_data(s->x, 1, s->n, 0.25 * (i + 1)) : NAN;
}

/* ---- rows ---------------------------------------------------------------------------------------- */

typedef struct {
    const char *what, *variant;
    double value;
    const char *unit;
} Value;

const Column bench_values[] = {COLUMN(Value, what),
                               COLUMN(Value, variant),
                               COLUMN(Value, value, .words = "in the unit of its row"),
                               COLUMN(Value, unit),
                               {0}};

void bench_value(BenchReport *b, const char *variant, double value, const char *unit,
                 const char *what, ...)
{
    char name[128];
    va_list args;
    va_start(args, what);
    vsnprintf(name, sizeof name, what, args);
    va_end(args);
    sheet_row(b->values, &(Value){name, variant, value, unit});
}

void bench_figures(BenchReport *b, const char *variant, const char *prefix, size_t n,
                   const BenchFigure *figure)
{
    for (const BenchFigure *f = figure; f < figure + n; f++)
        if (!isnan(f->value)) bench_value(b, variant, f->value, f->unit, "%s.%s", prefix, f->what);
}

static void add_load(BenchReport *b, const char *when)
{
    double load;
    if (getloadavg(&load, 1) == 1) bench_value(b, when, load, "processes", "machine.load");
}

/* Prints CSV rows as they are measured, so that a bench that is stopped has
 * printed its results so far. */
int bench_stream(const Options *o, const BenchReport *out)
{
    if (!options_flag(o, "csv")) return 0;
    TRY(sheet_stream(out->values, stdout));
    return fflush(stdout) == 0 ? 0 : error_set(ERR_SYSTEM, "stdout: %s", strerror(errno));
}

static int show(const Options *o, const char *name, BenchReport *b)
{
    const char *dir = options_text(o, "out");
    char file[64];
    if (dir) {
        TRY(output_directory(dir));
        snprintf(file, sizeof file, "bench-%s.csv", name);
        TRY(output_sheet(b->values, SHEET_CSV, dir, file));
        snprintf(file, sizeof file, "bench-%s.md", name);
        TRY(output_sheet(b->table, SHEET_MARKDOWN, dir, file));
    }
    if (options_flag(o, "csv")) return sheet_stream(b->values, stdout);
    return sheet_write(b->table, SHEET_PLAIN, stdout);
}

void bench_failed(BenchReport *b, int code)
{
    if (b->failed) return;
    b->failed = code;
    snprintf(b->words, sizeof b->words, "%s", error_text());
}

int bench_tell(const Options *o, const char *name, const Column *list,
               int (*fill)(const Options *o, BenchReport *out))
{
    BenchReport b = {0};
    int code = sheet_new(bench_values, &b.values);
    if (code == 0) code = sheet_new(list, &b.table);
    if (code == 0) {
        add_load(&b, "before");
        code = fill(o, &b);
        add_load(&b, "after");
        progress_clear();
    }
    if (code == 0) code = show(o, name, &b);
    if (code == 0 && b.failed) code = error_set(b.failed, "%s", b.words);
    sheet_free(b.values);
    sheet_free(b.table);
    return code;
}
