/* runtable_values.c: finds what a table of runs says of a design by a column's name, and makes sheets of such columns. */
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/lab/table/runtable.h"

static const RunValue none = {NULL, NAN};

RunValue runtable_number(double x)
{
    return (RunValue){NULL, x};
}

RunValue runtable_text(const char *words)
{
    return (RunValue){words, NAN};
}

int runtable_named(const RunNamed *list, const char *name, RunValue *out)
{
    for (; list->name; list++)
        if (strcmp(name, list->name) == 0) {
            *out = list->value;
            return 1;
        }
    return 0;
}

/* ---- measures ------------------------------------------------------------------------------------ */

/* Returns what stands behind the stem of a measure and '_' in a name; NULL: it is of no measure. */
static const char *behind_stem(const RunTable *t, const char *name, size_t *measure)
{
    for (size_t m = 0; m < t->measures; m++) {
        size_t n = strlen(t->measure[m].stem);
        *measure = m;
        if (strncmp(name, t->measure[m].stem, n) == 0 && name[n] == '_') return name + n + 1;
    }
    return NULL;
}

static int of_measure(const RunTable *t, size_t design, const char *name, RunValue *out)
{
    const RunDesign *d = &t->design[design];
    size_t m = 0;
    for (; m < t->measures; m++)
        if (strcmp(name, t->measure[m].column) == 0) {
            *out = runtable_number(d->mean[m].n == 0 && d->diverged.count ? INFINITY
                                                                          : d->mean[m].mean);
            return 1;
        }
    const char *what = behind_stem(t, name, &m);
    if (!what) return 0;
    const RunNamed list[] = {{"sd", runtable_number(d->mean[m].sd)},
                             {"low", runtable_number(d->mean[m].low)},
                             {"high", runtable_number(d->mean[m].high)},
                             {NULL, none}};
    return runtable_named(list, what, out);
}

/* ---- other columns of the runs ------------------------------------------------------------------- */

static const char *cell(const RunTable *t, size_t row, const char *name)
{
    return frame_text(&t->file[t->row[row].file], t->row[row].row, name);
}

/* Collects a design's numbers in a column, by seed: x (seeds) out. Returns a text that one of its cells holds; NULL: none. */
static const char *collect(const RunTable *t, size_t design, const char *name, double *x)
{
    const char *text = NULL;
    for (size_t j = 0; j < t->seeds; j++) x[j] = NAN;
    for (size_t k = t->design[design].first; k != SIZE_MAX; k = t->row[k].next) {
        double value;
        int kind = runtable_cell(cell(t, k, name), &value);
        if (kind == CELL_NUMBER) x[t->row[k].seed] = value;
        if (kind == CELL_TEXT && !text) text = cell(t, k, name);
    }
    return text;
}

static int is_positive(const RunTable *t, const char *name)
{
    const char *const *p = t->positive;
    while (p && *p && strcmp(*p, name) != 0) p++;
    return p && *p;
}

/* Summarises a column's numbers; the mean of equal numbers is that number. */
static Interval summarise(const RunTable *t, const char *name, const double *x)
{
    Interval v = is_positive(t, name) ? statistics_positive(x, 1, t->seeds)
                                      : statistics_mean(x, 1, t->seeds);
    if (v.n > 1 && v.sd < 1e-12 * fabs(v.mean))
        for (size_t j = 0; j < t->seeds; j++)
            if (!isnan(x[j])) v.mean = x[j];
    return v;
}

int runtable_has(const RunTable *t, const char *name)
{
    for (size_t f = 0; f < t->files; f++)
        if (frame_column(&t->file[f], name) >= 0) return 1;
    return 0;
}

/* Finds NAME or NAME_sd, _low, _high; x (seeds): room. */
static RunValue of_column(const RunTable *t, size_t design, const char *name, double *x)
{
    static const char *const end[] = {"_sd", "_low", "_high"};
    char column[256];
    if (runtable_has(t, name)) {
        const char *text = collect(t, design, name, x);
        if (text) return (RunValue){text, NAN};
        RunValue v = runtable_number(summarise(t, name, x).mean);
        if (!isnan(v.x)) return v;
    }
    for (size_t i = 0; i < sizeof end / sizeof *end; i++) {
        size_t n = strlen(name), less = strlen(end[i]);
        if (n <= less || n - less >= sizeof column || strcmp(name + n - less, end[i]) != 0)
            continue;
        snprintf(column, sizeof column, "%.*s", (int)(n - less), name);
        if (!runtable_has(t, column)) return none;
        collect(t, design, column, x);
        Interval v = summarise(t, column, x);
        return runtable_number(i == 0 ? v.sd : i == 1 ? v.low : v.high);
    }
    return none;
}

RunValue runtable_value(const RunTable *t, size_t design, const char *name)
{
    RunValue v;
    const RunDesign *d = &t->design[design];
    if (strcmp(name, "seeds") == 0) return runtable_number((double)d->mean[0].n);
    if (of_measure(t, design, name, &v)) return v;
    return of_column(t, design, name, t->work);
}

/* ---- seeds that all have ------------------------------------------------------------------------- */

