/* sweep_save.c: writes a sweep in words and files. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/model/network.h"
#include "studies/runs/published.h"
#include "studies/statistics/differences.h"
#include "studies/sweep/sweep.h"
#include "studies/tools/command.h"

/* ---- words ------------------------------------------------------------------------------------------- */

static void print_families(const Sweep *u, FILE *f)
{
    const Options *o = u->options;
    size_t n[FAMILIES] = {0};
    for (size_t i = 0; i < u->words; i++)
        for (int family = 0; family < FAMILIES; family++)
            n[family] += (size_t)sweep_is(&u->word[i], family);
    fprintf(f, "There are %zu words of %zu pairs (--word-seed %zu):", u->words, u->pairs,
            options_size(o, "word-seed"));
    for (int family = 0, comma = 0; family < FAMILIES; family++)
        if (n[family]) fprintf(f, "%s %zu %s", comma++ ? "," : "", n[family], sweep_family(family));
    fprintf(f,
            ".\nThe interleaved word and those given have seeds %zu .. %zu; each of the others has "
            "%zu, from %zu on.\n",
            u->seed, u->seed + options_size(o, "seeds") - 1, options_size(o, "family-seeds"),
            u->seed);
    if (u->best < u->words && options_flag(o, "confirm"))
        fprintf(f,
                "%s was the best sandwich on validation with seed %zu, so it was trained with all "
                "seeds;\nthe first of them chose it.\n",
                u->word[u->best].letters, u->seed);
}

