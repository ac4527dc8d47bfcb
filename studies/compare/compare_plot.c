/* compare_plot.c: draws losses, norms of gradients, and perplexity against what it may depend on. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/compare/compare.h"
#include "studies/model/network.h"
#include "studies/plot/plot.h"
#include "studies/tools/command.h"

/* ---- curves over the steps ------------------------------------------------------------------- */

/* Defines is(name, layers), which is 1 for a row of a file that is that cell's. */
static void define_rows(Plot *p, const Column *list)
{
    plot_setting(p, "is(name, layers) = strcol(%d) eq name && column(%d) == layers",
                 sheet_column(list, "scheme"), sheet_column(list, "layers"));
}

/* Returns the look of cell i in every plot: its scheme's colour and mark. A further depth has that colour with another
 * dash and another mark. */
static size_t cell_style(const Study *u, size_t i)
{
    const StudyDesign *d = &u->design[i];
    const Compare *c = compare_of(u);
    size_t depth = 0;
    while (depth + 1 < c->depths && c->depth[depth] != d->spec.layers) depth++;
    return plot_again(((const CompareDesign *)d->own)->index, u->schemes.count, depth);
}

/* Returns the number of a cell's rows in curves.csv. */
static size_t curve_rows(const Study *u)
{
    return sheet_rows(study_sheet(u, "curves")) / u->designs;
}

/* Gives the next item the look of a line over others where column y against x of cell i in FILE is an earlier cell's. */
static void cell_over(const Study *u, Plot *p, size_t i, const char *file, const Column *list,
                      const char *x, const char *y)
{
    char layers[32];
    snprintf(layers, sizeof layers, "%zu", u->design[i].spec.layers);
    plot_over(p, file,
              (PlotRows){sheet_column(list, "scheme"), u->design[i].name,
                         sheet_column(list, "layers"), layers},
              sheet_column(list, x), sheet_column(list, y));
}

/* Gives the last item the name and the look of cell i. */
static void cell_title(const Study *u, Plot *p, size_t i)
{
    plot_more(p, "title %s noenhanced", u->design[i].label);
    plot_style(p, cell_style(u, i));
}

/* Begins the line of cell i in curves.csv: column y against x. */
static void cell_line(const Study *u, Plot *p, size_t i, const char *x, double scale, const char *y)
{
    const StudyDesign *d = &u->design[i];
    cell_over(u, p, i, "curves.csv", curve_columns, x, y);
    plot_item(p, "curves.csv", "using (is(%s, %zu) ? $%d*%g : NaN):%d", d->name, d->spec.layers,
              sheet_column(curve_columns, x), scale, sheet_column(curve_columns, y));
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
    plot_setting(p, "set xrange [0:*]");
    define_rows(p, curve_columns);
    for (size_t i = 0; i < u->designs; i++) {
        const StudyDesign *d = &u->design[i];
        int ppl = sheet_column(curve_columns, "valid_ppl");
        cell_line(u, p, i, "tokens", 0.001, "train_loss");
        plot_more(p, "notitle");
        plot_style(p, cell_style(u, i));
        cell_over(u, p, i, "curves.csv", curve_columns, "tokens", "valid_ppl");
        plot_item(
            p, "curves.csv",
            "using (is(%s, %zu) && valid(%d) ? $%d/1000 : NaN):(log($%d)) with points notitle",
            d->name, d->spec.layers, ppl, sheet_column(curve_columns, "tokens"), ppl);
        plot_style(p, cell_style(u, i));
        plot_item(p, NULL, "keyentry with linespoints");
        plot_over_key(p);
        cell_title(u, p, i);
    }
    plot_level(p, log(u->unigram.valid), "unigram");
    if (!isnan(u->corpus.entropy_rate)) plot_level(p, u->corpus.entropy_rate, "entropy rate");
    return plot_finish(p);
}

