/* runtable_differences.c: computes differences of designs, and makes their rows. */
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/lab/table/runtable.h"
#include "studies/base/output.h"
#include "studies/base/progress.h"

const Column runtable_differences[] = {
    COLUMN(RunDifference, design, .place = 3, .page = 3,
           .words = "the design, or those of which a contrast takes the mean"),
    COLUMN(RunDifference, less, .place = 4, .page = 4,
           .words = "the design whose mean is subtracted, or those"),
    COLUMN(RunDifference, measure, .place = 5, .page = 5, .words = "the numbers that are compared"),
    FIELD(RunDifference, "difference", together.mean, .form = SHEET_FIXED, .place = 6, .page = 6,
          .low = "low", .high = "high", .words = "mean of the one minus mean of the other"),
    FIELD(RunDifference, NULL, half, .form = SHEET_FIXED, .head = "±", .place = 7),
    FIELD(RunDifference, "low", together.low, .form = SHEET_FIXED,
          .words = "lower end of the 95 % interval that holds with the other comparisons"),
    FIELD(RunDifference, "high", together.high, .form = SHEET_FIXED,
          .words = "upper end of that interval"),
    FIELD(RunDifference, "p", together.p, .digits = 2, .place = 8, .page = 7,
          .words = "p of no difference, corrected as the interval is"),
    FIELD(RunDifference, "alone_low", alone.low, .form = SHEET_FIXED,
          .words = "lower end of the 95 % interval of this comparison by itself (Student's t)"),
    FIELD(RunDifference, "alone_high", alone.high, .form = SHEET_FIXED,
          .words = "upper end of that interval"),
    FIELD(RunDifference, "equal_p", equal, .digits = 2, .head = "p equal", .place = 9, .page = 8,
          .sparse = 1,
          .words = "p of a difference of the margin or more (two one-sided tests), corrected in "
                   "the same way"),
    FIELD(RunDifference, "drawn_low", drawn.low, .form = SHEET_FIXED, .head = "from (drawn)",
          .place = 9, .page = 8, .sparse = 1,
          .words = "lower end of the difference's 95 % interval over drawn lines or examples"),
    FIELD(RunDifference, "drawn_high", drawn.high, .form = SHEET_FIXED, .head = "to", .place = 9,
          .page = 8, .sparse = 1, .words = "upper end of that interval"),
    FIELD(RunDifference, "drawn_p", drawn.p, .digits = 2, .head = "p (drawn)", .place = 9,
          .page = 8, .sparse = 1,
          .words = "two-sided p of no difference over drawn lines or examples"),
    COLUMN(RunDifference, result, .place = 10, .page = 9,
           .words = "what the interval shows of the design"),
    COLUMN(RunDifference, comparisons, .place = 12, .page = 11,
           .words = "number of intervals that hold together"),
    COLUMN(RunDifference, correction, .place = 13, .page = 12,
           .words = "how the interval was corrected for their number"),
    COLUMN(RunDifference, planned, .place = 14, .page = 13,
           .words = "whether the plan was committed before the data"),
    COLUMN(RunDifference, estimator, .place = 11, .page = 10,
           .words = "how the standard deviation was estimated"),
    COLUMN(RunDifference, sd, .words = "that standard deviation of the runs"),
    COLUMN(RunDifference, df, .words = "its degrees of freedom"),
    COLUMN(RunDifference, name, .head = "contrast", .place = 1, .page = 1, .sparse = 1,
           .words = "the contrast's own name"),
    COLUMN(RunDifference, panel, .place = 2, .page = 2, .sparse = 1,
           .words = "the part of the table that is looked at apart"),
    {0}};

static const RunDrawn not_drawn = {NAN, NAN, NAN};

static void add(const RunTable *t, size_t panel, size_t m, RunDifference row, Sheet *out)
{
    int shown = row.together.low > 0 ? 1 : row.together.high < 0 ? -1 : 0;
    row.half = 0.5 * (row.together.high - row.together.low);
    if (!isnan(row.half))
        row.result = !shown ? "not shown" : (shown > 0) == t->measure[m].more ? "better" : "worse";
    const RunModel *model = runtable_model(t, panel, m);
    row.estimator = runtable_estimator(model);
    row.sd = model->model.pooled.sd;
    row.df = model->model.pooled.df;
    if (t->by) row.panel = t->panel[panel];
    row.measure = t->measure[m].text;
    sheet_row(out, &row);
}

