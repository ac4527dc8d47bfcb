/* compare_regression.c: computes the regression of perplexity along the dial: schemes dial:S-THETA of one S and depth,
 * S evaluations each.
 *
 *   perplexity = a + slope theta + bend |theta - 1/(S - 1)| + seed + rest
 *
 * At theta = 1/(S - 1) the order is 2, and the leading error is proportional to the distance from it (S = 2:
 * |theta - 1|). So `bend` measures the effect of the error, and `slope` that of the displacement of the stages; levels
 * symmetric about that point separate the two. One more regression is the same one for the logarithm of the measured
 * truncation error in place of perplexity. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/compare/compare.h"
#include "studies/plot/plot.h"
#include "studies/statistics/regression.h"
#include "studies/tools/command.h"

enum { SLOPES = 2 };
static const char *const slope_names[SLOPES] = {"theta", "distance"};

typedef struct {
    size_t parts, layers;
    const char *text, *term;
    Slope slope;
    Regression fit;
    size_t levels;
    double least, lack;
} RegressionRow;

const Column regression_columns[] = {
    COLUMN(RegressionRow, parts, .words = "S of dial:S,THETA: evaluations of F + G per step"),
    COLUMN(RegressionRow, layers),
    COLUMN(RegressionRow, least, .digits = 3, .head = "from theta",
           .words = "least theta of the levels that are fitted: all, then those from 1/S on"),
    COLUMN(
        RegressionRow, text,
        .words =
            "text whose perplexity is fitted; error: the fit is of the logarithm of the truncation "
            "error"),
    COLUMN(
        RegressionRow, term,
        .words =
            "theta: perplexity per unit of theta, the displacement of stages; distance: per unit "
            "of |theta - 1/(S-1)|, to which the leading error is proportional"),
    FIELD(RegressionRow, "estimate", slope.estimate, .form = SHEET_FIXED, .digits = 2,
          .low = "estimate_low", .high = "estimate_high",
          .words = "perplexity, or logarithm of the error, per unit"),
    FIELD(RegressionRow, "error", slope.error, .form = SHEET_FIXED, .digits = 2,
          .words = "standard error of the estimate"),
    FIELD(RegressionRow, "estimate_low", slope.low, .form = SHEET_FIXED, .digits = 2,
          .head = "from", .words = "lower end of the 95 % interval (Student's t)"),
    FIELD(RegressionRow, "estimate_high", slope.high, .form = SHEET_FIXED, .digits = 2,
          .head = "to", .words = "upper end of the 95 % interval (Student's t)"),
    FIELD(RegressionRow, "p", slope.p, .digits = 2,
          .words = "two-sided p of the hypothesis of no slope"),
    FIELD(RegressionRow, "df", fit.df, .words = "degrees of freedom: runs - seeds - 2"),
    FIELD(RegressionRow, "sd", fit.sd, .form = SHEET_FIXED, .digits = 2,
          .words = "standard deviation of the runs about the line, without the effect of seeds"),
    COLUMN(RegressionRow, levels, .words = "number of thetas"),
    FIELD(RegressionRow, "runs", fit.runs, .words = "number of trainings"),
    COLUMN(RegressionRow, lack, .head = "lack p", .digits = 2,
           .words =
               "p of the hypothesis that the levels' means lie on this line (F test of lack of "
               "fit); where it is small they do not, and the slopes say less than the levels"),
    {0}};

typedef struct {
    size_t parts, layers;
    double theta;
    const char *scheme;
    Interval valid, test, error;
} DialRow;

const Column dial_columns[] = {
    COLUMN(DialRow, parts, .words = "S of dial:S,THETA: evaluations of F + G per step"),
    COLUMN(DialRow, layers),
    COLUMN(DialRow, theta, .words = "theta of the dial"),
    FIELD(DialRow, "valid_ppl", valid.mean, .low = "valid_low", .high = "valid_high"),
    FIELD(DialRow, "valid_low", valid.low,
          .words = "lower end of the 95 % interval of these runs alone"),
    FIELD(DialRow, "valid_high", valid.high,
          .words = "upper end of the 95 % interval of these runs alone"),
    FIELD(DialRow, "test_ppl", test.mean, .low = "test_low", .high = "test_high"),
    FIELD(DialRow, "test_low", test.low,
          .words = "lower end of the 95 % interval of these runs alone"),
    FIELD(DialRow, "test_high", test.high,
          .words = "upper end of the 95 % interval of these runs alone"),
    FIELD(DialRow, "truncation", error.mean, .digits = 3, .low = "truncation_low",
          .high = "truncation_high", .words = "truncation error of the network's own step"),
    FIELD(DialRow, "truncation_low", error.low, .words = STATISTICS_POSITIVE_LOW),
    FIELD(DialRow, "truncation_high", error.high),
    COLUMN(DialRow, scheme),
    {0}};

/* Reads S and theta of "dial:S-THETA"; returns 0 for another name. */
static int read_dial(const char *name, size_t *parts, double *theta)
{
    Dial d;
    if (!zoo_dial(name, &d)) return 0;
    *parts = d.S;
    *theta = (double)d.p / (double)d.q;
    return 1;
}

