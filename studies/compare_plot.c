/* compare_plot.c: what a comparison shows at a glance: perplexities, losses, norms of gradients,
 * perplexity against what it may depend on. */
#include <math.h>
#include <stdio.h>

#include "kernels/error.h"
#include "studies/compare.h"
#include "studies/plot.h"

/* "NAME", with its depth where there are several. */
static void cell_name(const Compare *u, const Cell *c, char out[TABLE_NAME + 32])
{
    int n = snprintf(out, TABLE_NAME, "%s", c->scheme->name);
    if (u->depths > 1)
        snprintf(out + n, TABLE_NAME + 32 - (size_t)n, ", %zu layer%s", c->layers,
                 c->layers == 1 ? "" : "s");
}

/* ---- perplexities --------------------------------------------------------------------------------- */

/* Horizontal bars from zero, so that lengths compare, with their spread and numbers; `ppl` is a
 * column of compare.csv, the next one its standard deviation (empty with one seed). */
static void draw_bars(Plot *p, size_t n, int ppl, double shift, size_t colour, const char *title)
{
    char rows[64], spread[64];
    snprintf(rows, sizeof rows, "'compare.csv' every ::1::%zu using", n);
    snprintf(spread, sizeof spread, "(valid(%d) ? $%d : 0)", ppl + 1, ppl + 1);
    plot_item(p,
              "%s (0.5*$%d):($0%+g):(0):%d:($0%+g):($0%+g) with boxxyerror title '%s' "
              "noenhanced fs solid 1 noborder lc rgb '%s'",
              rows, ppl, shift, ppl, shift - 0.18, shift + 0.18, title, plot_colour(colour));
    plot_item(p, "%s %d:($0%+g):%s with xerrorbars notitle lc rgb '#222222' lw 1.5 pt 0", rows, ppl,
              shift, spread);
    plot_item(p,
              "%s ($%d+%s):($0%+g):(sprintf(valid(%d) ? '%%.1f ± %%.1f' : '%%.1f', $%d, %s)) "
              "with labels left offset 0.6,0 noenhanced font ',11' notitle",
              rows, ppl, spread, shift, ppl + 1, ppl, spread);
}

static int draw_perplexities(const Compare *u)
{
    char title[256], name[TABLE_NAME + 32], quoted[2 * TABLE_NAME];
    size_t n = u->cells;
    Plot *p;
    snprintf(title, sizeof title, "Perplexity on %s: mean and standard deviation, seeds %zu to %zu",
             u->corpus.name, u->seed, u->seed + u->seeds - 1);
    PlotFrame frame = {"perplexity", title, "perplexity", "", 0};
    TRY(plot_new(u->dir, &frame, &p));
    plot_setting(p, "set yrange [%zu.5:-0.7]\nset xrange [0:*]\nset offsets 0, graph 0.18, 0, 0",
                 n - 1);
    plot_setting(p, "set grid noytics\nset key rmargin top\nset ytics scale 0 ()");
    for (size_t i = 0; i < n; i++) {
        cell_name(u, &u->cell[i], name);
        plot_quote(name, quoted, sizeof quoted);
        plot_setting(p, "set ytics add (%s %zu)", quoted, i);
    }
    if (n > 6) plot_taller(p, 70 * (n - 6));
    draw_bars(p, n, compare_column("valid_ppl"), -0.19, 0, "validation");
    draw_bars(p, n, compare_column("test_ppl"), 0.19, 5, "test");
    return plot_finish(p);
}

/* ---- curves over the steps ------------------------------------------------------------------------ */

/* The rows of a cell in curves.csv, as a condition. */
static void cell_rows(const Cell *c, char out[2 * TABLE_NAME + 64])
{
    char word[2 * TABLE_NAME];
    plot_quote(c->scheme->name, word, sizeof word);
    snprintf(out, 2 * TABLE_NAME + 64, "strcol(1) eq %s && $8 == %zu", word, c->layers);
}

static void cell_key(const Compare *u, Plot *p, const Cell *c, const char *kind, const char *style)
{
    char name[TABLE_NAME + 32], quoted[2 * TABLE_NAME];
    cell_name(u, c, name);
    plot_quote(name, quoted, sizeof quoted);
    plot_item(p, "keyentry with %s title %s noenhanced %s", kind, quoted, style);
}