/* Adds the row of design i less design k, with what it has from drawn lines. */
static int add_drawn(const RunTable *t, size_t i, size_t k, size_t m, RunDifference row, Sheet *out)
{
    row.design = t->design[i].name;
    row.less = t->design[k].name;
    row.drawn = not_drawn;
    if (t->draw) TRY(t->draw(t->study, t, i, k, m, &row.drawn));
    add(t, t->design[i].panel, m, row, out);
    return 0;
}

/* ---- less the baseline --------------------------------------------------------------------------- */

/* Computes the differences of a panel on a measure; runs (designs): room. */
static int less_base(RunTable *t, size_t panel, size_t m, size_t base, size_t *runs)
{
    RunModel *l = &t->model[panel * t->measures + m];
    const RunDesign *b = &t->design[base];
    const Pooled *pooled = &l->model.pooled;
    Simultaneous s = {0};
    l->comparisons = 0;
    for (size_t i = 0; i < t->designs; i++) {
        RunDesign *d = &t->design[i];
        if (d->panel != panel || d->same == b->same) continue;
        if (!runtable_compared(d) || !runtable_compared(b)) continue;
        d->alone[m] = statistics_difference(pooled, &d->counted[m], &b->counted[m]);
        if (d->same == i && !isnan(d->alone[m].mean)) runs[l->comparisons++] = d->counted[m].n;
    }
    TRY(simultaneous_dunnett(pooled->df, b->counted[m].n, runs, l->comparisons, &s));
    for (size_t i = 0; i < t->designs; i++) {
        RunDesign *d = &t->design[i];
        if (d->panel != panel) continue;
        d->together[m] = simultaneous_difference(&s, &d->alone[m]);
        if (t->margin > 0) d->equal[m] = simultaneous_equivalence(&s, &d->alone[m], t->margin);
    }
    simultaneous_free(&s);
    return 0;
}

int runtable_baseline(RunTable *t, const char *name, double margin)
{
    SCOPED(memory_drop) size_t *runs = memory_new(t->designs, sizeof *runs);
    if (!runs) return ERR_MEMORY;
    t->base = name;
    t->margin = margin;
    for (size_t p = 0; p < t->panels; p++) {
        size_t base = runtable_find(t, p, name);
        for (size_t m = 0; base < t->designs && m < t->measures; m++)
            TRY(less_base(t, p, m, base, runs));
    }
    return 0;
}

int runtable_dunnett(const RunTable *t, Sheet *out)
{
    for (size_t i = 0; i < t->designs; i++)
        for (size_t m = 0; m < t->measures; m++) {
            const RunDesign *d = &t->design[i];
            if (isnan(d->alone[m].mean)) continue;
            const RunDifference row = {.alone = d->alone[m],
                                       .together = d->together[m],
                                       .equal = d->equal[m],
                                       .comparisons = runtable_model(t, d->panel, m)->comparisons,
                                       .correction = "Dunnett"};
            TRY(add_drawn(t, i, runtable_find(t, d->panel, t->base), m, row, out));
        }
    return 0;
}

/* ---- all pairs ----------------------------------------------------------------------------------- */

static int is_design(const RunTable *t, size_t i, size_t panel)
{
    const RunDesign *d = &t->design[i];
    return d->panel == panel && d->same == i && d->counted[0].n > 0 && runtable_compared(d);
}

static int add_pairs(const RunTable *t, size_t i, size_t j, const Simultaneous *s, size_t k,
                     Sheet *out)
{
    for (size_t m = 0; m < t->measures; m++) {
        const Pooled *pooled = &runtable_model(t, t->design[i].panel, m)->model.pooled;
        const Interval *a = &t->design[i].counted[m], *b = &t->design[j].counted[m];
        const RunDifference row = {.alone = statistics_difference(pooled, a, b),
                                   .together = differences_pair(&s[m], pooled, a, b),
                                   .equal = NAN,
                                   .comparisons = k * (k - 1) / 2,
                                   .correction = "Tukey"};
        TRY(add_drawn(t, i, j, m, row, out));
    }
    return 0;
}

