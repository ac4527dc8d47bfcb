/* compare_differences.c: computes differences from the baseline and of all pairs, and whether they are shown. At every
 * depth it uses the designs and seeds of statistics.h, with one standard deviation for validation and one for test
 * text, and corrects for their number as in simultaneous.h.
 *
 * Equal maps are one design and one comparison. A design with a run that diverged is left out of the layout and has no
 * difference: its spread differs from the others', and a mean without that run would use only lucky runs. A run that
 * failed is missing.
 */
#include <math.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/compare/compare.h"
#include "studies/statistics/differences.h"

int compare_diverged(const Compare *u, const Cell *c)
{
    return runs_diverged(c->result, u->seeds, u->corpus.vocab.size);
}

const Cell *compare_baseline(const Compare *u, const Cell *c)
{
    return &u->cell[u->baseline * u->depths + (size_t)(c - u->cell) % u->depths];
}

/* Returns 1 where a cell is a design of the layout of its depth. */
static int is_design(const Compare *u, const Cell *c)
{
    return &u->cell[c->same] == c && c->runs > 0 && !compare_diverged(u, c);
}

/* Computes the layout of a depth. valid, test (cells, seeds): room for its runs. */
static int find_layout(const Compare *u, size_t d, double *valid, double *test, Layout *out)
{
    Layout l = {0};
    for (size_t i = d; i < u->cells; i += u->depths) {
        const Cell *c = &u->cell[i];
        if (!is_design(u, c)) continue;
        for (size_t k = 0; k < u->seeds; k++) {
            valid[l.designs * u->seeds + k] = c->result[k].valid_ppl;
            test[l.designs * u->seeds + k] = c->result[k].test_ppl;
        }
        l.designs++;
        l.single += c->runs == 1;
    }
    l.valid = statistics_seeds(valid, l.designs, u->seeds);
    l.test = statistics_seeds(test, l.designs, u->seeds);
    TRY(statistics_shared(valid, l.designs, u->seeds, &l.valid_shared));
    TRY(statistics_shared(test, l.designs, u->seeds, &l.test_shared));
    *out = l;
    return 0;
}

static void find_difference(const Compare *u, const Layout *l, Cell *c)
{
    static const Difference none = {NAN, NAN, NAN, NAN, NAN};
    const Cell *base = compare_baseline(u, c);
    int compared = c->same != base->same && !compare_diverged(u, c) && !compare_diverged(u, base);
    c->valid_diff =
        compared ? statistics_difference(&l->valid.pooled, &c->valid, &base->valid) : none;
    c->test_diff = compared ? statistics_difference(&l->test.pooled, &c->test, &base->test) : none;
}

/* Computes the differences of a depth together. runs (cells): room. */
static int correct(Compare *u, size_t d, size_t *runs)
{
    Layout *l = &u->layout[d];
    Simultaneous valid = {0}, test = {0};
    double margin = options_real(u->options, "equivalence");
    const Cell *base = compare_baseline(u, &u->cell[d]);
    for (size_t i = d; i < u->cells; i += u->depths)
        if (u->cell[i].same == i && !isnan(u->cell[i].valid_diff.mean))
            runs[l->comparisons++] = u->cell[i].runs;
    int code = simultaneous_dunnett(l->valid.pooled.df, base->runs, runs, l->comparisons, &valid);
    if (code == 0)
        code = simultaneous_dunnett(l->test.pooled.df, base->runs, runs, l->comparisons, &test);
    for (size_t i = d; code == 0 && i < u->cells; i += u->depths) {
        Cell *c = &u->cell[i];
        c->valid_together = simultaneous_difference(&valid, &c->valid_diff);
        c->test_together = simultaneous_difference(&test, &c->test_diff);
        c->valid_equal = c->test_equal = NAN;
        if (!(margin > 0)) continue;
        c->valid_equal = simultaneous_equivalence(&valid, &c->valid_diff, margin);
        c->test_equal = simultaneous_equivalence(&test, &c->test_diff, margin);
    }
    simultaneous_free(&valid);
    simultaneous_free(&test);
    return code;
}

int compare_differences(Compare *u)
{
    double *runs = memory_new(2 * u->cells, u->seeds * sizeof *runs);
    size_t *count = memory_new(u->cells, sizeof *count);
    int code = runs && count ? 0 : ERR_MEMORY;
    for (size_t d = 0; code == 0 && d < u->depths; d++) {
        Layout *l = &u->layout[d];
        code = find_layout(u, d, runs, runs + u->cells * u->seeds, l);
        for (size_t i = d; code == 0 && i < u->cells; i += u->depths)
            find_difference(u, l, &u->cell[i]);
        if (code == 0) code = correct(u, d, count);
    }
    memory_free(runs);
    memory_free(count);
    return code;
}

/* ---- all pairs --------------------------------------------------------------------------------- */

typedef struct {
    const char *scheme, *less;
    size_t layers;
    Difference valid, test;
} PairRow;

#define TOGETHER "p of no difference, corrected for all pairs of the depth (Tukey)"

const Column pair_columns[] = {
    COLUMN(PairRow, scheme, .words = "the first scheme of the pair"),
    COLUMN(PairRow, less, .words = "the second scheme, whose perplexity is subtracted"),
    COLUMN(PairRow, layers),
    DIFFERENCES_PAIR(PairRow, TOGETHER),
    {0}};

int compare_pairs(Compare *u)
{
    if (!options_flag(u->options, "all-pairs")) return 0;
    TRY(sheet_new(pair_columns, &u->pairs));
    for (size_t d = 0; d < u->depths; d++) {
        const Layout *l = &u->layout[d];
        Simultaneous valid, test;
        simultaneous_tukey(l->valid.pooled.df, l->designs, &valid);
        simultaneous_tukey(l->test.pooled.df, l->designs, &test);
        for (size_t i = d; i < u->cells; i += u->depths)
            for (size_t j = d; j < i; j += u->depths) {
                const Cell *a = &u->cell[i], *b = &u->cell[j];
                if (!is_design(u, a) || !is_design(u, b)) continue;
                sheet_row(
                    u->pairs,
                    &(PairRow){a->scheme->name, b->scheme->name, u->depth[d],
                               differences_pair(&valid, &l->valid.pooled, &a->valid, &b->valid),
                               differences_pair(&test, &l->test.pooled, &a->test, &b->test)});
            }
    }
    return 0;
}
