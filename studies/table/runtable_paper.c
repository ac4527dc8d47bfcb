/* runtable_paper.c: the table of a paper: a row a design, a number and its interval in one cell. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/table/runtable.h"

enum { PAPER_COLUMNS = 12, PAPER_NAME = 64, PAPER_CELL = 128 };

typedef struct {
    const RunTable *t;
    size_t count;
    char name[PAPER_COLUMNS][PAPER_NAME];
    char head[PAPER_COLUMNS][PAPER_NAME];
    size_t measure[PAPER_COLUMNS]; /* of the column; t->measures: it is no measure */
    char *cell;                    /* (designs, count, PAPER_CELL) */
} Paper;

static char *cell_of(const Paper *p, size_t design, size_t column)
{
    return p->cell + (design * p->count + column) * PAPER_CELL;
}

/* Writes "51.99 ± 0.72", with these places (below 0: two digits of the half); a number without a half as it is. */
static void write_number(double mean, double half, int places, char out[PAPER_CELL])
{
    char number[SHEET_SHOWN];
    if (!(half > 0) || !isfinite(mean)) {
        sheet_shown(&(Column){.digits = 12}, mean, number);
        snprintf(out, PAPER_CELL, "%.60s", isnan(mean) ? "" : number);
        return;
    }
    if (places < 0) places = (int)fmax(0, fmin(9, 1 - floor(log10(half))));
    const Column fixed = {.form = SHEET_FIXED, .digits = (short)places};
    sheet_shown(&fixed, mean, number);
    int n = snprintf(out, PAPER_CELL, "%.60s ± ", number);
    sheet_shown(&fixed, half, number);
    snprintf(out + n, PAPER_CELL - (size_t)n, "%.40s", number);
}

static void write_cell(const Paper *p, size_t design, size_t column, char out[PAPER_CELL])
{
    char high[PAPER_NAME + 8];
    const RunDesign *d = &p->t->design[design];
    size_t m = p->measure[column];
    if (strcmp(p->name[column], "design") == 0) {
        runtable_name(p->t, design, out, PAPER_CELL);
        return;
    }
    RunValue v =
        runtable_value(p->t, design, strcmp(p->name[column], "n") == 0 ? "seeds" : p->name[column]);
    snprintf(high, sizeof high, "%s_high", p->name[column]);
    double top = m < p->t->measures ? d->mean[m].high : runtable_value(p->t, design, high).x;
    if (v.text)
        snprintf(out, PAPER_CELL, "%s", v.text);
    else
        write_number(v.x, top - v.x, m < p->t->measures ? runtable_places(p->t) : -1, out);
}

/* Returns the design of a panel that has the best mean of a measure and is shown to be better than every other one of
 * several (all pairs, Tukey: which is best was not known before); without one the number of designs. */
static size_t find_best(const RunTable *t, size_t panel, size_t m)
{
    size_t best = t->designs, compared = 0;
    const Pooled *pooled = &runtable_model(t, panel, m)->model.pooled;
    const double sign = t->measure[m].more ? -1 : 1;
    Simultaneous s;
    for (size_t i = 0; i < t->designs; i++) {
        const RunDesign *d = &t->design[i];
        if (d->panel != panel || d->same != i || !runtable_compared(d) || !d->counted[m].n)
            continue;
        compared++;
        if (best == t->designs ||
            sign * d->counted[m].mean < sign * t->design[best].counted[m].mean)
            best = i;
    }
    if (compared < 2) return t->designs;
    simultaneous_tukey(pooled->df, compared, &s);
    for (size_t i = 0; i < t->designs; i++) {
        const RunDesign *d = &t->design[i];
        if (d->panel != panel || d->same == best || !runtable_compared(d) || !d->counted[m].n)
            continue;
        Difference less = differences_pair(&s, pooled, &t->design[best].counted[m], &d->counted[m]);
        if (!(sign > 0 ? less.high < 0 : less.low > 0)) return t->designs;
    }
    return best;
}

/* Marks the best of each panel: in bold, where the form has it. */
static void mark_best(const Paper *p, size_t column, int form)
{
    char plain[PAPER_CELL];
    const RunTable *t = p->t;
    if (p->measure[column] == t->measures) return;
    for (size_t panel = 0; panel < t->panels; panel++) {
        size_t best = find_best(t, panel, p->measure[column]);
        if (best == t->designs) continue;
        char *cell = cell_of(p, best, column);
        snprintf(plain, sizeof plain, "%.100s", cell);
        snprintf(cell, PAPER_CELL, form == SHEET_MARKDOWN ? "**%s**" : "*%s", plain);
    }
}

/* Reads names, separated by commas; NAME=HEAD gives the column a head. */
static int read_names(Paper *p, const char *names)
{
    const RunTable *t = p->t;
    for (size_t n; *names; names += n + (names[n] == ',')) {
        char *name = p->name[p->count], *head = p->head[p->count];
        n = strcspn(names, ",");
        if (p->count == PAPER_COLUMNS)
            return error_set(ERR_INPUT, "--columns: expected at most %d columns", PAPER_COLUMNS);
        size_t own = strcspn(names, ",=");
        if (own == 0 || n >= PAPER_NAME)
            return error_set(ERR_INPUT, "--columns: expected names of columns, as "
                                        "'design,valid_ppl=validation,parameters'");
        snprintf(name, PAPER_NAME, "%.*s", (int)own, names);
        snprintf(head, PAPER_NAME, "%.*s", (int)(own < n ? n - own - 1 : own),
                 own < n ? names + own + 1 : names);
        size_t m = 0;
        while (m < t->measures && strcmp(t->measure[m].column, name) != 0) m++;
        p->measure[p->count++] = m;
        if (m == t->measures && strcmp(name, "design") != 0 && strcmp(name, "n") != 0 &&
            !runtable_has(t, name))
            return error_set(ERR_INPUT,
                             "--columns: no column is called '%s'; expected 'design', 'n', or a "
                             "column of the runs",
                             name);
    }
    return 0;
}

static RunValue of_cell(const void *of, size_t row, const char *name)
{
    const Paper *p = of;
    size_t column = 0;
    while (strcmp(p->name[column], name) != 0) column++;
    return runtable_text(cell_of(p, row, column));
}

static int write_all(Paper *p, int form, FILE *f)
{
    Column list[PAPER_COLUMNS + 1] = {{0}}, *own = NULL;
    Sheet *sheet = NULL;
    for (size_t c = 0; c < p->count; c++) {
        list[c] = (Column){.name = p->name[c], .head = p->head[c], .form = SHEET_CELL};
        for (size_t i = 0; i < p->t->designs; i++) write_cell(p, i, c, cell_of(p, i, c));
        mark_best(p, c, form);
    }
    int code = runtable_values(list, of_cell, p, p->t->designs, &own, &sheet);
    if (code == 0) sheet_one_column(sheet);
    if (code == 0) code = sheet_write(sheet, form, f);
    sheet_free(sheet);
    memory_free(own);
    return code;
}

int runtable_paper(const RunTable *t, const char *columns, int form, FILE *f)
{
    Paper p = {.t = t};
    TRY(read_names(&p, columns));
    p.cell = memory_new(t->designs * p.count, PAPER_CELL);
    int code = p.cell ? write_all(&p, form, f) : ERR_MEMORY;
    memory_free(p.cell);
    return code;
}
