/* metric_texts.h: statistics of texts that tests write down, and draws of a test's own. */
#ifndef TROTTER_TEST_METRIC_TEXTS_H
#define TROTTER_TEST_METRIC_TEXTS_H

#include "kernels/memory.h"
#include "kernels/random.h"
#include "studies/metrics/bootstrap.h"
#include "tests/lib/test.h"

static inline Lines lines_of(const char *text)
{
    Lines l;
    char *copy = memory_string(text);
    assert_non_null(copy);
    assert_int_equal(lines_take("text", copy, strlen(text), &l), 0);
    return l;
}

enum { REFERENCES = 3 };

/* Computes the sums of a hypothesis against the references before the first NULL. */
static inline void sums_of(int metric, const MetricOptions *o, const char *hypothesis,
                           const char *const *reference, double sums[METRIC_WIDTH])
{
    Lines h = lines_of(hypothesis), r[REFERENCES];
    size_t n = 0;
    Statistics s;
    for (; n < REFERENCES && reference[n]; n++) r[n] = lines_of(reference[n]);
    assert_int_equal(metric_lines(metric, o, &h, r, n, &s), 0);
    metric_sum(&s, sums);
    metric_free(&s);
    lines_free(&h);
    for (size_t i = 0; i < n; i++) lines_free(&r[i]);
}

static struct {
    uint64_t stream, index;
} drawing;

static inline size_t below(size_t n)
{
    return (size_t)random_below(5, drawing.stream, drawing.index++, n);
}

#endif
