/* command_plot.c: overlays saved results of `order`, or curves of `truncation` (error against step and against work), or
 * logs of trainings. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/hash.h"
#include "kernels/base/numbers.h"
#include "studies/solve/order.h"
#include "studies/base/plot/plot.h"
#include "studies/base/command.h"

enum { H, EVALS, SECONDS, ERROR, COLUMNS };
static const char *const column_names[COLUMNS] = {"h", "evals", "seconds", "error"};

/* Columns of text follow the numbers, as plot_numbered needs. */
typedef struct {
    size_t line;
    double x[COLUMNS];
    const char *series, *file, *scheme, *system;
} PointRow;

static const Column point_columns[] = {
    COLUMN(PointRow, line, .words = "number of the line in the plots"),
    FIELD(PointRow, "h", x[H]),
    FIELD(PointRow, "evals", x[EVALS], .words = "evaluations of F and G"),
    FIELD(PointRow, "seconds", x[SECONDS], .words = "time of the run"),
    FIELD(PointRow, "error", x[ERROR],
          .words = "RMS error; for a trained layer, relative to the flow's displacement"),
    COLUMN(PointRow, series, .words = "name of the line"),
    COLUMN(PointRow, file, .words = "file that the point was read from"),
    COLUMN(PointRow, scheme),
    COLUMN(PointRow, system),
    {0}};

typedef struct {
    const char *series;
    size_t points;
    double coarsest, finest, least_error;
} SeriesRow;

static const Column series_columns[] = {
    COLUMN(SeriesRow, series, .words = "name of the line"),
    COLUMN(SeriesRow, points, .words = "points of the line"),
    COLUMN(SeriesRow, coarsest, .words = "largest step"),
    COLUMN(SeriesRow, finest, .words = "smallest step"),
    COLUMN(SeriesRow, least_error, .digits = 4, .words = "smallest error"),
    {0}};

enum {
    SERIES_MAX = 500 /* whose key is an image that can be drawn */,
    PART = 480,
    SERIES_NAME = 3 * PART + 16
};

/* A line: a scheme on a system in a file. The names are as plots show them, since a file from
 * elsewhere may hold anything. */
typedef struct {
    char scheme[PART], system[PART];
    char name[SERIES_NAME]; /* as much of scheme, system and file as tells the lines apart */
    size_t file, points;
    size_t colour, again;                    /* of its scheme; lines of that scheme before it */
    double coarsest, finest, least, largest; /* largest: of the finite errors */
    double first, last;                      /* errors at the coarsest and the finest step */
} Curve;

typedef struct {
    size_t series;
    double x[COLUMNS];
} CurvePoint;

typedef struct {
    const Options *options;
    Sheet *points, *summary;
    size_t files, count, used, schemes;
    Curve *series;        /* (count) */
    Numbers number;       /* of the lines, by hashes of their names and files */
    CurvePoint *point;    /* (used) */
    size_t common;        /* bytes of the folder path that all files share */
    int known[COLUMNS];   /* some point has a number there */
    int relative;         /* 1: errors of a trained layer, over the flow's displacement */
    int logs;             /* the files are logs of trainings */
    int systems, several; /* more than one system; a scheme and system in more than one file */
} Overlay;

static int is_wanted(const Options *o, const char *scheme)
{
    const char *list = options_text(o, "scheme");
    size_t n = strlen(scheme);
    if (strcmp(list, "all") == 0) return 1;
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, scheme, n) == 0 && (at[n] == ',' || at[n] == '\0')) return 1;
    return 0;
}

/* Adds the line that `s` has the names of, with a colour for its scheme. */
static int add_series(Overlay *v, Curve s)
{
    if (v->count == SERIES_MAX)
        return error_set(ERR_INPUT, "expected at most %d lines in a plot; --scheme chooses some",
                         SERIES_MAX);
    s.colour = v->schemes;
    for (size_t i = 0; i < v->count; i++) {
        const Curve *other = &v->series[i];
        const int alike = strcmp(other->scheme, s.scheme) == 0;
        if (alike) s.colour = other->colour, s.again++;
        v->several |= alike && strcmp(other->system, s.system) == 0;
        v->systems |= strcmp(other->system, s.system) != 0;
    }
    v->schemes += s.again == 0;
    return memory_add(v->series, v->count, s);
}

