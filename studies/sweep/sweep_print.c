/* sweep_print.c: prints what stands above the table of a sweep. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/model/network.h"
#include "studies/tools/output.h"
#include "studies/sweep/sweep.h"
#include "studies/tools/command.h"

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
                "seeds;\nthe first of them chose it, and is in no difference.\n",
                u->design[sweep_of(u)->best].name, u->seed);
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
        better += (size_t)(sweep_has_baseline(u) &&
                           t->design[i].mean[0].mean < t->design[u->baseline].mean[0].mean);
    }
    Interval spread = statistics_mean(x, 1, n);
    memory_free(x);
    if (n < 3) return 0;
    fprintf(f, "%s words with their first seed have validation perplexity ", sweep_family(family));
    print_spread(spread, sweep_has_baseline(u) ? &t->design[u->baseline].mean[0] : NULL, better, f);
    return 0;
}

/* Prints what the columns mean. */
static void print_columns(FILE *f)
{
    fprintf(
        f,
        "A word lists its sublayers in order of time: s is attention (F), f is feed-forward "
        "(G). area is the\ncoefficient of [F,G] in the error of the word as a splitting of "
        "aF + bG by exact flows, positive where\ns comes first. order and error norm are those "
        "of that error, and empty where there is none. trained is\nthe order with the Euler "
        "sub-steps of the network, 1 at most. All take the sublayers of a kind for one\n"
        "operator. relative_area is area divided by the largest that as many s and f can have. bottom_s and top_f\n"
        "are the numbers of s in the first half of a word's parameters and of f in the second.\n");
}

int sweep_caption(const Study *u, int brief, FILE *f)
{
    static const int asked[] = {FAMILY_PERMUTATION, FAMILY_RANDOM, FAMILY_SANDWICH};
    study_print_recipe(u, f);
    fprintf(f,
            "The rate is %s, the dropout %s. ± is half of the 95 %% interval over seeds "
            "(Student's t)%s.\n",
            options_text(u->options, "rate"), options_text(u->options, "dropout"),
            brief ? "; --explain tells more" : "");
    print_families(u, f);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) TRY(print_answer(u, asked[i], f));
    if (!brief) print_columns(f);
    return 0;
}
