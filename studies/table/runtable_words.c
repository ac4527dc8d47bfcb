/* runtable_words.c: says what was left out of a table of runs, and what its differences rest on. */
#include <string.h>

#include "studies/table/runtable.h"
#include "studies/tools/command.h"
#include "studies/tools/progress.h"

static void tell_file(const RunTable *t, const Csv *c)
{
    for (size_t m = 0; m < t->measures; m++)
        if (csv_column(c, t->measure[m].column) < 0)
            notice_warn("%s has no column '%s': none of its rows is read", c->file,
                        t->measure[m].column);
    for (size_t k = 0; k < t->keys + (t->seed != NULL); k++) {
        const char *name = k < t->keys ? t->key[k] : t->seed;
        if (csv_column(c, name) < 0)
            notice_warn("%s has no column '%s': it is empty in its rows", c->file, name);
    }
}

static void tell_rows(const RunDesign *d, const RunRows *rows, const char *what)
{
    if (rows->count)
        notice_warn("%s: %zu run%s %s (first: %s:%zu)", d->name, rows->count,
                    rows->count == 1 ? "" : "s", what, rows->file, rows->line);
}

/* Returns 1 where some design of some panel gives a standard deviation. */
static int any_interval(const RunTable *t)
{
    for (size_t p = 0; p < t->panels; p++)
        if (runtable_model(t, p, 0)->model.pooled.df) return 1;
    return 0;
}

void runtable_tell(const RunTable *t)
{
    for (size_t f = 0; f < t->files; f++) tell_file(t, &t->file[f]);
    for (size_t i = 0; i < t->designs; i++) {
        tell_rows(&t->design[i], &t->design[i].missing, "without a number");
        tell_rows(&t->design[i], &t->design[i].diverged,
                  "diverged, so it has no differences; its row is of finite numbers");
    }
    if (!any_interval(t)) notice_warn("no design has two runs, so there is no interval");
}

static void print_panel(const RunTable *t, size_t p, FILE *f)
{
    const RunModel *l = runtable_model(t, p, 0);
    if (t->panels > 1)
        fprintf(f, "%s %s: %zu design%s.\n", t->by, t->panel[p], l->designs,
                l->designs == 1 ? "" : "s");
    if (l->model.pooled.df == 0) {
        fprintf(f,
                "    No design has two runs, so there is no standard deviation and no interval.\n");
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

void runtable_cut(const RunTable *t, FILE *f)
{
    for (size_t i = 0; i < t->designs; i++)
        for (size_t m = 0; m < t->measures; m++)
            if (t->measure[m].positive && statistics_is_cut(t->design[i].mean[m])) {
                fputs(STATISTICS_POSITIVE_CUT, f);
                return;
            }
}

int runtable_doubtful(const RunTable *t)
{
    for (size_t i = 0; i < t->panels * t->measures; i++)
        if (t->model[i].model.pooled.df == 0 || differences_doubtful(&t->model[i].model)) return 1;
    return 0;
}

void runtable_models(const RunTable *t, FILE *f)
{
    for (size_t p = 0; p < t->panels; p++) print_panel(t, p, f);
    for (size_t i = 0; i < t->designs; i++) {
        char name[512];
        runtable_name(t, i, name, sizeof name);
        if (t->design[i].diverged.count)
            fprintf(f, "    %s is left out because one of its runs diverged.\n", name);
    }
}