/* Loss of training as a line, of validation as points of the same colour. */
static int draw_losses(const Compare *u)
{
    char title[256], style[96], rows[2 * TABLE_NAME + 64];
    Plot *p;
    snprintf(title, sizeof title, "Loss on %s: training (lines), validation (points)",
             u->corpus.name);
    PlotFrame frame = {"curves", title, "thousand tokens trained", "nats a token", 0};
    TRY(plot_new(u->dir, &frame, &p));
    for (size_t i = 0; i < u->cells; i++) {
        plot_style(i, style);
        cell_rows(&u->cell[i], rows);
        plot_item(p, "'curves.csv' using (%s ? $4/1000 : NaN):5 with lines notitle %s", rows,
                  style);
        plot_item(p,
                  "'curves.csv' using (%s && valid(6) ? $4/1000 : NaN):(log($6)) with points "
                  "notitle %s",
                  rows, style);
        cell_key(u, p, &u->cell[i], "linespoints", style);
    }
    if (u->cells > 16) plot_taller(p, 29 * (u->cells - 16));
    plot_level(p, log(u->unigram_valid), "unigram");
    if (!isnan(u->corpus.entropy_rate)) plot_level(p, u->corpus.entropy_rate, "entropy rate");
    return plot_finish(p);
}

/* The norm of the gradient, before clipping, as the ODE Transformer's figure 6. */
static int draw_gradients(const Compare *u)
{
    char title[256], style[96], rows[2 * TABLE_NAME + 64];
    Plot *p;
    snprintf(title, sizeof title, "Norm of the gradient on %s, mean over seeds", u->corpus.name);
    PlotFrame frame = {"gradients", title, "steps", "norm of the gradient", 0};
    TRY(plot_new(u->dir, &frame, &p));
    plot_setting(p, "set logscale y");
    for (size_t i = 0; i < u->cells; i++) {
        plot_style(i, style);
        cell_rows(&u->cell[i], rows);
        plot_item(p, "'curves.csv' using (%s ? $2 : NaN):7 with lines notitle %s", rows, style);
        cell_key(u, p, &u->cell[i], "lines", style);
    }
    if (u->cells > 16) plot_taller(p, 29 * (u->cells - 16));
    return plot_finish(p);
}

/* ---- perplexity against ... ------------------------------------------------------------------------ */

/* What a scatter plot has across. */
typedef struct {
    const char *name, *title, *x; /* of the file, the plot, the axis */
    const char *value;            /* of gnuplot, of a row of compare.csv */
    int flags;
} Scatter;

/* The cells of a depth: intervals, points, names. */
static void draw_depth(const Compare *u, Plot *p, const Scatter *s, size_t d)
{
    char rows[64], x[160];
    int ppl = compare_column("valid_ppl"), low = compare_column("valid_low");
    const char *evals = "column('evals_F')+column('evals_G')";
    snprintf(rows, sizeof rows, "'compare.csv' every ::::%zu using", u->cells - 1);
    snprintf(x, sizeof x, "($%d == %zu ? %s : NaN)", compare_column("layers"), u->depth[d],
             s->value);
    plot_item(p, "%s %s:%d:%d:%d with yerrorbars notitle pt 0 lw 1 lc rgb '#999999'", rows, x, ppl,
              low, low + 1);
    plot_item(p, "%s %s:%d:(%s) with points notitle palette pt %d ps 1.6", rows, x, ppl, evals,
              d % 2 ? 5 : 7);
    plot_item(p, "%s %s:%d:1 with labels left offset 0.9,0.4 noenhanced font ',11' notitle", rows,
              x, ppl);
    if (u->depths > 1)
        plot_item(p, "keyentry with points lc rgb '#555555' pt %d ps 1.6 title '%zu layer%s'",
                  d % 2 ? 5 : 7, u->depth[d], u->depth[d] == 1 ? "" : "s");
}

static int draw_scatter(const Compare *u, const Scatter *s)
{
    Plot *p;
    PlotFrame frame = {s->name, s->title, s->x, "validation perplexity", s->flags};
    TRY(plot_new(u->dir, &frame, &p));
    plot_setting(p, "set datafile columnheaders");
    plot_setting(p, "set palette defined (0 '#56b4e9', 1 '#0072b2', 2 '#d55e00')");
    plot_setting(p, "set cblabel 'evaluations of F and G a layer'\nset cbtics 1\nset colorbox");
    plot_setting(
        p, "set key inside top right\nset offsets graph 0.05, graph 0.2, graph 0.05, graph 0.05");
    for (size_t d = 0; d < u->depths; d++) draw_depth(u, p, s, d);
    return plot_finish(p);
}

int compare_plots(const Compare *u)
{
    static const Scatter evaluations = {
        "evaluations", "Validation perplexity against evaluations, 95 % intervals over seeds",
        "evaluations of F and G a layer", "column('evals_F')+column('evals_G')", 0};
    TRY(draw_perplexities(u));
    TRY(draw_losses(u));
    TRY(draw_gradients(u));
    return draw_scatter(u, &evaluations);
}
