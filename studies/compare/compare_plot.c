/* compare_plot.c: draws perplexities, losses, norms of gradients, and perplexity against what it may depend on. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "studies/compare/compare.h"
#include "studies/tools/plot.h"

/* ---- perplexities ---------------------------------------------------------------------------- */

/* Draws horizontal bars from zero, so that lengths can be compared, with their spread and numbers. mean and deviation
 * are columns of compare.csv; the standard deviation is empty with one seed. */
static void draw_bars(Plot *p, size_t n, const char *mean, const char *deviation, double shift,
                      size_t colour, const char *title)
{
    int ppl = sheet_column(compare_columns, mean), sd = sheet_column(compare_columns, deviation);
    plot_item(p, "compare.csv",
              "every ::1::%zu using (0.5*$%d):($0%+g):(0):%d:($0%+g):($0%+g) with boxxyerror title "
              "%s noenhanced fs solid 1 noborder lc rgb %s",
              n, ppl, shift, ppl, shift - 0.18, shift + 0.18, title, plot_colour(colour));
    plot_item(p, "compare.csv", "every ::1::%zu using ($%d-spread(%d)):($0%+g):(2*spread(%d)):(0)",
              n, ppl, sd, shift, sd);
    plot_interval(p, "#222222", 1.5);
    plot_item(
        p, "compare.csv",
        "every ::1::%zu using ($%d+spread(%d)):($0%+g):(sprintf(valid(%d) ? %s : '%%.1f', $%d, "
        "spread(%d))) with labels left offset 0.6,0 noenhanced font small notitle",
        n, ppl, sd, shift, sd, plot_narrow() ? "%.1f" : "%.1f, sd %.1f", ppl, sd);
}

static int draw_perplexities(const Compare *u)
{
    char title[256], name[CELL_NAME];
    size_t n = u->cells, longest = 0;
    double most = 0;
    Plot *p;
    snprintf(title, sizeof title, "Perplexity on %s: mean and standard deviation, seeds %zu to %zu",
             plot_folder(u->corpus.name), u->seed, u->seed + u->seeds - 1);
    PlotFrame frame = {"perplexity", title, "perplexity", "", 0};
    TRY(plot_new(u->dir, &frame, &p));
    plot_setting(p, "set grid noytics\nset key rmargin top\nset ytics scale 0 ()");
    plot_setting(p, "spread(i) = valid(i) ? column(i) : 0");
    for (size_t i = 0; i < n; i++) {
        compare_cell_name(u, &u->cell[i], name);
        plot_tic(p, i, name);
        longest = strlen(name) > longest ? strlen(name) : longest;
        most = fmax(most, u->cell[i].valid.mean);
    }
    /* Names stand left of the bars and numbers right of them: 13 letters, or 6 in a narrow plot, of the width that
     * names and key leave. */
    double across, up, room;
    plot_size(p, &across, &up);
    room = fmax(1.6 * across - (double)longest - (plot_narrow() ? 8 : 28), 20);
    double numbers = fmin((plot_narrow() ? 6 : 13) / room, 0.6);
    plot_setting(p, "set yrange [%zu.5:-0.7]\nset xrange [0:*]\nset offsets 0, graph %.3g, 0, 0",
                 n - 1, numbers / (1 - numbers));
    plot_few_tics(p, most / (1 - numbers), plot_narrow() ? 2 : 6);
    if (n > 6) plot_taller(p, 70 * (n - 6));
    draw_bars(p, n, "valid_ppl", "valid_sd", -0.19, 0, "validation");
    draw_bars(p, n, "test_ppl", "test_sd", 0.19, 5, "test");
    return plot_finish(p);
}

/* ---- curves over the steps ------------------------------------------------------------------- */

/* Defines is(name, layers), which is 1 for a row of a file that is that cell's. */
static void define_rows(Plot *p, const Column *list)
{
    plot_setting(p, "is(name, layers) = strcol(%d) eq name && column(%d) == layers",
                 sheet_column(list, "scheme"), sheet_column(list, "layers"));
}

/* Returns the look of cell i in every plot: its scheme's colour and mark. A further depth has that colour with another
 * dash and another mark. */
static size_t cell_style(const Compare *u, size_t i)
{
    const Cell *c = &u->cell[i];
    size_t depth = 0;
    while (depth + 1 < u->depths && u->depth[depth] != c->layers) depth++;
    return plot_again(c->index, u->schemes.count, depth);
}

/* Returns the number of a cell's rows in curves.csv. */
static size_t curve_rows(const Compare *u)
{
    return sheet_rows(u->curves) / u->cells;
}

/* Draws the line of cell i in FILE: column y against x. */
static void cell_lines(const Compare *u, Plot *p, size_t i, const char *file, const Column *list,
                       const char *x, double scale, const char *y)
{
    const Cell *c = &u->cell[i];
    plot_item(p, file, "using (is(%s, %zu) ? $%d*%g : NaN):%d", c->scheme->name, c->layers,
              sheet_column(list, x), scale, sheet_column(list, y));
    plot_lines(p, curve_rows(u));
    plot_more(p, "notitle");
    plot_style(p, cell_style(u, i));
}

