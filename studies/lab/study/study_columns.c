/* study_columns.c: the table of measures and their columns. */
#include <string.h>

#include "studies/lab/study/measures.h"

const StudyMeasure *const study_measures[] = {&measure_truncation, &measure_translation,
                                              &measure_sides,      &measure_gaining,
                                              &measure_norm,       NULL};

size_t study_value_at(const char *column)
{
    size_t at = 0;
    for (const StudyMeasure *const *m = study_measures; *m; m++)
        for (const Column *c = (*m)->columns; c->name; c++, at++)
            if (strcmp(c->name, column) == 0) return at;
    return STUDY_VALUES;
}

size_t study_count(const StudyDesign *d, const char *column, double above)
{
    size_t n = 0, at = study_value_at(column);
    for (size_t k = 0; k < d->seeds; k++) n += d->run[k].value[at] > above;
    return n;
}

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

Column *study_columns(const Study *u, const Column *list, int ends)
{
    size_t n = 0;
    while (list[n].name || list[n].head) n++;
    Column *out = memory_new(n + 3 * STUDY_VALUES + SPEC_OPTIONS, sizeof *out);
    if (!out) return NULL;
    memcpy(out, list, n * sizeof *out);
    for (size_t i = 0; u->designs && i < u->design->spec.own.varied; i++)
        add(out, (Column){.name = u->design->spec.own.option[i].name});
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