double runtable_even(const RunTable *t, size_t design, const char *column)
{
    double *x = t->work, *shared = t->work + t->seeds, sum = 0, n = 0;
    for (size_t j = 0; j < t->seeds; j++) shared[j] = 1;
    for (size_t i = 0; i < t->designs; i++) {
        if (t->design[i].panel != t->design[design].panel) continue;
        collect(t, i, column, x);
        int any = 0;
        for (size_t j = 0; j < t->seeds; j++) any |= !isnan(x[j]);
        for (size_t j = 0; any && j < t->seeds; j++) shared[j] *= !isnan(x[j]);
    }
    collect(t, design, column, x);
    for (size_t j = 0; j < t->seeds; j++) {
        if (shared[j] == 0 || isnan(x[j])) continue;
        sum += x[j];
        n++;
    }
    return n > 0 ? sum / n : summarise(t, column, x).mean;
}

/* ---- sheets -------------------------------------------------------------------------------------- */

typedef struct {
    RunValue of;
    char number[32];
} Value;

/* Fills a row of values (columns); a column's type becomes text where a row has a text, and numbers in it are written
 * out. */
static void fill(Column *list, RunValueOf *value, const void *of, size_t at, Value *row)
{
    for (Column *c = list; c->name || c->head; c++, row++) {
        row->of = value(of, at, c->name ? c->name : c->head);
        if (row->of.text) c->type = SHEET_TEXT;
        sheet_number(row->of.x, row->number);
        if (c->type == SHEET_TEXT && !row->of.text) row->of.text = row->number;
    }
}

/* row (columns): room. */
static int add_rows(Column *list, RunValueOf *value, const void *of, size_t rows, Value *row,
                    Sheet **out)
{
    for (Column *c = list; c->name || c->head; c++) c->type = SHEET_DOUBLE;
    for (size_t i = 0; i < rows; i++) fill(list, value, of, i, row);
    for (Column *c = list; c->name || c->head; c++)
        c->at = (size_t)(c - list) * sizeof(Value) +
                (c->type == SHEET_TEXT ? offsetof(Value, of.text) : offsetof(Value, of.x));
    TRY(sheet_new(list, out));
    for (size_t i = 0; i < rows; i++) {
        fill(list, value, of, i, row);
        sheet_row(*out, row);
    }
    return 0;
}

int runtable_values(const Column *list, RunValueOf *value, const void *of, size_t rows, Sheet **out)
{
    size_t n;
    SCOPED(memory_drop) Column *own = sheet_copy(list, &n);
    SCOPED(memory_drop) Value *row = own ? memory_new(n, sizeof *row) : NULL;
    return row ? add_rows(own, value, of, rows, row, out) : ERR_MEMORY;
}

/* A table with a row a design, and one a bound. */
typedef struct {
    const RunTable *t;
    const char *first; /* column */
    RunMore *more;
    const void *study;
    size_t *order; /* (designs) */
} Designs;

static RunValue of_bound(const Designs *d, const RunBound *b, const char *name)
{
    double x;
    if (strcmp(name, d->first) == 0) return runtable_text(b->name);
    runtable_cell(frame_text(&d->t->file[b->file], b->row, name), &x);
    return runtable_number(x);
}

static RunValue of_row(const void *of, size_t row, const char *name)
{
    const Designs *d = of;
    RunValue v = none;
    if (row >= d->t->designs) return of_bound(d, &d->t->bound[row - d->t->designs], name);
    if (d->more && d->more(d->study, d->t, d->order[row], name, &v)) return v;
    return runtable_value(d->t, d->order[row], name);
}

static int is_better(const RunTable *t, size_t i, size_t j)
{
    double a = t->design[i].mean[0].mean, b = t->design[j].mean[0].mean;
    return t->measure[0].more ? a > b : a < b;
}

int runtable_sheet(const RunTable *t, const Column *list, RunMore *more, const void *study,
                   int best_first, Sheet **out)
{
    SCOPED(memory_drop) size_t *order = memory_new(t->designs, sizeof *order);
    if (!order) return ERR_MEMORY;
    for (size_t i = 0; i < t->designs; i++) {
        size_t at = i;
        for (; best_first && at > 0 && is_better(t, i, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    const Designs d = {t, list->name, more, study, order};
    return runtable_values(list, of_row, &d, t->designs + t->bounds, out);
}

int runtable_places(const RunTable *t)
{
    double sd = NAN;
    for (size_t p = 0; p < t->panels && !(sd > 0); p++)
        sd = runtable_model(t, p, 0)->model.pooled.sd;
    return !(sd > 0) ? 2 : sd >= 100 ? 0 : (int)fmax(2, fmin(9, 1 - floor(log10(sd))));
}

int runtable_new(const RunTable *t, const Column *list, Sheet **out)
{
    size_t n;
    SCOPED(memory_drop) Column *own = sheet_copy(list, &n);
    if (!own) return ERR_MEMORY;
    for (Column *c = own; c->name || c->head; c++) {
        if (c->form == SHEET_FIXED && !c->digits) c->digits = (short)runtable_places(t);
        if (t->measures == 1 && c->name && strcmp(c->name, "measure") == 0) c->place = 0;
        if (t->panels == 1 && c->name && strcmp(c->name, "panel") == 0) c->place = 0;
        if (t->by && c->name && strcmp(c->name, "panel") == 0) c->name = t->by;
    }
    return sheet_new(own, out);
}
