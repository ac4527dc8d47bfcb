/* truncation.c: truncator_measure for every scheme, layer and sentence; tables of it. */
#include "studies/truncation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/command.h"
#include "studies/progress.h"

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
static const char *const term_columns[] = {"scheme", "layer",       "field",
                                           "term",   "coefficient", "size"};
static const char *const curve_columns[] = {"name", "h", "relative_error", "low", "high"};
static const char *const layer_columns[] = {"name", "layer", "relative_error", "low", "high"};
#define COUNT(list) (sizeof(list) / sizeof *(list))

static const double check_most = 1e-9; /* rounding of some layers, amplified, is below */

/* ---- what is measured ------------------------------------------------------------------------------- */

int truncation_fields(const TruncationInput *in, const Table *scheme)
{
    int asked = in->fields[FIELD_SPLIT] << FIELD_SPLIT | in->fields[FIELD_LAYER] << FIELD_LAYER;
    if (asked) return asked;
    return 1 << FIELD_SPLIT | (table_over(scheme, OP_L) ? 1 << FIELD_LAYER : 0);
}

/* A scheme that has no step of a field asked for is left out, and said so. */
static int add_series(TruncationStudy *u, Truncator *const truncator[2], const Table *scheme)
{
    int fields = truncation_fields(u->in, scheme);
    for (int f = 0; f < 2; f++) {
        if (!(fields & 1 << f)) continue;
        int code = truncator_takes(truncator[f], scheme);
        if (code == ERR_ACCURACY) command_warn("%s; left out", error_text());
        if (code < 0) return code;
        if (code > 0) continue;
        TruncationSeries *s = &u->series[u->count++];
        *s = (TruncationSeries){.scheme = scheme, .field = f};
        snprintf(s->name, sizeof s->name, "%s%s", scheme->name, f ? " (field L)" : "");
    }
    return 0;
}

static int list_series(TruncationStudy *u, Truncator *const truncator[2])
{
    const Selection *s = &u->in->schemes;
    u->series = memory_new(2 * s->count, sizeof *u->series);
    if (!u->series) return ERR_MEMORY;
    for (size_t i = 0; i < s->count; i++) TRY(add_series(u, truncator, s->scheme[i]));
    if (u->count == 0)
        return error_set(ERR_INPUT, "no scheme of --scheme has a step of this field");
    u->cell = memory_new(u->count * u->layers, u->in->sentences.count * sizeof *u->cell);
    return u->cell ? 0 : ERR_MEMORY;
}

static Truncation *cell(const TruncationStudy *u, size_t series, size_t layer, size_t sentence)
{
    return &u->cell[(series * u->layers + layer) * u->in->sentences.count + sentence];
}

typedef struct {
    double begun;
    size_t done, all;
} Pace;

static void show_pace(Pace *p, const char *name, size_t layer, size_t sentence, size_t sentences)
{
    char left[32];
    double passed = progress_now() - p->begun;
    progress_time(p->done ? passed / (double)p->done * (double)(p->all - p->done) : INFINITY, left);
    progress_show("sentence %zu of %zu, layer %zu, %s%s%s", sentence + 1, sentences, layer, name,
                  *left ? ", about " : "", *left ? left : "");
    p->done++;
}

static int measure_layer(TruncationStudy *u, Truncator *t, int field, size_t sentence, size_t layer,
                         Pace *pace)
{
    for (size_t i = 0; i < u->count; i++) {
        const TruncationSeries *s = &u->series[i];
        if (s->field != field) continue;
        Truncation *c = cell(u, i, layer, sentence);
        show_pace(pace, s->name, layer, sentence, u->in->sentences.count);
        int code = truncator_measure(t, (int)layer, s->scheme, c);
        if (code == ERR_NUMERIC)
            command_warn("%s, layer %zu, sentence %zu: %s", s->name, layer, sentence + 1,
                         error_text());
        if (code != 0 && code != ERR_NUMERIC) return code;
        if (code != 0) c->points = 0;
    }
    return 0;
}

