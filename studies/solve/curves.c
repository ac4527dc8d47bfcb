/* curves.c: the logs of several trainings over each other: training loss and validation perplexity against steps. */
#include <math.h>
#include <string.h>

#include "studies/solve/order.h"
#include "studies/base/plot/plot.h"
#include "studies/base/command.h"

enum { PART = 480, LOGS_MAX = 100 };

typedef struct {
    const Options *options;
    int masked;           /* 1: the logs are of masked words */
    size_t common, count; /* bytes that all paths begin with; logs */
    char name[LOGS_MAX][PART];
    Sheet *points, *last;
} Curves;

/* Columns of text follow the numbers, as plot_numbered needs. */
typedef struct {
    size_t line;
    double step, epoch, train_loss, valid_ppl;
    const char *name;
} CurveRow;

const Column log_curve_columns[] = {
    COLUMN(CurveRow, line, .words = "number of the line in the plots"),
    COLUMN(CurveRow, step),
    COLUMN(CurveRow, epoch),
    COLUMN(CurveRow, train_loss, .words = "mean since the last row, in nats"),
    COLUMN(CurveRow, valid_ppl, .words = "validation perplexity; empty: not known at this step"),
    COLUMN(CurveRow, name, .words = "the folder or file of the log"),
    {0}};

typedef struct {
    const char *name;
    double step, epoch, train_loss, valid_ppl, best_ppl, best_step;
} LastRow;

static const Column last_columns[] = {
    COLUMN(LastRow, name),
    COLUMN(LastRow, step, .words = "the last step"),
    COLUMN(LastRow, epoch),
    COLUMN(LastRow, train_loss, .digits = 4, .words = "mean since the row before, in nats"),
    COLUMN(LastRow, valid_ppl, .digits = 5, .words = "the last validation perplexity"),
    COLUMN(LastRow, best_ppl, .digits = 5, .words = "the least one"),
    COLUMN(LastRow, best_step, .words = "the step of the least one"),
    {0}};

int curves_are(const Frame *c)
{
    return frame_column(c, "step") >= 0 && frame_column(c, "train_loss") >= 0;
}

/* Names a log by its folder, else by its file, behind what all paths begin with. */
static void name_log(const char *path, size_t common, char *name)
{
    static const char usual[] = "/log.csv";
    char cut[PART];
    size_t n = strlen(path), tail = sizeof usual - 1;
    int folder = n > tail && strcmp(path + n - tail, usual) == 0;
    snprintf(cut, sizeof cut, "%.*s", folder ? (int)(n - tail) : (int)n, path);
    plot_text(common < strlen(cut) ? cut + common : plot_folder(cut), name, PART);
}

static int read_number(const Frame *c, size_t row, const char *column, double *out)
{
    int k = frame_column(c, column);
    *out = NAN;
    return k < 0 ? 0 : frame_number(c, row, k, out);
}

/* Returns ERR_INPUT where a log is of masked words and the first is not, or the other way round. */
static int check_objective(Curves *v, const Frame *c)
{
    int masked = c->rows > 0 && strcmp(frame_text(c, 0, "objective"), "masked") == 0;
    if (v->count == 0) v->masked = masked;
    if (masked == v->masked) return 0;
    return error_set(
        ERR_INPUT,
        "%s is of %s words and %s is not: their perplexities do not compare: plot them "
        "apart",
        c->file, masked ? "masked" : "next", options_item(v->options, "file", 0));
}

static int add_log(Curves *v, const Frame *c)
{
    const char *name = v->name[v->count];
    LastRow end = {name, NAN, NAN, NAN, NAN, NAN, NAN};
    for (size_t i = 0; i < c->rows; i++) {
        CurveRow r = {.line = v->count + 1, .name = name};
        TRY(read_number(c, i, "step", &r.step));
        TRY(read_number(c, i, "epoch", &r.epoch));
        TRY(read_number(c, i, "train_loss", &r.train_loss));
        TRY(read_number(c, i, "valid_ppl", &r.valid_ppl));
        sheet_row(v->points, &r);
        end.step = r.step, end.epoch = r.epoch, end.train_loss = r.train_loss;
        if (isnan(r.valid_ppl)) continue;
        end.valid_ppl = r.valid_ppl;
        if (!(r.valid_ppl >= end.best_ppl)) end.best_ppl = r.valid_ppl, end.best_step = r.step;
    }
    sheet_row(v->last, &end);
    return 0;
}

static int add_logs(Curves *v)
{
    for (const char *file; (file = options_item(v->options, "file", v->count)); v->count++) {
        SCOPED(frame_close) Frame c = {0};
        if (v->count == LOGS_MAX) return error_set(ERR_INPUT, "expected at most %d logs", LOGS_MAX);
        name_log(file, v->common, v->name[v->count]);
        TRY(frame_read(&c, file));
        if (!curves_are(&c))
            return error_set(ERR_INPUT,
                             "%s:1: expected columns step and train_loss: the log.csv of a "
                             "training is laid over other logs alone",
                             file);
        TRY(check_objective(v, &c));
        TRY(add_log(v, &c));
    }
    return 0;
}

static int draw_loss(const Curves *v, const char *dir)
{
    PlotFrame frame = {"curves-loss", "Training loss", "step", "nats a token", 0};
    Plot *p;
    TRY(plot_new(dir, &frame, &p));
    plot_setting(p, "set xrange [0:*]");
    for (size_t i = 0; i < v->count; i++) {
        plot_item(p, "curves.csv",
                  "using ($1 == %zu ? $%d : NaN):%d with lines title %s noenhanced", i + 1,
                  sheet_column(log_curve_columns, "step"),
                  sheet_column(log_curve_columns, "train_loss"), v->name[i]);
        plot_style(p, i);
    }
    return plot_finish(p);
}

static int draw_perplexity(const Curves *v, const char *dir)
{
    PlotFrame frame = {"curves", "Validation perplexity", "step", "perplexity", PLOT_LOG_Y};
    if (v->masked) frame.title = "Validation pseudo-perplexity", frame.y = "pseudo-perplexity";
    Plot *p;
    TRY(plot_new(dir, &frame, &p));
    plot_setting(p, "set xrange [0:*]");
    for (size_t i = 0; i < v->count; i++)
        plot_numbered(p, "curves.csv", i + 1, sheet_column(log_curve_columns, "step"),
                      sheet_column(log_curve_columns, "valid_ppl"), v->name[i]);
    return plot_finish(p);
}

static int show(Curves *v)
{
    const char *dir = options_text(v->options, "out");
    int csv = options_flag(v->options, "csv");
    TRY(sheet_new(log_curve_columns, &v->points));
    TRY(sheet_new(last_columns, &v->last));
    TRY(add_logs(v));
    TRY(sheet_write(csv ? v->points : v->last, csv ? SHEET_CSV : SHEET_PLAIN, stdout));
    if (!dir) return 0;
    TRY(output_directory(dir));
    TRY(output_sheet(v->points, SHEET_CSV, dir, "curves.csv"));
    TRY(draw_perplexity(v, dir));
    return draw_loss(v, dir);
}

int curves_study(const Options *o, size_t common)
{
    Curves *v = memory_new(1, sizeof *v);
    if (!v) return ERR_MEMORY;
    v->options = o;
    v->common = common;
    int code = show(v);
    sheet_free(v->points);
    sheet_free(v->last);
    memory_free(v);
    return code;
}
