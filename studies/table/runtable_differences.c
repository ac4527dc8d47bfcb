/* runtable_differences.c: makes the rows of differences of a table of runs, by the functions that `compare` and `sweep`
 * use (studies/tools). */
#include <math.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/table/runtable.h"
#include "studies/tools/output.h"

const Column runtable_differences[] = {
    COLUMN(RunDifference, design, .place = 2, .page = 2,
           .words = "the design, or those of which a contrast takes the mean"),
    COLUMN(RunDifference, less, .place = 3, .page = 3,
           .words = "the design whose mean is subtracted, or those"),
    FIELD(RunDifference, "difference", together.mean, .form = SHEET_FIXED, .place = 4, .page = 4,
          .low = "low", .high = "high", .words = "mean of the one minus mean of the other"),
    FIELD(RunDifference, NULL, half, .form = SHEET_FIXED, .head = "±", .place = 5),
    FIELD(RunDifference, "low", together.low, .form = SHEET_FIXED,
          .words = "lower end of the 95 % interval that holds with the other comparisons"),
    FIELD(RunDifference, "high", together.high, .form = SHEET_FIXED,
          .words = "upper end of that interval"),
    FIELD(RunDifference, "p", together.p, .digits = 2, .place = 6, .page = 5,
          .words = "p of no difference, corrected as the interval is"),
    FIELD(RunDifference, "alone_low", alone.low, .form = SHEET_FIXED,
          .words = "lower end of the 95 % interval of this comparison by itself (Student's t)"),
    FIELD(RunDifference, "alone_high", alone.high, .form = SHEET_FIXED,
          .words = "upper end of that interval"),
    COLUMN(RunDifference, result, .place = 7, .page = 6,
           .words = "what the interval shows of the design"),
    COLUMN(RunDifference, comparisons, .place = 9, .page = 8,
           .words = "number of intervals that hold together"),
    COLUMN(RunDifference, correction, .place = 10, .page = 9,
           .words = "how the interval was corrected for their number"),
    COLUMN(RunDifference, planned, .place = 11, .page = 10,
           .words = "whether the plan was committed before the data"),
    COLUMN(RunDifference, estimator, .place = 8, .page = 7,
           .words = "how the standard deviation was estimated"),
    COLUMN(RunDifference, name, .head = "contrast", .place = 1, .page = 1, .sparse = 1,
           .words = "the contrast's own name"),
    {0}};

static void add(const RunTable *t, RunDifference row, Sheet *out)
{
    int shown = row.together.low > 0 ? 1 : row.together.high < 0 ? -1 : 0;
    row.half = 0.5 * (row.together.high - row.together.low);
    if (!isnan(row.half))
        row.result = !shown ? "not shown" : (shown > 0) == t->more ? "better" : "worse";
    row.estimator = t->model.paired ? "paired by seed" : "pooled, unpaired";
    sheet_row(out, &row);
}

int runtable_dunnett(const RunTable *t, size_t base, Sheet *out)
{
    Simultaneous s = {0};
    size_t n = 0, *runs = memory_new(t->designs, sizeof *runs);
    const RunDesign *b = &t->design[base];
    if (!runs) return ERR_MEMORY;
    for (size_t i = 0; i < t->designs; i++)
        if (i != base && runtable_compared(&t->design[i])) runs[n++] = t->design[i].mean.n;
    int code = simultaneous_dunnett(t->model.pooled.df, b->mean.n, runs, n, &s);
    for (size_t i = 0; code == 0 && i < t->designs; i++) {
        const RunDesign *d = &t->design[i];
        if (i == base || !runtable_compared(d)) continue;
        RunDifference row = {.design = d->name,
                             .less = b->name,
                             .alone = statistics_difference(&t->model.pooled, &d->mean, &b->mean),
                             .comparisons = n,
                             .correction = "Dunnett"};
        row.together = simultaneous_difference(&s, &row.alone);
        add(t, row, out);
    }
    simultaneous_free(&s);
    memory_free(runs);
    return code;
}

int runtable_tukey(const RunTable *t, Sheet *out)
{
    Simultaneous s;
    simultaneous_tukey(t->model.pooled.df, t->compared, &s);
    for (size_t i = 0; i < t->designs; i++)
        for (size_t j = 0; j < i; j++) {
            const RunDesign *a = &t->design[i], *b = &t->design[j];
            if (!runtable_compared(a) || !runtable_compared(b)) continue;
            add(t,
                (RunDifference){
                    .design = a->name,
                    .less = b->name,
                    .alone = statistics_difference(&t->model.pooled, &a->mean, &b->mean),
                    .together = differences_pair(&s, &t->model.pooled, &a->mean, &b->mean),
                    .comparisons = t->compared * (t->compared - 1) / 2,
                    .correction = "Tukey"},
                out);
        }
    return 0;
}

/* ---- contrasts ----------------------------------------------------------------------------------- */

/* Writes the names of the designs whose weights have a sign; the caller frees *text. */
static int join(const RunTable *t, const double *weight, double sign, char **text)
{
    Output o;
    int some = 0;
    TRY(output_open(&o));
    for (size_t i = 0; i < t->designs; i++)
        if (sign * weight[i] > 0) fprintf(o.f, "%s%s", some++ ? " + " : "", t->design[i].name);
    return output_take(&o, 0, text);
}

/* Computes a contrast; of (designs): room. A design that diverged has none. */
static Difference contrast(const RunTable *t, const double *weight, const Interval **of)
{
    for (size_t i = 0; i < t->designs; i++) {
        of[i] = &t->design[i].mean;
        if (weight[i] != 0 && !runtable_compared(&t->design[i]))
            return (Difference){NAN, NAN, NAN, NAN, NAN};
    }
    return statistics_contrast(&t->model.pooled, of, weight, t->designs);
}

int runtable_contrast(const RunTable *t, const char *where, const char *text, const char *planned,
                      Sheet *out)
{
    const char *end = strstr(text, ": ");
    char *side[2] = {NULL, NULL}, *name = memory_string(text);
    double *weight = memory_new(t->designs, sizeof *weight);
    const Interval **of = memory_new(t->designs, sizeof *of);
    int code = name && weight && of ? 0 : ERR_MEMORY;
    if (code == 0) code = differences_contrast(where, text, runtable_find, t, t->designs, weight);
    if (code == 0) code = join(t, weight, 1, &side[0]);
    if (code == 0) code = join(t, weight, -1, &side[1]);
    if (code == 0) {
        name[end ? end - text : 0] = '\0';
        Difference d = contrast(t, weight, of);
        add(t,
            (RunDifference){.name = end ? name : NULL,
                            .design = side[0],
                            .less = side[1],
                            .alone = d,
                            .together = d,
                            .comparisons = 1,
                            .correction = "none",
                            .planned = planned},
            out);
    }
    memory_free(side[0]);
    memory_free(side[1]);
    memory_free(name);
    memory_free(weight);
    memory_free(of);
    return code;
}
