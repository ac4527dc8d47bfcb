/* compare_save.c: writes a comparison in words and files. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bridge/truncation.h"
#include "studies/tools/command.h"
#include "studies/compare/compare.h"
#include "studies/model/network.h"
#include "studies/runs/published.h"

/* ---- words ----------------------------------------------------------------------------------- */

static void print_tuning(const Compare *u, FILE *f)
{
    const Options *o = u->options;
    if (options_flag(o, "tune"))
        fprintf(f,
                "Equal tuning: rate of %s and dropout of %s chosen for each row by validation "
                "perplexity with seed %zu;\n"
                "the test text was opened after the last choice (study.log) and read once a run.\n",
                options_text(o, "tune-rate"), options_text(o, "tune-dropout"),
                options_size(o, "tune-seed"));
    else
        fprintf(f, "One recipe for all: rate %s, dropout %s.\n", options_text(o, "rate"),
                options_text(o, "dropout"));
    fprintf(f, options_choice(o, "match") == MATCH_PARAMETERS
                   ? "Equal parameters: inner widths shrink where a scheme has more sets.\n"
                   : "Parameters are not matched.\n");
}

/* Returns 1 where the maps of two schemes, whose cells begin at i and j, are the same at every depth. */
static int same_at_all(const Compare *u, size_t i, size_t j)
{
    size_t k = 0;
    while (k < u->depths && u->cell[i + k].same == u->cell[j + k].same) k++;
    return k == u->depths;
}

static void print_controls(const Compare *u, FILE *f)
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
    for (size_t i = 0; i < u->cells; i += u->depths) {
        const Cell *c = &u->cell[i];
        if (c->same != i)
            fprintf(f, "%s and %s are the same map%s: one design.\n", c->scheme->name,
                    u->cell[c->same].scheme->name,
                    same_at_all(u, i, c->same) ? "" : " at the first depth");
    }
}

static void print_truncation(const Compare *u, FILE *f)
{
    if (!compare_truncation.wanted(u)) return;
    fprintf(
        f,
        "error: of the trained network's own step (h = 1) against the exact flow of its F + G, "
        "over the\n"
        "flow's displacement, median over %zu sentences of validation text and all layers, mean "
        "over seeds;\n"
        "slope: of that error as h falls, order + 1 for small h; smooth models (GELU) alone have "
        "one above 2.5.\n",
        options_size(u->options, "truncation"));
    size_t told = 0, governed = 0;
    for (size_t i = 0; i < u->cells; i++) {
        told += compare_governs(&u->cell[i]) >= 0;
        governed += compare_governs(&u->cell[i]) > 0;
    }
    fprintf(
        f, "±: half of that error's 95 %% interval over seeds. time: of the exact flow that a step "
           "is measured against,\nthe scheme's own where it goes another distance.\n");
    if (told)
        fprintf(
            f,
            "h = 1 is %sin the asymptotic regime: the error is within %d %% of its leading term in "
            "%zu of %zu rows%s\n",
            governed == told ? "" : "not ", TRUNCATION_NEAR, governed, told,
            governed == told ? "." : "; in the others\nthe order does not govern.");
    int learned = 0, steps = 0;
    for (size_t i = 0; i < u->cells; i++) {
        const Table *t = u->cell[i].scheme;
        learned += t->symbols > 0;
        steps += !t->symbols && (t->past_y || t->past_k);
    }
    if (learned)
        fprintf(f, "Learned coefficients, and histories beside them, are the network's own in the "
                   "error; order and slope\nare of their starting values.\n");
    if (steps)
        fprintf(f, "Other multistep schemes have their history on the exact flow: the scheme's "
                   "error, not that of a network\nwhose earlier layers have other weights.\n");
}

/* Prints how many runs were still gaining; their perplexities are not their best ones. */
static void print_gaining(const Compare *u, FILE *f)
{
    size_t gaining = 0, runs = 0;
    for (size_t i = 0; i < u->cells; i++) {
        gaining += u->cell[i].gaining;
        runs += u->cell[i].runs;
    }
    if (options_size(u->options, "average") > 1) return; /* its model is not one epoch's */
    const char *more = options_size(u->options, "max-steps") ? " (cut\nby --max-steps)"
                       : schedule_ends(options_choice(u->options, "schedule"))
                           ? " (as\na rate that falls to its end makes likely)"
                       : compare_recorded(u)
                           ? ""
                           : " (given\nmore --epochs, this command goes on from there)";
    fprintf(f,
            "Still gaining when they ended, their best epoch being the last: %zu of %zu runs%s.\n",
            gaining, runs, gaining ? more : "");
}