/* Finds the line of a scheme on a system in a file, or adds it. */
static int find_series(Overlay *v, size_t file, const char *scheme, const char *system, size_t *out)
{
    Curve s = {.file = file, .finest = INFINITY, .least = INFINITY};
    uint64_t key = hash_bytes(HASH_START, scheme, strlen(scheme) + 1);
    key = hash_bytes(hash_bytes(key, system, strlen(system)), &file, sizeof file) >> 1;
    for (uint32_t i; (i = numbers_find(&v->number, key, UINT32_MAX)) != UINT32_MAX; key++) {
        const Curve *known = &v->series[ *out = i];
        if (known->file == file && strcmp(known->scheme, scheme) == 0 &&
            strcmp(known->system, system) == 0)
            return 0;
    }
    *out = v->count;
    memcpy(s.scheme, scheme, strlen(scheme) + 1);
    memcpy(s.system, system, strlen(system) + 1);
    TRY(add_series(v, s));
    return numbers_place(&v->number, key, (uint32_t)*out) ? 0 : ERR_MEMORY;
}

/* Writes "heun", "heun on fisher", "heun (A.csv)". */
static void name_series(const Overlay *v, Curve *s)
{
    char file[PART];
    const char *path = options_item(v->options, "file", s->file) + v->common;
    plot_text(*path == '/' ? plot_folder(path) : path, file, sizeof file);
    int n = snprintf(s->name, SERIES_NAME, "%s%s%s", s->scheme, v->systems ? " on " : "",
                     v->systems ? s->system : "");
    if (v->several) snprintf(s->name + n, (size_t)(SERIES_NAME - n), " (%s)", file);
}

static void count_point(Curve *s, const double *x)
{
    s->points++;
    if (x[H] > s->coarsest) s->coarsest = x[H], s->first = x[ERROR];
    if (x[H] < s->finest) s->finest = x[H], s->last = x[ERROR];
    s->least = fmin(s->least, x[ERROR]);
    if (isfinite(x[ERROR])) s->largest = fmax(s->largest, x[ERROR]);
}

static int add_point(Overlay *v, size_t series, const double *x)
{
    TRY(memory_more(&v->point, v->used, sizeof *v->point));
    v->point[v->used].series = series;
    memcpy(v->point[v->used++].x, x, COLUMNS * sizeof *x);
    count_point(&v->series[series], x);
    return 0;
}

static int add_row(Overlay *v, size_t file, const Frame *c, size_t row, int scheme, int system,
                   const int *column)
{
    double x[COLUMNS];
    size_t series;
    char name[PART], on[PART] = "";
    const char *is = frame_cell(c, row, scheme), *of = system < 0 ? "" : frame_cell(c, row, system);
    if (!is_wanted(v->options, is)) return 0;
    if (3 * strlen(is) >= PART || 3 * strlen(of) >= PART) /* a byte becomes three at most */
        return error_set(ERR_INPUT, "%s:%zu: expected shorter names", c->file, c->line[row + 1]);
    plot_text(is, name, sizeof name);
    plot_text(of, on, sizeof on);
    for (int k = 0; k < COLUMNS; k++) {
        x[k] = NAN;
        if (column[k] >= 0) TRY(frame_number(c, row, column[k], &x[k]));
        if (x[k] < 0 || (k == H && x[k] == 0))
            return error_set(ERR_INPUT, "%s:%zu: expected a positive number in column '%s'",
                             c->file, c->line[row + 1], column_names[k]);
        v->known[k] |= isfinite(x[k]);
    }
    TRY(find_series(v, file, name, on, &series));
    return add_point(v, series, x);
}