/* Adds cell i to the key; points: with its mark, as its points are drawn apart. */
static void cell_key(const Compare *u, Plot *p, size_t i, int points)
{
    char name[CELL_NAME];
    compare_cell_name(u, &u->cell[i], name);
    plot_item(p, NULL, "keyentry");
    if (points) plot_more(p, "with linespoints title %s noenhanced", name);
    if (!points) plot_more(p, "with lines title %s noenhanced", name);
    plot_style(p, cell_style(u, i));
}

/* Draws the loss of training as a line, that of validation as points of the same colour. */
static int draw_losses(const Compare *u)
{
    char title[256], across[64], up[32];
    Plot *p;
    snprintf(title, sizeof title, "Loss on %s: training (lines), validation (points)",
             plot_folder(u->corpus.name));
    const char *token = network_unit(&u->corpus.vocab)->token;
    snprintf(across, sizeof across, "thousand %ss trained", token);
    snprintf(up, sizeof up, "nats a %s", token);
    PlotFrame frame = {"curves", title, across, up, 0};
    TRY(plot_new(u->dir, &frame, &p));
    plot_setting(p, "set xrange [0:*]");
    define_rows(p, curve_columns);
    for (size_t i = 0; i < u->cells; i++) {
        const Cell *c = &u->cell[i];
        int ppl = sheet_column(curve_columns, "valid_ppl");
        cell_lines(u, p, i, "curves.csv", curve_columns, "tokens", 0.001, "train_loss");
        plot_item(
            p, "curves.csv",
            "using (is(%s, %zu) && valid(%d) ? $%d/1000 : NaN):(log($%d)) with points notitle",
            c->scheme->name, c->layers, ppl, sheet_column(curve_columns, "tokens"), ppl);
        plot_style(p, cell_style(u, i));
        cell_key(u, p, i, 1);
    }
    plot_level(p, log(u->unigram.valid), "unigram");
    if (!isnan(u->corpus.entropy_rate)) plot_level(p, u->corpus.entropy_rate, "entropy rate");
    return plot_finish(p);
}

/* Draws validation perplexity after every epoch, which shows whether each cell has reached its best. */
static int draw_epochs(const Compare *u)
{
    char title[256];
    Plot *p;
    snprintf(title, sizeof title, "Validation perplexity on %s after every epoch, mean over seeds",
             plot_folder(u->corpus.name));
    PlotFrame frame = {"epochs", title, "epoch", "validation perplexity", PLOT_LOG_Y};
    TRY(plot_new(u->dir, &frame, &p));
    define_rows(p, epoch_columns);
    plot_setting(p, "set offsets 0.2, 0.2, 0, 0");
    plot_count(p, u->last_epoch);
    for (size_t i = 0; i < u->cells; i++) {
        const Cell *c = &u->cell[i];
        plot_item(p, "epochs.csv", "using (is(%s, %zu) ? $%d : NaN):%d with linespoints notitle",
                  c->scheme->name, c->layers, sheet_column(epoch_columns, "epoch"),
                  sheet_column(epoch_columns, "valid_ppl"));
        plot_style(p, cell_style(u, i));
        cell_key(u, p, i, 1);
    }
    return plot_finish(p);
}

/* Draws the norm of the gradient, before clipping, as in the ODE Transformer's figure 6. */
static int draw_gradients(const Compare *u)
{
    char title[256];
    Plot *p;
    snprintf(title, sizeof title, "Norm of the gradient on %s, mean over seeds",
             plot_folder(u->corpus.name));
    PlotFrame frame = {"gradients", title, "steps", "norm of the gradient", PLOT_LOG_Y};
    TRY(plot_new(u->dir, &frame, &p));
    define_rows(p, curve_columns);
    plot_setting(p, "set xrange [0:*]");
    for (size_t i = 0; i < u->cells; i++) {
        cell_lines(u, p, i, "curves.csv", curve_columns, "step", 1, "grad_norm");
        cell_key(u, p, i, curve_rows(u) < 2);
    }
    return plot_finish(p);
}

/* ---- perplexity against ... ------------------------------------------------------------------ */

/* The horizontal axis of a scatter plot. */
typedef struct {
    const char *name, *what, *x; /* of the file, the title, the axis */
    const char *column[2];       /* of compare.csv: the values across; of two their sum */
    const char *high_column;     /* the end of its interval; NULL: not drawn */
    int flags;
} Scatter;

static size_t evaluations(const Cell *c)
{
    return table_evals(c->scheme, OP_F) + table_evals(c->scheme, OP_G);
}

/* Returns the place of cell i among the cells of as many evaluations, or (all) their number. */
static size_t place_of(const Compare *u, size_t i, int all)
{
    size_t n = 0;
    for (size_t j = 0; j < (all ? u->cells : i); j++)
        n += evaluations(&u->cell[j]) == evaluations(&u->cell[i]);
    return n;
}

