/* truncation_table.c: tabulates truncation errors: medians and quartiles over sentences, and verdicts. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "studies/base/command.h"
#include "studies/model/truncation/truncation_study.h"

/* One step size in one layer, or in all layers together. Three tables show parts of this row. */
typedef struct {
    const char *scheme, *name, *field;
    size_t layer, sentences;
    double h, error, floor, remainder;
    Spread relative;
} PointRow;

#define NAME "scheme, followed by the field where that is L"
#define QUARTILE "quartile over sentences"
#define RELATIVE                                                 \
    FIELD(PointRow, "relative_error", relative.median),          \
        FIELD(PointRow, "low", relative.low, .words = QUARTILE), \
        FIELD(PointRow, "high", relative.high, .words = QUARTILE)

const Column truncation_points[] = {
    COLUMN(PointRow, scheme),
    COLUMN(PointRow, layer),
    COLUMN(PointRow, h),
    COLUMN(PointRow, error, .words = "RMS over tokens and coordinates: median over sentences"),
    RELATIVE,
    COLUMN(PointRow, floor,
           .words = "size below which an error is rounding or comes from the exact flow"),
    COLUMN(PointRow, remainder),
    COLUMN(PointRow, field),
    COLUMN(PointRow, sentences, .words = "sentences measured"),
    {0}};
const Column truncation_curves[] = {
    COLUMN(PointRow, name, .words = NAME), COLUMN(PointRow, h), RELATIVE, {0}};
const Column truncation_layers[] = {
    COLUMN(PointRow, name, .words = NAME), COLUMN(PointRow, layer), RELATIVE, {0}};

typedef struct {
    const char *scheme, *field, *sets, *verdict, *remainder_verdict, *time, *carried_verdict;
    int governed;
    size_t layer;
    int order;
    Spread slope, relative;
    double asymptotic_h, leading, remainder, remainder_slope, agreement;
    double carried, carried_after, carried_error, remembered;
} VerdictRow;

const Column truncation_verdicts[] = {
    COLUMN(VerdictRow, scheme, .place = 1),
    COLUMN(VerdictRow, layer, .place = 2),
    COLUMN(VerdictRow, field, .place = 3),
    COLUMN(VerdictRow, order, .place = 6,
           .words = "exact order of the scheme in this field, against the flow over its time"),
    FIELD(VerdictRow, "slope", slope.median, .form = SHEET_FIXED, .digits = 2, .place = 7,
          .low = "slope_low", .high = "slope_high",
          .words = "power of h in the error before it is divided by a displacement, with quartiles "
                   "over sentences"),
    FIELD(VerdictRow, "slope_low", slope.low, .words = QUARTILE),
    FIELD(VerdictRow, "slope_high", slope.high, .words = QUARTILE),
    COLUMN(VerdictRow, verdict, .place = 8,
           .words =
               "slope against order + 1; not asymptotic: undecided, as no steps are seen to follow "
               "the order, or the slope may be off by more than 1/2; kinks: ReLU has kinks, which "
               "limit slopes to about 2.5"),
    COLUMN(VerdictRow, asymptotic_h, .head = "from h", .digits = 3, .place = 9),
    FIELD(VerdictRow, "relative_error", relative.median, .head = "error", .digits = 3, .place = 10,
          .low = "low", .high = "high"),
    FIELD(VerdictRow, "low", relative.low, .digits = 3, .place = 11, .words = QUARTILE),
    FIELD(VerdictRow, "high", relative.high, .digits = 3, .place = 12, .words = QUARTILE),
    COLUMN(VerdictRow, leading, .digits = 3, .place = 13),
    COLUMN(VerdictRow, remainder, .head = "rest", .digits = 3, .place = 15),
    COLUMN(VerdictRow, remainder_slope, .head = "rest slope", .form = SHEET_FIXED, .digits = 2,
           .place = 16),
    COLUMN(VerdictRow, remainder_verdict, .words = "remainder_slope against order + 2"),
    COLUMN(VerdictRow, sets, .place = 4),
    COLUMN(VerdictRow, agreement,
           .words =
               "difference between the exact flow's two integrators, divided by the displacement"),
    COLUMN(
        VerdictRow, time, .place = 5,
        .words =
            "time of the exact flow against which a step of 1 is measured: the distance that the "
            "scheme goes"),
    COLUMN(
        VerdictRow, governed, .form = SHEET_FLAG, .head = "governs", .place = 14,
        .words =
            "whether the order governs h = 1: the median error there is within " TRUNCATION_PERCENT
            " of the median of leading"),
    COLUMN(
        VerdictRow, carried, .head = "v off", .digits = 3, .place = 17,
        .words =
            "what the model carries beside y into the layer, less what the layer's updates, as they were "
            "trained, make of it on the exact flow, divided by the latter"),
    COLUMN(VerdictRow, carried_after, .head = "v' off", .digits = 3, .place = 18,
           .words =
               "the same behind the layer's step from what the model carries: the error of v' in "
               "the network's own step, as `error` is that of y"),
    COLUMN(
        VerdictRow, carried_error, .head = "error from v", .digits = 3, .place = 19,
        .words =
            "error of a step of 1 that begins with what is carried on the exact flow: that of y, "
            "and of all that is carried, as the rest has none"),
    COLUMN(VerdictRow, remembered, .head = "remembered", .digits = 2, .place = 20,
           .words = "what is left of how v began " TEXT(TRUNCATION_BACK) " to " TEXT(
               TRUNCATION_BACK_MOST) " steps back on the exact flow: the "
                                     "difference between two beginnings, 0 and y, divided by v"),
    COLUMN(
        VerdictRow, carried_verdict, .head = "v", .place = 21,
        .words =
            "of the model's own scheme: found; too long a memory: more than 1 % is left; not learned: the layer "
            "lacks a coefficient of its updates, of v where v enters as 0, or of the last layer's v', which "
            "nothing reads; not finite: the exact flow, or the step"),
    {0}};

