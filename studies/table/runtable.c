/* runtable.c: reads a table of runs and computes what its designs and seeds show. */
#include "studies/table/runtable.h"

#include <math.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"

/* A row with a cell of the measure. */
typedef struct {
    size_t design, seed, file, line;
    int kind;
    double x;
} Run;

typedef struct {
    Run *list; /* (rows of all files) */
    size_t n;
    const char *seed[RUNTABLE_MOST];
} Reading;

size_t runtable_find(const void *table, const char *name)
{
    const RunTable *t = table;
    size_t i = 0;
    while (i < t->designs && strcmp(t->design[i].name, name) != 0) i++;
    return i;
}

int runtable_compared(const RunDesign *d)
{
    return d->mean.n > 0 && d->diverged.count == 0;
}

/* ---- rows ---------------------------------------------------------------------------------------- */

/* Makes the name of a row's design; the caller frees it. */
static char *design_name(const RunTable *t, const Csv *c, size_t row)
{
    size_t bytes = 1;
    for (size_t k = 0; k < t->keys; k++) bytes += strlen(csv_named(c, row, t->key[k])) + 1;
    char *name = memory_new(bytes, 1), *at = name;
    for (size_t k = 0; name && k < t->keys; k++) {
        if (k > 0) *at++ = '@';
        at = stpcpy(at, csv_named(c, row, t->key[k]));
    }
    return name;
}

static int too_many(const char *what, const char *option)
{
    return error_set(ERR_INPUT, "expected at most %d %s; is --%s the right column?", RUNTABLE_MOST,
                     what, option);
}

static int find_design(RunTable *t, const Csv *c, size_t row, size_t *out)
{
    char *name = design_name(t, c, row);
    if (!name) return ERR_MEMORY;
    *out = runtable_find(t, name);
    if (*out == t->designs && t->designs < RUNTABLE_MOST) {
        t->design[t->designs++].name = name;
        return 0;
    }
    memory_free(name);
    return *out < t->designs ? 0 : too_many("designs", "design");
}

/* Finds a seed; 2 and 2.0 are one. */
static int find_seed(RunTable *t, Reading *r, const char *text, size_t *out)
{
    double x, y;
    int number = runtable_cell(text, &x) == CELL_NUMBER;
    for (*out = 0; *out < t->seeds; ++*out) {
        if (strcmp(r->seed[*out], text) == 0) return 0;
        if (number && runtable_cell(r->seed[*out], &y) == CELL_NUMBER && x == y) return 0;
    }
    if (t->seeds == RUNTABLE_MOST) return too_many("seeds", "seed");
    r->seed[t->seeds++] = text;
    return 0;
}

static int read_row(RunTable *t, Reading *r, size_t f, size_t row, int column)
{
    const Csv *c = &t->file[f];
    const char *text = csv_cell(c, row, column);
    Run *run = &r->list[r->n++];
    *run = (Run){.file = f, .line = c->line[row + 1]};
    run->kind = runtable_cell(text, &run->x);
    if (run->kind == CELL_TEXT)
        return error_set(ERR_INPUT, "%s:%zu: expected a number in column '%s'; there is '%.40s'",
                         c->file, run->line, t->measure, text);
    TRY(find_design(t, c, row, &run->design));
    return find_seed(t, r, t->seed ? csv_named(c, row, t->seed) : "", &run->seed);
}

/* ---- runs ---------------------------------------------------------------------------------------- */

static int both(const RunTable *t, const Reading *r, const Run *a, const Run *b)
{
    return error_set(ERR_INPUT, "%s:%zu and %s:%zu are both %s%s%s%s", t->file[a->file].file,
                     a->line, t->file[b->file].file, b->line, t->design[a->design].name,
                     t->seed ? " with seed " : "", t->seed ? r->seed[a->seed] : "",
                     t->seed ? "" : "; --seed names the column that tells runs of a design apart");
}

static void count(RunRows *rows, const RunTable *t, const Run *run)
{
    if (rows->count++ == 0) *rows = (RunRows){1, t->file[run->file].file, run->line};
}

