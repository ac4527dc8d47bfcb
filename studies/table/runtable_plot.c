/* runtable_plot.c: draws the means of designs as a forest plot. */
#include <math.h>
#include <stdio.h>

#include "kernels/error.h"
#include "studies/plot/plot.h"
#include "studies/table/runtable.h"
#include "studies/tools/output.h"

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

/* Returns 1 where design i stands above design j. */
static int is_above(const RunTable *t, size_t m, size_t i, size_t j)
{
    double a = t->design[i].mean[m].mean, b = t->design[j].mean[m].mean;
    return t->measure[m].more ? a > b : a < b;
}

/* Sorts the designs that have runs; returns how many. */
static size_t sort(const RunTable *t, size_t m, size_t order[RUNTABLE_MOST])
{
    size_t n = 0;
    for (size_t i = 0, k; i < t->designs; i++) {
        if (t->design[i].mean[m].n == 0) continue;
        for (k = n++; k > 0 && is_above(t, m, i, order[k - 1]); k--) order[k] = order[k - 1];
        order[k] = i;
    }
    return n;
}

static int draw(const RunTable *t, size_t m, const char *dir, const size_t *order, size_t n)
{
    char title[256], name[512];
    double from = INFINITY,
           to = -INFINITY; /* fmin and fmax leave out NaN: one run has no interval */
    Plot *p;
    snprintf(title, sizeof title, "%s, %s is better: means and 95 %% intervals", t->measure[m].text,
             t->measure[m].more ? "more" : "less");
    PlotFrame frame = {"forest", title, t->measure[m].text, "", 0};
    TRY(plot_new(dir, &frame, &p));
    plot_setting(p,
                 "unset key\nset grid noytics\nset ytics scale 0 ()\n"
                 "set offsets graph 0.05, graph 0.05, 0, 0\nset yrange [%zu.5:-0.5]",
                 n - 1);
    for (size_t k = 0; k < n; k++) {
        const Interval *of = &t->design[order[k]].mean[m];
        runtable_name(t, order[k], name, sizeof name);
        plot_tic(p, k, name);
        from = fmin(from, fmin(of->low, of->mean));
        to = fmax(to, fmax(of->high, of->mean));
    }
    plot_few_tics(p, to - from, plot_narrow() ? 2 : 6);
    plot_item(p, "forest.csv", "every ::1 using 3:1:($4-$3):(0)");
    plot_interval(p, plot_colour(0), 1.5);
    plot_item(p, "forest.csv", "every ::1 using 2:1 with points notitle");
    plot_style(p, 0);
    if (n > 15) plot_taller(p, 26 * (n - 15));
    return plot_finish(p);
}

int runtable_forest(const RunTable *t, size_t measure, const char *dir)
{
    size_t order[RUNTABLE_MOST], n = sort(t, measure, order);
    Sheet *s;
    if (n == 0) return 0;
    TRY(sheet_new(runtable_forest_columns, &s));
    for (size_t k = 0; k < n; k++) {
        const Interval *of = &t->design[order[k]].mean[measure];
        sheet_row(s, &(ForestRow){k, of->mean, of->low, of->high});
    }
    int code = output_sheet(s, SHEET_CSV, dir, "forest.csv");
    sheet_free(s);
    return code ? code : draw(t, measure, dir, order, n);
}
