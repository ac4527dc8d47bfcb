/* compare_depth.c: perplexity by depth: how the gain of each scheme over the baseline changes with the number of layers.
 *
 *   log perplexity - log of the baseline's = a + slope log layers + seed + rest
 *
 * A slope of 0 means that a scheme keeps its share of the perplexity at any depth; above 0 its gain shrinks. */
#include <math.h>

#include "studies/lab/compare/compare.h"
#include "studies/base/plot/plot.h"
#include "studies/base/statistics/regression.h"
#include "studies/base/command.h"

typedef struct {
    const char *scheme, *less, *text;
    Slope slope;
    Regression fit;
    size_t levels;
    double lack;
} DepthRow;

const Column depth_columns[] = {
    COLUMN(DepthRow, scheme),
    COLUMN(DepthRow, less, .words = "the baseline, at the same depth and seed"),
    COLUMN(DepthRow, text, .words = "text of the perplexities"),
    FIELD(DepthRow, "slope", slope.estimate, .digits = 3, .low = "slope_low", .high = "slope_high",
          .words = "change of log perplexity less the baseline's, per unit of log layers"),
    FIELD(DepthRow, "error", slope.error, .digits = 2, .words = "standard error of the slope"),
    FIELD(DepthRow, "slope_low", slope.low, .digits = 3, .head = "from",
          .words = "lower end of the slope's 95 % interval (Student's t)"),
    FIELD(DepthRow, "slope_high", slope.high, .digits = 3, .head = "to",
          .words = "upper end of that interval"),
    FIELD(DepthRow, "p", slope.p, .digits = 2,
          .words = "two-sided p of the hypothesis of no slope"),
    FIELD(DepthRow, "df", fit.df, .words = "degrees of freedom: pairs of runs - seeds - 1"),
    COLUMN(DepthRow, levels, .words = "number of depths"),
    FIELD(DepthRow, "runs", fit.runs, .words = "number of pairs of runs"),
    COLUMN(DepthRow, lack, .head = "lack p", .digits = 2,
           .words = "p of the hypothesis that the depths' means lie on this line"),
    {0}};

/* Fills y (depths, seeds) with differences of the log of a perplexity, of the scheme whose designs begin at i. */
static void fill(const Study *u, size_t i, const char *column, double *y)
{
    for (size_t l = 0; l < compare_of(u)->depths; l++)
        for (size_t k = 0; k < u->seeds; k++) {
            const StudyRun *a = &u->design[i + l].run[k], *b = &u->design[u->baseline + l].run[k];
            *y++ = log(study_real(u, a, column) / study_real(u, b, column));
        }
}

/* Adds the rows of a scheme; y, x: room and the log of the depths. With too few runs there are words and no row. */
static int add_scheme(const Study *u, size_t i, double *y, const double *x, Sheet *out)
{
    static const struct {
        const char *words, *column;
    } text[] = {{"validation", "valid_ppl"}, {"test", "test_ppl"}};
    for (int k = 0; k < 2; k++) {
        DepthRow row = {.scheme = u->design[i].name,
                        .less = u->design[u->baseline].name,
                        .text = text[k].words,
                        .levels = compare_of(u)->depths};
        fill(u, i, text[k].column, y);
        int code = regression_within(y, x, row.levels, u->seeds, 1, &row.slope, &row.fit);
        if (code == ERR_ACCURACY)
            progress_note("no slope of %s by depth: %s", row.scheme, error_text());
        if (code == ERR_ACCURACY) return 0;
        TRY(code);
        TRY(regression_lack(y, x, row.levels, u->seeds, 1, &row.lack));
        sheet_row(out, &row);
    }
    return 0;
}

int compare_depth(Study *u, Sheet *out)
{
    const Compare *c = u->more;
    double x[COMPARE_DEPTHS];
    SCOPED(memory_drop) double *y = memory_new(c->depths * u->seeds, sizeof *y);
    if (!y) return ERR_MEMORY;
    for (size_t l = 0; l < c->depths; l++) x[l] = log((double)c->depth[l]);
    for (size_t i = 0; i < u->designs; i += c->depths)
        if (i != u->baseline) TRY(add_scheme(u, i, y, x, out));
    return 0;
}

int compare_open_depth(Study *u)
{
    TRY(compare_open(u));
    if (compare_of(u)->depths > 1) return 0;
    return error_set(ERR_INPUT, "--by-depth: expected several numbers of --layers");
}

int compare_save_depth(const Study *u)
{
    Plot *p;
    const Compare *c = compare_of(u);
    const int scheme = sheet_column(compare_columns, "scheme"),
              layers = sheet_column(compare_columns, "layers"),
              mean = sheet_column(compare_columns, "valid_ppl"),
              low = sheet_column(compare_columns, "valid_low"),
              high = sheet_column(compare_columns, "valid_high");
    PlotFrame frame = {"depth",
                       "Validation perplexity by depth, means over seeds with 95 % intervals",
                       "layers", "validation perplexity", PLOT_HALVINGS};
    TRY(plot_new(u->dir, &frame, &p));
    plot_setting(p, "set format x '%%g'\nset xtics ()");
    for (size_t l = 0; l < c->depths; l++) plot_setting(p, "set xtics add (%zu)", c->depth[l]);
    for (size_t i = 0; i < u->designs; i += c->depths) {
        plot_item(p, "compare.csv", "using (strcol(%d) eq %s ? $%d : NaN):%d:(0):($%d-$%d)", scheme,
                  u->design[i].name, layers, low, high, low);
        plot_interval(p, plot_colour(i / c->depths));
        plot_series(p, "compare.csv", scheme, u->design[i].name, layers, mean, u->design[i].name);
    }
    TRY(plot_finish(p));
    return compare_save(u);
}
