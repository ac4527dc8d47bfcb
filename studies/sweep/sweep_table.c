/* sweep_table.c: the tables of a sweep: a row a run, a row a word, halves of good and bad words. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/sweep/sweep.h"

static const char *const run_columns[] = {"word",   "area", "evals_F",   "evals_G",
                                          "params", "seed", "valid_ppl", "test_ppl"};
static const char *const word_columns[] = {
    "word",          "families", "s",         "f",         "k",          "area",
    "relative_area", "FFG",      "FGG",       "order",     "error_norm", "euler_norm",
    "bottom_s",      "bottom_f", "top_s",     "top_f",     "evals_F",    "evals_G",
    "params",        "seeds",    "valid_ppl", "valid_sd",  "valid_low",  "valid_high",
    "test_ppl",      "test_sd",  "test_low",  "test_high", "better"};
static const char *const shown[] = {"word",       "families",  "s", "f",        "area", "order",
                                    "error norm", "valid ppl", "±", "test ppl", "±"};
static const char *const plot_columns[] = {"family",    "word",     "k",    "seed",
                                           "valid_ppl", "test_ppl", "area", "error_norm"};
static const char *const half_columns[] = {"half", "sublayer", "models", "words",
                                           "mean", "low",      "high"};
static const char *const sandwich_columns[] = {"k",         "word",      "area",      "seeds",
                                               "valid_ppl", "valid_low", "valid_high"};
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---- good and bad ------------------------------------------------------------------------------------ */

int sweep_has_baseline(const Sweep *u)
{
    return u->interleaved < u->words && u->word[u->interleaved].valid.n > 0;
}

int sweep_is_better(const Sweep *u, const Word *w)
{
    return sweep_has_baseline(u) && w->valid.mean < u->word[u->interleaved].valid.mean;
}

size_t sweep_ranking(const Sweep *u, int family, size_t *index)
{
    size_t n = 0;
    for (size_t i = 0; i < u->words; i++) {
        if (!sweep_is(&u->word[i], family) || u->word[i].valid.n == 0) continue;
        size_t at = n++;
        for (; at > 0 && u->word[i].valid.mean < u->word[index[at - 1]].valid.mean; at--)
            index[at] = index[at - 1];
        index[at] = i;
    }
    return n;
}

/* ---- rows -------------------------------------------------------------------------------------------- */

static void add_run(Sweep *u, const Word *w, size_t k)
{
    const RunResult *x = &w->result[k];
    Report *r = u->runs_table;
    report_text(r, w->letters);
    report_real(r, w->area, 6);
    report_size(r, w->count[0]);
    report_size(r, w->count[1]);
    report_fixed(r, x->params, 0);
    report_size(r, u->seed + k);
    report_fixed(r, x->valid_ppl, 2);
    report_fixed(r, x->test_ppl, 2);
}

static void add_plotted(Sweep *u, int family, const Word *w, size_t k)
{
    const RunResult *x = &w->result[k];
    Report *r = u->plotted;
    report_text(r, sweep_family(family));
    report_text(r, w->letters);
    report_real(r, w->k < 0 ? NAN : (double)w->k, 6);
    report_size(r, u->seed + k);
    report_fixed(r, x->valid_ppl, 2);
    report_fixed(r, x->test_ppl, 2);
    report_real(r, w->area, 6);
    report_real(r, w->norm, 6);
}

/* What plots read: a row a run and family, a family's rows one after another, as gnuplot sums bins only of rows
 * that are neighbours. */
static void add_families(Sweep *u)
{
    for (int family = 0; family < FAMILIES; family++)
        for (size_t i = 0; i < u->words; i++) {
            const Word *w = &u->word[i];
            for (size_t k = 0; sweep_is(w, family) && k < w->seeds; k++)
                if (!isnan(w->result[k].valid_ppl)) add_plotted(u, family, w, k);
        }
}

static void join_families(const Word *w, char out[96])
{
    size_t n = 0;
    for (int family = 0; family < FAMILIES; family++)
        if (sweep_is(w, family))
            n += (size_t)snprintf(out + n, 96 - n, "%s%s", n ? " " : "", sweep_family(family));
}

static void add_interval(Report *r, const Interval *i)
{
    report_fixed(r, i->mean, 2);
    report_fixed(r, i->sd, 2);
    report_fixed(r, i->low, 2);
    report_fixed(r, i->high, 2);
}

static void add_name(Report *r, const Word *w)
{
    char families[96];
    join_families(w, families);
    report_text(r, w->letters);
    report_text(r, families);
    report_size(r, w->count[0]);
    report_size(r, w->count[1]);
}

