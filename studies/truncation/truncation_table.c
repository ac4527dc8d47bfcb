/* truncation_table.c: tables of truncation errors: medians and quartiles over sentences, and verdicts. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "studies/tools/command.h"
#include "studies/truncation/truncation_study.h"

static const char *const point_columns[] = {"scheme",         "layer", "h",     "error",
                                            "relative_error", "low",   "high",  "floor",
                                            "remainder",      "field", "depth", "sentences"};
static const char *const summary_columns[] = {"scheme",
                                              "layer",
                                              "field",
                                              "depth",
                                              "order",
                                              "slope",
                                              "slope_low",
                                              "slope_high",
                                              "verdict",
                                              "asymptotic_h",
                                              "relative_error",
                                              "low",
                                              "high",
                                              "leading",
                                              "remainder",
                                              "remainder_slope",
                                              "remainder_verdict",
                                              "sets",
                                              "agreement"};
static const char *const brief_columns[] = {"scheme", "layer",   "field",  "sets",      "order",
                                            "slope",  "verdict", "from h", "error",     "low",
                                            "high",   "leading", "rest",   "rest slope"};
static const char *const term_columns[] = {"scheme", "layer",       "field",
                                           "term",   "coefficient", "size"};
static const char *const curve_columns[] = {"name", "h", "relative_error", "low", "high"};
static const char *const layer_columns[] = {"name", "layer", "relative_error", "low", "high"};
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---- medians over sentences ------------------------------------------------------------------------- */

/* A number of a Truncation: of the whole, of point j, or the size of term j. */
typedef struct {
    enum { OF_ALL, OF_POINT, OF_TERM } of;
    size_t offset;
} Pick;

#define PICK(x) ((Pick){OF_ALL, offsetof(Truncation, x)})
#define PICK_POINT(x) ((Pick){OF_POINT, offsetof(TruncationPoint, x)})
#define PICK_TERM ((Pick){OF_TERM, offsetof(TruncationTerm, size)})

static double picked(const Truncation *t, Pick pick, size_t j)
{
    const char *from = (const char *)t;
    if (pick.of == OF_POINT) from = (const char *)&t->point[j];
    if (pick.of == OF_TERM && j >= t->terms) return NAN;
    if (pick.of == OF_TERM) from = (const char *)&t->term[j];
    return *(const double *)(const void *)(from + pick.offset);
}

/* Over the sentences of one layer, or with layer = u->layers over all layers too. */
static Spread spread(const TruncationStudy *u, size_t series, size_t layer, Pick pick, size_t j)
{
    size_t sentences = u->in->sentences.count, n = 0, one = layer < u->layers;
    double *x = memory_new(sentences, (one ? 1 : u->layers) * sizeof *x);
    Spread s = {NAN, NAN, NAN};
    if (!x) return s;
    for (size_t l = one ? layer : 0; l < (one ? layer + 1 : u->layers); l++)
        for (size_t k = 0; k < sentences; k++) {
            const Truncation *t = truncation_cell(u, series, l, k);
            if (t->points) x[n++] = picked(t, pick, j);
        }
    s = spread_of(x, n);
    memory_free(x);
    return s;
}

/* The largest h from which at least half of the sentences are in the asymptotic regime; NaN: none. */
static double asymptotic_from(const TruncationStudy *u, size_t series, size_t layer)
{
    double best = 0;
    size_t sentences = u->in->sentences.count;
    for (size_t k = 0; k < sentences; k++) {
        double h = truncation_cell(u, series, layer, k)->asymptotic;
        size_t reach = 0;
        for (size_t i = 0; i < sentences; i++)
            reach += truncation_cell(u, series, layer, i)->asymptotic >= h;
        if (2 * reach >= sentences) best = fmax(best, h);
    }
    return best > 0 ? best : NAN;
}

/* A sentence whose flow was solved, for what is the same in all. */
static const Truncation *sample(const TruncationStudy *u, size_t series, size_t layer)
{
    for (size_t k = 0; k < u->in->sentences.count; k++)
        if (truncation_cell(u, series, layer, k)->points)
            return truncation_cell(u, series, layer, k);
    return NULL;
}

static size_t points(const TruncationStudy *u, size_t series)
{
    size_t n = 0;
    for (size_t l = 0; l < u->layers; l++) {
        const Truncation *t = sample(u, series, l);
        if (t && t->points > n) n = t->points;
    }
    return n;
}

