/* agreement.c: computes the metrics of a table, and their bootstrap. */
#include "studies/model/metrics/agreement.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"

/* ---- classes ------------------------------------------------------------------------------------- */

static int accuracy(const Answers *p, const Answers *g, double *out)
{
    size_t right = 0;
    for (size_t i = 0; i < g->n; i++) right += p->label[i] == g->label[i];
    *out = (double)right / (double)g->n;
    return 0;
}

static int f1(const Answers *p, const Answers *g, double *out)
{
    size_t both = 0, either = 0;
    for (size_t i = 0; i < g->n; i++) {
        both += p->label[i] == 1 && g->label[i] == 1;
        either += (size_t)(p->label[i] == 1) + (size_t)(g->label[i] == 1);
    }
    *out = either ? 2 * (double)both / (double)either : 0;
    return 0;
}

static size_t classes_of(const Answers *a)
{
    int32_t most = 0;
    for (size_t i = 0; i < a->n; i++) most = a->label[i] > most ? a->label[i] : most;
    return (size_t)most + 1;
}

static int matthews(const Answers *p, const Answers *g, double *out)
{
    size_t n = g->n, a = classes_of(p), b = classes_of(g), classes = a > b ? a : b;
    SCOPED(memory_drop) double *count = memory_new(classes, 2 * sizeof *count); /* a_k and b_k */
    if (!count) return ERR_MEMORY;
    double square = (double)n * (double)n, right = 0, ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < n; i++) {
        count[2 * p->label[i]]++;
        count[2 * g->label[i] + 1]++;
        right += p->label[i] == g->label[i];
    }
    for (size_t k = 0; k < classes; k++) {
        const double *c = count + 2 * k;
        ab += c[0] * c[1];
        aa += c[0] * c[0];
        bb += c[1] * c[1];
    }
    double under = (square - aa) * (square - bb);
    *out = under > 0 ? ((double)n * right - ab) / sqrt(under) : 0;
    return 0;
}

/* ---- values -------------------------------------------------------------------------------------- */

/* Returns 1 where *out is known without a correlation. */
static int is_settled(const Answers *p, const Answers *g, double *out)
{
    int finite = 1, differ[2] = {0, 0};
    for (size_t i = 0; i < g->n; i++) {
        finite &= isfinite(p->value[i]) && isfinite(g->value[i]);
        differ[0] |= p->value[i] != p->value[0];
        differ[1] |= g->value[i] != g->value[0];
    }
    *out = finite ? 0 : NAN;
    return !finite || !differ[0] || !differ[1];
}

/* Puts r back into [-1, 1], which rounding may leave. */
static double clamp(double r)
{
    return r > 1 ? 1 : r < -1 ? -1 : r;
}

static int pearson(const Answers *p, const Answers *g, double *out)
{
    if (is_settled(p, g, out)) return 0;
    *out = clamp(gsl_stats_correlation(p->value, 1, g->value, 1, g->n));
    return 0;
}

static int spearman(const Answers *p, const Answers *g, double *out)
{
    if (is_settled(p, g, out)) return 0;
    SCOPED(memory_drop) double *work = memory_new(g->n, 2 * sizeof *work);
    if (!work) return ERR_MEMORY;
    *out = clamp(gsl_stats_spearman(p->value, 1, g->value, 1, g->n, work));
    return 0;
}

/* ---- the table ----------------------------------------------------------------------------------- */

const Agreement agreements[AGREEMENTS] = {
    [AGREEMENT_ACCURACY] = {"accuracy", "accuracy", ANSWERS_CLASSES, accuracy},
    [AGREEMENT_F1] = {"f1", "F1", ANSWERS_TWO_CLASSES, f1},
    [AGREEMENT_MATTHEWS] = {"matthews", "Matthews correlation", ANSWERS_CLASSES, matthews},
    [AGREEMENT_PEARSON] = {"pearson", "Pearson correlation", ANSWERS_VALUES, pearson},
    [AGREEMENT_SPEARMAN] = {"spearman", "Spearman correlation", ANSWERS_VALUES, spearman},
};

int agreement_find(const char *name)
{
    for (int m = 0; m < AGREEMENTS; m++)
        if (strcmp(agreements[m].name, name) == 0) return m;
    return -1;
}

int agreement_fits(int metric, size_t classes)
{
    static const char *const needs[] = {"labels that are classes", "labels of two classes",
                                        "labels that are values"};
    int of = agreements[metric].of;
    if (of == ANSWERS_VALUES        ? classes == 0
        : of == ANSWERS_TWO_CLASSES ? classes == 2
                                    : classes > 0)
        return 0;
    if (classes == 0)
        return error_set(ERR_INPUT, "%s needs %s: these are values", agreements[metric].name,
                         needs[of]);
    return error_set(ERR_INPUT, "%s needs %s: these are of %zu classes", agreements[metric].name,
                     needs[of], classes);
}

int agreement_score(int metric, const Answers *prediction, const Answers *gold, double *out)
{
    return agreements[metric].score(prediction, gold, out);
}

/* ---- bootstrap ----------------------------------------------------------------------------------- */

typedef struct {
    int metric;
    const Answers *gold, *run; /* run (all) */
    size_t all;
    int32_t *label; /* (2 n) room for drawn answers, gold and a run's; so is value */
    double *value;
} Resampling;

static Answers gather(const Answers *from, const size_t *draw, size_t n, int32_t *label,
                      double *value)
{
    for (size_t i = 0; from->label && i < n; i++) label[i] = from->label[draw[i]];
    for (size_t i = 0; from->value && i < n; i++) value[i] = from->value[draw[i]];
    return (Answers){n, label, value};
}

static int score_answers(void *arg, const size_t *draw, size_t n, double *score)
{
    const Resampling *r = arg;
    Answers gold = gather(r->gold, draw, n, r->label, r->value);
    for (size_t k = 0; k < r->all; k++) {
        Answers run = gather(&r->run[k], draw, n, r->label + n, r->value + n);
        TRY(agreement_score(r->metric, &run, &gold, &score[k]));
    }
    return 0;
}

int agreement_bootstrap(int metric, const Answers *gold, const Answers *run, const size_t *runs,
                        size_t systems, size_t resamples, uint64_t seed, Resampled *out)
{
    Resampling r = {.metric = metric, .gold = gold, .run = run};
    for (size_t s = 0; s < systems; s++) r.all += runs ? runs[s] : 1;
    SCOPED(memory_drop) int32_t *label = r.label = memory_new(gold->n, 2 * sizeof *label);
    SCOPED(memory_drop) double *value = r.value = memory_new(gold->n, 2 * sizeof *value);
    if (!label || !value) return ERR_MEMORY;
    return bootstrap_scores(score_answers, &r, gold->n, runs, systems, resamples, seed, out);
}
