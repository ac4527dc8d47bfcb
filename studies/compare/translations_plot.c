/* translations_plot.c: draws BLEU of every pair of schemes with the interval of its seeds, and BLEU against the
 * truncation error of the trained encoder. */
#include <math.h>
#include <stdio.h>

#include "kernels/error.h"
#include "studies/compare/translations.h"
#include "studies/plot/plot.h"

static int draw_bleu(const Translations *u)
{
    char title[256];
    Plot *p;
    size_t there = 0;
    double from = INFINITY,
           to = -INFINITY; /* fmin and fmax leave out NaN: a single run has no interval */
    for (size_t i = 0; i < u->cells; i++) {
        there += isnan(u->cell[i].test_bleu.mean) ? 0 : 1;
        from = fmin(from, fmin(u->cell[i].test_bleu.low, u->cell[i].test_bleu.mean));
        to = fmax(to, fmax(u->cell[i].test_bleu.high, u->cell[i].test_bleu.mean));
    }
    if (there == 0) return 0;
    snprintf(title, sizeof title, "Test BLEU on %s: mean and 95 %% interval, seeds %zu to %zu",
             plot_folder(u->corpus.name), u->seed, u->seed + u->seeds - 1);
    PlotFrame frame = {"bleu", title, "BLEU", "", 0};
    TRY(plot_new(u->dir, &frame, &p));
    int mean = sheet_column(translation_columns, "test_bleu"),
        low = sheet_column(translation_columns, "test_bleu_low"),
        high = sheet_column(translation_columns, "test_bleu_high");
    plot_setting(
        p, "set yrange [%zu.5:-0.7]\nset xrange [0<*:*]\nset offsets graph 0.05, graph %g, 0, 0",
        u->cells - 1, plot_narrow() ? 0.3 : 0.18);
    if (plot_narrow()) plot_few_tics(p, to - from, 2);
    plot_setting(p, "set grid noytics\nunset key\nset ytics scale 0 ()");
    for (size_t i = 0; i < u->cells; i++) plot_tic(p, i, u->cell[i].name);
    if (u->cells > 6) plot_taller(p, 40 * (u->cells - 6));
    plot_item(p, "compare.csv", "every ::1 using %d:0:($%d-$%d):(0)", low, high, low);
    plot_interval(p, plot_colour(0), 1.5);
    plot_item(p, "compare.csv", "every ::1 using %d:0 with points notitle", mean);
    plot_style(p, 0);
    plot_item(
        p, "compare.csv",
        "every ::1 using (valid(%d) ? $%d : $%d):0:(sprintf('%%.2f', $%d)) with labels left offset "
        "0.8,0 noenhanced font small notitle",
        high, high, mean, mean);
    return plot_finish(p);
}

static int draw_errors(const Translations *u)
{
    char title[256];
    Plot *p;
    size_t there = 0;
    for (size_t i = 0; i < u->cells; i++) there += isnan(u->cell[i].encoder_error.mean) ? 0 : 1;
    if (there < 2) return 0;
    snprintf(title, sizeof title, "Test BLEU against the encoder's truncation error, %s",
             plot_folder(u->corpus.name));
    PlotFrame frame = {"truncation", title, "truncation error of the encoder's layers", "test BLEU",
                       PLOT_LOG_X};
    TRY(plot_new(u->dir, &frame, &p));
    int x = sheet_column(translation_columns, "encoder_error"),
        y = sheet_column(translation_columns, "test_bleu");
    for (size_t i = 0; i < u->cells; i++) {
        plot_item(p, "compare.csv", "every ::%zu::%zu using %d:%d with points title %s noenhanced",
                  i + 1, i + 1, x, y, u->cell[i].name);
        plot_style(p, i);
    }
    return plot_finish(p);
}

int translations_plots(const Translations *u)
{
    TRY(draw_bleu(u));
    return draw_errors(u);
}
