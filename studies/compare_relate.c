/* compare_relate.c: what perplexity goes with: rank correlations over designs. Cells with the
 * same map are one design, with the mean of their values: rk2-unit and repeat:2 are one network
 * under two names. */
#include <math.h>
#include <string.h>

#include "studies/command.h"
#include "studies/compare.h"

static const char *const columns[] = {"perplexity", "layers", "quantity", "designs",
                                      "rho",        "low",    "high",     "p"};
#define COUNT(list) (sizeof(list) / sizeof *(list))

static double truncation(const Cell *c)
{
    return c->split.mean;
}

static double evaluations(const Cell *c)
{
    return (double)(table_evals(c->scheme, OP_F) + table_evals(c->scheme, OP_G));
}

static double parameters(const Cell *c)
{
    return c->params;
}

static double valid_mean(const Cell *c)
{
    return c->valid.mean;
}

static double test_mean(const Cell *c)
{
    return c->test.mean;
}

typedef struct {
    const char *name;
    double (*value)(const Cell *c);
} Quantity;

static const Quantity perplexity[] = {{"validation", valid_mean}, {"test", test_mean}};
static const Quantity quantity[] = {
    {"truncation", truncation}, {"evaluations", evaluations}, {"parameters", parameters}};

/* The mean of a quantity over the cells that are one design, the map of cell i. */
static double design_mean(const Compare *u, size_t i, const Quantity *q)
{
    double sum = 0, n = 0;
    for (size_t j = 0; j < u->cells; j++) {
        if (u->cell[j].same != i || isnan(q->value(&u->cell[j]))) continue;
        sum += q->value(&u->cell[j]);
        n++;
    }
    return n ? sum / n : NAN;
}

/* Perplexity against a quantity over the designs of a depth: equal maps are one. */
static int add_correlation(Compare *u, size_t layers, const Quantity *ppl, const Quantity *q)
{
    double *x = memory_new(2 * u->cells, sizeof *x);
    size_t n = 0;
    Correlation c;
    if (!x) return ERR_MEMORY;
    double *y = x + u->cells;
    for (size_t i = 0; i < u->cells; i++) {
        if (u->cell[i].layers != layers || u->cell[i].same != i) continue;
        x[n] = design_mean(u, i, q);
        y[n++] = design_mean(u, i, ppl);
    }
    int code = statistics_rank(x, y, n, u->seed, &c);
    memory_free(x);
    TRY(code);
    report_text(u->correlations, ppl->name);
    report_size(u->correlations, layers);
    report_text(u->correlations, q->name);
    report_size(u->correlations, c.n);
    report_fixed(u->correlations, c.rho, 2);
    report_fixed(u->correlations, c.low, 2);
    report_fixed(u->correlations, c.high, 2);
    report_real(u->correlations, c.p, 2);
    return 0;
}

int compare_correlations(Compare *u)
{
    TRY(report_new(COUNT(columns), columns, &u->correlations));
    for (size_t d = 0; d < u->depths; d++)
        for (size_t i = 0; i < COUNT(perplexity); i++)
            for (size_t j = 0; j < COUNT(quantity); j++)
                TRY(add_correlation(u, u->depth[d], &perplexity[i], &quantity[j]));
    return 0;
}
