/* compare_differences.c: differences from the baseline and whether they are shown: at every depth the one-way layout of
 * statistics.h, with one standard deviation for validation and one for test text.
 *
 * Equal maps are one design and one comparison. A design with a run that diverged is left out of the layout and has no
 * difference: its spread is another, and a mean without that run would be of the lucky ones. A run that failed is
 * missing.
 */
#include <math.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/compare/compare.h"

int compare_diverged(const Compare *u, const Cell *c)
{
    return runs_diverged(c->result, u->seeds, u->corpus.vocab.size);
}

const Cell *compare_baseline(const Compare *u, const Cell *c)
{
    return &u->cell[u->baseline * u->depths + (size_t)(c - u->cell) % u->depths];
}

/* The layout of a depth. valid, test (cells): room for its designs. */
static Layout find_layout(const Compare *u, size_t layers, Interval *valid, Interval *test)
{
    Layout l = {0};
    for (size_t i = 0; i < u->cells; i++) {
        const Cell *c = &u->cell[i];
        if (c->layers != layers || c->same != i || c->runs == 0 || compare_diverged(u, c)) continue;
        valid[l.designs] = c->valid;
        test[l.designs++] = c->test;
        l.single += c->runs == 1;
    }
    l.valid = statistics_pool(valid, l.designs);
    l.test = statistics_pool(test, l.designs);
    return l;
}

static void find_difference(const Compare *u, const Layout *l, Cell *c)
{
    static const Difference none = {NAN, NAN, NAN, NAN, NAN};
    const Cell *base = compare_baseline(u, c);
    int compared = c->same != base->same && !compare_diverged(u, c) && !compare_diverged(u, base);
    c->valid_diff = compared ? statistics_difference(&l->valid, &c->valid, &base->valid) : none;
    c->test_diff = compared ? statistics_difference(&l->test, &c->test, &base->test) : none;
}

/* A table of many schemes finds differences where there are none: p is corrected for the comparisons of a depth.
 * p (2 cells): room. */
static int correct(Compare *u, size_t layers, Layout *l, double *p)
{
    for (size_t i = 0; i < u->cells; i++) {
        const Cell *c = &u->cell[i];
        int counts = c->layers == layers && c->same == i;
        p[i] = counts ? c->valid_diff.p : NAN;
        p[u->cells + i] = counts ? c->test_diff.p : NAN;
        l->comparisons += counts && !isnan(c->valid_diff.mean);
    }
    TRY(statistics_holm(p, u->cells));
    TRY(statistics_holm(p + u->cells, u->cells));
    for (size_t i = 0; i < u->cells; i++) {
        Cell *c = &u->cell[i];
        if (c->layers != layers) continue;
        c->valid_p = p[c->same];
        c->test_p = p[u->cells + c->same];
    }
    return 0;
}

int compare_differences(Compare *u)
{
    Interval *designs = memory_new(2 * u->cells, sizeof *designs);
    double *p = memory_new(2 * u->cells, sizeof *p);
    int code = designs && p ? 0 : ERR_MEMORY;
    for (size_t d = 0; code == 0 && d < u->depths; d++) {
        Layout *l = &u->layout[d];
        *l = find_layout(u, u->depth[d], designs, designs + u->cells);
        for (size_t i = d; i < u->cells; i += u->depths) find_difference(u, l, &u->cell[i]);
        code = correct(u, u->depth[d], l, p);
    }
    memory_free(designs);
    memory_free(p);
    return code;
}