/* ---- tables ----------------------------------------------------------------------------------------- */

static void report_layer(TruncationStudy *u, size_t i, size_t layer)
{
    const TruncationSeries *s = &u->series[i];
    const Truncation *t = sample(u, i, layer);
    for (size_t j = 0; t && j < t->points; j++) {
        Spread r = spread(u, i, layer, PICK_POINT(relative), j);
        report_text(u->points, s->scheme->name);
        report_size(u->points, layer);
        report_real(u->points, t->point[j].h, 6);
        report_real(u->points, spread(u, i, layer, PICK_POINT(error), j).median, 4);
        report_real(u->points, r.median, 4);
        report_real(u->points, r.low, 4);
        report_real(u->points, r.high, 4);
        report_real(u->points, spread(u, i, layer, PICK_POINT(floor), j).median, 2);
        report_real(u->points, spread(u, i, layer, PICK_POINT(remainder), j).median, 4);
        report_text(u->points, truncation_field(s->field));
        report_text(u->points, truncation_depth(t->depth));
        report_size(u->points, u->in->sentences.count);
    }
}

static int has_kinks(const TruncationStudy *u)
{
    return model_config(u->in->network.model)->act == ACT_RELU;
}

/* ReLU has kinks, at which a step's error is O(h^2), met in a share O(h) of the coordinates: an RMS of
 * O(h^2.5). */
static const char *slope_verdict(const TruncationStudy *u, const Truncation *t, double slope,
                                 double tolerance, double error, int settled)
{
    int order = t->order;
    if (t->depth == DEPTH_PIECEWISE && t->history) return isnan(error) ? "no history" : "jump";
    if (error == 0) return "exact";
    if (isnan(slope)) return "floor";
    if (has_kinks(u) && order + 1 > 2.5 && (slope < order + 0.9 || !settled)) return "kinks";
    if (slope > order + 1.5) return "higher";
    if (fabs(slope - order - 1) <= fmax(0.25, fmin(tolerance, 0.5))) return "agree";
    return settled ? "disagree" : "not asymptotic";
}

/* The remainder falls faster than the error by a power of h, or nothing can be said of it. */
static const char *rest_verdict(const TruncationStudy *u, int order, double slope, double tolerance,
                                int settled)
{
    if (isnan(slope)) return "";
    if (slope >= order + 1.6) return "agree";
    if (has_kinks(u)) return "kinks";
    return settled && slope + tolerance < order + 1.6 ? "disagree" : "not asymptotic";
}

/* Three steps or more follow the exact order: the regime is there, and an error has to be as it says. */
static int is_settled(const Truncation *t, double from)
{
    return from >= 4 * t->point[t->points - 1].h;
}

/* What the summary says of a series in a layer. */
typedef struct {
    const Truncation *t; /* what is the same in all sentences */
    Spread slope, relative;
    double from, leading, rest, rest_slope;
    const char *verdict, *rest_verdict;
} Verdict;

static Verdict judge(const TruncationStudy *u, size_t i, size_t layer)
{
    Verdict v = {.t = sample(u, i, layer)};
    if (!v.t) return v;
    v.slope = spread(u, i, layer, PICK(slope), 0);
    v.relative = spread(u, i, layer, PICK_POINT(relative), 0);
    v.from = asymptotic_from(u, i, layer);
    v.leading = spread(u, i, layer, PICK(leading), 0).median;
    v.rest = spread(u, i, layer, PICK_POINT(remainder), 0).median;
    v.rest_slope = spread(u, i, layer, PICK(remainder_slope), 0).median;
    int settled = is_settled(v.t, v.from);
    double tolerance = spread(u, i, layer, PICK(tolerance), 0).median;
    double rest_tolerance = spread(u, i, layer, PICK(remainder_tolerance), 0).median;
    v.verdict = slope_verdict(u, v.t, v.slope.median, tolerance, v.relative.median, settled);
    v.rest_verdict = rest_verdict(u, v.t->order, v.rest_slope, rest_tolerance, settled);
    return v;
}

