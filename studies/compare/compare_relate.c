/* compare_relate.c: computes rank correlations of perplexity over designs. Cells with the same map are
 * one design, with the mean of their values: rk2-unit and repeat:2 are one network under two names. */
#include <math.h>
#include <string.h>

#include "studies/tools/command.h"
#include "studies/compare/compare.h"

typedef struct {
    const char *perplexity, *quantity;
    size_t layers;
    Correlation c;
} CorrelationRow;

const Column correlation_columns[] = {
    COLUMN(CorrelationRow, perplexity, .words = "text whose perplexity is ranked"),
    COLUMN(CorrelationRow, layers),
    COLUMN(CorrelationRow, quantity),
    FIELD(CorrelationRow, "designs", c.n, .words = "maps that differ; equal maps count once"),
    FIELD(CorrelationRow, "rho", c.rho, .form = SHEET_FIXED, .digits = 2, .low = "low",
          .high = "high"),
    FIELD(CorrelationRow, "low", c.low, .form = SHEET_FIXED, .digits = 2),
    FIELD(CorrelationRow, "high", c.high, .form = SHEET_FIXED, .digits = 2),
    FIELD(CorrelationRow, "p", c.p, .digits = 2,
          .words = "probability that chance gives as large a correlation, over permutations"),
    {0}};
#define COUNT(list) (sizeof(list) / sizeof *(list))

typedef double Value(const Compare *u, const Cell *c);

/* Returns 1 where all cells of the depth whose errors are known one by one have that of seed k. */
static int is_shared(const Compare *u, size_t layers, size_t k)
{
    for (size_t i = 0; i < u->cells; i++) {
        const Cell *c = &u->cell[i];
        if (c->layers == layers && compare_measured(u, c) && isnan(c->errors[k].split)) return 0;
    }
    return 1;
}

/* Returns the mean over the seeds that all cells have, as seeds go together; without any, over the cell's own. */
static double truncation(const Compare *u, const Cell *c)
{
    double sum = 0, n = 0;
    if (compare_measured(u, c) == 0) return c->split.mean;
    for (size_t k = 0; k < u->seeds; k++) {
        if (!is_shared(u, c->layers, k)) continue;
        sum += c->errors[k].split;
        n++;
    }
    return n ? sum / n : c->split.mean;
}

/* Returns the truncation error of designs that solve y' = F + G. A design of order 0 has an error against
 * that flow too, but approximates another one, so it gets NaN. */
static double integrated(const Compare *u, const Cell *c)
{
    return u->orders.scheme[c->index].theory.order > 0 ? truncation(u, c) : NAN;
}

static double evaluations(const Compare *u, const Cell *c)
{
    (void)u;
    return (double)(table_evals(c->scheme, OP_F) + table_evals(c->scheme, OP_G));
}

static double parameters(const Compare *u, const Cell *c)
{
    (void)u;
    return c->params;
}

static double valid_mean(const Compare *u, const Cell *c)
{
    (void)u;
    return c->valid.mean;
}

static double test_mean(const Compare *u, const Cell *c)
{
    (void)u;
    return c->test.mean;
}

/* The quantities that are ranked against each other. The last pair shows how far the study can separate
 * evaluations and truncation error. */
static const struct {
    const char *name;
    Value *of;
    const char *quantity;
    Value *with;
} pair[] = {{"validation", valid_mean, "truncation", truncation},
            {"validation", valid_mean, "truncation, order > 0", integrated},
            {"validation", valid_mean, "evaluations", evaluations},
            {"validation", valid_mean, "parameters", parameters},
            {"test", test_mean, "truncation", truncation},
            {"test", test_mean, "truncation, order > 0", integrated},
            {"test", test_mean, "evaluations", evaluations},
            {"test", test_mean, "parameters", parameters},
            {"(evaluations)", evaluations, "truncation, order > 0", integrated}};

/* Returns the mean of a quantity over the cells that are one design, the map of cell i. */
static double design_mean(const Compare *u, size_t i, Value *value)
{
    double sum = 0, n = 0;
    for (size_t j = 0; j < u->cells; j++) {
        if (u->cell[j].same != i || isnan(value(u, &u->cell[j]))) continue;
        sum += value(u, &u->cell[j]);
        n++;
    }
    return n ? sum / n : NAN;
}

/* Adds a correlation over the designs of a depth; equal maps are one. */
static int add_correlation(Compare *u, size_t layers, size_t k)
{
    double *x = memory_new(2 * u->cells, sizeof *x);
    size_t n = 0;
    Correlation c;
    if (!x) return ERR_MEMORY;
    double *y = x + u->cells;
    for (size_t i = 0; i < u->cells; i++) {
        if (u->cell[i].layers != layers || u->cell[i].same != i) continue;
        x[n] = design_mean(u, i, pair[k].with);
        y[n++] = design_mean(u, i, pair[k].of);
    }
    int code = statistics_rank(x, y, n, u->seed, &c);
    memory_free(x);
    TRY(code);
    sheet_row(u->correlations, &(CorrelationRow){pair[k].name, pair[k].quantity, layers, c});
    return 0;
}

int compare_correlations(Compare *u)
{
    TRY(sheet_new(correlation_columns, &u->correlations));
    for (size_t d = 0; d < u->depths; d++)
        for (size_t k = 0; k < COUNT(pair); k++) TRY(add_correlation(u, u->depth[d], k));
    return 0;
}