/* Draws validation perplexity after every epoch, which shows whether each cell has reached its best. */
static int draw_epochs(const Study *u)
{
    char title[256];
    Plot *p;
    snprintf(title, sizeof title, "Validation perplexity on %s after every epoch, mean over seeds",
             plot_folder(u->corpus.name));
    PlotFrame frame = {"epochs", title, "epoch", "validation perplexity", PLOT_LOG_Y};
    TRY(plot_new(u->dir, &frame, &p));
    define_rows(p, epoch_columns);
    plot_setting(p, "set offsets 0.2, 0.2, 0, 0");
    plot_count(p, compare_of(u)->last_epoch);
    for (size_t i = 0; i < u->designs; i++) {
        const StudyDesign *d = &u->design[i];
        cell_over(u, p, i, "epochs.csv", epoch_columns, "epoch", "valid_ppl");
        plot_item(p, "epochs.csv", "using (is(%s, %zu) ? $%d : NaN):%d with linespoints", d->name,
                  d->spec.layers, sheet_column(epoch_columns, "epoch"),
                  sheet_column(epoch_columns, "valid_ppl"));
        cell_title(u, p, i);
    }
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
    define_rows(p, curve_columns);
    plot_setting(p, "set xrange [0:*]");
    for (size_t i = 0; i < u->designs; i++) {
        cell_line(u, p, i, "step", 1, "grad_norm");
        cell_title(u, p, i);
    }
    return plot_finish(p);
}

/* ---- perplexity against ... ------------------------------------------------------------------ */

static size_t evaluations(const StudyDesign *d)
{
    return table_evals(d->spec.scheme, OP_F) + table_evals(d->spec.scheme, OP_G);
}

static int column(const char *name)
{
    return sheet_column(compare_columns, name);
}

static void scatter_title(const Study *u, const char *what, char title[128])
{
    snprintf(title, 128, "Validation perplexity %s%s", what,
             u->seeds == 1 ? "" : ", 95 % intervals over seeds");
}

/* Draws the intervals of a cell. That of the error across, on its logarithmic axis, is from x exp(-r) to x exp(r),
 * where r is its half width over x (the interval of log x by the delta method). Its ends are positive where x - r x is
 * not. */
static void draw_intervals(const Study *u, Plot *p, size_t i)
{
    int x = column("truncation"), end = column("truncation_high"), low = column("valid_low");
    plot_item(p, "compare.csv", "every ::%zu::%zu using %d:%d:(0):($%d-$%d)", i + 1, i + 1, x, low,
              column("valid_high"), low);
    plot_interval(p, plot_colour(cell_style(u, i)), 1.5);
    if (u->seeds == 1) return;
    plot_item(p, "compare.csv",
              "every ::%zu::%zu using ($%d*exp(-part($%d,$%d))):%d:(2*$%d*sinh(part($%d,$%d))):(0)",
              i + 1, i + 1, x, x, end, column("valid_ppl"), x, x, end);
    plot_interval(p, plot_colour(cell_style(u, i)), 1.5);
}

/* Draws a point, with its name and evaluations in the key. Sizes differ, so that points in one place show. */
static void draw_point(const Study *u, Plot *p, size_t i)
{
    char words[STUDY_NAME + 32];
    snprintf(words, sizeof words, "%s (%zu)", u->design[i].label, evaluations(&u->design[i]));
    plot_item(p, "compare.csv",
              "every ::%zu::%zu using %d:%d with points title %s noenhanced pt %d ps %.3g lc rgb "
              "%s lw 1.5",
              i + 1, i + 1, column("truncation"), column("valid_ppl"), words,
              plot_point(cell_style(u, i)), 1.9 - 0.3 * (double)(i % 4),
              plot_colour(cell_style(u, i)));
}

static int any_error(const Study *u)
{
    for (size_t i = 0; i < u->designs; i++)
        if (runtable_value(&u->table, i, "truncation").x > 0) return 1;
    return 0;
}

static int draw_against_truncation(const Study *u)
{
    Plot *p;
    char title[128];
    if (!any_error(u)) return 0;
    scatter_title(u, "against truncation error", title);
    PlotFrame frame = {"truncation", title, "truncation error at h = 1 / exact displacement",
                       "validation perplexity", PLOT_LOG_X};
    TRY(plot_new(u->dir, &frame, &p));
    plot_key_title(p, "scheme (evaluations)");
    plot_setting(p, "set offsets 0, 0, graph 0.05, graph 0.05\n"
                    "set yrange [0<*:*]\n" /* no perplexity is below 0 */
                    "part(x, high) = high / x - 1");
    for (size_t i = 0; i < u->designs; i++) draw_intervals(u, p, i);
    for (size_t i = 0; i < u->designs; i++) draw_point(u, p, i);
    return plot_finish(p);
}

