/* truncation_plot.c: writes the files of a truncation study: errors against h with the slopes of the exact
 * orders, errors by layer, and the tokens' paths through depth in their first two principal components. */
#include <gsl/gsl_eigen.h>
#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/plot/plot.h"
#include "studies/tools/command.h"
#include "studies/truncation/truncation_study.h"

enum { PARTS = 32, TOKENS_SHOWN = 4 };

/* ---- errors ----------------------------------------------------------------------------------------- */

/* Returns the largest constant of the relative errors that follow an order, from their finest steps; 0:
 * none does. Order 0 stands for errors that kinks limit to h^3/2. */
static double guide_height(const TruncationStudy *u, int order)
{
    double top = 0;
    size_t cells = u->layers * u->in->drawn.of.count;
    for (size_t i = 0; i < u->count * cells; i++) {
        const Truncation *t = &u->cell[i];
        if (t->points == 0) continue;
        const TruncationPoint *p = &t->point[t->points - 1];
        int follows = t->asymptotic >= 4 * p->h, kinks = order == 0 && t->order > 1 && !follows;
        if (!isfinite(p->relative) || !(kinks || (order && t->order == order && follows))) continue;
        top = fmax(top, p->relative / pow(p->h, order ? order : 1.5));
    }
    return top;
}

static void add_guides(const TruncationStudy *u, Plot *p)
{
    char words[32];
    for (int k = 1; k <= TREE_MAX; k++) {
        double c = guide_height(u, k);
        snprintf(words, sizeof words, "slope %d", k);
        if (c > 0) plot_guide(p, 2 * c, k, 1, words);
    }
    double kinks = !model_smooth(u->in->network.model) ? guide_height(u, 0) : 0;
    if (kinks > 0)
        plot_item(p, NULL,
                  "%.6g * x**1.5 with lines lc rgb '#999999' lw 1.5 dt '-' title 'slope 3/2: "
                  "kinks'",
                  2 * kinks);
}

static int draw_errors(const TruncationStudy *u, const char *dir)
{
    char title[256];
    snprintf(title, sizeof title, "Truncation error of a trained layer, %s weights (%s)",
             truncation_depth(u->in->options.depth),
             !model_smooth(u->in->network.model) ? "ReLU" : "GELU");
    PlotFrame frame = {"truncation", title, "step h (1: the network's own)",
                       plot_narrow() ? "error / exact displacement"
                                     : "error / exact flow's displacement in that step",
                       PLOT_HALVINGS | PLOT_LOG_Y};
    Plot *p;
    TRY(plot_new(dir, &frame, &p));
    plot_note(p, "order p has slope p here and p + 1 in the table, whose error is not divided by "
                 "the displacement, about h");
    plot_key_title(p, "scheme: the table’s slope − 1");
    add_guides(u, p);
    const Column *c = truncation_curves;
    for (size_t i = 0; i < u->count; i++) {
        char words[TABLE_NAME + 48];
        double slope = truncation_slope(u, i) - 1;
        int n = snprintf(words, sizeof words, "%s", u->series[i].name);
        if (!isnan(slope)) snprintf(words + n, sizeof words - (size_t)n, ": %.2f", slope);
        plot_series(p, "curves.csv", sheet_column(c, "name"), u->series[i].name,
                    sheet_column(c, "h"), sheet_column(c, "relative_error"), words);
    }
    return plot_finish(p);
}

static int draw_layers(const TruncationStudy *u, const char *dir)
{
    PlotFrame frame = {"layers", "Truncation error at h = 1 by layer", "layer (from 0)",
                       plot_narrow() ? "error / exact displacement, h = 1"
                                     : "error / exact flow's displacement at h = 1",
                       PLOT_LOG_Y};
    Plot *p;
    if (u->layers < 2) return 0; /* with one column of points the table says as much */
    TRY(plot_new(dir, &frame, &p));
    plot_setting(p, "set xrange [-0.5:%zu.5]\nset xtics 0,%zu", u->layers - 1, u->layers / 12 + 1);
    const Column *c = truncation_layers;
    for (size_t i = 0; i < u->count; i++)
        plot_series(p, "layers.csv", sheet_column(c, "name"), u->series[i].name,
                    sheet_column(c, "layer"), sheet_column(c, "relative_error"), u->series[i].name);
    return plot_finish(p);
}

