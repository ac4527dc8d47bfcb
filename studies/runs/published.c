/* published.c: holds the language-model figures of the source papers, and compares a study's own with them.
 *
 * Our schemes for the rows of the papers are these. ODE Transformer: "we regarded merging SAN and FFN as the
 * default ODE block" (appendix B), so its F is a whole layer without the skip, our L(y) = F(y) + G(y + F(y)):
 * Residual-Block, eq. (1), is y + L(y), `transformer`; RK2-block, eq. (12)-(14), is `heun-layer`; gamma_i = 1, eq.
 * (23), is `rk2-unit`; learnable gamma_i, eq. (25)-(26) (section 5, "RK2-block-v2"), is `rk2-gate`; RK4-block, eq.
 * (15)-(19), is `rk4-layer`. (Its released code has the skip inside F: rk2-released, rk4-released.) Sandwich:
 * sandwich^n_k is s^k (sf)^(n-k) f^k, `sandwich:n-k`, one layer of ours; its baseline is k = 0.
 *
 * From the Sandwich paper's tables 1 and 2 only the perplexities are here, as copies of its text have lost letters
 * of the words. The rows of the interleaved word follow from their mean and sd (section 4: 18.65, .34): five
 * perplexities that both tables have give these; 18.83 stands in table 1 twice.
 *
 * Figures that both papers quote from others, or that are drawn without numbers, and translation are left out.
 * The Macaron papers have no figure of a language model.
 *
 * Source: Li et al. 2022 (ODE Transformer, ACL); Press, Smith, Levy 2020 (Sandwich, ACL). */
#include "studies/runs/published.h"

#include <math.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"

/* ---- the figures ------------------------------------------------------------------------------- */

#define ODE "ODE Transformer (Li et al. 2022), table 5"
#define ODE_ROW(row, scheme, layers, figure, baseline, note)                                  \
    {                                                                                         \
        ODE, row, scheme, layers, "Penn Treebank", MEASURE_UNSAID, figure, baseline,          \
            "d 512, inner 2048, heads not reported (8 in its base model), 20 epochs at most", \
            "split, number of trainings, context, positions and tying not reported" note      \
    }
#define ODE_SKIP "; the released code counts the skip twice (rk2-released, rk4-released)"
#define SANDWICH(where) "Sandwich (Press et al. 2020), " where
#define WIKI_ROW(where, row, scheme, measure, figure, baseline, note)               \
    {                                                                               \
        SANDWICH(where), row, scheme, 1, "WikiText-103", measure, figure, baseline, \
            "d 1024, inner 4096, 16 heads, adaptive input", note                    \
    }
#define BOOKS_ROW(row, scheme, figure, baseline, note)                                     \
    {                                                                                      \
        SANDWICH("table 4"), row, scheme, 1, "Toronto Books Corpus", MEASURE_TEST, figure, \
            baseline, "d 1024, inner 4096, 16 heads, tied; 29K byte pairs", note           \
    }
#define SPAN_ROW(row, scheme, corpus, figure, baseline, note)                               \
    {                                                                                       \
        SANDWICH("table 5"), row, scheme, 1, corpus, MEASURE_BITS, figure, baseline,        \
            "24 layers; adaptive span; d 768, inner 4096, 8 heads by the public code", note \
    }
#define ONCE "one training; k chosen on validation"
#define MEMORY_ROW(row, scheme, layers, figure, baseline)                                     \
    {                                                                                         \
        "ODE Transformer (Li et al. 2022), table 6", row, scheme, layers, "WMT'14 En-De",     \
            MEASURE_MEMORY, figure, baseline,                                                 \
            "base; the depth is the encoder's, beside 6 decoder layers", "batch not reported" \
    }

