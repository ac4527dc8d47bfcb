/* jacobians.c: measures how fast a trained layer's field changes, and whether a scheme's step follows it. */
#include <math.h>
#include <stdio.h>

#include "studies/plot/contour.h"
#include "studies/plot/plot.h"
#include "studies/tools/command.h"
#include "studies/truncation/truncation_study.h"

typedef struct {
    const char *scheme, *field;
    int layer;
    double largest_amplification, unstable, flow_growth, spectral_radius;
    Jacobian of;
} SchemeRow;

const Column jacobian_schemes[] = {
    COLUMN(SchemeRow, scheme),
    COLUMN(SchemeRow, layer),
    COLUMN(SchemeRow, field),
    COLUMN(SchemeRow, largest_amplification, .digits = 4),
    COLUMN(SchemeRow, unstable, .digits = 3),
    COLUMN(SchemeRow, flow_growth, .digits = 4),
    FIELD(SchemeRow, "lipschitz_F", of.lipschitz[OP_F], .digits = 4),
    FIELD(SchemeRow, "lipschitz_G", of.lipschitz[OP_G], .digits = 4),
    FIELD(SchemeRow, "lipschitz_C", of.lipschitz[OP_C], .digits = 4, .sparse = 1),
    COLUMN(SchemeRow, spectral_radius, .digits = 4),
    FIELD(SchemeRow, "eigenvalues", of.count),
    FIELD(SchemeRow, "tokens", of.tokens),
    {0}};

typedef struct {
    int layer;
    const char *field;
    double re, im;
} EigenvalueRow;

const Column jacobian_eigenvalues[] = {COLUMN(EigenvalueRow, layer),
                                       COLUMN(EigenvalueRow, field),
                                       COLUMN(EigenvalueRow, re, .words = "real part"),
                                       COLUMN(EigenvalueRow, im, .words = "imaginary part"),
                                       {0}};

typedef struct {
    const char *scheme;
    size_t line;
    double re, im;
} RegionRow;

const Column jacobian_regions[] = {COLUMN(RegionRow, scheme),
                                   COLUMN(RegionRow, line, .words = "number of the closed line"),
                                   COLUMN(RegionRow, re, .words = "real part of h·λ"),
                                   COLUMN(RegionRow, im, .words = "imaginary part of h·λ"),
                                   {0}};

typedef struct {
    TruncationInput *in;
    Sheet *table, *eigen;
    Jacobian now;
    int layer, field;
    double low[2], high[2]; /* box of all eigenvalues */
    int seen[2];            /* 1: the field was studied */
} Study;

/* Splits mu over the operators: equal shares of the colours, or all of it for L. */
static void part(int field, int colours, const double mu[2], double z[COLOURS][2])
{
    for (int op = 0; op < colours; op++)
        for (int k = 0; k < 2; k++)
            z[op][k] = field != FIELD_LAYER ? mu[k] / colours : op == OP_F ? mu[k] : 0;
}

/* Adds a row for a scheme at these eigenvalues. unstable: the share with |R| > 1 among those
 * where the flow does not grow. */
static int add_scheme(Study *u, const Truncator *truncator, const Table *scheme)
{
    SchemeRow row = {.scheme = scheme->name,
                     .field = truncation_field(u->field),
                     .layer = u->layer,
                     .of = u->now};
    Stability *s;
    Table *t;
    size_t grown = 0, still = 0;
    TRY(truncator_table(truncator, scheme, &t));
    int code = stability_new(t, &s);
    for (size_t i = 0; code == 0 && i < u->now.count; i++) {
        const double *mu = u->now.eigen[i];
        double z[COLOURS][2];
        part(u->field, t->colours, mu, z);
        double r = stability_at(s, (const double(*)[2])z);
        row.largest_amplification = fmax(row.largest_amplification, r);
        still += mu[0] <= 0;
        grown += mu[0] <= 0 && r > 1;
        row.flow_growth = fmax(row.flow_growth, exp(mu[0]));
        row.spectral_radius = fmax(row.spectral_radius, hypot(mu[0], mu[1]));
    }
    row.unstable = still ? (double)grown / (double)still : NAN;
    if (code == 0) sheet_row(u->table, &row);
    if (code == 0) stability_free(s);
    table_free(t);
    return code;
}