/* Returns 1 for a level of the dial of these parts and this depth that has runs, none of which diverged. */
static int is_of_dial(const Study *u, const StudyDesign *c, size_t parts, size_t layers,
                      double *theta)
{
    size_t S;
    return c->spec.layers == layers && study_design(u, (size_t)(c - u->design))->mean[0].n > 0 &&
           read_dial(c->name, &S, theta) && S == parts && !study_diverged(u, c);
}

/* Returns 1 for such a level if no cell before it is the same level under another name. Levels of two dials may be one
 * map, as with theta = 0. */
static int is_level(const Study *u, const StudyDesign *c, size_t parts, size_t layers,
                    double *theta)
{
    double other;
    for (const StudyDesign *b = u->design; b < c; b++)
        if (b->same == c->same && is_of_dial(u, b, parts, layers, &other)) return 0;
    return is_of_dial(u, c, parts, layers, theta);
}

static Interval errors_of(const Study *u, const StudyDesign *c)
{
    enum { STEP = sizeof(StudyRun) / sizeof(double) };
    (void)u;
    return statistics_positive(&c->run->value[study_value_at("truncation")], STEP, c->seeds);
}

static void add_point(const Study *u, const StudyDesign *c, size_t parts, double theta, Sheet *out)
{
    const Interval *mean = study_design(u, (size_t)(c - u->design))->mean;
    sheet_row(out,
              &(DialRow){parts, c->spec.layers, theta, c->name, mean[0], mean[1], errors_of(u, c)});
}

enum { VALID, TEST, ERRORS, TEXTS };
static const char *const texts[TEXTS] = {"validation", "test", "error"};

/* The levels of one dial: x (levels, SLOPES), theta and the distance; y (levels, seeds) of each text, NaN: no run; of errors
 * the logarithm. */
typedef struct {
    double *x, *y[TEXTS];
    Sheet *out;
} Levels;

/* Finds the levels from `least` on; returns their number. */
static size_t find_levels(const Study *u, size_t parts, size_t layers, double least,
                          const Levels *l)
{
    size_t n = 0;
    double theta;
    for (size_t i = 0; i < u->designs; i++) {
        const StudyDesign *c = &u->design[i];
        if (!is_level(u, c, parts, layers, &theta) || theta < least) continue;
        l->x[SLOPES * n] = theta;
        l->x[SLOPES * n + 1] = fabs(theta - 1 / ((double)parts - 1));
        for (size_t j = 0, at = n * u->seeds; j < u->seeds; j++, at++) {
            double error = c->run[j].value[study_value_at("truncation")];
            l->y[VALID][at] = c->run[j].result.valid_ppl;
            l->y[TEST][at] = c->run[j].result.test_ppl;
            l->y[ERRORS][at] = error > 0 ? log(error) : NAN;
        }
        n++;
    }
    return n;
}