const Published published[] = {
    ODE_ROW("Residual-Block", "transformer", 1, 142.33, 1, ""),
    ODE_ROW("RK2-block", "heun-layer", 1, 131.80, 0, ODE_SKIP),
    ODE_ROW("RK2-block (gamma_i = 1)", "rk2-unit", 1, 132.67, 0, ODE_SKIP),
    ODE_ROW("RK2-block (learnable gamma_i)", "rk2-gate", 1, 128.48, 0, ODE_SKIP),
    ODE_ROW("RK4-block", "rk4-layer", 1, 126.89, 0, ODE_SKIP),
    ODE_ROW("Residual-Block", "transformer", 2, 136.07, 1, ""),
    ODE_ROW("RK2-block", "heun-layer", 2, 123.12, 0, ODE_SKIP),
    ODE_ROW("RK2-block (gamma_i = 1)", "rk2-unit", 2, 123.90, 0, ODE_SKIP),
    ODE_ROW("RK2-block (learnable gamma_i)", "rk2-gate", 2, 121.02, 0, ODE_SKIP),
    ODE_ROW("RK4-block", "rk4-layer", 2, 119.46, 0, ODE_SKIP),
    WIKI_ROW("section 3", "baseline", "sandwich:16-0", MEASURE_VALID, 18.65, 1,
             "5 seeds; \"± 0.24\"; section 4 and the five of tables 1 and 2 have sd 0.34"),
    WIKI_ROW("section 4", "s^16 f^16", "sandwich:16-15", MEASURE_VALID, 18.82, 0,
             "one training; the split is that of figure 5, whose k = 15 it is"),
    WIKI_ROW("section 4", "sandwich, k = 6", "sandwich:16-6", MEASURE_VALID, 17.84, 0,
             "one training; the best of k = 1 .. 15"),
    WIKI_ROW("section 4", "sandwich, k = 6, 5 seeds", "sandwich:16-6", MEASURE_VALID, 17.98, 0,
             "sd 0.10 over 5 seeds, the one k was chosen by among them"),
    WIKI_ROW("table 3", "Baseline (5 Runs)", "sandwich:16-0", MEASURE_TEST, 18.63, 1, "± 0.26"),
    WIKI_ROW("table 3", "Sandwich 16, 6", "sandwich:16-6", MEASURE_TEST, 17.96, 0, ONCE),
    BOOKS_ROW("Baseline (5 runs)", "sandwich:16-0", 11.89, 1, "± 0.35"),
    BOOKS_ROW("Sandwich 16, 7", "sandwich:16-7", 10.83, 0, ONCE),
    SPAN_ROW("Baseline (5 Runs)", "sandwich:24-0", "text8", 1.0802, 1, "± 0.0103"),
    SPAN_ROW("Sandwich 24, 3", "sandwich:24-3", "text8", 1.076, 0, ONCE),
    SPAN_ROW("Baseline (5 Runs)", "sandwich:24-0", "enwik8", 0.9752, 1, "± 0.0008"),
    SPAN_ROW("Sandwich 24, 5", "sandwich:24-5", "enwik8", 0.968, 0, ONCE),
    MEMORY_ROW("Residual-Block", "transformer", 6, 7.2, 1),
    MEMORY_ROW("Residual-Block", "transformer", 12, 10.9, 1),
    MEMORY_ROW("Residual-Block", "transformer", 24, 14.1, 1),
    MEMORY_ROW("RK2-Block", "heun-layer", 6, 8.5, 0),
    MEMORY_ROW("RK4-Block", "rk4-layer", 6, 9.7, 0),
};
const size_t published_count = sizeof published / sizeof *published;

const PublishedDraw published_draws[] = {
    {SANDWICH("table 1"), "permutation", "WikiText-103", {20.74, 20.64, 20.33, 20.27, 19.98,
                                                          19.92, 19.69, 19.54, 19.08, 18.90,
                                                          18.83, 18.77, 18.68, 18.64, 18.61,
                                                          18.60, 18.55, 18.38, 18.28, 18.19}},
    {SANDWICH("table 2"), "random", "WikiText-103", {22.80, 21.02, 20.98, 20.75, 20.43,
                                                     20.28, 20.02, 19.93, 19.85, 19.82,
                                                     19.77, 19.55, 19.49, 19.47, 19.25,
                                                     18.86, 18.62, 18.34, 18.31, 18.12}},
};
const size_t published_draw_count = sizeof published_draws / sizeof *published_draws;

Interval published_interleaved(void)
{
    static const double seeds[] = {19.13, 18.83, 18.54, 18.49, 18.25};
    return statistics_mean(seeds, 1, sizeof seeds / sizeof *seeds);
}

size_t published_better(const PublishedDraw *d)
{
    double mean = published_interleaved().mean;
    size_t n = 0;
    for (int i = 0; i < PUBLISHED_DRAWN; i++) n += (size_t)(d->word[i] < mean);
    return n;
}

static const struct {
    const char *words;
    int of[2]; /* validation, test */
    int bits;
} measure[] = {[MEASURE_VALID] = {"validation perplexity", {1, 0}, 0},
               [MEASURE_TEST] = {"test perplexity", {0, 1}, 0},
               [MEASURE_UNSAID] = {"perplexity, split not reported", {1, 1}, 0},
               [MEASURE_BITS] = {"test bits a character", {0, 1}, 1},
               [MEASURE_MEMORY] = {"memory in training, G", {0, 0}, 0}};

const char *published_measure(int which)
{
    return measure[which].words;
}

const Published *published_baseline(const Published *p)
{
    for (const Published *b = published; b < published + published_count; b++)
        if (b->baseline && strcmp(b->source, p->source) == 0 && strcmp(b->corpus, p->corpus) == 0 &&
            b->measure == p->measure && b->layers == p->layers)
            return b;
    return NULL;
}

/* ---- corpora ----------------------------------------------------------------------------------- */

/* Sizes of corpora: words, and tokens with line ends. The ODE Transformer's validation and test sentences (3,370
 * and 3,761), its vocabulary and its source are those of Mikolov's Treebank (its 88K training sentences are not:
 * there are 42,068). Corpora that are not in the list are not compared, as we do not know their sizes in our
 * tokens. */