/* Fills y from the runs. at (designs, seeds): room. */
static int place_runs(RunTable *t, const Reading *r, const Run **at)
{
    for (size_t i = 0; i < t->designs * t->seeds; i++) t->y[i] = NAN;
    for (const Run *run = r->list; run < r->list + r->n; run++) {
        RunDesign *d = &t->design[run->design];
        size_t i = run->design * t->seeds + run->seed;
        if (run->kind == CELL_MISSING) count(&d->missing, t, run);
        if (run->kind == CELL_MISSING) continue;
        if (at[i]) return both(t, r, at[i], run);
        at[i] = run;
        if (run->kind == CELL_DIVERGED) count(&d->diverged, t, run);
        if (run->kind == CELL_NUMBER) t->y[i] = run->x, t->runs++;
    }
    return 0;
}

static void summarise(RunTable *t, size_t i)
{
    RunDesign *d = &t->design[i];
    const double *y = t->y + i * t->seeds;
    d->mean = statistics_mean(y, 1, t->seeds);
    d->least = d->greatest = NAN;
    for (size_t j = 0; j < t->seeds; j++) {
        d->least = fmin(d->least, y[j]);
        d->greatest = fmax(d->greatest, y[j]);
    }
    t->compared += (size_t)runtable_compared(d);
    t->single += runtable_compared(d) && d->mean.n == 1;
}

/* Computes the model of the designs that are compared. */
static int find_model(RunTable *t)
{
    size_t n = 0, row = t->seeds * sizeof(double);
    double *y = memory_new(t->designs, row);
    if (!y) return ERR_MEMORY;
    for (size_t i = 0; i < t->designs; i++)
        if (runtable_compared(&t->design[i])) memcpy(y + n++ * t->seeds, t->y + i * t->seeds, row);
    t->model = statistics_seeds(y, n, t->seeds);
    int code = statistics_shared(y, n, t->seeds, &t->shared);
    memory_free(y);
    return code;
}

/* ---- all ----------------------------------------------------------------------------------------- */

static int read_runs(RunTable *t, Reading *r)
{
    size_t rows = 0;
    for (size_t f = 0; f < t->files; f++) rows += t->file[f].rows;
    r->list = memory_new(rows, sizeof *r->list);
    t->design = memory_new(RUNTABLE_MOST, sizeof *t->design);
    if (!r->list || !t->design) return ERR_MEMORY;
    for (size_t f = 0; f < t->files; f++) {
        int column = csv_column(&t->file[f], t->measure);
        for (size_t row = 0; column >= 0 && row < t->file[f].rows; row++)
            TRY(read_row(t, r, f, row, column));
    }
    t->y = memory_new(t->designs * t->seeds, sizeof *t->y);
    const Run **at = memory_new(t->designs * t->seeds, sizeof *at);
    int code = t->y && at ? place_runs(t, r, at) : ERR_MEMORY;
    memory_free(at);
    if (code != 0) return code;
    for (size_t i = 0; i < t->designs; i++) summarise(t, i);
    if (t->runs == 0)
        return error_set(ERR_INPUT, "%s: no run has a number in column '%s'", t->file[0].file,
                         t->measure);
    return find_model(t);
}

static int read_files(RunTable *t, const char *const *name, size_t files,
                      const RunTableAsked *asked)
{
    Reading *r = memory_new(1, sizeof *r);
    t->file = memory_new(files, sizeof *t->file);
    int code = r && t->file ? 0 : ERR_MEMORY;
    for (; code == 0 && t->files < files; t->files += code == 0)
        code = csv_open(&t->file[t->files], name[t->files]);
    if (code == 0) code = runtable_columns(t, asked);
    if (code == 0) code = read_runs(t, r);
    if (r) memory_free(r->list);
    memory_free(r);
    return code;
}

int runtable_open(const char *const *name, size_t files, const RunTableAsked *asked, RunTable *out)
{
    *out = (RunTable){.more = asked->more};
    int code = read_files(out, name, files, asked);
    if (code != 0) runtable_close(out);
    return code;
}

void runtable_close(RunTable *t)
{
    for (size_t i = 0; i < t->designs; i++) memory_free(t->design[i].name);
    for (size_t f = 0; f < t->files; f++) csv_close(&t->file[f]);
    memory_free(t->design);
    memory_free(t->file);
    memory_free(t->y);
    *t = (RunTable){0};
}