/* ---- paths ------------------------------------------------------------------------------------------ */

typedef struct {
    size_t place;
    const char *kind, *token;
    double t, pc[2];
} PathRow;

const Column truncation_paths[] = {
    COLUMN(PathRow, place, .words = "number of the token in the sentence, from 0"),
    COLUMN(PathRow, kind, .words = "exact: on the exact flow; network: between its layers"),
    COLUMN(PathRow, t, .words = "depth-time: layer l begins at l"),
    FIELD(PathRow, "pc1", pc[0], .words = "first principal component of the state"),
    FIELD(PathRow, "pc2", pc[1], .words = "second principal component of the state"),
    COLUMN(PathRow, token, .words = "the token's text"),
    {0}};

typedef struct {
    size_t n, d, rows;   /* tokens, coordinates; states on the path */
    const double *path;  /* (rows, n, d) */
    const double *state; /* (layers + 1, n, d) */
    double *mean, *axis; /* (d), (2, d) */
} Paths;

static void fill_covariance(const Paths *p, gsl_matrix *c)
{
    gsl_matrix_set_zero(c);
    for (size_t i = 0; i < p->rows * p->n; i++)
        for (size_t a = 0; a < p->d; a++)
            for (size_t b = 0; b <= a; b++) {
                const double *x = p->path + i * p->d;
                double v = (x[a] - p->mean[a]) * (x[b] - p->mean[b]);
                gsl_matrix_set(c, a, b, gsl_matrix_get(c, a, b) + v);
            }
}

/* Finds the two directions of largest variance of all states on the path. */
static int find_axes(Paths *p)
{
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    gsl_matrix *c = gsl_matrix_alloc(p->d, p->d), *vector = gsl_matrix_alloc(p->d, p->d);
    gsl_vector *value = gsl_vector_alloc(p->d);
    gsl_eigen_symmv_workspace *w = gsl_eigen_symmv_alloc(p->d);
    int code = c && vector && value && w ? 0 : ERR_MEMORY;
    if (code == 0) {
        fill_covariance(p, c);
        gsl_eigen_symmv(c, value, vector, w);
        gsl_eigen_symmv_sort(value, vector, GSL_EIGEN_SORT_VAL_DESC);
        for (size_t a = 0; a < 2; a++)
            for (size_t k = 0; k < p->d; k++) p->axis[a * p->d + k] = gsl_matrix_get(vector, k, a);
    }
    gsl_matrix_free(c);
    gsl_matrix_free(vector);
    gsl_vector_free(value);
    gsl_eigen_symmv_free(w);
    gsl_set_error_handler(handler);
    return code;
}

static void add_state(Sheet *s, const Paths *p, PathRow row, const double *x)
{
    for (size_t a = 0; a < 2; a++)
        for (size_t k = 0; k < p->d; k++) row.pc[a] += (x[k] - p->mean[k]) * p->axis[a * p->d + k];
    sheet_row(s, &row);
}

/* Returns the first shown token. The last tokens are shown, which have seen most. */
static size_t first_shown(const Paths *p)
{
    return p->n > TOKENS_SHOWN ? p->n - TOKENS_SHOWN : 0;
}

static const char *token_at(const TruncationStudy *u, size_t place)
{
    return u->in->network.vocab.word[u->in->drawn.token[u->in->options.side][place]];
}

static int write_paths(const TruncationStudy *u, const Paths *p, const char *dir)
{
    Sheet *s;
    TRY(sheet_new(truncation_paths, &s));
    for (size_t i = first_shown(p); i < p->n; i++) {
        const char *token = token_at(u, i);
        for (size_t k = 0; k < p->rows; k++)
            add_state(s, p, (PathRow){i, "exact", token, (double)k / PARTS, {0}},
                      p->path + (k * p->n + i) * p->d);
        for (size_t l = 0; l <= u->layers; l++)
            add_state(s, p, (PathRow){i, "network", token, (double)l, {0}},
                      p->state + (l * p->n + i) * p->d);
    }
    int code = output_sheet(s, SHEET_CSV, dir, "path.csv");
    sheet_free(s);
    return code;
}