static void print_caption(const Sweep *u, FILE *f)
{
    const Options *o = u->options;
    char length[64];
    network_length(o, length);
    fprintf(f,
            "Corpus %s has %zu training %ss and a vocabulary of %zu. The models have width %zu,\n"
            "inner width %zu and %zu heads; training took %s with rate %s and dropout %s.\n"
            "± is half of the 95 %% interval over seeds (Student's t).\n",
            u->corpus.name, u->corpus.text[SPLIT_TRAIN].tokens,
            network_unit(&u->corpus.vocab)->token, u->corpus.vocab.size, options_size(o, "width"),
            options_size(o, "inner"), options_size(o, "heads"), length, options_text(o, "rate"),
            options_text(o, "dropout"));
    for (size_t i = 0; i < u->words; i++)
        if (statistics_is_cut(u->word[i].valid) || statistics_is_cut(u->word[i].test)) {
            fputs(STATISTICS_POSITIVE_CUT, f);
            break;
        }
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

/* Prints the paper's own words of a family. */
static void print_published(int family, FILE *f)
{
    for (size_t i = 0; i < published_draw_count; i++) {
        const PublishedDraw *d = &published_draws[i];
        if (strcmp(d->family, sweep_family(family)) != 0) continue;
        Interval seeds = published_interleaved();
        fprintf(f, "    published, with another recipe (%s; %s): ", d->source, d->corpus);
        print_spread(statistics_mean(d->word, 1, PUBLISHED_DRAWN), &seeds, published_better(d), f);
    }
}

/* Prints the spread of words with one seed beside that of the baseline's seeds, and the correlation with
 * area. */
static int print_answer(const Sweep *u, int family, FILE *f)
{
    Correlation c;
    double *x = memory_new(u->words, sizeof *x);
    size_t n = 0, better = 0;
    if (!x) return ERR_MEMORY;
    for (size_t i = 0; i < u->words; i++) {
        const Word *w = &u->word[i];
        if (!sweep_is(w, family) || w->valid.n == 0) continue;
        x[n++] = w->result[0].valid_ppl;
        better += (size_t)sweep_is_better(u, w);
    }
    Interval spread = statistics_mean(x, 1, n);
    memory_free(x);
    TRY(sweep_answer(u, family, &c));
    if (n < 3) return 0;
    fprintf(f, "%s words with their first seed have validation perplexity ", sweep_family(family));
    print_spread(spread, sweep_has_baseline(u) ? &u->word[u->interleaved].valid : NULL, better, f);
    print_published(family, f);
    if (isnan(c.p)) return 0;
    fprintf(f, "    rank correlation with |area| %.2f", c.rho);
    if (!isnan(c.low)) fprintf(f, " [%.2f, %.2f]", c.low, c.high);
    fprintf(f, ", p %.2g: %s\n", c.p,
            c.p > 0.05  ? "none is shown: splitting accuracy does not explain the ranking here"
            : c.rho > 0 ? "words that split more accurately are better"
                        : "words that split less accurately are better");
    return 0;
}

/* Prints what the differences of words rest on: one standard deviation, and seeds. */
static void print_model(const Sweep *u, FILE *f)
{
    if (u->layout[0].pooled.df == 0) {
        fprintf(f,
                "\nWords have one run each, so there is no standard deviation and no interval of "
                "differences.\n");
        return;
    }
    fprintf(f,
            "\nDifferences of words have 95 %% intervals with one standard deviation over seeds, "
            "which is assumed to be\nthe same in all words; each word is one design. Seeds are "
            "paired where that lengthens intervals by at\nmost 5 %% if seeds have no effect, or "
            "where an F test shows their effect (p < .005).\n");
    differences_seeds(&u->layout[0], &u->shared[0], "validation", 2, f);
    differences_seeds(&u->layout[1], &u->shared[1], "test", 2, f);
    if (u->best < u->words && sweep_chosen(u, &u->word[u->best]))
        fprintf(f, "%s is counted without the seed that chose it.\n", u->word[u->best].letters);
}

static int print_differences(const Sweep *u, int form, FILE *f)
{
    int less = sheet_rows(u->differences) > 0 && u->layout[0].pooled.df > 0;
    int pairs = u->all_pairs && sheet_rows(u->all_pairs) > 0;
    if (less || pairs) print_model(u, f);
    if (less) {
        fprintf(f, "Differences from the interleaved word: ± alone is half of the interval of one "
                   "difference (Student's t).\n± together is half of the interval that holds for "
                   "all words at once (Dunnett); p, of no difference, is\ncorrected in the same "
                   "way.\n\n");
        TRY(sheet_write(u->differences, form, f));
    }
    if (!pairs) return 0;
    fprintf(f,
            "\nDifferences of all pairs of words (the perplexity of word minus that of less) have "
            "95 %% intervals that\nhold for all pairs at once; p is corrected in the same way "
            "(Tukey).\n\n");
    return sheet_write(u->all_pairs, form, f);
}

static const char correlation_words[] =
    "\nRank correlations (Spearman) of validation perplexity are over words, each with the seeds that all\n"
    "have. relative_area is area divided by the largest that as many s and f can have. bottom_s and top_f\n"
    "are the numbers of s in the first half of a word's parameters and of f in the second. low and high\n"
    "are the ends of a 95 % bootstrap interval over words, given for 7 words or more whose values differ.\n"
    "p is the probability that chance gives as large a correlation.\n\n";

static int print_all(const Sweep *u, int form, FILE *f)
{
    static const int asked[] = {FAMILY_PERMUTATION, FAMILY_RANDOM, FAMILY_SANDWICH};
    print_caption(u, f);
    TRY(sheet_write(u->brief, form, f));
    fputc('\n', f);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) TRY(print_answer(u, asked[i], f));
    TRY(print_differences(u, form, f));
    fputs(correlation_words, f);
    return sheet_write(u->related, form, f);
}

int sweep_show(const Sweep *u)
{
    if (options_flag(u->options, "csv")) return sheet_write(u->runs_table, SHEET_CSV, stdout);
    return print_all(u, SHEET_PLAIN, stdout);
}

/* ---- tables 1 and 2 of the paper ------------------------------------------------------------------------ */

typedef struct {
    const Word *word;
    size_t seed; /* from 0 */
} Run;

