/* runtable_plot.c: draws the means of designs: a row a design (a forest plot), and against a column. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/base/plot/plot.h"
#include "studies/lab/table/runtable.h"
#include "studies/base/output.h"

size_t runtable_look(const RunTable *t, size_t design)
{
    const RunDesign *d = &t->design[design];
    return plot_again(d->look, t->looks, d->panel);
}

/* ---- forest -------------------------------------------------------------------------------------- */

/* What the plot shows of a design, from the top down. */
typedef struct {
    size_t row;
    double mean, low, high;
} ForestRow;

const Column runtable_forest_columns[] = {
    COLUMN(ForestRow, row, .words = "row of the plot, from 0, the best first"),
    COLUMN(ForestRow, mean, .words = "mean of the design's runs"),
    COLUMN(ForestRow, low, .words = "lower end of the mean's 95 % interval"),
    COLUMN(ForestRow, high, .words = "upper end of it"),
    {0}};

typedef struct {
    const RunTable *t;
    size_t m, n, rows;
    const RunForest *apart;
    size_t *order; /* (designs) */
} Forest;

static double group(const Forest *f, size_t design)
{
    return f->apart ? runtable_value(f->t, design, f->apart->column).x : 0;
}

/* Compares two designs that have runs: by group, then the better first, then the earlier. */
static int is_before(const void *a, const void *b, void *of)
{
    const Forest *f = of;
    const size_t i = *(const size_t *)a, j = *(const size_t *)b;
    const RunDesign *d = f->t->design;
    const double sign = f->t->measure[f->m].more ? -1 : 1;
    double less = group(f, i) - group(f, j);
    if (less == 0) less = sign * (d[i].mean[f->m].mean - d[j].mean[f->m].mean);
    return less < 0 ? -1 : less > 0 ? 1 : i < j ? -1 : 1;
}

static void sort(Forest *f)
{
    for (size_t i = 0; i < f->t->designs; i++)
        if (f->t->design[i].mean[f->m].n > 0) f->order[f->n++] = i;
    qsort_r(f->order, f->n, sizeof *f->order, is_before, f);
}

/* Puts a heading into its row, and a line above it. */
static void draw_heading(Plot *p, double value, const char *words, size_t row)
{
    char text[96];
    snprintf(text, sizeof text, "%g %s", value, words);
    plot_setting(p,
                 "set label %s at graph 0.01, first %zu left noenhanced font small textcolor rgb "
                 "'#555555'",
                 text, row);
    if (row > 0)
        plot_setting(
            p,
            "set arrow from graph 0, first %zu.5 to graph 1, first %zu.5 nohead back lc rgb '#aaaaaa'",
            row - 1, row - 1);
}

/* Draws the k-th design in the next row, under a heading where its group begins. */
static void draw_design(Forest *f, Plot *p, size_t k, Sheet *out)
{
    const size_t i = f->order[k];
    const Interval *of = &f->t->design[i].mean[f->m];
    char name[512];
    if (f->apart && (k == 0 || group(f, i) != group(f, f->order[k - 1])))
        draw_heading(p, group(f, i), plot_narrow() ? f->apart->brief : f->apart->words, f->rows++);
    runtable_name(f->t, i, name, sizeof name);
    plot_tic(p, f->rows, name);
    plot_item(p, "forest.csv", "every ::%zu::%zu using 3:1:($4-$3):(0)", k + 1, k + 1);
    plot_interval(p, plot_colour(runtable_look(f->t, i)));
    plot_item(p, "forest.csv", "every ::%zu::%zu using 2:1 with points notitle", k + 1, k + 1);
    plot_style(p, runtable_look(f->t, i));
    sheet_row(out, &(ForestRow){f->rows++, of->mean, of->low, of->high});
}

