/* compare_print.c: prints what stands above the table of a comparison of schemes. */
#include <math.h>
#include <stdio.h>

#include "bridge/truncation.h"
#include "studies/lab/compare/compare.h"

static void print_tuning(const Study *u, int brief, FILE *f)
{
    const Options *o = u->options;
    if (!options_flag(o, "tune"))
        fprintf(f, "rate %s, dropout %s", options_text(o, "rate"), options_text(o, "dropout"));
    else if (brief)
        fprintf(f, "%s tuned for each row",
                runs_tunes(u->options, "epochs") ? "rate, dropout and length" : "rate and dropout");
    else
        fprintf(
            f,
            "all rows are tuned alike: each has the rate (of %s) and the dropout (of %s)%s%s%s that\ngive the lowest "
            "validation perplexity with seed %zu; no model saw the test text before the last choice (study.log)",
            options_text(o, "tune-rate"), options_text(o, "tune-dropout"),
            runs_tunes(u->options, "epochs") ? " and the epochs (of " : "",
            runs_tunes(u->options, "epochs") ? options_text(o, "tune-epochs") : "",
            runs_tunes(u->options, "epochs") ? ")" : "", options_size(o, "tune-seed"));
}

/* Returns 1 where the maps of two schemes, whose designs begin at i and j, are the same at every depth. */
static int same_at_all(const Study *u, size_t i, size_t j)
{
    size_t k = 0;
    size_t depths = compare_of(u)->depths;
    while (k < depths && u->design[i + k].same == u->design[j + k].same) k++;
    return k == depths;
}

static void print_controls(const Study *u, FILE *f)
{
    for (size_t i = 0; i < u->schemes.count; i++) {
        const Table *t = u->schemes.scheme[i];
        char names[512];
        compare_controlled(u, t, names);
        if (!*names) continue;
        fprintf(f, "%s (%s) is a control of equal evaluations for: %s.\n", t->name,
                t->name[0] == 'l' ? "the transformer layer with smaller steps" : "plain repetition",
                names);
    }
    for (size_t i = 0; i < u->designs; i += compare_of(u)->depths) {
        const StudyDesign *d = &u->design[i];
        if (d->same != i)
            fprintf(f, "%s and %s are the same map%s and count as one design%s.\n", d->name,
                    u->design[d->same].name,
                    same_at_all(u, i, d->same) ? "" : " at the first depth",
                    same_at_all(u, i, d->same) ? "" : " there");
    }
}

/* Counts the runs of all designs with a result. */
static size_t count_runs(const Study *u)
{
    size_t n = 0;
    for (size_t i = 0; i < u->designs; i++) n += study_design(u, i)->mean[0].n;
    return n;
}

/* Counts the runs with a number of a measure above this. */
static size_t count_above(const Study *u, const char *column, double above)
{
    size_t n = 0;
    for (size_t i = 0; i < u->designs; i++) n += study_count(u, &u->design[i], column, above);
    return n;
}

/* Says whether the order governs a step of h = 1. */
static void print_regime(const Study *u, FILE *f)
{
    size_t told = 0, governed = 0;
    for (size_t i = 0; i < u->designs; i++) {
        told += compare_governs(u, i) >= 0;
        governed += compare_governs(u, i) > 0;
    }
    if (told)
        fprintf(
            f,
            "h = 1 is %sin the asymptotic regime: the error is within %d %% of its leading term "
            "in %zu of %zu rows%s\n",
            governed == told ? "" : "not ", TRUNCATION_NEAR, governed, told,
            governed == told ? "."
            : governed       ? ";\nin the others the order does not govern."
                             : ".\nThe order does not govern there.");
}

