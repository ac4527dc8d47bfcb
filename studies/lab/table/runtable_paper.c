/* runtable_paper.c: the table of a paper: a row a design, a number and its interval in one cell. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/lab/table/runtable.h"

enum { PAPER_COLUMNS = 12, PAPER_NAME = 64, PAPER_CELL = 128 };

typedef struct {
    const RunTable *t;
    int form;
    size_t count;
    char name[PAPER_COLUMNS][PAPER_NAME];
    char head[PAPER_COLUMNS][PAPER_NAME];
    size_t measure[PAPER_COLUMNS]; /* of the column; t->measures: it is no measure */
} Paper;

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

static int counts(const RunTable *t, size_t i, size_t panel, size_t m)
{
    const RunDesign *d = &t->design[i];
    return d->panel == panel && runtable_compared(d) && d->counted[m].n > 0;
}

/* Returns 1 where a design has the best mean of a measure in its panel and is shown to be better than every other one of
 * several (all pairs, Tukey: which is best was not known before); ERR_MEMORY. */
static int is_best(const RunTable *t, size_t best, size_t m)
{
    const size_t panel = t->design[best].panel;
    const Pooled *pooled = &runtable_model(t, panel, m)->model.pooled;
    const Interval *mine = &t->design[best].counted[m];
    const double sign = t->measure[m].more ? -1 : 1;
    size_t compared = 0;
    SCOPED(simultaneous_free) Simultaneous s = {0};
    if (!counts(t, best, panel, m)) return 0;
    for (size_t i = 0; i < t->designs; i++) {
        if (!counts(t, i, panel, m) || t->design[i].same != i) continue;
        double less = sign * (mine->mean - t->design[i].counted[m].mean);
        if (i < best ? !(less < 0) : less > 0) return 0; /* of equal ones the first */
        compared++;
    }
    if (compared < 2) return 0;
    TRY(simultaneous_tukey(pooled->df, compared, &s));
    for (size_t i = 0; i < t->designs; i++) {
        if (!counts(t, i, panel, m) || t->design[i].same == best) continue;
        Difference less = differences_pair(&s, pooled, mine, &t->design[i].counted[m]);
        if (!(sign > 0 ? less.high < 0 : less.low > 0)) return 0;
    }
    return 1;
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

/* Writes the cell of a design and a column; the best of each panel is in bold, where the form has it. */
static int write_strong(const Paper *p, size_t design, size_t c, char out[PAPER_CELL])
{
    char plain[PAPER_CELL];
    const int markdown = p->form == SHEET_MARKDOWN;
    write_cell(p, design, c, out);
    const int best = p->measure[c] < p->t->measures ? is_best(p->t, design, p->measure[c]) : 0;
    if (best <= 0) return best;
    memcpy(plain, out, sizeof plain);
    snprintf(out, PAPER_CELL, "%s%.100s%s", markdown ? "**" : "*", plain, markdown ? "**" : "");
    return 0;
}

int runtable_paper(const RunTable *t, const char *columns, int form, FILE *f)
{
    char cell[PAPER_CELL];
    Paper p = {.t = t, .form = form};
    Column list[PAPER_COLUMNS + 1] = {{0}};
    SCOPED(frame_close) Frame row = {0};
    SCOPED(sheet_drop) Sheet *sheet = NULL;
    TRY(read_names(&p, columns));
    for (size_t c = 0; c < p.count; c++)
        list[c] =
            (Column){.name = p.name[c], .head = p.head[c], .type = SHEET_TEXT, .form = SHEET_CELL};
    TRY(frame_new(&row, list));
    for (size_t i = 0; i < t->designs; i++) {
        TRY(frame_row(&row));
        for (size_t c = 0; c < p.count; c++) {
            TRY(write_strong(&p, i, c, cell));
            frame_set(&row, i, p.name[c], cell);
        }
    }
    TRY(frame_sheet(&row, list, NULL, row.rows, &sheet));
    sheet_one_column(sheet);
    return sheet_write(sheet, form, f);
}
