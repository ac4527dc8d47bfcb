/* compare_plot.c: what a comparison shows at a glance: perplexities, losses, norms of gradients,
 * perplexity against what it may depend on. */
#include <math.h>
#include <stdio.h>

#include "kernels/error.h"
#include "studies/compare/compare.h"
#include "studies/tools/plot.h"

/* ---- perplexities ---------------------------------------------------------------------------- */

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
              "%s ($%d+%s):($0%+g):(sprintf(valid(%d) ? '%%.1f, sd %%.1f' : '%%.1f', $%d, %s)) "
              "with labels left offset 0.6,0 noenhanced font ',11' notitle",
              rows, ppl, spread, shift, ppl + 1, ppl, spread);
}

static int draw_perplexities(const Compare *u)
{
    char title[256], name[CELL_NAME], quoted[2 * TABLE_NAME];
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
        compare_cell_name(u, &u->cell[i], name);
        plot_quote(name, quoted, sizeof quoted);
        plot_setting(p, "set ytics add (%s %zu)", quoted, i);
    }
    if (n > 6) plot_taller(p, 70 * (n - 6));
    draw_bars(p, n, compare_column("valid_ppl"), -0.19, 0, "validation");
    draw_bars(p, n, compare_column("test_ppl"), 0.19, 5, "test");
    return plot_finish(p);
}

/* ---- curves over the steps ------------------------------------------------------------------- */

/* The rows of a cell in curves.csv, as a condition. */
static void cell_rows(const Cell *c, char out[2 * TABLE_NAME + 64])
{
    char word[2 * TABLE_NAME];
    plot_quote(c->scheme->name, word, sizeof word);
    snprintf(out, 2 * TABLE_NAME + 64, "strcol(1) eq %s && $8 == %zu", word, c->layers);
}

static void cell_key(const Compare *u, Plot *p, const Cell *c, const char *kind, const char *style)
{
    char name[CELL_NAME], quoted[2 * TABLE_NAME];
    compare_cell_name(u, c, name);
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

/* Around the best perplexities, whatever the first epochs had. */
static void set_best_range(const Compare *u, Plot *p)
{
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < u->cells; i++) {
        low = fmin(low, u->cell[i].valid.mean);
        high = fmax(high, u->cell[i].valid.mean);
    }
    if (high > 0)
        plot_setting(p, "set yrange [%.6g:%.6g]", 0.98 * low, fmax(1.2 * low, 1.05 * high));
}