static void add_eigenvalues(Study *u)
{
    for (size_t i = 0; i < u->now.count; i++) {
        const double *mu = u->now.eigen[i];
        sheet_row(u->eigen, &(EigenvalueRow){u->layer, truncation_field(u->field), mu[0], mu[1]});
        for (int k = 0; k < 2; k++) {
            u->low[k] = fmin(u->low[k], mu[k]);
            u->high[k] = fmax(u->high[k], mu[k]);
        }
    }
}

static int count_layers(const Study *u)
{
    return (int)model_plan(u->in->network.model)->layers[u->in->options.side];
}

static int study_layer(Study *u, Truncator *t)
{
    const Selection *s = &u->in->schemes;
    TRY(truncator_jacobian(t, u->layer, &u->now));
    add_eigenvalues(u);
    int code = 0;
    for (size_t i = 0; i < s->count && code == 0; i++)
        if (truncation_fields(u->in, s->scheme[i]) & 1 << u->field &&
            truncator_takes(t, s->scheme[i]) == 0)
            code = add_scheme(u, t, s->scheme[i]);
    jacobian_free(&u->now);
    return code;
}

static int study_field(Study *u)
{
    Sentence first = sentence_at(&u->in->drawn.of, 0);
    Truncator *t;
    int any = 0;
    for (size_t i = 0; i < u->in->schemes.count; i++)
        any |= truncation_fields(u->in, u->in->schemes.scheme[i]) & 1 << u->field;
    if (!any) return 0;
    u->seen[u->field] = 1;
    TRY(truncation_open(u->in, u->field, 0, (Watch){0}, &t));
    int code = truncator_sentence(t, &first, NULL);
    int layers = count_layers(u);
    for (u->layer = 0; u->layer < layers && code == 0; u->layer++) {
        progress_show("Jacobian of layer %d of %d, field %s", u->layer + 1, layers,
                      truncation_field(u->field));
        code = study_layer(u, t);
    }
    progress_clear();
    truncator_free(t);
    return code;
}

/* ---- the plot --------------------------------------------------------------------------------------- */

enum { GRID = 161, REGIONS = 6 };

typedef struct {
    Sheet *to;
    const char *scheme;
    size_t first, lines;
} Lines;

static void add_point(void *context, size_t line, double x, double y)
{
    Lines *l = context;
    sheet_row(l->to, &(RegionRow){l->scheme, l->first + line, x, y});
    if (line >= l->lines) l->lines = line + 1;
}

/* Fills the grid with |R| of a scheme. */
static int fill_grid(const Table *scheme, const double low[2], const double step[2], double *value)
{
    Stability *s;
    Table *t = table_freeze(scheme);
    if (!t) return ERR_MEMORY;
    int code = stability_new(t, &s);
    for (size_t k = 0; code == 0 && k < GRID * GRID; k++) {
        double at[2] = {low[0] + step[0] * (double)(k % GRID),
                        low[1] + step[1] * (double)(k / GRID)},
               z[COLOURS][2];
        part(FIELD_SPLIT, t->colours, at, z);
        value[k] = stability_at(s, (const double(*)[2])z);
    }
    if (code == 0) stability_free(s);
    table_free(t);
    return code;
}

