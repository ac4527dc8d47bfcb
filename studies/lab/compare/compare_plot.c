/* compare_plot.c: draws losses and norms of gradients over the steps. */
#include <math.h>
#include <stdio.h>

#include "studies/lab/compare/compare.h"
#include "studies/base/plot/plot.h"
#include "studies/base/command.h"

static int column(const char *name)
{
    return sheet_column(curve_columns, name);
}

/* Defines is(name, layers), which is 1 for a row of curves.csv that is that cell's. */
static void define_rows(Plot *p)
{
    plot_setting(p,
                 "set xrange [0:*]\nis(name, layers) = strcol(%d) eq name && column(%d) == layers",
                 column("scheme"), column("layers"));
}

/* Returns the number of a cell's rows in curves.csv. */
static size_t curve_rows(const Study *u)
{
    return sheet_rows(u->also[0]) / u->designs;
}

/* Gives the next item the look of a line over others where column y against x of cell i is an earlier cell's. */
static void cell_over(const Study *u, Plot *p, size_t i, const char *x, const char *y)
{
    char layers[32];
    snprintf(layers, sizeof layers, "%zu", spec_size(&u->design[i].spec.own, "layers"));
    plot_over(p, "curves.csv",
              (PlotRows){column("scheme"), u->design[i].name, column("layers"), layers}, column(x),
              column(y));
}

/* Gives the last item the name and the look of cell i. */
static void cell_title(const Study *u, Plot *p, size_t i)
{
    plot_more(p, "title %s noenhanced", u->design[i].label);
    plot_style(p, runtable_look(&u->table, i));
}

/* Begins the line of cell i in curves.csv: column y against x. */
static void cell_line(const Study *u, Plot *p, size_t i, const char *x, double scale, const char *y)
{
    const StudyDesign *d = &u->design[i];
    cell_over(u, p, i, x, y);
    plot_item(p, "curves.csv", "using (is(%s, %zu) ? $%d*%g : NaN):%d", d->name,
              spec_size(&d->spec.own, "layers"), column(x), scale, column(y));
    plot_lines(p, curve_rows(u));
}

/* Draws the loss of training as a line, that of validation as points of the same colour. */
static int draw_losses(const Study *u)
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
    define_rows(p);
    for (size_t i = 0; i < u->designs; i++) {
        const StudyDesign *d = &u->design[i];
        int ppl = column("valid_ppl");
        cell_line(u, p, i, "tokens", 0.001, "train_loss");
        plot_more(p, "notitle");
        plot_style(p, runtable_look(&u->table, i));
        cell_over(u, p, i, "tokens", "valid_ppl");
        plot_item(
            p, "curves.csv",
            "using (is(%s, %zu) && valid(%d) ? $%d/1000 : NaN):(log($%d)) with points notitle",
            d->name, spec_size(&d->spec.own, "layers"), ppl, column("tokens"), ppl);
        plot_style(p, runtable_look(&u->table, i));
        plot_item(p, NULL, "keyentry with linespoints");
        plot_over_key(p);
        cell_title(u, p, i);
    }
    plot_level(p, log(u->unigram.valid), "unigram");
    if (!isnan(u->corpus.entropy_rate)) plot_level(p, u->corpus.entropy_rate, "entropy rate");
    return plot_finish(p);
}

/* Draws the norm of the gradient, before clipping, as in the ODE Transformer's figure 6. */
static int draw_gradients(const Study *u)
{
    char title[256];
    Plot *p;
    snprintf(title, sizeof title, "Norm of the gradient on %s, mean over seeds",
             plot_folder(u->corpus.name));
    PlotFrame frame = {"gradients", title, "steps", "norm of the gradient", PLOT_LOG_Y};
    TRY(plot_new(u->dir, &frame, &p));
    define_rows(p);
    for (size_t i = 0; i < u->designs; i++) {
        cell_line(u, p, i, "step", 1, "grad_norm");
        cell_title(u, p, i);
    }
    return plot_finish(p);
}

int compare_save(const Study *u)
{
    TRY(convergence_save(&compare_of(u)->orders, &u->schemes, u->dir));
    if (sheet_rows(u->also[0]) == 0) return 0;
    TRY(draw_losses(u));
    return draw_gradients(u);
}
