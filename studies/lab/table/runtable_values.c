/* runtable_values.c: finds what a table of runs says of a design by a column's name, and makes sheets of such columns. */
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/lab/table/runtable.h"

static const RunValue none = {NULL, NAN};

static RunValue number(double x)
{
    return (RunValue){NULL, x};
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
            *out = number(d->mean[m].n == 0 && d->diverged.count ? INFINITY : d->mean[m].mean);
            return 1;
        }
    const char *what = behind_stem(t, name, &m);
    if (!what) return 0;
    const Interval *i = &d->mean[m];
    *out = number(strcmp(what, "sd") == 0     ? i->sd
                  : strcmp(what, "low") == 0  ? i->low
                  : strcmp(what, "high") == 0 ? i->high
                                              : (double)NAN);
    return strcmp(what, "sd") == 0 || strcmp(what, "low") == 0 || strcmp(what, "high") == 0;
}

/* ---- other columns of the runs ------------------------------------------------------------------- */

/* Collects a design's numbers in a column, by seed: x (seeds) out. Returns a text that one of its cells holds; NULL: none. */
static const char *collect(const RunTable *t, size_t design, const char *name, double *x)
{
    const char *text = NULL;
    for (size_t j = 0; j < t->seeds; j++) x[j] = NAN;
    for (size_t k = t->design[design].first; k != SIZE_MAX; k = t->row[k].next) {
        double value;
        int kind = runtable_cell(runtable_text(t, &t->row[k], name), &value);
        if (kind == CELL_NUMBER) x[t->row[k].seed] = value;
        if (kind == CELL_TEXT && !text) text = runtable_text(t, &t->row[k], name);
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
    Interval v =
        is_positive(t, name) ? statistics_positive(x, t->seeds) : statistics_mean(x, 1, t->seeds);
    if (v.n > 1 && v.sd < 1e-12 * fabs(v.mean))
        for (size_t j = 0; j < t->seeds; j++)
            if (!isnan(x[j])) v.mean = x[j];
    return v;
}

int runtable_has(const RunTable *t, const char *name)
{
    if (strcmp(name, "file") == 0) return 1;
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
        RunValue v = number(summarise(t, name, x).mean);
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
        return number(i == 0 ? v.sd : i == 1 ? v.low : v.high);
    }
    return none;
}

RunValue runtable_value(const RunTable *t, size_t design, const char *name)
{
    RunValue v;
    const RunDesign *d = &t->design[design];
    if (strcmp(name, "seeds") == 0) return number((double)d->mean[0].n);
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

static const char *name_of(const Column *c)
{
    return c->name ? c->name : c->head;
}

/* Adds a row with what a design has of each column. */
static int add_design(const RunTable *t, size_t design, const Column *list, Frame *f)
{
    TRY(frame_row(f));
    for (const Column *c = list; c->name || c->head; c++) {
        RunValue v = runtable_value(t, design, name_of(c));
        if (v.text) frame_set(f, f->rows - 1, name_of(c), v.text);
        if (!v.text) frame_put(f, f->rows - 1, name_of(c), v.x);
    }
    return 0;
}

static int add_bound(const RunTable *t, const RunBound *b, const Column *list, Frame *f)
{
    double x;
    TRY(frame_row(f));
    frame_set(f, f->rows - 1, name_of(list), b->name);
    for (const Column *c = list + 1; c->name || c->head; c++) {
        runtable_cell(frame_text(&t->file[b->file], b->row, name_of(c)), &x);
        frame_put(f, f->rows - 1, name_of(c), x);
    }
    return 0;
}

static int is_better(const RunTable *t, size_t i, size_t j)
{
    double a = t->design[i].mean[0].mean, b = t->design[j].mean[0].mean;
    return t->measure[0].more ? a > b : a < b;
}

int runtable_sheet(const RunTable *t, const Column *list, RunMore *more, const void *study,
                   int best_first, Sheet **out)
{
    SCOPED(frame_close) Frame f = {0};
    SCOPED(memory_drop) size_t *order = memory_new(t->designs, sizeof *order);
    if (!order) return ERR_MEMORY;
    for (size_t i = 0; i < t->designs; i++) {
        size_t at = i;
        for (; best_first && at > 0 && is_better(t, i, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    TRY(frame_new(&f, list));
    for (size_t i = 0; i < t->designs; i++) {
        TRY(add_design(t, order[i], list, &f));
        if (more) more(study, t, order[i], &f, i);
    }
    for (size_t i = 0; i < t->bounds; i++) TRY(add_bound(t, &t->bound[i], list, &f));
    return frame_sheet(&f, list, NULL, f.rows, out);
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
