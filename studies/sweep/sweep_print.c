/* sweep_print.c: prints a sweep in words and tables. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/model/network.h"
#include "studies/tools/output.h"
#include "studies/sweep/sweep.h"
#include "studies/tools/command.h"

/* ---- words ------------------------------------------------------------------------------------------- */

static void print_families(const Study *u, FILE *f)
{
    const Options *o = u->options;
    size_t n[FAMILIES] = {0};
    for (size_t i = 0; i < u->designs; i++)
        for (int family = 0; family < FAMILIES; family++)
            n[family] += (size_t)sweep_is(sweep_word(u, i), family);
    fprintf(f, "There are %zu words of %zu pairs (--word-seed %zu):", u->designs,
            sweep_of(u)->pairs, options_size(o, "word-seed"));
    for (int family = 0, comma = 0; family < FAMILIES; family++)
        if (n[family]) fprintf(f, "%s %zu %s", comma++ ? "," : "", n[family], sweep_family(family));
    fprintf(f,
            ".\nThe interleaved word and those given have seeds %zu .. %zu; each of the others has "
            "%zu, from %zu on.\n",
            u->seed, u->seed + options_size(o, "seeds") - 1, options_size(o, "family-seeds"),
            u->seed);
    if (sweep_of(u)->best < u->designs && options_flag(o, "confirm"))
        fprintf(f,
                "%s was the best sandwich on validation with seed %zu, so it was trained with all "
                "seeds;\nthe first of them chose it.\n",
                u->design[sweep_of(u)->best].name, u->seed);
}

static void print_caption(const Study *u, FILE *f)
{
    study_print_recipe(u, f);
    fprintf(
        f,
        "The rate is %s, the dropout %s. ± is half of the 95 %% interval over seeds (Student's t).\n",
        options_text(u->options, "rate"), options_text(u->options, "dropout"));
    runtable_cut(&u->table, f);
    print_families(u, f);
    fprintf(f,
            "A word lists its sublayers in order of time: s is attention (F), f is feed-forward "
            "(G). area is the\ncoefficient of [F,G] in the error of the word as a splitting of "
            "aF + bG by exact flows, positive where\ns comes first. order and error norm are those "
            "of that error, and empty where there is none. trained is\nthe order with the Euler "
            "sub-steps of the network, 1 at most. All take the sublayers of a kind for one\n"
            "operator.\n\n");
}

/* Prints the spread of words. seeds: interval of the interleaved word; NULL: there is none. */
static void print_spread(Interval words, const Interval *seeds, size_t better, FILE *f)
{
    fprintf(f, "%.2f (sd %.2f over %zu words)", words.mean, words.sd, words.n);
    if (seeds) {
        fprintf(f, ";\n    the interleaved word has %.2f", seeds->mean);
        if (seeds->n > 1) fprintf(f, " (sd %.2f over %zu seeds)", seeds->sd, seeds->n);
        fprintf(f, "; %zu of the words %s better than that mean", better,
                better == 1 ? "is" : "are");
    }
    fprintf(f, ".\n");
}

/* Prints the spread of words with one seed beside that of the baseline's seeds. */
static int print_answer(const Study *u, int family, FILE *f)
{
    const RunTable *t = &u->table;
    double *x = memory_new(t->designs, sizeof *x);
    size_t n = 0, better = 0;
    if (!x) return ERR_MEMORY;
    for (size_t i = 0; i < t->designs; i++) {
        if (!sweep_is(sweep_word(u, i), family)) continue;
        x[n++] = u->design[i].run[0].result.valid_ppl;
        better += (size_t)sweep_is_better(u, i);
    }
    Interval spread = statistics_mean(x, 1, n);
    memory_free(x);
    if (n < 3) return 0;
    fprintf(f, "%s words with their first seed have validation perplexity ", sweep_family(family));
    print_spread(spread, sweep_has_baseline(u) ? &t->design[u->baseline].mean[0] : NULL, better, f);
    return 0;
}

static int print_differences(const Study *u, int form, FILE *f)
{
    const Sheet *s = study_sheet(u, "differences");
    if (sheet_rows(s) == 0) return 0;
    fprintf(f,
            "\nDifferences of words have 95 %% intervals with one standard deviation over seeds, "
            "which is assumed to be\nthe same in all words; each word is one design.\n");
    runtable_models(&u->table, f);
    if (sweep_of(u)->best < u->designs && options_flag(u->options, "confirm"))
        fprintf(f, "%s is counted without the seed that chose it.\n",
                u->design[sweep_of(u)->best].name);
    fputc('\n', f);
    return sheet_write(s, form, f);
}

static const char correlation_words[] =
    "\nRank correlations (Spearman) of validation perplexity are over words, each with the seeds that all\n"
    "have. relative_area is area divided by the largest that as many s and f can have. bottom_s and top_f\n"
    "are the numbers of s in the first half of a word's parameters and of f in the second. low and high\n"
    "are the ends of a 95 % bootstrap interval over words, given for 7 words or more whose values differ.\n"
    "p is the probability that chance gives as large a correlation.\n\n";

int sweep_print(const Study *u, int form, int brief, FILE *f)
{
    static const int asked[] = {FAMILY_PERMUTATION, FAMILY_RANDOM, FAMILY_SANDWICH};
    (void)brief;
    print_caption(u, f);
    TRY(sheet_write(study_sheet(u, "brief"), form, f));
    fputc('\n', f);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) TRY(print_answer(u, asked[i], f));
    TRY(print_differences(u, form, f));
    fputs(correlation_words, f);
    return sheet_write(study_sheet(u, "related"), form, f);
}
