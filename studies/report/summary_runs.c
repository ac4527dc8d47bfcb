/* summary_runs.c: the trainings of a comparison as one table. */
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/tools/output.h"
#include "studies/report/summary.h"

/* RUN and STATE are told here, the others are of result.csv. */
static const char *const columns[] = {"run",          "scheme",     "layers",    "params",
                                      "seed",         "best_epoch", "valid_ppl", "test_ppl",
                                      "tokens_per_s", "state"};
enum { COLUMNS = sizeof columns / sizeof *columns, RUN = 0, STATE = COLUMNS - 1 };

static const char *state_of(const Found *f, const char *dir)
{
    char full[OUTPUT_PATH], path[OUTPUT_PATH];
    if (found_path(f, dir, full, sizeof full) != 0 || output_path(path, full, "failed") != 0)
        return "";
    return output_exists(path) ? "failed" : "unfinished";
}

static void fill_row(const Summary *s, const char *dir, Csv *result, char **cell)
{
    char full[OUTPUT_PATH], path[OUTPUT_PATH];
    int there = found_path(s->found, dir, full, sizeof full) == 0 &&
                output_path(path, full, "result.csv") == 0 && output_exists(path) &&
                csv_open(result, path) == 0 && result->rows == 1;
    for (size_t j = 0; j < COLUMNS; j++) {
        int at = there ? csv_column(result, columns[j]) : -1;
        cell[j] = at >= 0 ? (char *)csv_cell(result, 0, at) : (char *)"";
    }
    cell[RUN] = strrchr(dir, '/') + 1;
    cell[STATE] = there ? (char *)"" : (char *)state_of(s->found, dir);
}

int trainings_open(const Summary *s, const Study *study, Trainings *r)
{
    *r = (Trainings){.total = study->files, .table = {.columns = COLUMNS, .rows = study->files}};
    r->result = memory_new(r->total, sizeof *r->result);
    r->table.cell = memory_new((r->total + 1) * COLUMNS, sizeof *r->table.cell);
    if (!r->result || !r->table.cell) {
        trainings_close(r);
        return ERR_MEMORY;
    }
    for (size_t j = 0; j < COLUMNS; j++) r->table.cell[j] = (char *)columns[j];
    for (size_t i = 0; i < r->total; i++) {
        char **cell = r->table.cell + (i + 1) * COLUMNS;
        fill_row(s, study->file[i].path, &r->result[i], cell);
        r->finished += *cell[STATE] == '\0';
    }
    return 0;
}

void trainings_close(Trainings *r)
{
    for (size_t i = 0; r->result && i < r->total; i++) csv_close(&r->result[i]);
    memory_free(r->result);
    memory_free(r->table.cell);
    *r = (Trainings){0};
}