/* Adds the rows of a text's slopes; with too few runs it prints words and adds no row. */
static int add_slopes(const Study *u, RegressionRow row, int text, const Levels *l)
{
    Slope slope[SLOPES];
    const double *y = l->y[text];
    row.text = texts[text];
    int code = regression_within(y, l->x, row.levels, u->seeds, SLOPES, slope, &row.fit);
    if (code == 0) code = regression_lack(y, l->x, row.levels, u->seeds, SLOPES, &row.lack);
    if (code == ERR_ACCURACY) {
        progress_note("no regression of the %s along dial:%zu: %s", row.text, row.parts,
                      error_text());
        return 0;
    }
    for (size_t k = 0; code == 0 && k < SLOPES; k++) {
        row.term = slope_names[k];
        row.slope = slope[k];
        sheet_row(l->out, &row);
    }
    return code;
}

/* Adds the rows of these levels. */
static int add_levels(const Study *u, RegressionRow row, const Levels *l)
{
    size_t measured = 0;
    if (row.levels < SLOPES + 1) return 0; /* nothing could contradict a line through them */
    row.least = INFINITY;
    for (size_t i = 0; i < row.levels; i++) row.least = fmin(row.least, l->x[SLOPES * i]);
    for (size_t k = 0; k < row.levels * u->seeds; k++)
        if (!isnan(l->y[ERRORS][k])) measured++;
    for (int text = 0; text < (measured ? TEXTS : ERRORS); text++) TRY(add_slopes(u, row, text, l));
    return 0;
}

/* Adds the rows of one dial at one depth: for all its levels and, where there are levels below 1/S, for those from
 * there on. */
static int add_dial(const Study *u, size_t parts, size_t layers, const Levels *l)
{
    RegressionRow row = {.parts = parts, .layers = layers, .lack = NAN};
    size_t all = row.levels = find_levels(u, parts, layers, -INFINITY, l);
    TRY(add_levels(u, row, l));
    row.levels = find_levels(u, parts, layers, (1 - 1e-9) / (double)parts, l);
    return row.levels < all ? add_levels(u, row, l) : 0;
}

/* Returns 1 where design i is the first level of its dial and depth. */
static int is_first(const Study *u, size_t i, size_t *parts)
{
    double theta;
    if (!read_dial(u->design[i].name, parts, &theta) || *parts < 2) return 0;
    for (size_t j = 0; j < i; j++)
        if (is_level(u, &u->design[j], *parts, u->design[i].spec.layers, &theta)) return 0;
    return is_level(u, &u->design[i], *parts, u->design[i].spec.layers, &theta);
}

int compare_dial(Study *u, Column **own, Sheet **out)
{
    size_t parts;
    double theta;
    (void)own;
    TRY(sheet_new(dial_columns, out));
    for (size_t i = 0; i < u->designs; i++)
        for (size_t j = i; is_first(u, i, &parts) && j < u->designs; j++)
            if (is_level(u, &u->design[j], parts, u->design[i].spec.layers, &theta))
                add_point(u, &u->design[j], parts, theta, *out);
    return 0;
}

int compare_regression(Study *u, Column **own, Sheet **out)
{
    size_t parts;
    (void)own;
    TRY(sheet_new(regression_columns, out));
    double *room = memory_new((SLOPES + TEXTS * u->seeds) * u->designs, sizeof *room);
    int code = room ? 0 : ERR_MEMORY;
    Levels l = {.x = room, .out = *out};
    for (size_t t = 0; code == 0 && t < TEXTS; t++)
        l.y[t] = room + (SLOPES + t * u->seeds) * u->designs;
    for (size_t i = 0; code == 0 && i < u->designs; i++)
        if (is_first(u, i, &parts)) code = add_dial(u, parts, u->design[i].spec.layers, &l);
    memory_free(room);
    return code;
}

/* ---- what is shown ------------------------------------------------------------------------------------ */

