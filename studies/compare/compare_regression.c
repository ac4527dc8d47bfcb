/* compare_regression.c: perplexity along the dial: schemes dial:S-THETA of one S and depth, S evaluations each.
 *
 *   perplexity = a + slope theta + bend |theta - 1/(S - 1)| + seed + rest
 *
 * 1/(S - 1) is where the order is 2, and the leading error goes in proportion to the distance from it (S = 2: |theta - 1|). So
 * `bend` says error, and `slope`, which levels symmetric about that point leave apart from it, displacement of the stages. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/compare/compare.h"
#include "studies/tools/plot.h"
#include "studies/tools/progress.h"
#include "studies/tools/regression.h"

enum { SLOPES = 2 };
static const char *const slope_names[SLOPES] = {"theta", "distance"};

typedef struct {
    size_t parts, layers;
    const char *text, *term;
    Slope slope;
    Regression fit;
    size_t levels;
} RegressionRow;

const Column regression_columns[] = {
    COLUMN(RegressionRow, parts, .words = "S of dial:S,THETA: evaluations of F + G a step"),
    COLUMN(RegressionRow, layers),
    COLUMN(RegressionRow, text, .words = "whose perplexity"),
    COLUMN(
        RegressionRow, term,
        .words =
            "theta: perplexity a unit of theta, the displacement of stages; distance: a unit of |theta - "
            "1/(S-1)|, which the leading error is proportional to"),
    FIELD(RegressionRow, "estimate", slope.estimate, .form = SHEET_FIXED, .digits = 2,
          .low = "estimate_low", .high = "estimate_high", .words = "perplexity a unit"),
    FIELD(RegressionRow, "error", slope.error, .form = SHEET_FIXED, .digits = 2,
          .words = "standard error of the estimate"),
    FIELD(RegressionRow, "estimate_low", slope.low, .form = SHEET_FIXED, .digits = 2,
          .head = "from", .words = "lower end of the 95 % interval (Student's t)"),
    FIELD(RegressionRow, "estimate_high", slope.high, .form = SHEET_FIXED, .digits = 2,
          .head = "to", .words = "upper end of the 95 % interval (Student's t)"),
    FIELD(RegressionRow, "p", slope.p, .digits = 2, .words = "two-sided, of no slope"),
    FIELD(RegressionRow, "df", fit.df, .words = "degrees of freedom: runs - seeds - 2"),
    FIELD(RegressionRow, "sd", fit.sd, .form = SHEET_FIXED, .digits = 2,
          .words = "standard deviation of a run about the line, its seed's part taken away"),
    COLUMN(RegressionRow, levels, .words = "thetas"),
    FIELD(RegressionRow, "runs", fit.runs, .words = "trainings"),
    {0}};

typedef struct {
    size_t parts, layers;
    double theta;
    const char *scheme;
    Interval valid, test;
} DialRow;

const Column dial_columns[] = {
    COLUMN(DialRow, parts, .words = "S of dial:S,THETA: evaluations of F + G a step"),
    COLUMN(DialRow, layers),
    COLUMN(DialRow, theta, .words = "of the dial"),
    FIELD(DialRow, "valid_ppl", valid.mean, .low = "valid_low", .high = "valid_high"),
    FIELD(DialRow, "valid_low", valid.low, .words = "lower end of its own runs' 95 % interval"),
    FIELD(DialRow, "valid_high", valid.high, .words = "upper end of its own runs' 95 % interval"),
    FIELD(DialRow, "test_ppl", test.mean, .low = "test_low", .high = "test_high"),
    FIELD(DialRow, "test_low", test.low, .words = "lower end of its own runs' 95 % interval"),
    FIELD(DialRow, "test_high", test.high, .words = "upper end of its own runs' 95 % interval"),
    COLUMN(DialRow, scheme),
    {0}};

/* S and theta of "dial:S-THETA", THETA a fraction or a decimal; 0: another name. */
static int read_dial(const char *name, size_t *parts, double *theta)
{
    char *end;
    if (strncmp(name, "dial:", 5) != 0) return 0;
    *parts = strtoul(name + 5, &end, 10);
    if (*end != '-') return 0;
    *theta = strtod(end + 1, &end);
    if (*end == '/') *theta /= strtod(end + 1, &end);
    return *end == '\0';
}

/* A level of the dial of these parts and this depth: runs of which none diverged. */
static int is_of_dial(const Compare *u, const Cell *c, size_t parts, size_t layers, double *theta)
{
    size_t S;
    return c->layers == layers && c->runs > 0 && read_dial(c->scheme->name, &S, theta) &&
           S == parts && !compare_diverged(u, c);
}

/* The same, and no cell before it is this level under another name. Levels of two dials may be one map, as theta = 0 is. */
static int is_level(const Compare *u, const Cell *c, size_t parts, size_t layers, double *theta)
{
    double other;
    for (const Cell *b = u->cell; b < c; b++)
        if (b->same == c->same && is_of_dial(u, b, parts, layers, &other)) return 0;
    return is_of_dial(u, c, parts, layers, theta);
}

static void add_point(Compare *u, const Cell *c, size_t parts, double theta)
{
    sheet_row(u->dial, &(DialRow){parts, c->layers, theta, c->scheme->name, c->valid, c->test});
}

static int fit(Compare *u, RegressionRow *row, const double *y, const double *x)
{
    Slope slope[SLOPES];
    int code = regression_within(y, x, row->levels, u->seeds, SLOPES, slope, &row->fit);
    if (code == ERR_ACCURACY) {
        progress_note("no regression of the %s text along dial:%zu: %s", row->text, row->parts,
                      error_text());
        return 0;
    }
    for (size_t k = 0; code == 0 && k < SLOPES; k++) {
        row->term = slope_names[k];
        row->slope = slope[k];
        sheet_row(u->regression, row);
    }
    return code;
}

