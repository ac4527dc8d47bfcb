/* compare_contrasts.c: planned contrasts of --contrast, from the model of compare_differences.c: the mean of some
 * designs minus the mean of others, as of a factorial of two orders and two arrangements. Each has its own interval
 * (Student's t): it is one question, asked before the data were seen. */
#include <math.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/compare/compare.h"
#include "studies/statistics/differences.h"

/* Returns the scheme's index; the number of schemes: it is not compared. */
static size_t find_scheme(const void *study, const char *given)
{
    const Compare *u = study;
    char name[TABLE_NAME];
    size_t i = 0;
    if (zoo_name(given, name) != 0) return u->schemes.count;
    while (i < u->schemes.count && strcmp(u->schemes.scheme[i]->name, name) != 0) i++;
    return i;
}

static int read_contrast(const Compare *u, const char *text, double *weight)
{
    return differences_contrast("--contrast", text, find_scheme, u, u->schemes.count, weight);
}

int compare_contrasts_check(const Compare *u)
{
    const char *text;
    double *weight = memory_new(u->schemes.count, sizeof *weight);
    int code = weight ? 0 : ERR_MEMORY;
    for (size_t i = 0; code == 0 && (text = options_item(u->options, "contrast", i)); i++)
        code = read_contrast(u, text, weight);
    memory_free(weight);
    return code;
}

typedef struct {
    const char *contrast;
    size_t layers;
    Difference valid, test;
} ContrastRow;

#define ALONE "p of no difference, by itself (Student's t)"

const Column contrast_columns[] = {
    COLUMN(ContrastRow, contrast,
           .words = "mean of the schemes before the '-' minus mean of those behind it"),
    COLUMN(ContrastRow, layers),
    DIFFERENCES_TEXT(ContrastRow, valid, "valid_contrast", "valid", "valid",
                     "contrast of validation perplexities", ALONE),
    DIFFERENCES_TEXT(ContrastRow, test, "test_contrast", "test", "test",
                     "contrast of test perplexities", ALONE),
    {0}};

/* Computes a contrast at depth d. of (schemes): room. A design that diverged has no contrast. */
static ContrastRow contrast_at(const Compare *u, size_t d, const char *text, const double *weight,
                               const Interval **of)
{
    ContrastRow row = {text, u->depth[d], {NAN, NAN, NAN, NAN, NAN}, {NAN, NAN, NAN, NAN, NAN}};
    const Layout *l = &u->layout[d];
    for (size_t i = 0; i < u->schemes.count; i++)
        if (weight[i] != 0 && compare_diverged(u, &u->cell[i * u->depths + d])) return row;
    for (size_t i = 0; i < u->schemes.count; i++) of[i] = &u->cell[i * u->depths + d].valid;
    row.valid = statistics_contrast(&l->valid.pooled, of, weight, u->schemes.count);
    for (size_t i = 0; i < u->schemes.count; i++) of[i] = &u->cell[i * u->depths + d].test;
    row.test = statistics_contrast(&l->test.pooled, of, weight, u->schemes.count);
    return row;
}

int compare_contrasts(Compare *u)
{
    const char *text;
    if (!options_item(u->options, "contrast", 0)) return 0;
    TRY(sheet_new(contrast_columns, &u->contrasts));
    double *weight = memory_new(u->schemes.count, sizeof *weight);
    const Interval **of = memory_new(u->schemes.count, sizeof *of);
    int code = weight && of ? 0 : ERR_MEMORY;
    for (size_t i = 0; code == 0 && (text = options_item(u->options, "contrast", i)); i++) {
        code = read_contrast(u, text, weight);
        for (size_t d = 0; code == 0 && d < u->depths; d++) {
            ContrastRow row = contrast_at(u, d, text, weight, of);
            sheet_row(u->contrasts, &row);
        }
    }
    memory_free(weight);
    memory_free(of);
    return code;
}