static double run_ppl(const Run *r)
{
    return r->word->result[r->seed].valid_ppl;
}

/* Lists the runs of a family and the baseline's, from the worst to the best as in the paper: list out. Returns
 * their number. */
static size_t rank_runs(const Sweep *u, int family, Run *list)
{
    size_t n = 0;
    for (size_t i = 0; i < u->words; i++) {
        const Word *w = &u->word[i];
        for (size_t k = 0; k < w->seeds; k++) {
            Run r = {w, k};
            int wanted = sweep_is(w, family) || sweep_is(w, FAMILY_INTERLEAVED);
            if (!wanted || isnan(run_ppl(&r))) continue;
            size_t at = n++;
            for (; at > 0 && run_ppl(&r) > run_ppl(&list[at - 1]); at--) list[at] = list[at - 1];
            list[at] = r;
        }
    }
    return n;
}

static int save_ranking(const Sweep *u, int family, const char *name)
{
    size_t runs = 0;
    Sheet *s = NULL;
    for (size_t i = 0; i < u->words; i++) runs += u->word[i].seeds;
    Run *list = memory_new(runs, sizeof *list);
    if (!list) return ERR_MEMORY;
    size_t n = rank_runs(u, family, list);
    int code = sheet_new(sweep_ranked_columns, &s);
    for (size_t i = 0; code == 0 && i < n; i++) sweep_row(u, list[i].word, list[i].seed, NULL, s);
    if (code == 0) code = output_table(s, u->dir, name);
    sheet_free(s);
    memory_free(list);
    return code;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static int save_markdown(const Sweep *u)
{
    Output o;
    TRY(output_open(&o));
    return output_put(&o, print_all(u, SHEET_MARKDOWN, o.f), u->dir, "sweep.md");
}

static int save_published(const Sweep *u)
{
    Design *list = memory_new(u->words, sizeof *list);
    if (!list) return ERR_MEMORY;
    for (size_t i = 0; i < u->words; i++) {
        const Word *w = &u->word[i];
        list[i] = (Design){
            w->letters, w->scheme, options_size(u->options, "layers"),
            w->seeds,   w->result, !runs_diverged(w->result, w->seeds, u->corpus.vocab.size)};
    }
    PublishedStudy s = {&u->zoo,
                        &u->corpus,
                        network_bridge(u->options),
                        options_size(u->options, "heads"),
                        published_words,
                        u->words,
                        list};
    int code = published_save(&s, u->dir);
    memory_free(list);
    return code;
}

int sweep_save(const Sweep *u)
{
    TRY(output_sheet(u->runs_table, SHEET_CSV, u->dir, "sweep.csv"));
    TRY(output_sheet(u->wide, SHEET_CSV, u->dir, "words.csv"));
    TRY(output_sheet(u->brief, SHEET_LATEX, u->dir, "words.tex"));
    TRY(output_sheet(u->differences, SHEET_CSV, u->dir, "differences.csv"));
    TRY(output_sheet(u->differences, SHEET_LATEX, u->dir, "differences.tex"));
    if (u->all_pairs) {
        TRY(output_sheet(u->all_pairs, SHEET_CSV, u->dir, "pairs.csv"));
        TRY(output_sheet(u->all_pairs, SHEET_LATEX, u->dir, "pairs.tex"));
    }
    TRY(output_sheet(u->correlations, SHEET_CSV, u->dir, "correlations.csv"));
    TRY(output_sheet(u->halves, SHEET_CSV, u->dir, "halves.csv"));
    TRY(output_sheet(u->sandwiches, SHEET_CSV, u->dir, "sandwich.csv"));
    TRY(output_sheet(u->plotted, SHEET_CSV, u->dir, "families.csv"));
    TRY(save_ranking(u, FAMILY_PERMUTATION, "permutations"));
    TRY(save_ranking(u, FAMILY_RANDOM, "random"));
    TRY(save_published(u));
    return save_markdown(u);
}