static int measure_all(TruncationStudy *u, Truncator *const truncator[2])
{
    const Sentences *s = &u->in->sentences;
    Pace pace = {progress_now(), 0, u->count * u->layers * s->count};
    for (size_t k = 0; k < s->count; k++)
        for (int f = 0; f < 2; f++) {
            double check;
            TRY(truncator_sentence(truncator[f], s->start[k + 1] - s->start[k],
                                   s->token + s->start[k], &check));
            if (!(check <= u->check)) u->check = check;
            for (size_t l = 0; l < u->layers; l++)
                TRY(measure_layer(u, truncator[f], f, k, l, &pace));
        }
    progress_clear();
    return 0;
}

/* ---- medians over sentences ------------------------------------------------------------------------- */

typedef double Pick(const Truncation *t, size_t point);

static double pick_error(const Truncation *t, size_t j)
{
    return t->point[j].error;
}
static double pick_relative(const Truncation *t, size_t j)
{
    return t->point[j].relative;
}
static double pick_floor(const Truncation *t, size_t j)
{
    return t->point[j].floor;
}
static double pick_remainder(const Truncation *t, size_t j)
{
    return t->point[j].remainder;
}
static double pick_slope(const Truncation *t, size_t j)
{
    return (void)j, t->slope;
}
static double pick_rest_tolerance(const Truncation *t, size_t j)
{
    return (void)j, t->remainder_tolerance;
}
static double pick_tolerance(const Truncation *t, size_t j)
{
    return (void)j, t->tolerance;
}
static double pick_leading(const Truncation *t, size_t j)
{
    return (void)j, t->leading;
}
static double pick_rest(const Truncation *t, size_t j)
{
    return (void)j, t->remainder_slope;
}
static double pick_agreement(const Truncation *t, size_t j)
{
    return (void)j, t->agreement;
}
static double pick_term(const Truncation *t, size_t j)
{
    return j < t->terms ? t->term[j].size : NAN;
}

/* Over the sentences of one layer, or with layer = u->layers over all layers too. */
static Spread spread(const TruncationStudy *u, size_t series, size_t layer, Pick *pick, size_t j)
{
    size_t sentences = u->in->sentences.count, n = 0, one = layer < u->layers;
    double *x = memory_new(sentences, (one ? 1 : u->layers) * sizeof *x);
    Spread s = {NAN, NAN, NAN};
    if (!x) return s;
    for (size_t l = one ? layer : 0; l < (one ? layer + 1 : u->layers); l++)
        for (size_t k = 0; k < sentences; k++) {
            const Truncation *t = cell(u, series, l, k);
            if (t->points) x[n++] = pick(t, j);
        }
    s = spread_of(x, n);
    memory_free(x);
    return s;
}

/* The largest h from which at least half of the sentences are in the asymptotic regime. */
static double asymptotic_from(const TruncationStudy *u, size_t series, size_t layer)
{
    double best = 0;
    size_t sentences = u->in->sentences.count;
    for (size_t k = 0; k < sentences; k++) {
        double h = cell(u, series, layer, k)->asymptotic;
        size_t reach = 0;
        for (size_t i = 0; i < sentences; i++) reach += cell(u, series, layer, i)->asymptotic >= h;
        if (2 * reach >= sentences) best = fmax(best, h);
    }
    return best;
}