/* Adds the points of a table. It uses the columns of truncation's curves.csv where those of order.csv are missing. */
static int add_table(Overlay *v, size_t file, const Frame *c)
{
    int column[COLUMNS], scheme = frame_column(c, "scheme"), system = frame_column(c, "system");
    for (int k = 0; k < COLUMNS; k++) column[k] = frame_column(c, column_names[k]);
    int relative = scheme < 0 && column[ERROR] < 0;
    if (relative)
        scheme = frame_column(c, "name"), column[ERROR] = frame_column(c, "relative_error");
    if (scheme < 0 || column[ERROR] < 0 || (column[H] < 0 && column[EVALS] < 0))
        return error_set(
            ERR_INPUT,
            "%s:1: expected columns scheme, error and h or evals, as in the order.csv "
            "of 'trotter order --out', or the curves.csv of 'trotter truncation --out'; or step and train_loss, "
            "as in the log.csv of 'trotter train'",
            c->file);
    if (file && relative != v->relative)
        return error_set(ERR_INPUT,
                         "%s: errors of 'order' and of 'truncation' are not of one kind: give "
                         "files of one of them",
                         c->file);
    v->relative = relative;
    for (size_t i = 0; i < c->rows; i++) TRY(add_row(v, file, c, i, scheme, system, column));
    return 0;
}

/* Finds the common folder path. Titles show the rest of a file's path, which distinguishes it. */
static void find_common(Overlay *v)
{
    const char *first = options_item(v->options, "file", 0);
    size_t n = strlen(first);
    for (size_t i = 0; i < v->files; i++) {
        const char *file = options_item(v->options, "file", i);
        size_t k = 0;
        while (k < n && file[k] == first[k]) k++;
        n = k;
    }
    while (n > 0 && first[n - 1] != '/') n--;
    v->common = n;
}

static int count_files(Overlay *v)
{
    while (options_item(v->options, "file", v->files)) v->files++;
    if (v->files == 0) return error_set(ERR_INPUT, "expected a CSV file or more");
    find_common(v);
    return 0;
}

static int add_files(Overlay *v)
{
    const char *file;
    for (size_t i = 0; (file = options_item(v->options, "file", i)); i++) {
        SCOPED(frame_close) Frame c = {0};
        TRY(frame_read(&c, file));
        v->logs |= i == 0 && curves_are(&c);
        if (v->logs) return 0;
        TRY(add_table(v, i, &c));
    }
    return v->count ? 0 : error_set(ERR_INPUT, "no point of the wanted schemes in the files");
}

/* ---- output -------------------------------------------------------------------------------------- */

static void tabulate(Overlay *v)
{
    char file[PART];
    for (size_t i = 0; i < v->count; i++) {
        Curve *s = &v->series[i];
        name_series(v, s);
        sheet_row(v->summary, &(SeriesRow){s->name, s->points, s->coarsest > 0 ? s->coarsest : NAN,
                                           isfinite(s->finest) ? s->finest : NAN, s->least});
    }
    for (size_t i = 0; i < v->used; i++) {
        const CurvePoint *p = &v->point[i];
        const Curve *s = &v->series[p->series];
        plot_text(options_item(v->options, "file", s->file), file, PART);
        PointRow row = {p->series + 1, {0}, s->name, file, s->scheme, s->system};
        memcpy(row.x, p->x, sizeof row.x);
        sheet_row(v->points, &row);
    }
}

/* Sets the axes to hold the lines that go down; a diverging line may leave them. */
static void set_range(const Overlay *v, Plot *p, int x)
{
    double top = 0, finest = INFINITY;
    for (size_t i = 0; i < v->count; i++)
        if (v->series[i].last <= v->series[i].first) {
            top = fmax(top, v->series[i].largest);
            finest = fmin(finest, v->series[i].finest);
        }
    if (top > 0) plot_top(p, 0, 10 * top);
    if (top > 0 && x == H) plot_setting(p, "set xrange [%.6g:*]", 0.9 * finest);
}

static const struct {
    int x, flags;
    const char *name, *title, *label;
} pictures[] = {
    {H, PLOT_HALVINGS | PLOT_LOG_Y, "overlay", "Error against step", "step h"},
    {EVALS, PLOT_LOG_X | PLOT_LOG_Y, "overlay-work", "Error against work",
     "evaluations of F and G"},
    {SECONDS, PLOT_LOG_X | PLOT_LOG_Y, "overlay-time", "Error against time", "seconds"},
};