/* Draws the interval of a point. Where several share a place, each has a wider and paler line than the one after it. */
static void draw_interval(const Compare *u, Plot *p, const Scatter *s, size_t i)
{
    int low = sheet_column(compare_columns, "valid_low"),
        high = sheet_column(compare_columns, "valid_high");
    plot_item(p, "compare.csv", "every ::%zu::%zu using (across(0)):%d:(0):($%d-$%d)", i + 1, i + 1,
              low, high, low);
    size_t above = s->column[1] ? place_of(u, i, 1) - place_of(u, i, 0) - 1 : 0;
    char colour[16];
    snprintf(colour, sizeof colour, "#%s%s", above ? "99" : "", plot_colour(cell_style(u, i)) + 1);
    plot_interval(p, colour, 1.5 + 2.5 * (double)above);
}

/* Draws the interval of the error across, on its logarithmic axis: from x exp(-r) to x exp(r), where r is its half
 * width over x (the interval of log x by the delta method). Its ends are positive where x - r x is not. */
static void draw_error(const Compare *u, Plot *p, const Scatter *s, size_t i)
{
    int x = sheet_column(compare_columns, s->column[0]),
        high = sheet_column(compare_columns, s->high_column);
    plot_item(p, "compare.csv",
              "every ::%zu::%zu using ($%d*exp(-part($%d,$%d))):%d:(2*$%d*sinh(part($%d,$%d))):(0)",
              i + 1, i + 1, x, x, high, sheet_column(compare_columns, "valid_ppl"), x, x, high);
    plot_interval(p, plot_colour(cell_style(u, i)), 1.5);
}

/* Draws a point, with its name and evaluations in the key. Points that share a place differ in their marks, which are
 * open, one around the other. */
static void draw_point(const Compare *u, Plot *p, size_t i)
{
    char name[CELL_NAME], words[CELL_NAME + 32];
    compare_cell_name(u, &u->cell[i], name);
    snprintf(words, sizeof words, "%s (%zu)", name, evaluations(&u->cell[i]));
    plot_item(p, "compare.csv",
              "every ::%zu::%zu using (across(0)):%d with points title %s noenhanced pt %d ps %.3g "
              "lc rgb %s lw 1.5",
              i + 1, i + 1, sheet_column(compare_columns, "valid_ppl"), words,
              plot_open(cell_style(u, i)), 1.3 + 0.25 * (double)(i % 4),
              plot_colour(cell_style(u, i)));
}

/* Sets an axis of whole numbers that extends one step beyond those of the cells. */
static void set_counts(const Compare *u, Plot *p)
{
    size_t least = SIZE_MAX, most = 0;
    for (size_t i = 0; i < u->cells; i++) {
        size_t n = evaluations(&u->cell[i]);
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    size_t step = (most - least) / 12 + 1, from = least > step ? least - step : 0;
    plot_setting(p, "set xrange [%zu:%zu]\nset xtics %zu,%zu", from, most + step, from, step);
}

static int draw_scatter(const Compare *u, const Scatter *s)
{
    Plot *p;
    char title[128];
    snprintf(title, sizeof title, "Validation perplexity against %s%s", s->what,
             u->seeds == 1 ? "" : ", 95 % intervals over seeds");
    PlotFrame frame = {s->name, title, s->x, "validation perplexity", s->flags};
    TRY(plot_new(u->dir, &frame, &p));
    plot_key_title(p, "scheme (evaluations)");
    plot_setting(p, "set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05\n"
                    "set yrange [0<*:*]"); /* no perplexity is below 0 */
    plot_setting(p, "part(x, high) = high / x - 1");
    if (s->column[1]) {
        set_counts(u, p);
        plot_setting(p, "across(row) = column(%d) + column(%d)",
                     sheet_column(compare_columns, s->column[0]),
                     sheet_column(compare_columns, s->column[1]));
    } else {
        plot_setting(p, "across(row) = column(%d)", sheet_column(compare_columns, s->column[0]));
    }
    for (size_t i = 0; i < u->cells; i++) {
        draw_interval(u, p, s, i);
        if (s->high_column) draw_error(u, p, s, i);
    }
    for (size_t i = 0; i < u->cells; i++) draw_point(u, p, i);
    return plot_finish(p);
}

static int draw_against_truncation(const Compare *u)
{
    Scatter s = {.name = "truncation",
                 .what = "truncation error",
                 .x = "truncation error at h = 1 / exact displacement",
                 .column = {"truncation"},
                 .high_column = u->seeds > 1 ? "truncation_high" : NULL,
                 .flags = PLOT_LOG_X};
    for (size_t i = 0; i < u->cells; i++)
        if (u->cell[i].split.mean > 0) return draw_scatter(u, &s);
    return 0;
}

static int draw_against_evaluations(const Compare *u)
{
    Scatter s = {.name = "evaluations",
                 .what = "evaluations",
                 .x = "evaluations of F and G a layer",
                 .column = {"evals_F", "evals_G"}};
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
    TRY(compare_regression_plot(u));
    return draw_against_truncation(u);
}
