/* measure_gaining.c: whether the best epoch of a training was its last, so that more epochs might have gained more. */
#include "studies/lab/study/measures.h"

#include <string.h>

#include "studies/base/command.h"

static const Column columns[] = {VALUE("gaining", .words = "1: the best epoch was the last"), {0}};

static int wanted(const Study *u)
{
    const char *name = u->kind->runs;
    while (*name && strcmp(name, columns->name) != 0) name += strlen(name) + 1;
    return *name != '\0';
}

static int measure(const StudyMeasured *r, Frame *out)
{
    RunRow *row;
    size_t rows, last = 0;
    TRY(runs_log(r->study->dir, &r->spec.own, &row, &rows));
    for (size_t i = 0; i < rows; i++)
        if (row[i].valid_ppl > 0 && row[i].epoch >= 1) last = (size_t)row[i].epoch;
    memory_free(row);
    if (last)
        frame_put(out, 0, "gaining", study_real(r->study, r->run, "best_epoch") >= (double)last);
    return 0;
}

const StudyMeasure measure_gaining = {
    .name = "gaining", .columns = columns, .wanted = wanted, .measure = measure};