static void print_truncation(const Study *u, FILE *f)
{
    const Options *options = u->options;
    size_t measured = count_above(u, "truncation", -INFINITY), runs = count_runs(u);
    if (options_size(options, "truncation") == 0 || measured == 0) return;
    fprintf(f,
            "Truncation errors are medians over %zu sentences of validation text and all layers.\n",
            options_size(options, "truncation"));
    if (measured < runs)
        fprintf(
            f,
            "%zu of %zu trained networks were measured; rank correlations take the seeds that all "
            "measured designs have.\n",
            measured, runs);
    int learned = 0, steps = 0;
    for (size_t i = 0; i < u->designs; i++) {
        const Table *t = u->design[i].spec.stacks.layers;
        learned += t->symbols > 0;
        steps += !t->symbols && table_past(t);
    }
    if (learned)
        fprintf(f, "For a scheme with learned coefficients, error takes the trained ones and the "
                   "network's own history;\norder and slope take the starting values.\n");
    if (steps)
        fprintf(f,
                "What a scheme without learned coefficients reads or carries of earlier steps is "
                "that of the exact flow, so error is that\nof the scheme; in the network, "
                "earlier layers have other weights.\n");
}

/* Prints how many runs were still gaining; their perplexities are not their best ones. */
static void print_gaining(const Study *u, FILE *f)
{
    size_t gaining = count_above(u, "gaining", 0), runs = count_runs(u);
    if (options_size(u->options, "average") > 1) return; /* its model is not one epoch's */
    const char *more = options_size(u->options, "max-steps")
                           ? "; --max-steps may have cut them short"
                       : schedule_ends(options_choice(u->options, "schedule"))
                           ? ",\nwhich is likely where the rate falls to the end"
                           : ";\nwith more --epochs this command continues them";
    fprintf(f, "%zu of %zu runs were still improving in their last epoch%s.\n", gaining, runs,
            gaining ? more : "");
}

/* Returns the number of runs of the design that has most: recorded runs may be fewer than --seeds. */
static size_t most_runs(const Study *u)
{
    size_t most = 0;
    for (size_t i = 0; i < u->designs; i++)
        if (study_design(u, i)->mean[0].n > most) most = study_design(u, i)->mean[0].n;
    return most;
}

/* Says how far numbers of parameters differ among designs of one depth and point of --vary: inner widths are whole numbers, and so match
 * nearly. */
static void parameters_words(const Study *u, char words[160])
{
    double most = 0;
    for (size_t i = 0; i < u->designs; i++)
        for (size_t j = 0; j < i; j++) {
            double a = (double)u->design[i].spec.numbers, b = (double)u->design[j].spec.numbers;
            if (a > 0 && b > 0 && compare_beside(&u->design[i], &u->design[j]))
                most = fmax(most, fabs(a - b) / fmin(a, b));
        }
    if (options_choice(u->options, "match") != MATCH_PARAMETERS)
        snprintf(words, 160, "not matched");
    else if (most == 0)
        snprintf(words, 160, "equal:\ninner widths shrink where a scheme has more sets");
    else
        snprintf(words, 160,
                 "matched:\ninner widths shrink where a scheme has more sets, so that they "
                 "differ by at most %.2g %%",
                 100 * most);
}

/* Prints what the columns mean. */
static void print_columns(const Study *u, FILE *f)
{
    const ConvergenceStudy *orders = &compare_of(u)->orders;
    char parameters[160];
    parameters_words(u, parameters);
    fprintf(
        f,
        "unigram is the perplexity of %s frequencies alone, which a model has to beat. Perplexities are means\nover "
        "seeds; ± is half of the 95 %% interval of a row's own runs (Student's t). Numbers of parameters are %s.\n"
        "Sub-flows are Euler steps unless a suffix says otherwise.\n",
        network_unit(&u->corpus.vocab)->word, parameters);
    print_truncation(u, f);
    fprintf(f, "The particle system is '%s' (%s).\n", orders->system->name, orders->system->title);
}

int compare_caption(const Study *u, int brief, FILE *f)
{
    size_t seeds = most_runs(u);
    study_print_recipe(u, f);
    fprintf(f, "%zu seed%s; ", seeds, seeds == 1 ? "" : "s");
    print_tuning(u, brief, f);
    fprintf(f, "%s\n", brief ? "; --explain tells more" : ".");
    if (options_item(u->options, "vary", 0))
        fprintf(f, "A row whose name has OPTION=VALUE was trained with that value.\n");
    if (u->corpus.marks)
        fprintf(f,
                "each perplexity is a pseudo-perplexity over one set of masks, the same for all\n");
    print_gaining(u, f);
    print_controls(u, f);
    print_regime(u, f);
    if (!brief) print_columns(u, f);
    return 0;
}