/* A sentence whose flow was solved, for what is the same in all. */
static const Truncation *sample(const TruncationStudy *u, size_t series, size_t layer)
{
    for (size_t k = 0; k < u->in->sentences.count; k++)
        if (cell(u, series, layer, k)->points) return cell(u, series, layer, k);
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
        Spread r = spread(u, i, layer, pick_relative, j);
        report_text(u->points, s->scheme->name);
        report_size(u->points, layer);
        report_real(u->points, t->point[j].h, 6);
        report_real(u->points, spread(u, i, layer, pick_error, j).median, 4);
        report_real(u->points, r.median, 4);
        report_real(u->points, r.low, 4);
        report_real(u->points, r.high, 4);
        report_real(u->points, spread(u, i, layer, pick_floor, j).median, 2);
        report_real(u->points, spread(u, i, layer, pick_remainder, j).median, 4);
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

static void report_summary(TruncationStudy *u, size_t i, size_t layer)
{
    const TruncationSeries *s = &u->series[i];
    const Truncation *t = sample(u, i, layer);
    Report *r = u->summary;
    if (!t) return;
    Spread slope = spread(u, i, layer, pick_slope, 0);
    Spread relative = spread(u, i, layer, pick_relative, 0);
    double from = asymptotic_from(u, i, layer);
    double rest = spread(u, i, layer, pick_rest, 0).median;
    int settled = is_settled(t, from);
    const char *verdict = rest_verdict(u, t->order, rest,
                                       spread(u, i, layer, pick_rest_tolerance, 0).median, settled);
    report_text(r, s->scheme->name);
    report_size(r, layer);
    report_text(r, truncation_field(s->field));
    report_text(r, truncation_depth(t->depth));
    if (t->order < 0)
        report_none(r);
    else
        report_size(r, (uint64_t)t->order);
    report_fixed(r, slope.median, 2);
    report_fixed(r, slope.low, 2);
    report_fixed(r, slope.high, 2);
    report_text(r, slope_verdict(u, t, slope.median, spread(u, i, layer, pick_tolerance, 0).median,
                                 relative.median, settled));
    report_real(r, from, 3);
    report_real(r, relative.median, 3);
    report_real(r, relative.low, 3);
    report_real(r, relative.high, 3);
    report_real(r, spread(u, i, layer, pick_leading, 0).median, 3);
    report_real(r, spread(u, i, layer, pick_remainder, 0).median, 3);
    report_fixed(r, rest, 2);
    report_text(r, verdict);
    report_text(r, t->sets ? "own" : "mean");
    report_real(r, spread(u, i, layer, pick_agreement, 0).median, 2);
    u->disagree += strcmp(verdict, "disagree") == 0;
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
        report_real(u->terms, spread(u, i, layer, pick_term, j).median, 4);
    }
}

/* Medians over sentences and layers. */
static void report_curve(TruncationStudy *u, size_t i)
{
    size_t n = points(u, i);
    for (size_t j = 0; j < n; j++) {
        Spread r = spread(u, i, u->layers, pick_relative, j);
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
    Spread r = spread(u, i, layer, pick_relative, 0);
    report_text(u->by_layer, u->series[i].name);
    report_size(u->by_layer, layer);
    report_real(u->by_layer, r.median, 4);
    report_real(u->by_layer, r.low, 4);
    report_real(u->by_layer, r.high, 4);
}

static int fill_tables(TruncationStudy *u)
{
    TRY(report_new(COUNT(point_columns), point_columns, &u->points));
    TRY(report_new(COUNT(summary_columns), summary_columns, &u->summary));
    TRY(report_new(COUNT(term_columns), term_columns, &u->terms));
    TRY(report_new(COUNT(curve_columns), curve_columns, &u->curves));
    TRY(report_new(COUNT(layer_columns), layer_columns, &u->by_layer));
    for (size_t i = 0; i < u->count; i++) {
        for (size_t l = 0; l < u->layers; l++) {
            report_layer(u, i, l);
            report_summary(u, i, l);
            report_terms(u, i, l);
            report_by_layer(u, i, l);
        }
        report_curve(u, i);
    }
    return 0;
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static int run(TruncationStudy *u, Truncator *truncator[2])
{
    for (int f = 0; f < 2; f++) {
        TruncationOptions o = u->in->options;
        o.field = f;
        o.terms = 1;
        TRY(truncator_new(u->in->network.model, u->in->network.table, &o, &truncator[f]));
    }
    TRY(list_series(u, truncator));
    TRY(measure_all(u, truncator));
    return fill_tables(u);
}

int truncation_run(TruncationInput *in, TruncationStudy *u)
{
    Truncator *truncator[2] = {NULL, NULL};
    *u = (TruncationStudy){.in = in, .layers = model_plan(in->network.model)->layers};
    int code = run(u, truncator);
    truncator_free(truncator[0]);
    truncator_free(truncator[1]);
    progress_clear();
    if (code == 0 && !(u->check <= check_most))
        return error_set(ERR_CHECK,
                         "the field's sublayers do not make the network: they differ by %.2g",
                         u->check);
    return code;
}

void truncation_free(TruncationStudy *u)
{
    report_free(u->points);
    report_free(u->summary);
    report_free(u->terms);
    report_free(u->curves);
    report_free(u->by_layer);
    memory_free(u->series);
    memory_free(u->cell);
    *u = (TruncationStudy){0};
}