static int draw_forest(Forest *f, const char *dir, Sheet *out)
{
    char title[256];
    const RunMeasure *m = &f->t->measure[f->m];
    double from = INFINITY,
           to = -INFINITY; /* fmin and fmax leave out NaN: one run has no interval */
    Plot *p;
    snprintf(title, sizeof title, "%s, %s is better: means and 95 %% intervals", m->axis,
             m->more ? "more" : "less");
    PlotFrame frame = {"forest", title, m->axis, "", 0};
    TRY(plot_new(dir, &frame, &p));
    plot_setting(p, "unset key\nset grid noytics\nset ytics scale 0 ()\n"
                    "set offsets graph 0.05, graph 0.05, 0, 0");
    for (size_t k = 0; k < f->n; k++) {
        const Interval *of = &f->t->design[f->order[k]].mean[f->m];
        draw_design(f, p, k, out);
        from = fmin(from, fmin(of->low, of->mean));
        to = fmax(to, fmax(of->high, of->mean));
    }
    plot_setting(p, "set yrange [%zu.5:-0.5]", f->rows - 1);
    if (m->positive) plot_setting(p, "set xrange [0<*:*]");
    plot_few_tics(p, to - from, plot_narrow() ? 2 : 6);
    if (f->rows > 15) plot_taller(p, 26 * (f->rows - 15));
    return plot_end(p, output_sheet(out, SHEET_CSV, dir, "forest.csv"));
}

int runtable_forest(const RunTable *t, size_t measure, const RunForest *apart, const char *dir)
{
    Forest f = {.t = t, .m = measure, .apart = apart};
    SCOPED(sheet_drop) Sheet *s = NULL;
    SCOPED(memory_drop) size_t *order = f.order = memory_new(t->designs, sizeof *order);
    if (!order) return ERR_MEMORY;
    sort(&f);
    if (f.n == 0) return 0;
    TRY(sheet_new(runtable_forest_columns, &s));
    return draw_forest(&f, dir, s);
}

/* ---- against a column ---------------------------------------------------------------------------- */

typedef struct {
    double x, x_low, x_high, mean, low, high;
} Point;

const Column runtable_scatter_columns[] = {
    COLUMN(Point, x, .words = "mean of the column on the x axis"),
    COLUMN(Point, x_low,
           .words = "lower end of its 95 % interval; on a logarithmic axis, of log x"),
    COLUMN(Point, x_high, .words = "upper end of it"),
    COLUMN(Point, mean, .words = "mean of the design's runs"),
    COLUMN(Point, low, .words = "lower end of the mean's 95 % interval"),
    COLUMN(Point, high, .words = "upper end of it"),
    {0}};

/* On a logarithmic axis the ends are x exp(-r) and x exp(r), r being the half width over x (the interval of log x by the delta
 * method): they are above 0 where x - r x is not. */
static Point point_of(const RunTable *t, size_t i, size_t m, const RunScatter *of)
{
    char high[96];
    const Interval *y = &t->design[i].mean[m];
    snprintf(high, sizeof high, "%s_high", of->column);
    double x = runtable_value(t, i, of->column).x, half = runtable_value(t, i, high).x - x;
    Point p = {x, x - half, x + half, y->mean, y->low, y->high};
    if (of->flags & PLOT_LOG_X) p.x_low = x * exp(-half / x);
    if (of->flags & PLOT_LOG_X) p.x_high = x * exp(half / x);
    return p;
}

/* Returns the first word of a design's groups, of n bytes. */
static const char *group_of(const RunTable *t, size_t i, const char *groups, size_t *n)
{
    const char *text = runtable_value(t, i, groups).text;
    *n = strcspn(text ? text : "", " ");
    return text ? text : "";
}

/* Returns the first design of a design's group. */
static size_t first_alike(const RunTable *t, size_t design, const char *groups)
{
    size_t n, k, i = 0;
    const char *mine = group_of(t, design, groups, &n), *other;
    for (;; i++) {
        other = group_of(t, i, groups, &k);
        if (k == n && memcmp(mine, other, n) == 0) return i;
    }
}

/* How a design is drawn: the numbers of its colour and mark, and what it is coloured by. */
typedef struct {
    size_t design, colour, mark;
    double value;
} Look;

static int by_value(const void *a, const void *b)
{
    const Look *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return x->design < y->design ? -1 : x->design > y->design;
}

/* Gives each value a colour and each of its designs a mark, in the order of values. */
static void colour_by(const RunTable *t, const char *column, Look *look)
{
    for (size_t i = 0; i < t->designs; i++) {
        look[i] = (Look){i, 0, 0, runtable_value(t, i, column).x};
        if (isnan(look[i].value)) look[i].value = INFINITY;
    }
    qsort(look, t->designs, sizeof *look, by_value);
    for (size_t i = 1; i < t->designs; i++) {
        int same = look[i].value == look[i - 1].value;
        look[i].colour = look[i - 1].colour + (size_t)!same;
        look[i].mark = same ? look[i - 1].mark + 1 : 0;
    }
}