typedef struct {
    const char *scheme, *field, *term;
    size_t layer;
    double coefficient, size;
} TermRow;

const Column truncation_terms[] = {
    COLUMN(TermRow, scheme),
    COLUMN(TermRow, layer),
    COLUMN(TermRow, field),
    COLUMN(TermRow, term, .form = SHEET_FORMULA,
           .words = "elementary differential: $F'G$ is the derivative of $F$ along $G$"),
    COLUMN(TermRow, coefficient, .words = "coefficient of the term in numerical − exact"),
    COLUMN(TermRow, size,
           .words = "size of the term at h = 1, divided by the flow's displacement in that step"),
    {0}};

/* ---- medians over sentences ------------------------------------------------------------------------- */

/* A number within a Truncation that has at least `terms` terms. */
typedef struct {
    size_t at, terms;
} Pick;

#define PICK(x) ((Pick){offsetof(Truncation, x), 0})
#define PICK_POINT(j, x) \
    ((Pick){offsetof(Truncation, point[0].x) + (j) * sizeof(TruncationPoint), 0})
#define PICK_TERM(j) \
    ((Pick){offsetof(Truncation, term[0].size) + (j) * sizeof(TruncationTerm), (j) + 1})

/* Returns the spread over the sentences of one layer, or with layer = u->layers over all layers too. */
static Spread spread(const TruncationStudy *u, size_t series, size_t layer, Pick pick)
{
    size_t sentences = u->in->drawn.of.count, n = 0, one = layer < u->layers;
    for (size_t l = one ? layer : 0; l < (one ? layer + 1 : u->layers); l++)
        for (size_t k = 0; k < sentences; k++) {
            const Truncation *t = truncation_cell(u, series, l, k);
            const char *at = (const char *)t + pick.at;
            if (t->points && t->terms >= pick.terms)
                u->room[n++] = *(const double *)(const void *)at;
        }
    return spread_of(u->room, n);
}

/* Returns the largest h from which at least half of the sentences are in the
 * asymptotic regime; NaN: none. */
