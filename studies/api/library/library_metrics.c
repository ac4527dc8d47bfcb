/* library_metrics.c: implements the metrics of trotter.h. */
#include <math.h>
#include <string.h>

#include "studies/api/library/library.h"
#include "studies/model/metrics/agreement.h"

/* Joins the strings to a text with one line each. */
static int join(const char *file, const char *const *list, size_t n, Lines *out)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (!list[i]) return error_set(ERR_MISUSE, "%s %zu is NULL", file, i);
        if (strchr(list[i], '\n'))
            return error_set(ERR_INPUT, "%s %zu has a line end inside", file, i);
        bytes += strlen(list[i]) + 1;
    }
    char *text = memory_new(bytes + 1, 1), *p = text;
    if (!text) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        p = stpcpy(p, list[i]);
        *p++ = '\n';
    }
    return lines_take(file, text, bytes, out);
}

static int find(const char *metric, const char *tokenize, int *number, MetricOptions *o)
{
    int cut = tokenize ? option_index(TOKENIZE_NAMES, tokenize) : TOKENIZE_13A;
    *number = option_index(METRIC_NAMES, metric);
    if (*number < 0) return error_set(ERR_INPUT, "no metric of lines has the name %.60s", metric);
    if (cut < 0) return error_set(ERR_INPUT, "tokenize %.60s: expected " TOKENIZE_NAMES, tokenize);
    *o = (MetricOptions){.tokenize = cut};
    return 0;
}

int trotter_score_lines(const char *metric, const char *tokenize, size_t n,
                        const char *const *hypothesis, const char *const *reference, double *score)
{
    int number = METRIC_BLEU;
    MetricOptions o;
    SCOPED(lines_free) Lines h = {0}, r = {0};
    SCOPED(metric_free) Statistics s = {0};
    double sums[METRIC_WIDTH];
    GIVEN(score);
    *score = NAN;
    GIVEN(metric);
    TRY(find(metric, tokenize, &number, &o));
    if (n == 0) return error_set(ERR_INPUT, "no lines");
    GIVEN(hypothesis, reference);
    TRY(join("hypothesis", hypothesis, n, &h));
    TRY(join("reference", reference, n, &r));
    TRY(metric_lines(number, &o, &h, &r, 1, &s));
    metric_sum(&s, sums);
    *score = metric_score(number, sums);
    return 0;
}

/* Reads classes that are written as numbers into label (n). */
static int read_labels(const double *x, size_t n, int32_t *label)
{
    for (size_t i = 0; i < n; i++) {
        if (!(x[i] >= 0 && x[i] < 1e6 && x[i] == floor(x[i])))
            return error_set(ERR_INPUT, "label %zu: %g is no class 0, 1, ...", i, x[i]);
        label[i] = (int32_t)x[i];
    }
    return 0;
}

static size_t count_classes(const int32_t *label, size_t n)
{
    int32_t most = 1;
    for (size_t i = 0; i < n; i++)
        if (label[i] > most) most = label[i];
    return (size_t)most + 1;
}

int trotter_score_labels(const char *metric, size_t n, const double *said, const double *right,
                         double *score)
{
    GIVEN(score);
    *score = NAN;
    GIVEN(metric);
    int m = agreement_find(metric);
    if (m < 0) return error_set(ERR_INPUT, "no metric of labels has the name %.60s", metric);
    if (n == 0) return error_set(ERR_INPUT, "no labels");
    GIVEN(said, right);
    if (agreements[m].of == ANSWERS_VALUES)
        return agreement_score(m, &(Answers){n, NULL, said}, &(Answers){n, NULL, right}, score);
    SCOPED(memory_drop) int32_t *label = memory_new(2 * n, sizeof *label);
    if (!label) return ERR_MEMORY;
    TRY(read_labels(said, n, label));
    TRY(read_labels(right, n, label + n));
    TRY(agreement_fits(m, count_classes(label, 2 * n)));
    return agreement_score(m, &(Answers){n, label, NULL}, &(Answers){n, label + n, NULL}, score);
}