/* Finds the looks of all designs, in the order in which they are drawn: those of their groups, where there are groups. */
static void find_looks(const RunTable *t, const RunScatter *of, Look *look)
{
    if (of->colours) colour_by(t, of->colours, look);
    for (size_t i = 0, groups = 0; !of->colours && i < t->designs; i++) {
        size_t first = of->groups ? first_alike(t, i, of->groups) : i,
               n = !of->groups ? runtable_look(t, i)
                   : first < i ? look[first].colour
                               : groups++;
        look[i] = (Look){i, n, n, NAN};
    }
}

/* Writes what the key says of a design; nothing where its group is named already. */
static void write_title(const RunTable *t, size_t i, const RunScatter *of, const Look *look,
                        char *out, size_t bytes)
{
    size_t n;
    runtable_name(t, i, out, bytes);
    if (of->colours && isfinite(look->value))
        snprintf(out + strlen(out), bytes - strlen(out), " (%g)", look->value);
    if (!of->groups) return;
    const char *group = group_of(t, i, of->groups, &n);
    snprintf(out, bytes, "%.*s", first_alike(t, i, of->groups) == i ? (int)n : 0, group);
}

/* Draws the design of a row of the file, with its intervals below it. Sizes differ, so that points in one place show. */
static void draw_point(const RunTable *t, const Look *look, const RunScatter *of, size_t row,
                       Plot *p)
{
    char name[64], title[512];
    write_title(t, look->design, of, look, title, sizeof title);
    snprintf(name, sizeof name, "%s.csv", of->name);
    plot_item(p, name, "every ::%zu::%zu using 1:5:(0):($6-$5)", row, row);
    plot_interval(p, plot_colour(look->colour));
    plot_item(p, name, "every ::%zu::%zu using 2:4:($3-$2):(0)", row, row);
    plot_interval(p, plot_colour(look->colour));
    plot_item(
        p, name,
        "every ::%zu::%zu using 1:4 with points title %s noenhanced pt %d ps %.3g lc rgb %s lw 1.5",
        row, row, title, plot_point(look->mark), of->groups ? 1.2 : 1.9 - 0.3 * (double)(row % 4),
        plot_colour(look->colour));
}

/* *any: a design has both numbers. */
static int draw_scatter(const RunTable *t, size_t m, const RunScatter *of, Sheet *s, Plot *p,
                        int *any)
{
    SCOPED(memory_drop) Look *look = memory_new(t->designs, sizeof *look);
    size_t row = 0;
    if (!look) return ERR_MEMORY;
    find_looks(t, of, look);
    for (size_t i = 0; i < t->designs; i++) {
        const Point at = point_of(t, look[i].design, m, of);
        if (!isfinite(at.x) || !isfinite(at.mean)) continue;
        sheet_row(s, &at);
        draw_point(t, &look[i], of, ++row, p);
    }
    *any = row > 0;
    return 0;
}

int runtable_scatter(const RunTable *t, size_t measure, const RunScatter *of, const char *dir)
{
    Plot *p;
    SCOPED(sheet_drop) Sheet *s = NULL;
    char file[64], title[256];
    snprintf(file, sizeof file, "%s.csv", of->name);
    snprintf(title, sizeof title, "%s against %s: means and 95 %% intervals",
             t->measure[measure].axis, of->words);
    PlotFrame frame = {of->name, title, of->axis, t->measure[measure].axis, of->flags};
    TRY(sheet_new(runtable_scatter_columns, &s));
    TRY(plot_new(dir, &frame, &p));
    int any = 0, code = draw_scatter(t, measure, of, s, p, &any);
    plot_setting(p, "set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05");
    if (t->measure[measure].positive) plot_setting(p, "set yrange [0<*:*]");
    if (of->colours) {
        snprintf(title, sizeof title, "design (%s)", of->colours_words);
        plot_key_title(p, title);
    }
    if (any) return plot_end(p, output_sheet(s, SHEET_CSV, dir, file));
    plot_drop(p);
    return code;
}
