/* jacobians.c: how fast a trained layer's field changes, and whether a scheme's step follows it. */
#include <math.h>
#include <stdio.h>

#include "studies/command.h"
#include "studies/output.h"
#include "studies/plot.h"
#include "studies/progress.h"
#include "studies/truncation.h"

static const char *const columns[] = {
    "scheme",       "layer",       "field",    "largest_amplification", "unstable", "flow_growth",
    "lipschitz_F", "lipschitz_G", "spectral_radius", "eigenvalues",     "tokens"};
static const char *const eigen_columns[] = {"layer", "field", "re", "im"};
#define COUNT(list) (sizeof(list) / sizeof *(list))

typedef struct {
    TruncationInput *in;
    Report *table, *eigen;
    Jacobian now;
    int layer, field;
} Study;

/* Largest |R(mu)| over the eigenvalues, lambda_F = lambda_G = mu / 2, and the share where |R| > 1
 * though the flow does not grow. */
static int amplify(const Study *u, const Table *scheme, double *largest, double *unstable)
{
    Stability *s;
    Table *t = table_freeze(scheme);
    size_t grown = 0, still = 0;
    if (!t) return ERR_MEMORY;
    int code = stability_new(t, &s);
    *largest = 0;
    for (size_t i = 0; code == 0 && i < u->now.count; i++) {
        double half[2] = {u->now.eigen[i][0] / 2, u->now.eigen[i][1] / 2};
        double r = stability_at(s, half, half);
        *largest = fmax(*largest, r);
        still += u->now.eigen[i][0] <= 0;
        grown += u->now.eigen[i][0] <= 0 && r > 1;
    }
    *unstable = still ? (double)grown / (double)still : NAN;
    if (code == 0) stability_free(s);
    table_free(t);
    return code;
}

static int report_scheme(Study *u, const Table *scheme)
{
    double largest, unstable, growth = 0, radius = 0;
    TRY(amplify(u, scheme, &largest, &unstable));
    for (size_t i = 0; i < u->now.count; i++) {
        growth = fmax(growth, exp(u->now.eigen[i][0]));
        radius = fmax(radius, hypot(u->now.eigen[i][0], u->now.eigen[i][1]));
    }
    report_text(u->table, scheme->name);
    report_size(u->table, (uint64_t)u->layer);
    report_text(u->table, truncation_field(u->field));
    report_real(u->table, largest, 4);
    report_real(u->table, unstable, 3);
    report_real(u->table, growth, 4);
    report_real(u->table, u->now.lipschitz[OP_F], 4);
    report_real(u->table, u->now.lipschitz[OP_G], 4);
    report_real(u->table, radius, 4);
    report_size(u->table, u->now.count);
    report_size(u->table, u->now.tokens);
    return 0;
}

static void report_eigenvalues(Study *u)
{
    for (size_t i = 0; i < u->now.count; i++) {
        report_size(u->eigen, (uint64_t)u->layer);
        report_text(u->eigen, truncation_field(u->field));
        report_real(u->eigen, u->now.eigen[i][0], 6);
        report_real(u->eigen, u->now.eigen[i][1], 6);
    }
}

static int study_layer(Study *u, Truncator *t)
{
    const Selection *s = &u->in->schemes;
    TRY(truncator_jacobian(t, u->layer, &u->now));
    report_eigenvalues(u);
    int code = 0;
    for (size_t i = 0; i < s->count && code == 0; i++)
        if (truncation_fields(u->in, s->scheme[i]) & 1 << u->field &&
            truncator_takes(t, s->scheme[i]) == 0)
            code = report_scheme(u, s->scheme[i]);
    jacobian_free(&u->now);
    return code;
}

static int any_scheme(const Study *u)
{
    int any = 0;
    for (size_t i = 0; i < u->in->schemes.count; i++)
        any = any || truncation_fields(u->in, u->in->schemes.scheme[i]) & 1 << u->field;
    return any;
}

static int study_field(Study *u)
{
    const Sentences *s = &u->in->sentences;
    TruncationOptions o = u->in->options;
    Truncator *t;
    if (!any_scheme(u)) return 0;
    o.field = u->field;
    TRY(truncator_new(u->in->network.model, u->in->network.table, &o, &t));
    int code = truncator_sentence(t, s->start[1], s->token, NULL);
    int layers = (int)model_plan(u->in->network.model)->layers;
    for (u->layer = 0; u->layer < layers && code == 0; u->layer++) {
        progress_show("Jacobian of layer %d of %d, field %s", u->layer + 1, layers,
                      truncation_field(u->field));
        code = study_layer(u, t);
    }
    progress_clear();
    truncator_free(t);
    return code;
}

static int draw(const Study *u, const char *dir)
{
    PlotFrame frame = {"eigenvalues", "Eigenvalues of the frozen Jacobian of a trained layer",
                       "Re", "Im", 0};
    Plot *p;
    int layers = (int)model_plan(u->in->network.model)->layers;
    TRY(plot_new(dir, &frame, &p));
    plot_setting(p, "is(layer, field) = strcol(1) eq layer && strcol(2) eq field");
    for (int f = 0, k = 0; f < 2; f++)
        for (int l = 0; l < layers; l++, k++)
            plot_item(p,
                      "'eigenvalues.csv' using (is('%d', '%s') ? $3 : NaN):4 with points lc rgb "
                      "'%s' pt 7 ps 0.4 title 'layer %d, field %s' noenhanced",
                      l, truncation_field(f), plot_colour((size_t)k), l, truncation_field(f));
    plot_item(p, "'-' using 1:2 with lines lc rgb '#777777' dt '-' title 'Euler: |1 + z| = 1'");
    return plot_finish(p);
}

static int save(const Study *u, const char *dir)
{
    TRY(output_directory(dir));
    TRY(output_report(u->table, REPORT_CSV, dir, "jacobian.csv"));
    TRY(output_report(u->eigen, REPORT_CSV, dir, "eigenvalues.csv"));
    return draw(u, dir);
}

int jacobian_study(TruncationInput *in, int csv, const char *dir)
{
    Study u = {.in = in};
    int code = report_new(COUNT(columns), columns, &u.table);
    if (code == 0) code = report_new(COUNT(eigen_columns), eigen_columns, &u.eigen);
    for (u.field = 0; u.field < 2 && code == 0; u.field++) code = study_field(&u);
    if (code == 0) code = report_write(u.table, csv ? REPORT_CSV : REPORT_PLAIN, stdout);
    if (code == 0 && dir) code = save(&u, dir);
    report_free(u.table);
    report_free(u.eigen);
    return code;
}
