/* runtable_words.c: says what was left out of a table of runs, and what its differences rest on. */

#include "studies/lab/table/runtable.h"
#include "studies/base/command.h"
#include "studies/base/latex.h"

static void tell_file(const RunTable *t, const Frame *c)
{
    for (size_t m = 0; m < t->measures; m++)
        if (frame_column(c, t->measure[m].column) < 0)
            notice_warn("%s has no column '%s': none of its rows is read", c->file,
                        t->measure[m].column);
    for (size_t k = 0; !c->given && k < t->keys + (t->seed != NULL); k++) {
        const char *name = k < t->keys ? t->key[k] : t->seed;
        if (frame_column(c, name) < 0)
            notice_warn("%s has no column '%s': it is empty in its rows", c->file, name);
    }
}

static void tell_rows(const RunDesign *d, const RunRows *rows, const char *what)
{
    if (rows->count)
        notice_warn("%s: %zu run%s %s (first: %s:%zu)", d->name, rows->count,
                    rows->count == 1 ? "" : "s", what, rows->file, rows->line);
}

/* Says why no panel has a standard deviation above 0, whatever the measure; NULL: one has. A design that diverged is not
 * compared, however many runs it has. */
static const char *no_interval(const RunTable *t)
{
    int equal = 0;
    for (size_t i = 0; i < t->panels * t->measures; i++) {
        if (t->model[i].model.pooled.sd > 0) return NULL;
        equal |= t->model[i].model.pooled.df > 0;
    }
    return equal ? "all runs of each design are equal" : "no design that is compared has two runs";
}

void runtable_tell(const RunTable *t)
{
    for (size_t f = 0; f < t->files; f++) tell_file(t, &t->file[f]);
    for (size_t i = 0; i < t->designs; i++) {
        tell_rows(&t->design[i], &t->design[i].missing, "without a number");
        tell_rows(&t->design[i], &t->design[i].diverged,
                  "diverged, so it has no differences; its row is of finite numbers");
    }
    const char *why = no_interval(t);
    if (why) notice_warn("%s, so differences have no interval", why);
}

static void print_panel(const RunTable *t, size_t p, FILE *f)
{
    const RunModel *l = runtable_model(t, p, 0);
    if (t->panels > 1)
        fprintf(f, "%s %s: %zu design%s.\n", t->by, t->panel[p], l->designs,
                l->designs == 1 ? "" : "s");
    if (l->model.pooled.df == 0) {
        fprintf(f,
                "    No design that is compared has two runs, so differences have no interval.\n");
        return;
    }
    for (size_t m = 0; m < t->measures; m++) {
        l = runtable_model(t, p, m);
        differences_seeds(&l->model, t->measure[m].text, runtable_places(t), f);
    }
    if (l->single)
        fprintf(f, "    %zu design%s one run and add%s nothing to the standard deviation.\n",
                l->single, l->single == 1 ? " has" : "s have", l->single == 1 ? "s" : "");
}

void runtable_rests(const RunTable *t, size_t panel, int latex, FILE *f)
{
    const RunModel *l = runtable_model(t, panel, 0);
    const char *const which[] = {t->by, " ", t->panel[panel], ": "};
    fputs(t->panels > 1 ? ";\n" : "; ", f);
    for (size_t i = 0; t->panels > 1 && i < sizeof which / sizeof *which; i++)
        if (latex)
            latex_text(f, which[i]);
        else
            fputs(which[i], f);
    fprintf(f, "%zu design%s, runs %s, %zu degree%s of freedom", l->designs,
            l->designs == 1 ? "" : "s", runtable_estimator(l), l->model.pooled.df,
            l->model.pooled.df == 1 ? "" : "s");
}

void runtable_cut(const RunTable *t, FILE *f)
{
    for (size_t i = 0; i < t->designs; i++)
        for (size_t m = 0; m < t->measures; m++)
            if (t->measure[m].positive && statistics_is_cut(t->design[i].mean[m])) {
                fputs(STATISTICS_POSITIVE_CUT, f);
                return;
            }
}

/* Returns 1 where one standard deviation for all is doubtful (Bartlett's test), or there is none, in some panel. */
static int is_doubtful(const RunTable *t)
{
    for (size_t i = 0; i < t->panels * t->measures; i++)
        if (!(t->model[i].model.pooled.sd > 0) || differences_doubtful(&t->model[i].model))
            return 1;
    return 0;
}

/* Prints what the designs and seeds of each panel and measure show of the standard deviation. */
static void print_models(const RunTable *t, FILE *f)
{
    for (size_t p = 0; p < t->panels; p++) print_panel(t, p, f);
    for (size_t i = 0; i < t->designs; i++) {
        char name[512];
        runtable_name(t, i, name, sizeof name);
        if (t->design[i].diverged.count)
            fprintf(f, "    %s is left out because one of its runs diverged.\n", name);
    }
}

/* Prints the designs shown to be within the margin of the baseline. */
static void print_equal(const RunTable *t, FILE *f)
{
    if (!(t->margin > 0)) return;
    fprintf(
        f,
        "\np equal is the p of a difference of %g or more, by two one-sided tests with the same "
        "correction.\nDesigns shown to differ from %s by less than %g on ",
        t->margin, t->base, t->margin);
    for (size_t m = 0; m < t->measures; m++) {
        size_t n = 0;
        char name[512];
        fprintf(f, "%s%s: ", m ? "; on " : "", t->measure[m].text);
        for (size_t i = 0; i < t->designs; i++) {
            runtable_name(t, i, name, sizeof name);
            if (t->design[i].equal[m] < 0.05) fprintf(f, "%s%s", n++ ? ", " : "", name);
        }
        if (n == 0) fprintf(f, "none");
    }
    fprintf(f, ".\n");
}

int runtable_print_differences(const RunTable *t, const Sheet *s, int form, int brief, FILE *f)
{
    if (sheet_rows(s) == 0) return 0;
    if (!brief)
        fprintf(
            f,
            "\nDifferences have 95 %% intervals with one standard deviation of the runs, assumed to be the same in "
            "all\ndesigns%s%s. As many as 'comparisons' says hold together (Dunnett: with one design; Tukey: all pairs); "
            "p is\ncorrected in the same way. A contrast is the mean of some designs minus that of others, by itself.\n",
            t->panels > 1 ? " of one value of " : "", t->panels > 1 ? t->by : "");
    if (!brief && t->draw)
        fprintf(
            f,
            "from and to (drawn) hold 95 %% of the differences on test texts drawn from the lines or examples of this "
            "one.\nA ranking needs both intervals to leave out 0.\n");
    if (!brief || is_doubtful(t)) print_models(t, f);
    fputc('\n', f);
    TRY(sheet_write(s, form, f));
    print_equal(t, f);
    return 0;
}

int runtable_print_correlations(const Sheet *s, int form, int brief, FILE *f)
{
    fprintf(f, "\nRank correlations (Spearman) over designs");
    if (brief)
        fprintf(f, ":\n\n");
    else
        fprintf(
            f,
            ", that is, maps that differ, each with the seeds that all have. low and high\nare the ends "
            "of a 95 %% bootstrap interval, as if designs were drawn at random, given for 7 designs or more whose\n"
            "values differ. p is the probability that chance gives as large a correlation, by permutations.\n\n");
    return sheet_write(s, form, f);
}
