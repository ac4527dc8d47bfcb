/* bench.c: times contenders in turns; medians and quartiles. */
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

#include "kernels/error.h"
#include "studies/tools/output.h"
#include "studies/tools/progress.h"

double bench_now(int threads)
{
    struct timespec t;
    clock_gettime(threads ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int bench_on_device(const Backend *b)
{
    return b->record != NULL;
}

int bench_by_clock(const Backend *b)
{
    return bench_on_device(b) || omp_get_max_threads() > 1;
}

static int piece(const BenchPlan *plan, Contender *c, double *seconds)
{
    double start = bench_now(plan->threads);
    TRY(c->peer->steps(c->run, c->count));
    *seconds = bench_now(plan->threads) - start;
    return 0;
}

/* Doubles the steps of a piece until it is long enough. This also warms up. */
static int warm(const BenchPlan *plan, Contender *c)
{
    double seconds;
    for (c->count = 1;; c->count *= 2) {
        TRY(piece(plan, c, &seconds));
        if (!(seconds < plan->piece / 2)) return 0;
    }
}

static int open_all(const PeerProblem *p, Contender *c, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        c[i].run = c[i].peer->open(c[i].method, p);
        if (!c[i].run)
            return error_set(ERR_MISUSE, "%s cannot run %s", c[i].peer->name, c[i].method);
    }
    return 0;
}

/* Counts the calls of one step. The field counts its calls; a peer that calls something
 * else reports them itself. */
static int count_calls(const PeerProblem *p, Contender *c)
{
    PeerField *f = p->arg;
    size_t before = f->calls;
    TRY(c->peer->steps(c->run, 1));
    c->calls = (double)(f->calls - before);
    if (c->peer->tell) c->peer->tell(c->run, &c->calls, &c->moved);
    return 0;
}

/* Times one piece of round r, unless the budget is spent. */
static int turn(const BenchPlan *plan, Contender *c, size_t r)
{
    double seconds, spent = 0;
    for (size_t k = 0; k < c->pieces; k++) spent += c->time[k] * (double)c->count;
    if (r >= 3 && spent > plan->budget) return 0;
    TRY(piece(plan, c, &seconds));
    c->time[c->pieces++] = seconds / (double)c->count;
    return 0;
}

/* Times all contenders. Rounds go forth and back, so that none always follows the one
 * that empties the caches. */
static int time_all(const BenchPlan *plan, const PeerProblem *p, Contender *c, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        progress_show("warming %s %s", c[i].what, c[i].peer->name);
        TRY(count_calls(p, &c[i]));
        TRY(warm(plan, &c[i]));
    }
    for (size_t r = 0; r < plan->repeats; r++) {
        progress_show("round %zu of %zu", r + 1, plan->repeats);
        for (size_t i = 0; i < count; i++) TRY(turn(plan, &c[r % 2 ? count - 1 - i : i], r));
    }
    return 0;
}

/* ---- quartiles ----------------------------------------------------------------------------------- */

/* Sorts x (n) and finds its quartiles: lower, median, upper. */
static void quartiles(size_t n, double *x, double q[3])
{
    gsl_sort(x, 1, n);
    for (int i = 0; i < 3; i++) q[i] = gsl_stats_quantile_from_sorted_data(x, 1, n, 0.25 * (i + 1));
}

void sample_add(Sample *s, double x)
{
    if (s->n < BENCH_SAMPLES) s->x[s->n++] = x;
}

void sample_close(Sample *s)
{
    s->q[0] = s->q[1] = s->q[2] = NAN;
    if (s->n) quartiles(s->n, s->x, s->q);
}

int bench_run(const BenchPlan *plan, const PeerProblem *p, Contender *c, size_t count)
{
    int code = open_all(p, c, count);
    if (code == 0) code = time_all(plan, p, c, count);
    for (size_t i = 0; i < count; i++) {
        double q[3] = {NAN, NAN, NAN};
        if (code == 0) quartiles(c[i].pieces, c[i].time, q);
        c[i].low = q[0], c[i].median = q[1], c[i].high = q[2];
        if (c[i].run) c[i].peer->close(c[i].run);
        c[i].run = NULL;
    }
    progress_clear();
    return code;
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

void bench_load(BenchReport *b, const char *when)
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
    if (code == 0) code = fill(o, &b);
    if (code == 0) code = show(o, name, &b);
    if (code == 0 && b.failed) code = error_set(b.failed, "%s", b.words);
    sheet_free(b.values);
    sheet_free(b.table);
    return code;
}
