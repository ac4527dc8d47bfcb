/* sweep_plot.c: draws the paper's figures 2 to 6 for our words, and perplexity against area. The plots read
 * families.csv (a row for each run and family), sandwich.csv, halves.csv and runs.csv. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "studies/plot/plot.h"
#include "studies/sweep/sweep.h"

enum { BINS = 12 };

/* Returns the number of a column of families.csv. */
static int column(const char *name)
{
    return sheet_column(sweep_family_columns, name);
}

static size_t count_runs(const Study *u, int family, double *low, double *high)
{
    size_t n = 0;
    for (size_t i = 0; i < u->designs; i++) {
        const StudyDesign *d = &u->design[i];
        for (size_t k = 0; sweep_is(d->own, family) && k < d->seeds; k++) {
            double x = d->run[k].result.valid_ppl;
            if (isnan(x)) continue;
            n++;
            *low = fmin(*low, x);
            *high = fmax(*high, x);
        }
    }
    return n;
}

/* ---- figures 2 and 3: perplexities of a family beside the baseline's ------------------------------------- */

static void draw_bars(Plot *p, int family, size_t i, double width)
{
    plot_item(p, "families.csv",
              "using (strcol(%d) eq %s ? bin($%d)%+g : NaN):(1) smooth frequency with boxes title "
              "%s fs solid 0.9 noborder lc rgb %s",
              column("family"), sweep_family(family), column("valid_ppl"),
              ((double)i - 0.5) * 0.44 * width,
              family == FAMILY_INTERLEAVED ? "interleaved, by seed" : sweep_family(family),
              plot_colour((size_t)family));
}

static int draw_histogram(const Study *u, int family, const char *name, const char *title)
{
    double low = INFINITY, high = -INFINITY;
    Plot *p;
    size_t runs = count_runs(u, family, &low, &high),
           seeds = count_runs(u, FAMILY_INTERLEAVED, &low, &high);
    if (runs < 2) return 0;
    double width = high > low ? (high - low) / BINS : 1;
    PlotFrame frame = {name, title, "validation perplexity", "models", 0};
    TRY(plot_new(u->dir, &frame, &p));
    plot_setting(p, "low = %.9g\nwidth = %.9g", low, width);
    plot_setting(p, "bin(x) = low + width * (floor((x - low) / width * 0.99999 + 1e-6) + 0.5)");
    plot_setting(p, "set boxwidth 0.42 * width\nset yrange [0:*]\nset offsets 0, 0, graph 0.05, 0");
    plot_setting(p, "set xrange [%.9g:%.9g]", low - 0.6 * width, high + 0.6 * width);
    plot_setting(p, "set ytics %zu", (runs > seeds ? runs : seeds) / 12 + 1); /* whole models */
    draw_bars(p, family, 0, width);
    if (sweep_has_baseline(u)) draw_bars(p, FAMILY_INTERLEAVED, 1, width);
    return plot_finish(p);
}

/* ---- figure 4: halves -------------------------------------------------------------------------------------- */

static void draw_group(Plot *p, int better)
{
    double shift = better ? -0.19 : 0.19;
    int first = better ? 1 : 2, mean = sheet_column(sweep_half_columns, "mean");
    plot_item(p, "halves.csv",
              "every 2::%d using (floor($0)%+g):%d:(0.36) with boxes title %s fs solid 0.9 "
              "noborder lc rgb %s",
              first, shift, mean, better ? "better" : "not better", plot_colour(better ? 0 : 4));
    int low = sheet_column(sweep_half_columns, "low");
    plot_item(p, "halves.csv", "every 2::%d using (floor($0)%+g):%d:(0):($%d-$%d)", first, shift,
              low, sheet_column(sweep_half_columns, "high"), low);
    plot_interval(p, "#222222", 1.5);
}

static int draw_halves(const Study *u)
{
    double low = INFINITY, high = -INFINITY;
    Plot *p;
    size_t drawn =
        count_runs(u, FAMILY_PERMUTATION, &low, &high) + count_runs(u, FAMILY_RANDOM, &low, &high);
    if (drawn < 2 || !sweep_has_baseline(u)) return 0;
    PlotFrame frame = {
        "halves", "Sublayers in each half of words better than the interleaved mean, and of others",
        "", "sublayers (means, 95 % over words)", 0};
    TRY(plot_new(u->dir, &frame, &p));
    plot_setting(p, "set xtics ('bottom s' 0, 'bottom f' 1, 'top s' 2, 'top f' 3)");
    if (plot_narrow()) plot_setting(p, "set xtics font small");
    plot_setting(p, "set xrange [-0.6:3.6]\nset yrange [0:*]");
    draw_group(p, 1);
    draw_group(p, 0);
    return plot_finish(p);
}

/* ---- figure 5: the sandwich coefficient --------------------------------------------------------------------- */

static void draw_baseline(const Study *u, Plot *p)
{
    double low = INFINITY, high = -INFINITY;
    if (!sweep_has_baseline(u)) return;
    plot_level(p, u->table.design[u->baseline].mean[0].mean, "interleaved, mean");
    if (count_runs(u, FAMILY_INTERLEAVED, &low, &high) > 1 && high > low)
        plot_level(p, low, "best seed");
}