static double asymptotic_from(const TruncationStudy *u, size_t series, size_t layer)
{
    double best = 0;
    size_t sentences = u->in->drawn.of.count;
    for (size_t k = 0; k < sentences; k++) {
        double h = truncation_cell(u, series, layer, k)->asymptotic;
        size_t reach = 0;
        for (size_t i = 0; i < sentences; i++)
            reach += truncation_cell(u, series, layer, i)->asymptotic >= h;
        if (2 * reach >= sentences) best = fmax(best, h);
    }
    return best > 0 ? best : NAN;
}

/* Returns a sentence whose flow was solved, for values that are the same in all. */
static const Truncation *sample(const TruncationStudy *u, size_t series, size_t layer)
{
    for (size_t k = 0; k < u->in->drawn.of.count; k++)
        if (truncation_cell(u, series, layer, k)->points)
            return truncation_cell(u, series, layer, k);
    return NULL;
}

/* ---- tables ----------------------------------------------------------------------------------------- */

/* Adds step j in a layer, or in all with layer = u->layers. */
static void add_point(const TruncationStudy *u, Sheet *to, size_t i, size_t layer, size_t j)
{
    const TruncationSeries *s = &u->series[i];
    sheet_row(to, &(PointRow){.scheme = s->scheme->name,
                              .name = s->name,
                              .field = truncation_field(s->field),
                              .layer = layer,
                              .sentences = u->in->drawn.of.count,
                              .h = ldexp(1, -(int)j),
                              .error = spread(u, i, layer, PICK_POINT(j, error)).median,
                              .floor = spread(u, i, layer, PICK_POINT(j, floor)).median,
                              .remainder = spread(u, i, layer, PICK_POINT(j, remainder)).median,
                              .relative = spread(u, i, layer, PICK_POINT(j, relative))});
}

static int has_kinks(const TruncationStudy *u)
{
    return !model_smooth(u->in->network.model);
}

/* Tells whether three or more steps follow the exact order: the regime is reached, so the error must be as predicted. */
static int is_settled(const Truncation *t, double from)
{
    return from >= 4 * t->point[t->points - 1].h;
}

/* Returns the verdict on a slope. ReLU has kinks. A step's error there is O(h^2), in a share O(h) of the
 * coordinates, so the RMS is O(h^2.5). A slope that is near the due one agrees where it is known to 1/2, and some steps
 * follow the exact order (from > 0); else it is near by chance, for all that is known. */
static const char *slope_verdict(const TruncationStudy *u, const Truncation *t, double slope,
                                 double tolerance, double error, double from)
{
    int settled = is_settled(t, from);
    int order = t->order;
    if (error == 0) return "exact";
    if (isnan(slope)) return "floor";
    if (has_kinks(u) && order + 1 > 2.5 && (slope < order + 0.9 || !settled)) return "kinks";
    if (slope > order + 1.5) return "higher";
    if (fabs(slope - order - 1) <= fmax(0.25, fmin(tolerance, 0.5)))
        return tolerance <= 0.5 && from > 0 ? "agree" : "not asymptotic";
    return settled ? "disagree" : "not asymptotic";
}

/* Returns the verdict on the remainder: it falls faster than the error by a power of h, or is undecided. */
static const char *rest_verdict(const TruncationStudy *u, int order, double slope, double tolerance,
                                int settled)
{
    if (isnan(slope)) return "";
    if (slope >= order + 1.6 && (tolerance <= 0.5 || slope - tolerance > order + 1)) return "agree";
    if (has_kinks(u)) return "kinks";
    return settled && slope + tolerance < order + 1.6 ? "disagree" : "not asymptotic";
}

/* Tells whether what is carried is found on the exact flow; where it is not there are no numbers of it. */
static void add_carried(const TruncationStudy *u, size_t i, size_t layer, const Truncation *t,
                        VerdictRow *v)
{
    v->carried = v->carried_after = v->carried_error = NAN;
    v->carried_verdict = "";
    v->remembered = spread(u, i, layer, PICK(remembered)).median;
    if (!t->holds) return;
    v->carried_verdict = v->remembered > TRUNCATION_REMEMBERED ? "too long a memory"
                         : t->untold                           ? t->untold
                                                               : "not finite";
    if (!(v->remembered <= TRUNCATION_REMEMBERED)) return;
    v->carried = spread(u, i, layer, PICK(carried)).median;
    v->carried_after = spread(u, i, layer, PICK(carried_after)).median;
    v->carried_error = spread(u, i, layer, PICK(smooth)).median;
    if (isfinite(v->carried_error)) v->carried_verdict = "found";
}