int compare_regression_show(const Study *u, int form, FILE *f)
{
    const Sheet *s = study_sheet(u, "regression");
    if (sheet_rows(s) == 0) return 0;
    fprintf(
        f,
        "\nAlong dial:S,THETA, at equal evaluations, parameters and depth, the fit is perplexity = a + slope\n"
        "theta + bend |theta - 1/(S-1)| + seed, with 95 %% intervals (Student's t). theta is the displacement\n"
        "of the stages; the leading error is proportional to distance, |theta - 1/(S-1)|. Where truncation\n"
        "errors were measured, rows with text error fit their logarithm in the same way. Where lack p is small, the levels do not lie on the line. Below 1/S,\n"
        "steps are shorter than those of S Euler steps; where there are such levels, rows for all levels come\n"
        "first, then rows for those from 1/S on (from theta).\n\n");
    return sheet_write(s, form, f);
}

/* A plot, with the columns of dial.csv that it shows against theta. */
typedef struct {
    PlotFrame frame;
    const char *mean, *low, *high;
} DialPlot;

static const DialPlot plots[] = {
    {{"dial", "Validation perplexity along the dial", "theta", "validation perplexity", 0},
     "valid_ppl",
     "valid_low",
     "valid_high"},
    {{"dial-error", "Truncation error along the dial", "theta", "error / displacement at h = 1",
      PLOT_LOG_Y},
     "truncation",
     "truncation_low",
     "truncation_high"}};

/* Draws the levels of one dial and depth, and the intervals of their own runs. */
static void draw_dial(const Study *u, const DialPlot *d, Plot *p, size_t parts, size_t layers,
                      size_t style)
{
    char title[64];
    int S = sheet_column(dial_columns, "parts"), L = sheet_column(dial_columns, "layers"),
        theta = sheet_column(dial_columns, "theta"), mean = sheet_column(dial_columns, d->mean),
        low = sheet_column(dial_columns, d->low), high = sheet_column(dial_columns, d->high);
    snprintf(title, sizeof title, compare_of(u)->depths > 1 ? "S = %zu, %zu layers" : "S = %zu",
             parts, layers);
    plot_item(p, "dial.csv", "using ($%d == %zu && $%d == %zu ? $%d : NaN):%d:(0):($%d-$%d)", S,
              parts, L, layers, theta, low, high, low);
    plot_interval(p, plot_colour(style), 1.5);
    plot_item(p, "dial.csv",
              "using ($%d == %zu && $%d == %zu ? $%d : NaN):%d with points title %s noenhanced", S,
              parts, L, layers, theta, mean, title);
    plot_style(p, style);
}

static int draw(const Study *u, const DialPlot *d)
{
    char title[256];
    size_t parts, style = 0;
    Plot *p;
    PlotFrame frame = d->frame;
    snprintf(title, sizeof title, "%s%s", frame.title,
             u->seeds == 1 ? "" : ", 95 % intervals over seeds");
    frame.title = title;
    TRY(plot_new(u->dir, &frame, &p));
    plot_key_title(p, "dial:S,THETA");
    if (u->seeds > 1)
        plot_note(
            p,
            "these intervals hold the effect of a seed on all levels; the regression leaves it out");
    plot_setting(
        p, "set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05\nset xrange [*:*] noextend");
    for (size_t i = 0; i < u->designs; i++)
        if (is_first(u, i, &parts)) draw_dial(u, d, p, parts, u->design[i].spec.layers, style++);
    return plot_finish(p);
}

static int any_error(const Study *u)
{
    double theta;
    size_t parts;
    for (size_t i = 0; i < u->designs; i++)
        if (read_dial(u->design[i].name, &parts, &theta) && parts > 1 &&
            errors_of(u, &u->design[i]).mean > 0)
            return 1;
    return 0;
}

int compare_regression_plot(const Study *u)
{
    if (sheet_rows(study_sheet(u, "dial")) == 0) return 0;
    TRY(draw(u, &plots[0]));
    return any_error(u) ? draw(u, &plots[1]) : 0;
}
