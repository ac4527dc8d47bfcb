/* sweep_relate.c: computes rank correlations of the perplexity of words over a family, each word with
 * the seeds that all words have. */
#include <math.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/sweep/sweep.h"

typedef struct {
    const char *perplexity, *words, *quantity;
    Correlation c;
} CorrelationRow;

const Column sweep_correlation_columns[] = {
    COLUMN(CorrelationRow, perplexity, .words = "text whose perplexity is ranked"),
    COLUMN(CorrelationRow, words, .words = "family of words that the correlation is over"),
    COLUMN(CorrelationRow, quantity),
    FIELD(CorrelationRow, "n", c.n, .words = "number of words"),
    FIELD(CorrelationRow, "rho", c.rho, .low = "low", .high = "high", .form = SHEET_FIXED,
          .digits = 2),
    FIELD(CorrelationRow, "low", c.low, .form = SHEET_FIXED, .digits = 2),
    FIELD(CorrelationRow, "high", c.high, .form = SHEET_FIXED, .digits = 2),
    FIELD(CorrelationRow, "p", c.p, .digits = 2,
          .words = "probability that chance gives as large a correlation"),
    {0}};
#define COUNT(list) (sizeof(list) / sizeof *(list))

static double area(const Word *w)
{
    return w->area;
}

/* Returns |area|; the leading error's norm is sqrt 2 times that, where it is not zero. */
static double area_size(const Word *w)
{
    return fabs(w->area);
}

static double relative_area(const Word *w)
{
    return w->share;
}

static double count_s(const Word *w)
{
    return (double)w->count[0];
}

static double count_f(const Word *w)
{
    return (double)w->count[1];
}

static double sublayers(const Word *w)
{
    return (double)(w->count[0] + w->count[1]);
}

static double bottom_s(const Word *w)
{
    return w->halves.bottom[0];
}

static double top_f(const Word *w)
{
    return w->halves.top[1];
}

static double parameters(const Word *w)
{
    return w->params;
}

static double valid(const Word *w)
{
    return w->even[0];
}

static double test(const Word *w)
{
    return w->even[1];
}

typedef struct {
    const char *name;
    double (*value)(const Word *w);
} Quantity;

static const Quantity perplexity[] = {{"validation", valid}, {"test", test}};
static const Quantity quantity[] = {
    {"area", area},         {"|area|", area_size}, {"relative_area", relative_area},
    {"s", count_s},         {"f", count_f},        {"sublayers", sublayers},
    {"bottom_s", bottom_s}, {"top_f", top_f},      {"params", parameters}};

static int relate(const Sweep *u, int family, const Quantity *ppl, const Quantity *q,
                  Correlation *out)
{
    double *x = memory_new(2 * u->words, sizeof *x);
    size_t n = 0;
    if (!x) return ERR_MEMORY;
    double *y = x + u->words;
    for (size_t i = 0; i < u->words; i++) {
        if (!sweep_is(&u->word[i], family)) continue;
        x[n] = q->value(&u->word[i]);
        y[n++] = ppl->value(&u->word[i]);
    }
    int code = statistics_rank(x, y, n, u->seed, out);
    memory_free(x);
    return code;
}

/* Adds a row, unless the quantity does not vary over the family. */
static int add_correlation(Sweep *u, int family, const Quantity *ppl, const Quantity *q)
{
    Correlation c;
    TRY(relate(u, family, ppl, q, &c));
    if (isnan(c.rho)) return 0;
    const CorrelationRow row = {ppl->name, family == FAMILIES ? "all" : sweep_family(family),
                                q->name, c};
    sheet_row(u->correlations, &row);
    if (ppl == perplexity) sheet_row(u->related, &row);
    return 0;
}

int sweep_correlations(Sweep *u)
{
    static const int family[] = {FAMILY_PERMUTATION, FAMILY_RANDOM, FAMILY_SANDWICH, FAMILIES};
    TRY(sheet_new(sweep_correlation_columns, &u->correlations));
    TRY(sheet_new(sweep_correlation_columns, &u->related));
    for (size_t f = 0; f < COUNT(family); f++)
        for (size_t i = 0; i < COUNT(perplexity); i++)
            for (size_t j = 0; j < COUNT(quantity); j++)
                TRY(add_correlation(u, family[f], &perplexity[i], &quantity[j]));
    return 0;
}

/* Answers whether splitting accuracy explains the ranking: validation perplexity of a family against
 * |area|, the size of the leading error of words whose area is not zero. */
int sweep_answer(const Sweep *u, int family, Correlation *out)
{
    return relate(u, family, &perplexity[0], &quantity[1], out);
}
