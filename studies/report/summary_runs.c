/* summary_runs.c: shows the trainings of a comparison as one table. */
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/report/report.h"
#include "studies/runs/runs.h"

/* Puts the columns of result.csv (runs.h) between two of this file. Returns their number. */
static size_t join_columns(Column *columns)
{
    size_t n = 0;
    columns[n++] = (Column){.name = "run", .type = SHEET_TEXT};
    for (const Column *c = run_columns; c->name && n + 2 < TRAINING_COLUMNS; c++) columns[n++] = *c;
    columns[n++] = (Column){.name = "state", .type = SHEET_TEXT};
    for (size_t j = 0; j < n; j++) columns[j].page = 1;
    columns[n] = (Column){0};
    return n;
}

static const char *state_of(const Found *f, const char *dir)
{
    char full[OUTPUT_PATH], path[OUTPUT_PATH];
    if (found_path(f, dir, full, sizeof full) != 0 || output_path(path, full, "failed") != 0)
        return "";
    return output_exists(path) ? "failed" : "unfinished";
}

static void fill_row(const Summary *s, const char *dir, const Trainings *r, Csv *result,
                     char **cell)
{
    char full[OUTPUT_PATH], path[OUTPUT_PATH];
    int there = found_path(s->found, dir, full, sizeof full) == 0 &&
                output_path(path, full, "result.csv") == 0 && output_exists(path) &&
                csv_open(result, path) == 0 && result->rows == 1;
    for (size_t j = 0; j < r->table.columns; j++) {
        int at = there ? csv_column(result, r->columns[j].name) : -1;
        cell[j] = at >= 0 ? (char *)csv_cell(result, 0, at) : (char *)"";
    }
    cell[0] = strrchr(dir, '/') + 1;
    cell[r->table.columns - 1] = there ? (char *)"" : (char *)state_of(s->found, dir);
}

int trainings_open(const Summary *s, const Study *study, Trainings *r)
{
    *r = (Trainings){.total = study->files, .table = {.rows = study->files}};
    size_t columns = r->table.columns = join_columns(r->columns);
    r->result = memory_new(r->total, sizeof *r->result);
    r->table.cell = memory_new((r->total + 1) * columns, sizeof *r->table.cell);
    if (!r->result || !r->table.cell) {
        trainings_close(r);
        return ERR_MEMORY;
    }
    for (size_t j = 0; j < columns; j++) r->table.cell[j] = (char *)r->columns[j].name;
    for (size_t i = 0; i < r->total; i++) {
        char **cell = r->table.cell + (i + 1) * columns;
        fill_row(s, study->file[i].path, r, &r->result[i], cell);
        r->finished += *cell[columns - 1] == '\0';
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