/* Adds a verdict. t: values that are the same in all sentences. */
static void add_verdict(TruncationStudy *u, size_t i, size_t layer, const Truncation *t)
{
    const TruncationSeries *s = &u->series[i];
    char time[64];
    truncation_time(t->time, time, sizeof time);
    VerdictRow v = {.scheme = s->scheme->name,
                    .time = time,
                    .field = truncation_field(s->field),
                    .sets = t->sets ? "own" : "mean",
                    .layer = layer,
                    .order = t->order,
                    .slope = spread(u, i, layer, PICK(slope)),
                    .relative = spread(u, i, layer, PICK_POINT(0, relative)),
                    .asymptotic_h = asymptotic_from(u, i, layer),
                    .leading = spread(u, i, layer, PICK(leading)).median,
                    .remainder = spread(u, i, layer, PICK_POINT(0, remainder)).median,
                    .remainder_slope = spread(u, i, layer, PICK(remainder_slope)).median,
                    .agreement = spread(u, i, layer, PICK(agreement)).median};
    v.governed = t->network ? -1 : truncation_governs(v.relative.median, v.leading);
    double tolerance = spread(u, i, layer, PICK(tolerance)).median;
    double rest_tolerance = spread(u, i, layer, PICK(remainder_tolerance)).median;
    v.verdict = slope_verdict(u, t, v.slope.median, tolerance, v.relative.median, v.asymptotic_h);
    v.remainder_verdict =
        rest_verdict(u, t->order, v.remainder_slope, rest_tolerance, is_settled(t, v.asymptotic_h));
    add_carried(u, i, layer, t, &v);
    if (t->holds) u->holds++;
    sheet_row(u->summary, &v);
    u->told += v.governed >= 0;
    u->governed += v.governed > 0;
    u->kinks += strcmp(v.verdict, "kinks") == 0;
    u->lost += s->scheme->carries && isnan(v.relative.median);
    u->disagree += strcmp(v.remainder_verdict, "disagree") == 0;
}

static void add_terms(TruncationStudy *u, size_t i, size_t layer, const Truncation *t)
{
    const TruncationSeries *s = &u->series[i];
    for (size_t j = 0; j < t->terms; j++)
        sheet_row(u->terms, &(TermRow){.scheme = s->scheme->name,
                                       .field = truncation_field(s->field),
                                       .term = t->term[j].name,
                                       .layer = layer,
                                       .coefficient = t->term[j].coefficient,
                                       .size = spread(u, i, layer, PICK_TERM(j)).median});
}

double truncation_slope(const TruncationStudy *u, size_t series)
{
    return spread(u, series, u->layers, PICK(slope)).median;
}

int truncation_tables(TruncationStudy *u)
{
    TRY(sheet_new(truncation_points, &u->points));
    TRY(sheet_new(truncation_verdicts, &u->summary));
    TRY(sheet_new(truncation_terms, &u->terms));
    TRY(sheet_new(truncation_curves, &u->curves));
    TRY(sheet_new(truncation_layers, &u->by_layer));
    for (size_t i = 0; i < u->count; i++) {
        size_t points = 0;
        for (size_t l = 0; l < u->layers; l++) {
            const Truncation *t = sample(u, i, l);
            add_point(u, u->by_layer, i, l, 0); /* the network's own step */
            if (!t) continue;
            points = t->points;
            for (size_t j = 0; j < points; j++) add_point(u, u->points, i, l, j);
            add_verdict(u, i, l, t);
            add_terms(u, i, l, t);
        }
        for (size_t j = 0; j < points; j++) add_point(u, u->curves, i, u->layers, j);
    }
    return 0;
}