/* One dial at one depth. x (cells, SLOPES), valid, test (cells, seeds): room. */
static int add_dial(Compare *u, size_t parts, size_t layers, double *x, double *valid, double *test)
{
    RegressionRow row = {.parts = parts, .layers = layers};
    double theta;
    for (size_t i = 0; i < u->cells; i++) {
        const Cell *c = &u->cell[i];
        if (!is_level(u, c, parts, layers, &theta)) continue;
        add_point(u, c, parts, theta);
        x[SLOPES * row.levels] = theta;
        x[SLOPES * row.levels + 1] = fabs(theta - 1 / ((double)parts - 1));
        for (size_t j = 0; j < u->seeds; j++) {
            valid[row.levels * u->seeds + j] = c->result[j].valid_ppl;
            test[row.levels * u->seeds + j] = c->result[j].test_ppl;
        }
        row.levels++;
    }
    if (row.levels < SLOPES + 1) return 0; /* nothing could contradict a line through them */
    row.text = "validation";
    TRY(fit(u, &row, valid, x));
    row.text = "test";
    return fit(u, &row, test, x);
}

/* Whether no cell before this one is a level of the same dial and depth. */
static int is_first(const Compare *u, size_t i, size_t parts)
{
    double theta;
    for (size_t j = 0; j < i; j++)
        if (is_level(u, &u->cell[j], parts, u->cell[i].layers, &theta)) return 0;
    return is_level(u, &u->cell[i], parts, u->cell[i].layers, &theta);
}

int compare_regression(Compare *u)
{
    size_t parts, runs = u->cells * u->seeds;
    double theta;
    TRY(sheet_new(dial_columns, &u->dial));
    TRY(sheet_new(regression_columns, &u->regression));
    double *room = memory_new(SLOPES * u->cells + 2 * runs, sizeof *room);
    int code = room ? 0 : ERR_MEMORY;
    for (size_t i = 0; code == 0 && i < u->cells; i++)
        if (read_dial(u->cell[i].scheme->name, &parts, &theta) && parts > 1 &&
            is_first(u, i, parts))
            code = add_dial(u, parts, u->cell[i].layers, room, room + SLOPES * u->cells,
                            room + SLOPES * u->cells + runs);
    memory_free(room);
    return code;
}

/* ---- what is shown ------------------------------------------------------------------------------------ */

int compare_regression_show(const Compare *u, int form, FILE *f)
{
    if (sheet_rows(u->regression) == 0) return 0;
    fprintf(
        f,
        "\nAlong dial:S,THETA, at equal evaluations, parameters and depth: perplexity = a + slope theta + bend "
        "|theta -\n1/(S-1)| + seed, 95 %% intervals (Student's t). distance, |theta - 1/(S-1)|, is what the "
        "leading error is\nproportional to; theta is the displacement of the stages.\n\n");
    return sheet_write(u->regression, form, f);
}

int compare_regression_save(const Compare *u)
{
    if (sheet_rows(u->dial) == 0) return 0;
    TRY(output_sheet(u->dial, SHEET_CSV, u->dir, "dial.csv"));
    if (sheet_rows(u->regression) == 0) return 0;
    TRY(output_sheet(u->regression, SHEET_CSV, u->dir, "regression.csv"));
    return output_sheet(u->regression, SHEET_LATEX, u->dir, "regression.tex");
}

/* The levels of one dial and depth, and the intervals of their own runs. */
static void draw_dial(const Compare *u, Plot *p, size_t parts, size_t layers, size_t style)
{
    char title[64];
    int S = sheet_column(dial_columns, "parts"), L = sheet_column(dial_columns, "layers"),
        theta = sheet_column(dial_columns, "theta"), ppl = sheet_column(dial_columns, "valid_ppl"),
        low = sheet_column(dial_columns, "valid_low"),
        high = sheet_column(dial_columns, "valid_high");
    snprintf(title, sizeof title, u->depths > 1 ? "S = %zu, %zu layers" : "S = %zu", parts, layers);
    plot_item(p, "dial.csv", "using ($%d == %zu && $%d == %zu ? $%d : NaN):%d:(0):($%d-$%d)", S,
              parts, L, layers, theta, low, high, low);
    plot_interval(p, plot_colour(style), 1.5);
    plot_item(p, "dial.csv",
              "using ($%d == %zu && $%d == %zu ? $%d : NaN):%d with points title %s noenhanced", S,
              parts, L, layers, theta, ppl, title);
    plot_style(p, style);
}

int compare_regression_plot(const Compare *u)
{
    char title[256];
    size_t parts, style = 0;
    double theta;
    Plot *p;
    if (sheet_rows(u->dial) == 0) return 0;
    snprintf(title, sizeof title, "Validation perplexity along the dial%s",
             u->seeds == 1 ? "" : ", 95 % intervals over seeds");
    PlotFrame frame = {"dial", title, "theta", "validation perplexity", 0};
    TRY(plot_new(u->dir, &frame, &p));
    plot_key_title(p, "dial:S,THETA");
    if (u->seeds > 1)
        plot_note(
            p, "what a seed does to all levels is in these intervals, and not in the regression");
    plot_setting(p, "set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05");
    for (size_t i = 0; i < u->cells; i++)
        if (read_dial(u->cell[i].scheme->name, &parts, &theta) && parts > 1 &&
            is_first(u, i, parts))
            draw_dial(u, p, parts, u->cell[i].layers, style++);
    return plot_finish(p);
}