/* Validation perplexity after every epoch: whether each has seen its best. */
static int draw_epochs(const Compare *u)
{
    char title[256], style[96], rows[2 * TABLE_NAME + 64], word[2 * TABLE_NAME];
    Plot *p;
    snprintf(title, sizeof title, "Validation perplexity on %s after every epoch, mean over seeds",
             u->corpus.name);
    PlotFrame frame = {"epochs", title, "epoch", "validation perplexity", 0};
    TRY(plot_new(u->dir, &frame, &p));
    plot_setting(p, "set offsets 0.2, 0.2, 0, 0");
    plot_count(p, u->last_epoch);
    set_best_range(u, p);
    for (size_t i = 0; i < u->cells; i++) {
        const Cell *c = &u->cell[i];
        plot_style(i, style);
        plot_quote(c->scheme->name, word, sizeof word);
        snprintf(rows, sizeof rows, "strcol(1) eq %s && $2 == %zu", word, c->layers);
        plot_item(p, "'epochs.csv' using (%s ? $3 : NaN):5 with linespoints notitle %s", rows,
                  style);
        cell_key(u, p, c, "linespoints", style);
    }
    if (u->cells > 16) plot_taller(p, 29 * (u->cells - 16));
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

/* ---- perplexity against ... ------------------------------------------------------------------ */

/* What a scatter plot has across. */
typedef struct {
    const char *name, *what, *x; /* of the file, the title, the axis */
    char value[64];              /* of gnuplot, of a row of compare.csv */
    double spread;               /* cells are drawn so far beside each other where values are few */
    double low, high;            /* of a logarithmic axis; high 0: gnuplot's own */
    int flags;
} Scatter;

static size_t evaluations(const Cell *c)
{
    return table_evals(c->scheme, OP_F) + table_evals(c->scheme, OP_G);
}

/* From few evaluations to many; as many as there are different ones below this cell's. */
static const char *evaluations_colour(const Compare *u, const Cell *c)
{
    static const char *const ramp[] = {"#56b4e9", "#0072b2", "#009e73", "#e69f00",
                                       "#d55e00", "#cc79a7", "#000000"};
    size_t below = 0;
    for (size_t i = 0; i < u->cells; i++) {
        size_t e = evaluations(&u->cell[i]), j = 0;
        while (evaluations(&u->cell[j]) != e) j++;
        below += j == i && e < evaluations(c);
    }
    return ramp[below < 6 ? below : 6];
}

/* Its place among the cells of as many evaluations, which share a colour. */
static size_t mark_number(const Compare *u, size_t i)
{
    size_t before = 0;
    for (size_t j = 0; j < i; j++) before += evaluations(&u->cell[j]) == evaluations(&u->cell[i]);
    return before;
}

/* A point with its interval, its name and evaluations in the key. */
static void draw_point(const Compare *u, Plot *p, const Scatter *s, size_t i)
{
    const Cell *c = &u->cell[i];
    char row[96], x[160], style[64], name[CELL_NAME], words[TABLE_NAME + 64], title[2 * TABLE_NAME];
    int ppl = compare_column("valid_ppl"), low = compare_column("valid_low");
    double aside = u->cells > 1 ? s->spread * ((double)i / (double)(u->cells - 1) - 0.5) : 0;
    compare_cell_name(u, c, name);
    snprintf(words, sizeof words, "%s (%zu)", name, evaluations(c));
    plot_quote(words, title, sizeof title);
    snprintf(row, sizeof row, "'compare.csv' every ::%zu::%zu using", i + 1, i + 1);
    snprintf(x, sizeof x, "(%s%+g)", s->value, aside);
    snprintf(style, sizeof style, "lc rgb '%s' lw 1.5", evaluations_colour(u, c));
    plot_item(p, "%s %s:%d:%d:%d with yerrorbars notitle pt 0 %s", row, x, ppl, low, low + 1,
              style);
    plot_item(p, "%s %s:%d with points title %s noenhanced pt %d ps 1.6 %s", row, x, ppl, title,
              plot_point(mark_number(u, i)), style);
}

/* A logarithmic axis for numbers that may span less than a decade. */
static void set_range(Plot *p, double low, double high)
{
    plot_setting(p, "set xrange [%.6g:%.6g]", low / 1.5, high * 1.5);
    if (high > 1000 * low) return;
    plot_setting(p,
                 "set format x '%%g'\nset for [k = -12:6] xtics add (10.**k, 2*10.**k, 5*10.**k)");
}

static int draw_scatter(const Compare *u, const Scatter *s)
{
    Plot *p;
    char title[128];
    snprintf(title, sizeof title, "Validation perplexity against %s%s", s->what,
             u->seeds > 1 ? ", 95 % intervals over seeds" : "");
    PlotFrame frame = {s->name, title, s->x, "validation perplexity", s->flags};
    TRY(plot_new(u->dir, &frame, &p));
    plot_setting(p, "set key title 'scheme (evaluations)' left font ',12'");
    plot_setting(p, "set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05");
    if (s->high > 0) set_range(p, s->low, s->high);
    for (size_t i = 0; i < u->cells; i++) draw_point(u, p, s, i);
    if (u->cells > 14) plot_taller(p, 29 * (u->cells - 14));
    return plot_finish(p);
}

static int draw_against_truncation(const Compare *u)
{
    Scatter s = {.name = "truncation",
                 .what = "truncation error",
                 .x = "truncation error at h = 1, relative to the flow's displacement",
                 .flags = PLOT_LOG_X,
                 .low = INFINITY};
    for (size_t i = 0; i < u->cells; i++) {
        double error = u->cell[i].split.mean;
        if (!(error > 0 && isfinite(error))) continue;
        s.low = fmin(s.low, error);
        s.high = fmax(s.high, error);
    }
    if (s.high == 0) return 0;
    snprintf(s.value, sizeof s.value, "$%d", compare_column("truncation"));
    return draw_scatter(u, &s);
}

static int draw_against_evaluations(const Compare *u)
{
    Scatter s = {.name = "evaluations",
                 .what = "evaluations",
                 .x = "evaluations of F and G a layer (set apart)",
                 .spread = 0.5};
    snprintf(s.value, sizeof s.value, "$%d+$%d", compare_column("evals_F"),
             compare_column("evals_G"));
    return draw_scatter(u, &s);
}

int compare_plots(const Compare *u)
{
    TRY(draw_perplexities(u));
    if (!compare_recorded(u)) {
        TRY(draw_losses(u));
        TRY(draw_epochs(u));
        TRY(draw_gradients(u));
    }
    TRY(draw_against_evaluations(u));
    return draw_against_truncation(u);
}