/* Returns 1 where cell i stands above cell j: fewer evaluations, or as many and a lower perplexity. */
static int is_above(const Study *u, size_t i, size_t j)
{
    size_t a = evaluations(&u->design[i]), b = evaluations(&u->design[j]);
    if (a != b) return a < b;
    return study_design(u, i)->mean[0].mean < study_design(u, j)->mean[0].mean;
}

/* Draws a cell's row: its name, its interval and its mean. */
static void draw_row(const Study *u, Plot *p, size_t i, size_t row)
{
    int low = column("valid_low");
    plot_tic(p, row, u->design[i].label);
    plot_item(p, "compare.csv", "every ::%zu::%zu using %d:(%zu):($%d-$%d):(0)", i + 1, i + 1, low,
              row, column("valid_high"), low);
    plot_interval(p, plot_colour(cell_style(u, i)), 1.5);
    plot_item(p, "compare.csv", "every ::%zu::%zu using %d:(%zu) with points notitle", i + 1, i + 1,
              column("valid_ppl"), row);
    plot_style(p, cell_style(u, i));
}

/* Puts a heading into its row, and a line above it. */
static void draw_heading(Plot *p, size_t evals, size_t row)
{
    char words[64];
    snprintf(words, sizeof words, "%zu evaluation%s%s", evals, evals == 1 ? "" : "s",
             plot_narrow() ? "" : " of F and G a layer");
    plot_setting(p,
                 "set label %s at graph 0.01, first %zu left noenhanced font small textcolor rgb "
                 "'#555555'",
                 words, row);
    if (row > 0)
        plot_setting(
            p,
            "set arrow from graph 0, first %zu.5 to graph 1, first %zu.5 nohead back lc rgb '#aaaaaa'",
            row - 1, row - 1);
}

/* Draws the cells, from the top down, a row each; those of as many evaluations stand under a heading. */
static int draw_rows(const Study *u, const size_t *order)
{
    Plot *p;
    char title[128];
    size_t row = 0, before = 0;
    double from = INFINITY, to = 0; /* fmin and fmax leave out NaN: one run has no interval */
    scatter_title(u, "by evaluations", title);
    PlotFrame frame = {"evaluations", title, "validation perplexity", "", 0};
    TRY(plot_new(u->dir, &frame, &p));
    plot_setting(p, "unset key\nset grid noytics\nset ytics scale 0 ()\nset xrange [0<*:*]\n"
                    "set offsets graph 0.05, graph 0.05, 0, 0");
    for (size_t k = 0; k < u->designs; k++) {
        size_t evals = evaluations(&u->design[order[k]]);
        if (k == 0 || evals != before) draw_heading(p, evals, row++);
        draw_row(u, p, order[k], row++);
        from = fmin(from, fmin(study_design(u, k)->mean[0].low, study_design(u, k)->mean[0].mean));
        to = fmax(to, fmax(study_design(u, k)->mean[0].high, study_design(u, k)->mean[0].mean));
        before = evals;
    }
    plot_setting(p, "set yrange [%zu.5:-0.5]", row - 1);
    if (plot_narrow()) plot_few_tics(p, to - from, 4);
    if (row > 15) plot_taller(p, 26 * (row - 15));
    return plot_finish(p);
}

static int draw_by_evaluations(const Study *u)
{
    size_t *order = memory_new(u->designs, sizeof *order);
    if (!order) return ERR_MEMORY;
    for (size_t i = 0, k; i < u->designs; i++) {
        for (k = i; k > 0 && is_above(u, i, order[k - 1]); k--) order[k] = order[k - 1];
        order[k] = i;
    }
    int code = draw_rows(u, order);
    memory_free(order);
    return code;
}

int compare_save(const Study *u)
{
    TRY(convergence_save(&compare_of(u)->orders, &u->schemes, u->dir));
    if (sheet_rows(study_sheet(u, "epochs"))) TRY(draw_epochs(u));
    if (sheet_rows(study_sheet(u, "curves"))) {
        TRY(draw_losses(u));
        TRY(draw_gradients(u));
    }
    TRY(draw_by_evaluations(u));
    return draw_against_truncation(u);
}