/* Puts the boundaries |R| = 1 of the first schemes into regions.csv and the plot. */
static int add_regions(const Study *u, Plot *p, Sheet *to, double *value)
{
    const Selection *s = &u->in->schemes;
    static const double usual[2][2] = {{-3.2, 1}, {-3.2, 3.2}};
    double low[2], step[2];
    size_t line = 0;
    const Column *c = jacobian_regions;
    for (int k = 0; k < 2; k++) { /* a box that holds the eigenvalues and the usual regions */
        low[k] = fmin(usual[k][0], 1.1 * u->low[k]);
        step[k] = (fmax(usual[k][1], 1.1 * u->high[k]) - low[k]) / (GRID - 1);
    }
    for (size_t i = 0; i < s->count && i < REGIONS; i++) {
        Lines l = {.to = to, .scheme = s->scheme[i]->name, .first = line};
        TRY(fill_grid(s->scheme[i], low, step, value));
        TRY(contour_find(value, GRID, GRID, low, step, 1 + 1e-9, add_point, &l));
        for (size_t k = 0; k < l.lines; k++) {
            plot_item(p, "regions.csv", "using ($%d == %zu ? $%d : 1/0):%d with lines",
                      sheet_column(c, "line"), line + k, sheet_column(c, "re"),
                      sheet_column(c, "im"));
            if (k == 0) plot_more(p, "title %s noenhanced", l.scheme);
            if (k > 0) plot_more(p, "notitle");
            plot_style(p, i);
        }
        line += l.lines;
    }
    return 0;
}

static void draw_eigenvalues(const Study *u, Plot *p)
{
    static const char *const shade[] = {"#555555", "#b0b0b0"};
    int layers = count_layers(u);
    const Column *c = jacobian_eigenvalues;
    plot_setting(p, "is(layer, field) = strcol(%d) eq layer && strcol(%d) eq field",
                 sheet_column(c, "layer"), sheet_column(c, "field"));
    for (int f = 0; f < 2; f++)
        for (int l = 0; l < layers && u->seen[f]; l++) {
            char title[64];
            snprintf(title, sizeof title, "layer %d, field %s", l, truncation_field(f));
            plot_item(p, "eigenvalues.csv",
                      "using (is('%d', %s) ? $%d : NaN):%d with points lc rgb %s pt %d ps 0.4 "
                      "notitle",
                      l, truncation_field(f), sheet_column(c, "re"), sheet_column(c, "im"),
                      shade[f], l % 2 ? 6 : 7);
            plot_item(p, NULL, "keyentry with points lc rgb %s pt %d ps 1 title %s noenhanced",
                      shade[f], l % 2 ? 6 : 7, title); /* large enough to tell symbols apart */
        }
}

static int draw(const Study *u, const char *dir)
{
    PlotFrame frame = {"jacobian", "Eigenvalues of a trained layer's Jacobian, and where |R| = 1",
                       "Re z   (h = 1; a scheme's region: λ_F = λ_G = z/2)", "Im z", PLOT_EQUAL};
    Plot *p;
    Sheet *regions = NULL;
    double *value = memory_new(GRID * GRID, sizeof *value);
    if (!value) return ERR_MEMORY;
    int code = sheet_new(jacobian_regions, &regions);
    if (code == 0) code = plot_new(dir, &frame, &p);
    if (code == 0) {
        plot_setting(p, "set xtics 1\nset ytics 1");
        draw_eigenvalues(u, p);
        code = add_regions(u, p, regions, value);
        if (code == 0) code = output_sheet(regions, SHEET_CSV, dir, "regions.csv");
        if (code == 0)
            code = plot_finish(p);
        else
            plot_drop(p);
    }
    sheet_free(regions);
    memory_free(value);
    return code;
}

int jacobian_study(TruncationInput *in, int csv, const char *dir)
{
    Study u = {.in = in};
    int code = sheet_new(jacobian_schemes, &u.table);
    if (code == 0) code = sheet_new(jacobian_eigenvalues, &u.eigen);
    for (u.field = 0; u.field < 2 && code == 0; u.field++) code = study_field(&u);
    if (code == 0) code = output_shown(u.table, csv, dir, "jacobian");
    if (code == 0 && dir) code = output_sheet(u.eigen, SHEET_CSV, dir, "eigenvalues.csv");
    if (code == 0 && dir) code = draw(&u, dir);
    sheet_free(u.table);
    sheet_free(u.eigen);
    return code;
}