static void print_caption(const Compare *u, FILE *f)
{
    const Options *o = u->options;
    char length[64];
    const Unit *unit = network_unit(&u->corpus.vocab);
    network_length(o, length);
    fprintf(f,
            "Corpus %s: %zu training %ss, vocabulary %zu; unigram: the perplexity of %s\n"
            "frequencies alone, which a model has to beat.\n"
            "Models: width %zu, inner %zu, %zu heads; %s; mean over %zu seed%s and half of its\n"
            "95 %% interval (Student's t, of its own runs); Euler sub-flows unless a suffix says "
            "otherwise.\n",
            u->corpus.name, u->corpus.text[SPLIT_TRAIN].tokens, unit->token, u->corpus.vocab.size,
            unit->word, options_size(o, "width"), options_size(o, "inner"),
            options_size(o, "heads"), length, u->seeds, u->seeds == 1 ? "" : "s");
    for (size_t i = 0; i < u->cells; i++)
        if (statistics_is_cut(u->cell[i].valid) || statistics_is_cut(u->cell[i].test)) {
            fputs(STATISTICS_POSITIVE_CUT, f);
            break;
        }
    if (u->corpus.marks)
        fprintf(
            f,
            "Encoders alone, asked masked words: each perplexity is a pseudo-perplexity, over one\n"
            "set of masks that is the same for all ('trotter eval --help').\n");
    if (options_text(o, "one-by-one"))
        fprintf(f,
                "one by one: that of the first %zu tokens of the validation text, to the end of "
                "their line,\none word masked at a time.\n",
                options_size(o, "one-by-one"));
    print_gaining(u, f);
    print_tuning(u, f);
    print_controls(u, f);
    print_truncation(u, f);
    fprintf(
        f,
        "order p: exact, local error h^(p+1); measured: slope of the global error on the particle\n"
        "system '%s' (%s).\n\n",
        u->orders.system->name, u->orders.system->title);
}

/* Prints what the runs of a depth on one text show about seeds. */
static void print_seeds(const Seeds *s, const char *text, FILE *f)
{
    fprintf(f, "    %s: standard deviation %.2f, %zu degree%s of freedom; ", text, s->pooled.sd,
            s->pooled.df, s->pooled.df == 1 ? "" : "s");
    if (s->incomplete)
        fprintf(f, "seeds are not paired, as %zu design%s lack%s some.\n", s->incomplete,
                s->incomplete == 1 ? "" : "s", s->incomplete == 1 ? "s" : "");
    else if (isnan(s->longer))
        fprintf(f, "seeds are not paired, as there is nothing to pair.\n");
    else
        fprintf(f, "seeds are %spaired: their correlation is %.2f (F test: p %.2g).\n",
                s->paired ? "" : "not ", s->correlation, s->p);
}

/* Prints the layout of a depth in numbers. */
static void print_layout(const Compare *u, size_t d, FILE *f)
{
    const Layout *l = &u->layout[d];
    fprintf(f, "%zu layer%s: %zu design%s", u->depth[d], u->depth[d] == 1 ? "" : "s", l->designs,
            l->designs == 1 ? "" : "s");
    if (l->valid.pooled.df == 0) {
        fprintf(f, " of one run each: no standard deviation, so no intervals.\n");
        return;
    }
    fprintf(f, ", %zu comparison%s.\n", l->comparisons, l->comparisons == 1 ? "" : "s");
    print_seeds(&l->valid, "validation", f);
    print_seeds(&l->test, "test", f);
    if (l->single)
        fprintf(f,
                "    %zu of one run: compared with the standard deviation of the others, to which "
                "they add nothing.\n",
                l->single);
}

static void print_diverged(const Compare *u, FILE *f)
{
    char name[CELL_NAME];
    for (size_t i = 0; i < u->cells; i++) {
        if (!compare_diverged(u, &u->cell[i])) continue;
        compare_cell_name(u, &u->cell[i], name);
        fprintf(f, "%s is left out: a run of it diverged.\n", name);
    }
}

/* Prints the designs shown to be within the margin of the baseline on a text. */
static void print_equal(const Compare *u, int test, FILE *f)
{
    char name[CELL_NAME];
    size_t n = 0;
    for (size_t i = 0; i < u->cells; i++) {
        const Cell *c = &u->cell[i];
        if (!((test ? c->test_equal : c->valid_equal) < 0.05)) continue;
        compare_cell_name(u, c, name);
        fprintf(f, "%s%s", n++ ? ", " : "", name);
    }
    if (n == 0) fprintf(f, "none");
}

static void print_equivalence(const Compare *u, FILE *f)
{
    const char *margin = options_text(u->options, "equivalence");
    if (!margin) return;
    fprintf(f,
            "\np equal: of a difference of %s or more, by two one-sided tests with the same "
            "correction.\nShown to be less than %s from %s on validation text: ",
            margin, margin, u->schemes.scheme[u->baseline]->name);
    print_equal(u, 0, f);
    fprintf(f, "; on test text: ");
    print_equal(u, 1, f);
    fprintf(f, ".\n");
}