static int draw_paths(const TruncationStudy *u, const Paths *p, const char *dir)
{
    PlotFrame frame = {"path", "Tokens through depth: the network's steps on the exact path",
                       "first principal component", "second principal component", 0};
    Plot *plot;
    TRY(plot_new(dir, &frame, &plot));
    const Column *c = truncation_paths;
    int pc1 = sheet_column(c, "pc1"), pc2 = sheet_column(c, "pc2");
    plot_setting(plot, "is(place, kind) = $%d == place && strcol(%d) eq kind",
                 sheet_column(c, "place"), sheet_column(c, "kind"));
    for (size_t i = first_shown(p), k = 0; i < p->n; i++, k++) {
        char token[80], title[160];
        plot_text(token_at(u, i), token, sizeof token);
        snprintf(title, sizeof title, "%zu %s: exact flow", i, token);
        plot_item(plot, "path.csv",
                  "using (is(%zu, 'exact') ? $%d : 1/0):%d with lines lc rgb %s lw 2 title %s "
                  "noenhanced",
                  i, pc1, pc2, plot_colour(k), title);
        plot_item(plot, "path.csv",
                  "using (is(%zu, 'network') ? $%d : NaN):%d with linespoints lc rgb %s lw 1 dt "
                  "'.' pt 7 ps 1.2 title '    network' noenhanced",
                  i, pc1, pc2, plot_colour(k));
    }
    return plot_finish(plot);
}

static int make_paths(const TruncationStudy *u, Truncator *t, double *path, const char *dir)
{
    size_t n = u->in->drawn.start[u->in->options.side][1];
    size_t d = model_config(u->in->network.model)->width;
    Paths p = {.n = n, .d = d, .rows = u->layers * PARTS + 1, .path = path};
    TRY(truncator_path(t, PARTS, path));
    p.state = truncator_states(t);
    p.mean = memory_new(3, d * sizeof *p.mean);
    if (!p.mean) return ERR_MEMORY;
    p.axis = p.mean + d;
    for (size_t i = 0, count = p.rows * n; i < count; i++)
        for (size_t k = 0; k < d; k++) p.mean[k] += path[i * d + k] / (double)count;
    int code = find_axes(&p);
    if (code == 0) code = write_paths(u, &p, dir);
    if (code == 0) code = draw_paths(u, &p, dir);
    memory_free(p.mean);
    return code;
}

/* Writes the paths of the first sentence. */
static int save_paths(const TruncationStudy *u, const char *dir)
{
    size_t n = u->in->drawn.start[u->in->options.side][1];
    size_t d = model_config(u->in->network.model)->width;
    Sentence first = sentence_at(&u->in->drawn.of, 0);
    Truncator *t;
    TRY(truncation_open(u->in, FIELD_SPLIT, 0, (Watch){0}, &t));
    double *path = memory_new(u->layers * PARTS + 1, n * d * sizeof *path);
    int code = path ? truncator_sentence(t, &first, NULL) : ERR_MEMORY;
    if (code == 0) code = make_paths(u, t, path, dir);
    memory_free(path);
    truncator_free(t);
    return code;
}

int truncation_save(TruncationStudy *u, const char *dir)
{
    TRY(output_directory(dir));
    TRY(output_sheet(u->points, SHEET_CSV, dir, "truncation.csv"));
    TRY(output_table(u->summary, dir, "summary"));
    TRY(output_sheet(u->terms, SHEET_CSV, dir, "terms.csv"));
    TRY(output_sheet(u->curves, SHEET_CSV, dir, "curves.csv"));
    TRY(output_sheet(u->by_layer, SHEET_CSV, dir, "layers.csv"));
    TRY(draw_errors(u, dir));
    TRY(draw_layers(u, dir));
    return save_paths(u, dir);
}
