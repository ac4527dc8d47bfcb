/* tasks_table.c: shows the tasks for training as a table for people (trotter finetune --tasks). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "studies/finetune/labelled.h"
#include "studies/tools/sheet.h"

typedef struct {
    const char *task, *folder, *sentences, *labels, *metrics;
} TaskRow;

static const Column columns[] = {
    COLUMN(TaskRow, task, .words = "name for --task"),
    COLUMN(TaskRow, folder, .words = "folder in --data, with the names of its files"),
    COLUMN(TaskRow, sentences),
    COLUMN(TaskRow, labels),
    COLUMN(TaskRow, metrics, .words = "metrics of the task; the first one chooses"),
    {0}};

enum { WORDS = 128 };

/* Appends an item. */
static void list(char out[WORDS], const char *item)
{
    size_t n = strlen(out);
    snprintf(out + n, WORDS - n, "%s%s", n ? ", " : "", item);
}

static void add_task(Sheet *s, const LabelledTask *t)
{
    char labels[WORDS] = "", metrics[WORDS] = "", folder[WORDS] = "";
    for (size_t i = 0; t->name_of[i]; i++) list(labels, t->name_of[i]);
    if (t->values && isfinite(t->low)) snprintf(labels, WORDS, "values, %g to %g", t->low, t->high);
    if (!*labels) snprintf(labels, WORDS, "%s", t->values ? "values" : "its own");
    for (size_t i = 0; i < t->metrics; i++) list(metrics, agreements[t->metric[i]].title);
    if (t->folder) snprintf(folder, WORDS, "%s/%s, %s", t->folder, t->train, t->dev);
    sheet_row(s, &(TaskRow){.task = t->name,
                            .folder = folder,
                            .sentences = t->may_be_single ? "1 or 2"
                                         : t->second      ? "2"
                                                          : "1",
                            .labels = labels,
                            .metrics = metrics});
}

int labelled_list(int csv)
{
    Sheet *s;
    TRY(sheet_new(columns, &s));
    for (const LabelledTask *t = labelled_tasks; t->name; t++) add_task(s, t);
    add_task(s, &labelled_classes);
    add_task(s, &labelled_values);
    int code = sheet_write(s, csv ? SHEET_CSV : SHEET_PLAIN, stdout);
    sheet_free(s);
    return code;
}