static int print_differences(const Compare *u, int form, FILE *f)
{
    fprintf(
        f,
        "\nDifferences from %s and half of their 95 %% intervals, with one standard deviation "
        "over seeds for all\ndesigns of a depth, which is taken to be the same in all. ± alone: "
        "of a difference by itself (Student's t);\n± together: holds for all comparisons of a "
        "depth together (Dunnett), and so does p, of no difference.\nSeeds are paired where "
        "that costs little (at most 5 %% of length if seeds do nothing) or is shown to help (p < "
        ".005).\n",
        u->schemes.scheme[u->baseline]->name);
    for (size_t d = 0; d < u->depths; d++) print_layout(u, d, f);
    print_diverged(u, f);
    fputc('\n', f);
    TRY(sheet_write(u->differences, form, f));
    print_equivalence(u, f);
    if (!u->pairs) return 0;
    fprintf(f, "\nDifferences of all pairs of designs, a scheme less another, with 95 %% intervals "
               "that hold for all pairs of\na depth together, and p likewise (Tukey).\n\n");
    return sheet_write(u->pairs, form, f);
}

static const char correlation_words[] =
    "\nRank correlations (Spearman) of perplexity; designs: maps that differ, as if drawn at random; low,\n"
    "high: 95 % bootstrap over these, where they are 7 or more and values differ; p: of as large a\n"
    "correlation by chance, over permutations. Order > 0: designs that solve F + G. (evaluations): what\n"
    "goes together already.\n\n";

static int print_all(const Compare *u, int form, FILE *f)
{
    print_caption(u, f);
    TRY(sheet_write(u->table, form, f));
    TRY(print_differences(u, form, f));
    TRY(compare_regression_show(u, form, f));
    fputs(correlation_words, f);
    return sheet_write(u->correlations, form, f);
}

int compare_show(const Compare *u)
{
    if (options_flag(u->options, "csv")) return sheet_write(u->table, SHEET_CSV, stdout);
    return print_all(u, SHEET_PLAIN, stdout);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int save_markdown(const Compare *u)
{
    Output o;
    TRY(output_open(&o));
    return output_put(&o, print_all(u, SHEET_MARKDOWN, o.f), u->dir, "compare.md");
}

/* Writes runs.csv, a row for each run; --from reads it. */
static int save_runs(const Compare *u)
{
    Sheet *r;
    TRY(sheet_new(run_columns, &r));
    for (size_t i = 0; i < u->cells * u->seeds; i++) {
        const Cell *c = &u->cell[i / u->seeds];
        const RunResult *x = &c->result[i % u->seeds];
        if (!isnan(x->valid_ppl))
            sheet_row(r, &(RunRecord){c->scheme->name, c->layers, u->seed + i % u->seeds, *x});
    }
    int code = output_sheet(r, SHEET_CSV, u->dir, "runs.csv");
    sheet_free(r);
    return code;
}

static int save_published(const Compare *u)
{
    Design *list = memory_new(u->cells, sizeof *list);
    if (!list) return ERR_MEMORY;
    for (size_t i = 0; i < u->cells; i++) {
        const Cell *c = &u->cell[i];
        list[i] = (Design){c->scheme->name, c->scheme, c->layers,
                           u->seeds,        c->result, c->same == i && !compare_diverged(u, c)};
    }
    PublishedStudy s = {&u->schemes.zoo,
                        &u->corpus,
                        network_bridge(u->options),
                        options_size(u->options, "heads"),
                        published_schemes,
                        u->cells,
                        list};
    int code = published_save(&s, u->dir);
    memory_free(list);
    return code;
}

int compare_save(const Compare *u)
{
    TRY(output_sheet(u->table, SHEET_CSV, u->dir, "compare.csv"));
    TRY(output_sheet(u->table, SHEET_LATEX, u->dir, "compare.tex"));
    TRY(output_sheet(u->differences, SHEET_LATEX, u->dir, "differences.tex"));
    if (u->pairs) {
        TRY(output_sheet(u->pairs, SHEET_CSV, u->dir, "pairs.csv"));
        TRY(output_sheet(u->pairs, SHEET_LATEX, u->dir, "pairs.tex"));
    }
    TRY(output_sheet(u->correlations, SHEET_CSV, u->dir, "correlations.csv"));
    TRY(output_sheet(u->correlations, SHEET_LATEX, u->dir, "correlations.tex"));
    TRY(compare_regression_save(u));
    TRY(save_runs(u));
    TRY(compare_errors_save(u));
    TRY(save_markdown(u));
    TRY(save_published(u));
    if (!compare_recorded(u)) {
        TRY(output_sheet(u->curves, SHEET_CSV, u->dir, "curves.csv"));
        TRY(output_sheet(u->epochs, SHEET_CSV, u->dir, "epochs.csv"));
    }
    return convergence_save(&u->orders, &u->schemes, u->dir);
}