static void report_summary(TruncationStudy *u, size_t i, size_t layer, const Verdict *v)
{
    const TruncationSeries *s = &u->series[i];
    Report *r = u->summary;
    report_text(r, s->scheme->name);
    report_size(r, layer);
    report_text(r, truncation_field(s->field));
    report_text(r, truncation_depth(v->t->depth));
    report_order(r, v->t->order);
    report_fixed(r, v->slope.median, 2);
    report_fixed(r, v->slope.low, 2);
    report_fixed(r, v->slope.high, 2);
    report_text(r, v->verdict);
    report_real(r, v->from, 3);
    report_real(r, v->relative.median, 3);
    report_real(r, v->relative.low, 3);
    report_real(r, v->relative.high, 3);
    report_real(r, v->leading, 3);
    report_real(r, v->rest, 3);
    report_fixed(r, v->rest_slope, 2);
    report_text(r, v->rest_verdict);
    report_text(r, v->t->sets ? "own" : "mean");
    report_real(r, spread(u, i, layer, PICK(agreement), 0).median, 2);
}

static void report_brief(TruncationStudy *u, size_t i, size_t layer, const Verdict *v)
{
    Report *r = u->brief;
    report_text(r, u->series[i].scheme->name);
    report_size(r, layer);
    report_text(r, truncation_field(u->series[i].field));
    report_text(r, v->t->sets ? "own" : "mean");
    report_order(r, v->t->order);
    report_fixed(r, v->slope.median, 2);
    report_text(r, v->verdict);
    report_real(r, v->from, 3);
    report_real(r, v->relative.median, 3);
    report_real(r, v->relative.low, 3);
    report_real(r, v->relative.high, 3);
    report_real(r, v->leading, 3);
    report_real(r, v->rest, 3);
    report_fixed(r, v->rest_slope, 2);
}

static void report_verdict(TruncationStudy *u, size_t i, size_t layer)
{
    Verdict v = judge(u, i, layer);
    if (!v.t) return;
    report_summary(u, i, layer, &v);
    report_brief(u, i, layer, &v);
    u->disagree += strcmp(v.rest_verdict, "disagree") == 0;
}

static void report_terms(TruncationStudy *u, size_t i, size_t layer)
{
    const Truncation *t = sample(u, i, layer);
    for (size_t j = 0; t && j < t->terms; j++) {
        report_text(u->terms, u->series[i].scheme->name);
        report_size(u->terms, layer);
        report_text(u->terms, truncation_field(u->series[i].field));
        report_text(u->terms, t->term[j].name);
        report_real(u->terms, t->term[j].coefficient, 6);
        report_real(u->terms, spread(u, i, layer, PICK_TERM, j).median, 4);
    }
}

/* Medians over sentences and layers. */
static void report_curve(TruncationStudy *u, size_t i)
{
    size_t n = points(u, i);
    for (size_t j = 0; j < n; j++) {
        Spread r = spread(u, i, u->layers, PICK_POINT(relative), j);
        report_text(u->curves, u->series[i].name);
        report_real(u->curves, ldexp(1, -(int)j), 6);
        report_real(u->curves, r.median, 4);
        report_real(u->curves, r.low, 4);
        report_real(u->curves, r.high, 4);
    }
}

/* The network's own step. */
static void report_by_layer(TruncationStudy *u, size_t i, size_t layer)
{
    Spread r = spread(u, i, layer, PICK_POINT(relative), 0);
    report_text(u->by_layer, u->series[i].name);
    report_size(u->by_layer, layer);
    report_real(u->by_layer, r.median, 4);
    report_real(u->by_layer, r.low, 4);
    report_real(u->by_layer, r.high, 4);
}

int truncation_tables(TruncationStudy *u)
{
    TRY(report_new(COUNT(point_columns), point_columns, &u->points));
    TRY(report_new(COUNT(summary_columns), summary_columns, &u->summary));
    TRY(report_new(COUNT(brief_columns), brief_columns, &u->brief));
    TRY(report_new(COUNT(term_columns), term_columns, &u->terms));
    TRY(report_new(COUNT(curve_columns), curve_columns, &u->curves));
    TRY(report_new(COUNT(layer_columns), layer_columns, &u->by_layer));
    for (size_t i = 0; i < u->count; i++) {
        for (size_t l = 0; l < u->layers; l++) {
            report_layer(u, i, l);
            report_verdict(u, i, l);
            report_terms(u, i, l);
            report_by_layer(u, i, l);
        }
        report_curve(u, i);
    }
    return 0;
}