static const struct {
    const char *name;
    size_t words, tokens[SPLITS];
} known[] = {
    {"Penn Treebank", 10000, {929589, 73760, 82430}},      /* Mikolov et al. 2011 */
    {"WikiText-103", 267735, {103227021, 217646, 245569}}, /* Merity et al. 2016, table 1 */
};

static int has_sizes(const Corpus *c, const size_t *tokens)
{
    for (int s = 0; s < SPLITS; s++) {
        int closed = s == SPLIT_TEST && c->text[s].tokens == 0;
        if (!closed && c->text[s].tokens != tokens[s]) return 0;
    }
    return 1;
}

const char *published_corpus(const Corpus *c)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (c->vocab.level == LEVEL_WORD && !c->marks && c->vocab.size == known[i].words &&
            has_sizes(c, known[i].tokens))
            return known[i].name;
    return NULL;
}

/* ---- the same map ------------------------------------------------------------------------------ */

int published_same(const Zoo *z, const BridgeOptions *o, const Published *p, const Table *t,
                   int *same)
{
    BridgeOptions theirs = *o;
    Table *scheme;
    Plan *a, *b;
    *same = 0;
    theirs.layers = p->layers;
    theirs.norm = NORM_PRE; /* as in both papers' word-level models */
    TRY(zoo_find(z, p->scheme, "euler", &scheme));
    int code = bridge_plan(scheme, &theirs, &a);
    table_free(scheme);
    if (code != 0) return code;
    code = bridge_plan(t, o, &b);
    if (code == 0) {
        code = plan_same(a, b, same);
        plan_free(b);
    }
    plan_free(a);
    return code;
}

/* ---- ours beside it ---------------------------------------------------------------------------- */

static double run_value(const Published *p, const RunResult *r, int split)
{
    double ppl = split ? r->test_ppl : r->valid_ppl;
    return measure[p->measure].bits ? log2(ppl) : ppl;
}

static Interval moved(Interval i, double by)
{
    i.mean += by;
    i.low += by;
    i.high += by;
    return i;
}

/* Returns the interval of the mean logarithm, or mean, over the seeds; x (seeds): room. */
static Interval mean_of(const Published *p, const Design *d, int split, int logarithm, double *x)
{
    for (size_t k = 0; k < d->seeds; k++) {
        x[k] = run_value(p, &d->result[k], split);
        if (logarithm) x[k] = log(x[k]);
    }
    return logarithm ? statistics_mean(x, 1, d->seeds) : statistics_positive(x, 1, d->seeds);
}

/* Fills in the comparison for one text. x: room for the seeds of either design. */
static void compare_split(Beside *b, int split, const Pooled *spread, double *x)
{
    static const Interval none = {0, NAN, NAN, NAN, NAN, NAN};
    b->value[split] = mean_of(b->row, b->ours, split, 0, x);
    b->less[split] =
        measure[b->row->measure].of[split] ? moved(b->value[split], -b->row->figure) : none;
    b->gain[split] = none;
    if (!b->base) return;
    Interval ours = mean_of(b->row, b->ours, split, 1, x);
    Interval base = mean_of(b->row, b->base, split, 1, x);
    Difference d = statistics_difference(spread, &ours, &base);
    if (!isnan(d.mean))
        b->gain[split] = (Interval){ours.n, exp(d.mean), NAN, exp(d.low), exp(d.high), d.p};
}

int published_beside(const Published *p, const Design *ours, const Design *base,
                     const Pooled spread[2], Beside *out)
{
    const Published *b = published_baseline(p);
    *out = (Beside){.row = p, .ours = ours, .base = p == b ? NULL : base};
    out->ratio = b && b != p ? p->figure / b->figure : NAN;
    double *x = memory_new(ours->seeds + (base ? base->seeds : 0), sizeof *x);
    if (!x) return ERR_MEMORY;
    for (int split = 0; split < 2; split++) compare_split(out, split, &spread[split], x);
    memory_free(x);
    return 0;
}

int published_spread(const Published *p, const Design *design, size_t n, Pooled spread[2])
{
    size_t most = 0, m = 0;
    for (size_t i = 0; i < n; i++) most = design[i].seeds > most ? design[i].seeds : most;
    double *x = memory_new(most, sizeof *x);
    Interval *list = memory_new(n, sizeof *list);
    for (int split = 0; x && list && split < 2; split++, m = 0) {
        for (size_t i = 0; i < n; i++)
            if (design[i].pooled && design[i].layers == p->layers)
                list[m++] = mean_of(p, &design[i], split, 1, x);
        spread[split] = statistics_pool(list, m);
    }
    int code = x && list ? 0 : ERR_MEMORY;
    memory_free(x);
    memory_free(list);
    return code;
}
