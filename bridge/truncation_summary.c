/* truncation_summary.c: medians and quartiles of truncation errors over sentences and layers. */
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

#include "bridge/truncation.h"
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"

Sentence sentence_at(const Sentences *s, size_t i)
{
    Sentence one = {0};
    for (int side = 0; side < SIDES; side++) {
        if (!s->start[side]) continue;
        one.n[side] = s->start[side][i + 1] - s->start[side][i];
        one.token[side] = s->token[side] + s->start[side][i];
    }
    return one;
}

Spread spread_of(double *x, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i])) x[kept++] = x[i];
    if (kept == 0) return (Spread){NAN, NAN, NAN};
    gsl_sort(x, 1, kept);
    return (Spread){gsl_stats_quantile_from_sorted_data(x, 1, kept, 0.25),
                    gsl_stats_quantile_from_sorted_data(x, 1, kept, 0.5),
                    gsl_stats_quantile_from_sorted_data(x, 1, kept, 0.75)};
}

/* Collected numbers, with room for every pair of sentence and layer. */
typedef struct {
    double *relative, *leading, *slope;
    size_t told; /* pairs with a leading term to compare */
    TruncationSummary *sum;
} Collection;

static int collect(Truncator *u, size_t layers, const Table *scheme, Collection *c)
{
    Truncation t;
    for (size_t l = 0; l < layers; l++) {
        TRY(truncator_measure(u, (int)l, scheme, &t));
        size_t i = c->sum->measured++;
        c->relative[i] = t.point[0].relative;
        c->leading[i] = t.leading;
        c->slope[i] = t.slope;
        int governed = truncation_governed(&t);
        c->told += governed >= 0;
        c->sum->governed += governed > 0;
        for (int op = 0; op < COLOURS; op++) c->sum->time[op] = t.time[op];
        c->sum->order = t.order;
        c->sum->smooth += t.asymptotic >= 1;
        if (!(t.agreement <= c->sum->agreement)) c->sum->agreement = t.agreement;
    }
    return 0;
}

static int run(Truncator *u, size_t layers, const Table *scheme, const Sentences *s,
               const volatile int *stop, Collection *c)
{
    TRY(truncator_takes(u, scheme));
    for (size_t i = 0; i < s->count; i++) {
        double check;
        if (stop && *stop)
            return error_set(ERR_INTERRUPTED, "stopped before sentence %zu of %zu", i + 1,
                             s->count);
        Sentence one = sentence_at(s, i);
        TRY(truncator_sentence(u, &one, &check));
        if (!(check <= c->sum->check)) c->sum->check = check;
        TRY(collect(u, layers, scheme, c));
    }
    return 0;
}

int truncation_summary(Model *m, const Table *trained, const Table *scheme, const Sentences *s,
                       const TruncationOptions *o, TruncationSummary *out)
{
    size_t layers = model_plan(m)->layers[o->side], most = s->count * layers;
    SCOPED(truncator_drop) Truncator *u = NULL;
    *out = (TruncationSummary){0};
    TRY(truncator_new(m, trained, o, &u));
    SCOPED(memory_drop) double *all = memory_new(3 * most, sizeof *all);
    if (!all) return ERR_MEMORY;
    Collection c = {all, all + most, all + 2 * most, 0, out};
    TRY(run(u, layers, scheme, s, o->stop, &c));
    out->relative = spread_of(c.relative, out->measured);
    out->leading = spread_of(c.leading, out->measured);
    out->governed = c.told ? out->governed / (double)c.told : NAN;
    out->slope = spread_of(c.slope, out->measured);
    if (out->measured) out->smooth /= (double)out->measured;
    return 0;
}