static int draw_sandwiches(const Study *u)
{
    double low = INFINITY, high = -INFINITY;
    Plot *p;
    if (count_runs(u, FAMILY_SANDWICH, &low, &high) < 2) return 0;
    PlotFrame frame = {"sandwich", "Sandwiches s^k (sf)^(n-k) f^k", "sandwich coefficient k",
                       "validation perplexity", 0};
    TRY(plot_new(u->dir, &frame, &p));
    plot_setting(p, "set xrange [-0.4:%zu.4]\nset xtics 0,%zu", sweep_of(u)->pairs - 1,
                 sweep_of(u)->pairs / 12 + 1);
    plot_setting(p, "set offsets 0, 0, graph 0.08, graph 0.08");
    draw_baseline(u, p);
    plot_item(p, "families.csv",
              "using (strcol(%d) eq 'sandwich' ? $%d : NaN):%d with points title 'a training' pt 6 "
              "ps 0.8 lc rgb '#777777'",
              column("family"), column("k"), column("valid_ppl"));
    plot_item(p, "sandwich.csv",
              "using %d:%d with linespoints title 'mean over seeds' lw 2 pt 7 ps 0.8 lc rgb %s",
              sheet_column(sweep_sandwich_columns, "k"),
              sheet_column(sweep_sandwich_columns, "valid_ppl"), plot_colour(FAMILY_SANDWICH));
    return plot_finish(p);
}

/* ---- figure 6: words of several seeds ------------------------------------------------------------------------ */

/* Returns the colour of the first family of a word, which is the one on top in `area`. */
static const char *family_colour(const SweepWord *w)
{
    size_t family = 0;
    while (family + 1 < FAMILIES && !sweep_is(w, (int)family)) family++;
    return plot_colour(family);
}

static int draw_seeds(const Study *u)
{
    size_t rows = 0;
    double low = INFINITY, high = -INFINITY;
    Plot *p;
    PlotFrame frame = {"seeds", "Validation perplexity by seed", "validation perplexity", "", 0};
    for (size_t i = 0; i < u->table.designs; i++) rows += u->table.design[i].mean[0].n > 1;
    if (rows < 2) return 0;
    TRY(plot_new(u->dir, &frame, &p));
    plot_setting(p, "set ytics scale 0 ()\nset yrange [%zu.6:-0.6]\nunset key", rows - 1);
    plot_setting(p, "set offsets graph 0.05, graph 0.05, 0, 0\nset grid noytics");
    for (size_t i = 0, row = 0; i < u->designs; i++) {
        const char *word = u->design[i].name;
        const Interval *valid = &u->table.design[i].mean[0];
        char name[64];
        if (valid->n < 2) continue;
        snprintf(name, sizeof name, "%.40s%s", word, strlen(word) > 40 ? "..." : "");
        plot_tic(p, row, name);
        low = fmin(low, valid->mean - valid->sd);
        high = fmax(high, valid->mean + valid->sd);
        plot_item(
            p, "runs.csv",
            "using (strcol(%d) eq %s ? $%d : NaN):(%zu) with points notitle pt 7 ps 1.2 lc rgb %s",
            sheet_column(sweep_run_columns, "word"), word,
            sheet_column(sweep_run_columns, "valid_ppl"), row, family_colour(sweep_word(u, i)));
        plot_item(p, NULL,
                  "'+' using (%.9g):(%zu) every ::::0 with points notitle pt 2 ps 2 lw 2 lc rgb "
                  "'#222222'",
                  valid->mean, row);
        row++;
    }
    if (plot_narrow()) plot_few_tics(p, high - low, 4);
    if (rows > 8) plot_taller(p, 45 * (rows - 8));
    return plot_finish(p);
}

/* ---- perplexity against area ---------------------------------------------------------------------------------- */

static int draw_areas(const Study *u)
{
    Plot *p;
    PlotFrame frame = {"area", "Validation perplexity against the signed area of a word",
                       plot_narrow() ? "signed area, positive: s first"
                                     : "signed area of [F,G], positive where s comes first",
                       "validation perplexity", 0};
    TRY(plot_new(u->dir, &frame, &p));
    plot_setting(p, "set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05");
    for (int family = FAMILIES; family-- > 0;) {
        double low = INFINITY, high = -INFINITY;
        if (count_runs(u, family, &low, &high) == 0) continue;
        plot_item(
            p, "families.csv",
            "using (strcol(%d) eq %s ? $%d : NaN):%d with points title %s pt %d ps 1.2 lc rgb %s",
            column("family"), sweep_family(family), column("area"), column("valid_ppl"),
            sweep_family(family), plot_point((size_t)family), plot_colour((size_t)family));
    }
    return plot_finish(p);
}

int sweep_plots(const Study *u)
{
    TRY(draw_histogram(u, FAMILY_PERMUTATION, "permutations",
                       "Permutations of equal counts beside the interleaved word"));
    TRY(draw_histogram(u, FAMILY_RANDOM, "random",
                       "Random words of equal parameters beside the interleaved word"));
    TRY(draw_halves(u));
    TRY(draw_sandwiches(u));
    TRY(draw_seeds(u));
    return draw_areas(u);
}
