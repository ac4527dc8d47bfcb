/* study_columns.c: the table of measures and their columns. */
#include <string.h>

#include "kernels/base/error.h"
#include "studies/lab/study/measures.h"

const StudyMeasure *const study_measures[] = {&measure_truncation,
                                              &measure_translation,
                                              &measure_sides,
                                              &measure_gaining,
                                              &measure_norm,
                                              &measure_step,
                                              NULL};

static int has(const Column *list, const char *name)
{
    for (; list->name || list->head; list++)
        if (list->name && strcmp(list->name, name) == 0) return 1;
    return 0;
}

/* Adds a column to a list that ends behind it, unless it is there. */
static void add(Column *list, Column c)
{
    if (has(list, c.name)) return;
    while (list->name || list->head) list++;
    c.sparse = 1;
    *list = c;
}

Column *study_columns(const Column *list, const Spec *varied, int ends)
{
    size_t n = 0;
    while (list[n].name || list[n].head) n++;
    Column *out = memory_new(n + 3 * STUDY_VALUES + SPEC_OPTIONS, sizeof *out);
    if (!out) return NULL;
    memcpy(out, list, n * sizeof *out);
    for (size_t i = 0; varied && i < varied->count; i++)
        if (varied->option[i].role == SPEC_VARIED)
            add(out, (Column){.name = varied->option[i].name});
    for (const StudyMeasure *const *m = study_measures; *m; m++) {
        if (has(list, (*m)->columns->name)) continue;
        for (const Column *c = (*m)->columns; c->name; c++) {
            add(out, ends ? *c : (Column){.name = c->name});
            if (ends && c->low)
                add(out, (Column){.name = c->low, .words = STATISTICS_POSITIVE_LOW});
            if (ends && c->low) add(out, (Column){.name = c->high});
        }
    }
    return out;
}

/* Makes a list of the columns whose names stand one after another (StudyKind.runs); NULL: out of memory. */
static Column *name_columns(const char *names)
{
    size_t n = 0;
    for (const char *at = names; *at; at += strlen(at) + 1) n++;
    Column *list = memory_new(n + 1, sizeof *list);
    for (size_t i = 0; list && i < n; i++, names += strlen(names) + 1)
        list[i] = (Column){.name = names + (*names == '?'), .sparse = *names == '?'};
    return list;
}

int study_open_runs(Study *u, const Spec *varied)
{
    SCOPED(memory_drop) Column *names = name_columns(u->kind->runs);
    if (!names) return ERR_MEMORY;
    u->columns = u->kind->one ? names : study_columns(names, varied, 0);
    if (u->kind->one) names = NULL;
    for (Column *c = u->columns; c && c->name; c++) c->type = SHEET_TEXT; /* as each run has it */
    return u->columns ? frame_new(&u->runs_csv, u->columns) : ERR_MEMORY;
}

const char *const *study_positive(void)
{
    static const char *list[STUDY_VALUES + 1];
    size_t n = 0;
    for (const StudyMeasure *const *m = study_measures; *m; m++)
        for (const Column *c = (*m)->columns; c->name; c++)
            if (c->low) list[n++] = c->name;
    list[n] = NULL;
    return list;
}