static int draw(const Overlay *v, const char *dir, size_t which)
{
    PlotFrame frame = {pictures[which].name, pictures[which].title, pictures[which].label,
                       v->relative ? "error / exact displacement" : "RMS error",
                       pictures[which].flags};
    Plot *p;
    if (!v->known[pictures[which].x] || !v->known[ERROR]) return 0;
    TRY(plot_new(dir, &frame, &p));
    set_range(v, p, pictures[which].x);
    for (size_t i = 0; i < v->count; i++) {
        const Curve *s = &v->series[i];
        plot_next(p, plot_again(s->colour, v->schemes, s->again));
        plot_numbered(p, "overlay.csv", i + 1,
                      sheet_column(point_columns, column_names[pictures[which].x]),
                      sheet_column(point_columns, column_names[ERROR]), s->name);
    }
    return plot_finish(p);
}

static int show(Overlay *v)
{
    const Options *o = v->options;
    const char *dir = options_text(o, "out");
    TRY(sheet_new(point_columns, &v->points));
    TRY(sheet_new(series_columns, &v->summary));
    TRY(count_files(v));
    TRY(add_files(v));
    if (v->logs) return curves_study(o, v->common);
    tabulate(v);
    int csv = options_flag(o, "csv");
    TRY(sheet_write(csv ? v->points : v->summary, csv ? SHEET_CSV : SHEET_PLAIN, stdout));
    if (!dir) return 0;
    TRY(output_directory(dir));
    TRY(output_sheet(v->points, SHEET_CSV, dir, "overlay.csv"));
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) TRY(draw(v, dir, i));
    return 0;
}

static int run(Options *o)
{
    TRY(options_needs(o));
    Overlay *v = memory_new(1, sizeof *v);
    if (!v) return ERR_MEMORY;
    v->options = o;
    int code = show(v);
    sheet_free(v->points);
    sheet_free(v->summary);
    numbers_free(&v->number);
    memory_free_all(v->point, v->series, v);
    return code;
}

const Command command_plot = {
    .name = "plot",
    .purpose = "lay saved errors over each other",
    .about =
        "Draws every scheme of every file: error against step, against evaluations, and, where they are known,\n"
        "against seconds. It reads files that 'trotter order --csv' or '--out DIR' wrote (order.csv, work.csv)\n"
        "and finds the columns scheme, system, h, evals, seconds and error by their names. It also reads\n"
        "curves.csv of several networks, which 'trotter truncation --out DIR' wrote: error against step. Of the\n"
        "log.csv of trainings, also of those that still run, it draws loss and validation perplexity against steps.\n",
    .example = "rk4/order.csv heun/order.csv --out out/plot",
    .faster = "fewer files",
    .groups = GROUPS(
        OPTION_GROUP(
            "Input", 1,
            {"file", OPTION_LIST, NULL, "FILE",
             "CSV file that 'trotter order', 'truncation' or 'train' wrote; --file itself may be left out"},
            {"scheme", OPTION_TEXT, "all", "A,B,...", "keep only these schemes"}),
        OPTION_GROUP(
            "Output", 0, {"csv", OPTION_FLAG, NULL, NULL, "write all points as CSV"},
            {"out", OPTION_TEXT, NULL, "DIR", "write overlay.csv and its plots (.gp, .svg, .png)"},
            PLOT_FIGURE)),
    .kinds = KINDS({.command = "plot",
                    .title = "Overlay of order studies",
                    .about = "Errors of several studies in the same plots.",
                    .table = {{"overlay", point_columns, "Points", 0}},
                    .plot = {{"overlay", "Error against step."},
                             {"overlay-work", "Error against evaluations of F and G."},
                             {"overlay-time", "Error against time."}}},
                   {.command = "plot",
                    .title = "Curves of trainings",
                    .about = "Logs of several trainings in the same plots.",
                    .table = {{"curves", log_curve_columns, "Rows of the logs", 0}},
                    .plot = {{"curves", "Validation perplexity against steps."},
                             {"curves-loss", "Training loss against steps."}}}),
    .run = run,
};
