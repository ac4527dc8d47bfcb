/* truncation_plot.c: writes the files of a truncation study: errors against h with the slopes of the exact
 * orders, and errors by layer. */
#include <math.h>
#include <stdio.h>

#include "studies/base/plot/plot.h"
#include "studies/base/command.h"
#include "studies/model/truncation/truncation_study.h"

/* Returns the largest constant of the relative errors that follow an order, from their finest steps; 0:
 * none does. Order 0 stands for errors that kinks limit to h^3/2. */
static double guide_height(const TruncationStudy *u, int order)
{
    double top = 0;
    size_t cells = u->layers * u->in->drawn.of.count;
    for (size_t i = 0; i < u->count * cells; i++) {
        const Truncation *t = &u->cell[i];
        if (t->points == 0) continue;
        const TruncationPoint *p = &t->point[t->points - 1];
        int follows = t->asymptotic >= 4 * p->h, kinks = order == 0 && t->order > 1 && !follows;
        if (!isfinite(p->relative) || !(kinks || (order && t->order == order && follows))) continue;
        top = fmax(top, p->relative / pow(p->h, order ? order : 1.5));
    }
    return top;
}

static void add_guides(const TruncationStudy *u, Plot *p)
{
    char words[32];
    for (int k = 1; k <= TREE_MAX; k++) {
        double c = guide_height(u, k);
        snprintf(words, sizeof words, "slope %d", k);
        if (c > 0) plot_guide(p, 2 * c, k, 1, words);
    }
    double kinks = !model_smooth(u->in->network.model) ? guide_height(u, 0) : 0;
    if (kinks > 0)
        plot_item(p, NULL,
                  "%.6g * x**1.5 with lines lc rgb '#999999' lw 1.5 dt '-' title 'slope 3/2: "
                  "kinks'",
                  2 * kinks);
}

static int draw_errors(const TruncationStudy *u, const char *dir)
{
    char title[256];
    snprintf(title, sizeof title, "Truncation error of a trained layer (%s)",
             !model_smooth(u->in->network.model) ? "ReLU" : "GELU");
    PlotFrame frame = {"truncation", title, "step h (1: the network's own)",
                       plot_narrow() ? "error / exact displacement"
                                     : "error / exact flow's displacement in that step",
                       PLOT_HALVINGS | PLOT_LOG_Y};
    Plot *p;
    TRY(plot_new(dir, &frame, &p));
    plot_note(p, "order p has slope p here and p + 1 in the table, whose error is not divided by "
                 "the displacement, about h");
    plot_key_title(p, "scheme: the table’s slope − 1");
    add_guides(u, p);
    const Column *c = truncation_curves;
    for (size_t i = 0; i < u->count; i++) {
        char words[TABLE_NAME + 48];
        double slope = truncation_slope(u, i) - 1;
        int n = snprintf(words, sizeof words, "%s", u->series[i].name);
        if (!isnan(slope)) snprintf(words + n, sizeof words - (size_t)n, ": %.2f", slope);
        plot_series(p, "curves.csv", sheet_column(c, "name"), u->series[i].name,
                    sheet_column(c, "h"), sheet_column(c, "relative_error"), words);
    }
    return plot_finish(p);
}

static int draw_layers(const TruncationStudy *u, const char *dir)
{
    PlotFrame frame = {"layers", "Truncation error at h = 1 by layer", "layer (from 0)",
                       plot_narrow() ? "error / exact displacement, h = 1"
                                     : "error / exact flow's displacement at h = 1",
                       PLOT_LOG_Y};
    Plot *p;
    if (u->layers < 2) return 0; /* with one column of points the table says as much */
    TRY(plot_new(dir, &frame, &p));
    plot_setting(p, "set xrange [-0.5:%zu.5]\nset xtics 0,%zu", u->layers - 1, u->layers / 12 + 1);
    const Column *c = truncation_layers;
    for (size_t i = 0; i < u->count; i++)
        plot_series(p, "layers.csv", sheet_column(c, "name"), u->series[i].name,
                    sheet_column(c, "layer"), sheet_column(c, "relative_error"), u->series[i].name);
    return plot_finish(p);
}

int truncation_save(TruncationStudy *u, const char *dir)
{
    TRY(output_directory(dir));
    TRY(output_sheet(u->points, SHEET_CSV, dir, "truncation.csv"));
    TRY(output_table(u->summary, dir, "summary"));
    TRY(output_sheet(u->terms, SHEET_CSV, dir, "terms.csv"));
    TRY(output_sheet(u->curves, SHEET_CSV, dir, "curves.csv"));
    TRY(output_sheet(u->by_layer, SHEET_CSV, dir, "layers.csv"));
    TRY(draw_errors(u, dir));
    return draw_layers(u, dir);
}
