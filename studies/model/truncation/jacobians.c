/* jacobians.c: measures how fast a trained layer's field changes, and whether a scheme's step follows it. */
#include <math.h>
#include <stdio.h>

#include "studies/theory/region.h"
#include "studies/base/command.h"
#include "studies/model/truncation/truncation_study.h"

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
    TruncationInput *in;
    Sheet *table, *eigen;
    Jacobian now;
    int layer, field;
    double low[2], high[2]; /* box of all eigenvalues */
    int seen[2];            /* 1: the field was studied */
} JacobianSet;

/* Splits mu over the operators: equal shares of the colours, or all of it for L. */
static void part(int field, int colours, const double mu[2], double z[COLOURS][2])
{
    for (int op = 0; op < colours; op++)
        for (int k = 0; k < 2; k++)
            z[op][k] = field != FIELD_LAYER ? mu[k] / colours : op == OP_F ? mu[k] : 0;
}

/* Adds a row for a scheme at these eigenvalues. unstable: the share with |R| > 1 among those
 * where the flow does not grow. */
static int add_scheme(JacobianSet *u, const Truncator *truncator, const Table *scheme)
{
    SchemeRow row = {.scheme = scheme->name,
                     .field = truncation_field(u->field),
                     .layer = u->layer,
                     .of = u->now};
    TABLE(t); /* outlives s, which borrows it */
    SCOPED(stability_drop) Stability *s = NULL;
    size_t grown = 0, still = 0;
    TRY(truncator_table(truncator, scheme, &t));
    TRY(stability_new(t, &s));
    for (size_t i = 0; i < u->now.count; i++) {
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
    sheet_row(u->table, &row);
    return 0;
}

static void add_eigenvalues(JacobianSet *u)
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

static int count_layers(const JacobianSet *u)
{
    return (int)model_plan(u->in->network.model)->layers[u->in->options.side];
}

static int study_layer(JacobianSet *u, Truncator *t)
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

static int study_field(JacobianSet *u)
{
    Sentence first = sentence_at(&u->in->drawn.of, 0);
    SCOPED(truncator_drop) Truncator *t = NULL;
    int any = 0;
    for (size_t i = 0; i < u->in->schemes.count; i++)
        any |= truncation_fields(u->in, u->in->schemes.scheme[i]) & 1 << u->field;
    if (!any) return 0;
    u->seen[u->field] = 1;
    TRY(truncation_open(u->in, u->field, 0, (Watch){0}, &t));
    TRY(truncator_sentence(t, &first, NULL));
    int layers = count_layers(u);
    for (u->layer = 0; u->layer < layers; u->layer++) {
        progress_show("Jacobian of layer %d of %d, field %s", u->layer + 1, layers,
                      truncation_field(u->field));
        TRY(study_layer(u, t));
    }
    progress_clear();
    return 0;
}

/* ---- the plot --------------------------------------------------------------------------------------- */

enum { GRID = 161, REGIONS = 6 };

/* Puts the boundaries |R| = 1 of the first schemes into regions.csv and the plot. */
static int add_regions(const JacobianSet *u, Plot *p, const char *dir)
{
    static const double usual[2][2] = {{-3.2, 1}, {-3.2, 3.2}};
    const Selection *s = &u->in->schemes;
    Table *table[REGIONS] = {0};
    Region r = {.table = table, .plane = PLANE_LAMBDA, .points = GRID};
    int code = 0;
    for (int k = 0; k < 2; k++) { /* a box that holds the eigenvalues and the usual regions */
        r.origin[k] = fmin(usual[k][0], 1.1 * u->low[k]);
        r.step[k] = (fmax(usual[k][1], 1.1 * u->high[k]) - r.origin[k]) / (GRID - 1);
    }
    for (; code == 0 && r.count < s->count && r.count < REGIONS; r.count++)
        if (!(table[r.count] = table_freeze(s->scheme[r.count]))) code = ERR_MEMORY;
    if (code == 0) code = region_fill(&r);
    if (code == 0) code = region_overlay(&r, dir, "regions.csv", p);
    for (size_t i = 0; i < r.count; i++) table_free(table[i]);
    memory_free(r.modulus);
    return code;
}

static void draw_eigenvalues(const JacobianSet *u, Plot *p)
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

static int draw(const JacobianSet *u, const char *dir)
{
    PlotFrame frame = {"jacobian", "Eigenvalues of a trained layer's Jacobian, and where |R| = 1",
                       "Re z   (h = 1; a scheme's region: λ_F = λ_G = z/2)", "Im z", PLOT_EQUAL};
    Plot *p;
    TRY(plot_new(dir, &frame, &p));
    plot_setting(p, "set xtics 1\nset ytics 1");
    draw_eigenvalues(u, p);
    return plot_end(p, add_regions(u, p, dir));
}

int jacobian_study(TruncationInput *in, int csv, const char *dir)
{
    SCOPED(sheet_drop) Sheet *table = NULL, *eigen = NULL;
    TRY(sheet_new(jacobian_schemes, &table));
    TRY(sheet_new(jacobian_eigenvalues, &eigen));
    JacobianSet u = {.in = in, .table = table, .eigen = eigen};
    for (u.field = 0; u.field < 2; u.field++) TRY(study_field(&u));
    TRY(output_shown(table, csv, dir, "jacobian"));
    if (!dir) return 0;
    TRY(output_sheet(eigen, SHEET_CSV, dir, "eigenvalues.csv"));
    return draw(&u, dir);
}