/* Adds the pairs of a panel, of k designs. */
static int add_panel(const RunTable *t, size_t panel, size_t k, const Simultaneous *s, Sheet *out)
{
    for (size_t i = 0; i < t->designs; i++) {
        progress_of(i * i, t->designs * t->designs, "differences of all pairs");
        for (size_t j = 0; is_design(t, i, panel) && j < i; j++)
            if (is_design(t, j, panel)) TRY(add_pairs(t, i, j, s, k, out));
    }
    return 0;
}

int runtable_tukey(const RunTable *t, Sheet *out)
{
    int code = 0;
    for (size_t p = 0; p < t->panels && code == 0; p++) {
        Simultaneous s[RUN_MEASURES] = {{0}};
        size_t k = 0;
        for (size_t i = 0; i < t->designs; i++) k += (size_t)is_design(t, i, p);
        for (size_t m = 0; m < t->measures && code == 0; m++)
            code = simultaneous_tukey(runtable_model(t, p, m)->model.pooled.df, k, &s[m]);
        if (code == 0) code = add_panel(t, p, k, s, out);
        for (size_t m = 0; m < t->measures; m++) simultaneous_free(&s[m]);
    }
    progress_clear();
    return code;
}

int runtable_one(const RunTable *t, size_t design, size_t less, Sheet *out)
{
    const RunDesign *a = &t->design[design], *b = &t->design[less];
    if (!runtable_compared(a) || !runtable_compared(b)) return 0;
    const Difference of = statistics_difference(&runtable_model(t, a->panel, 0)->model.pooled,
                                                &a->counted[0], &b->counted[0]);
    const RunDifference row = {
        .alone = of, .together = of, .equal = NAN, .comparisons = 1, .correction = "none"};
    return add_drawn(t, design, less, 0, row, out);
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

typedef struct {
    const RunTable *t;
    size_t panel;
} Panel;

static size_t find_in(const void *of, const char *name)
{
    const Panel *p = of;
    return runtable_find(p->t, p->panel, name);
}

/* Computes a contrast; of (designs): room. A design that diverged has none. */
static Difference contrast(const RunTable *t, size_t panel, size_t m, const double *weight,
                           const Interval **of)
{
    for (size_t i = 0; i < t->designs; i++) {
        of[i] = &t->design[i].counted[m];
        if (weight[i] != 0 && !runtable_compared(&t->design[i]))
            return (Difference){NAN, NAN, NAN, NAN, NAN};
    }
    return statistics_contrast(&runtable_model(t, panel, m)->model.pooled, of, weight, t->designs);
}

/* row: its name and whether it was planned; weight, of (designs): room. */
static int add_contrast(const RunTable *t, size_t panel, const char *where, const char *text,
                        RunDifference row, double *weight, const Interval **of, Sheet *out)
{
    SCOPED(memory_drop) char *design = NULL, *less = NULL;
    TRY(differences_contrast(where, text, find_in, &(Panel){t, panel}, t->designs, weight));
    TRY(join(t, weight, 1, &design));
    TRY(join(t, weight, -1, &less));
    row.design = design;
    row.less = less;
    for (size_t m = 0; m < t->measures; m++) {
        row.alone = row.together = contrast(t, panel, m, weight, of);
        add(t, panel, m, row, out);
    }
    return 0;
}

int runtable_contrast(const RunTable *t, const char *where, const char *text, const char *planned,
                      Sheet *out)
{
    const char *end = strstr(text, ": ");
    SCOPED(memory_drop) char *name = memory_string(text);
    SCOPED(memory_drop) double *weight = memory_new(t->designs, sizeof *weight);
    SCOPED(memory_drop) const Interval **of = memory_new(t->designs, sizeof *of);
    if (!name || !weight || !of) return ERR_MEMORY;
    name[end ? end - text : 0] = '\0';
    const RunDifference row = {.name = end ? name : NULL,
                               .equal = NAN,
                               .drawn = not_drawn,
                               .comparisons = 1,
                               .correction = "none",
                               .planned = planned};
    for (size_t p = 0; p < t->panels; p++)
        TRY(add_contrast(t, p, where, text, row, weight, of, out));
    return 0;
}