static void add_word(Sweep *u, const Word *w)
{
    const Halves *h = &w->halves;
    const double theory[] = {w->area, w->share, w->FFG, w->FGG};
    const double rest[] = {w->norm,      w->euler_norm, h->bottom[0],
                           h->bottom[1], h->top[0],     h->top[1]};
    Report *r = u->wide;
    add_name(r, w);
    report_real(r, w->k < 0 ? NAN : (double)w->k, 6);
    for (size_t i = 0; i < COUNT(theory); i++) report_real(r, theory[i], 6);
    report_order(r, w->order);
    for (size_t i = 0; i < COUNT(rest); i++) report_real(r, rest[i], 6);
    report_size(r, w->count[0]);
    report_size(r, w->count[1]);
    report_fixed(r, w->params, 0);
    report_size(r, w->valid.n);
    add_interval(r, &w->valid);
    add_interval(r, &w->test);
    if (sweep_has_baseline(u))
        report_flag(r, sweep_is_better(u, w));
    else
        report_none(r);
}

static void add_brief(Sweep *u, const Word *w)
{
    Report *r = u->brief;
    add_name(r, w);
    report_real(r, w->area, 6);
    report_order(r, w->order);
    report_real(r, w->norm, 4);
    report_fixed(r, w->valid.mean, 2);
    report_fixed(r, 0.5 * (w->valid.high - w->valid.low), 2);
    report_fixed(r, w->test.mean, 2);
    report_fixed(r, 0.5 * (w->test.high - w->test.low), 2);
}

/* ---- halves ------------------------------------------------------------------------------------------- */

static double half_count(const Word *w, int top, int kind)
{
    return top ? w->halves.top[kind] : w->halves.bottom[kind];
}

/* The mean count of a kind of sublayer in a half of the drawn words that are better, or not, than the
 * baseline's mean. x (words): room. */
static void add_half(Sweep *u, int top, int kind, int better, double *x)
{
    static const char *const half[] = {"bottom", "top"}, *const letter[] = {"s", "f"};
    size_t n = 0;
    for (size_t i = 0; i < u->words; i++) {
        const Word *w = &u->word[i];
        int drawn = sweep_is(w, FAMILY_PERMUTATION) || sweep_is(w, FAMILY_RANDOM);
        if (drawn && w->valid.n && sweep_is_better(u, w) == better)
            x[n++] = half_count(w, top, kind);
    }
    Interval mean = statistics_mean(x, 1, n);
    report_text(u->halves, half[top]);
    report_text(u->halves, letter[kind]);
    report_text(u->halves, better ? "better" : "not better");
    report_size(u->halves, n);
    report_fixed(u->halves, mean.mean, 2);
    report_fixed(u->halves, mean.low, 2);
    report_fixed(u->halves, mean.high, 2);
}

static int add_halves(Sweep *u)
{
    double *x = memory_new(u->words, sizeof *x);
    if (!x) return ERR_MEMORY;
    for (int top = 0; top < 2 && sweep_has_baseline(u); top++)
        for (int kind = 0; kind < 2; kind++)
            for (int better = 1; better >= 0; better--) add_half(u, top, kind, better, x);
    memory_free(x);
    return 0;
}

/* ---- sandwiches ---------------------------------------------------------------------------------------- */

static void add_sandwich(Sweep *u, const Word *w)
{
    Report *r = u->sandwiches;
    report_size(r, (uint64_t)w->k);
    report_text(r, w->letters);
    report_real(r, w->area, 6);
    report_size(r, w->valid.n);
    report_fixed(r, w->valid.mean, 2);
    report_fixed(r, w->valid.low, 2);
    report_fixed(r, w->valid.high, 2);
}

static void add_sandwiches(Sweep *u)
{
    for (int k = 0; k < (int)u->pairs; k++)
        for (size_t i = 0; i < u->words; i++)
            if (u->word[i].k == k) add_sandwich(u, &u->word[i]);
}

/* ---- all ---------------------------------------------------------------------------------------------- */

int sweep_tables(Sweep *u)
{
    size_t *index = memory_new(u->words, sizeof *index);
    if (!index) return ERR_MEMORY;
    int code = report_new(COUNT(run_columns), run_columns, &u->runs_table);
    if (code == 0) code = report_new(COUNT(word_columns), word_columns, &u->wide);
    if (code == 0) code = report_new(COUNT(shown), shown, &u->brief);
    if (code == 0) code = report_new(COUNT(plot_columns), plot_columns, &u->plotted);
    if (code == 0) code = report_new(COUNT(half_columns), half_columns, &u->halves);
    if (code == 0) code = report_new(COUNT(sandwich_columns), sandwich_columns, &u->sandwiches);
    size_t ranked = code == 0 ? sweep_ranking(u, FAMILIES, index) : 0;
    for (size_t i = 0; i < ranked; i++) add_brief(u, &u->word[index[i]]);
    for (size_t i = 0; code == 0 && i < u->words; i++) {
        add_word(u, &u->word[i]);
        for (size_t k = 0; k < u->word[i].seeds; k++) add_run(u, &u->word[i], k);
    }
    memory_free(index);
    if (code == 0) code = add_halves(u);
    if (code == 0) add_sandwiches(u);
    if (code == 0) add_families(u);
    return code == 0 ? sweep_correlations(u) : code;
}
