/* compare_errors.c: writes and reads DIR/errors.csv, the measures of each trained network, one row
 * for each run. */
#include <math.h>

#include "kernels/error.h"
#include "studies/compare/compare.h"
#include "studies/tools/csv.h"
#include "studies/tools/output.h"

typedef struct {
    const char *scheme;
    size_t layers, seed;
    RunErrors errors;
} ErrorsRow;

const Column compare_errors_columns[] = {
    COLUMN(ErrorsRow, scheme),
    COLUMN(ErrorsRow, layers),
    COLUMN(ErrorsRow, seed),
    RUN_ERRORS_FIELDS(ErrorsRow),
    FIELD(ErrorsRow, "one_by_one", errors.one_by_one, .digits = 4, .sparse = 1),
    {0}};

static int is_told(const RunErrors *e)
{
    return !isnan(e->split) || !isnan(e->layer) || !isnan(e->one_by_one);
}

size_t compare_measured(const Compare *u, const Cell *c)
{
    size_t n = 0;
    for (size_t k = 0; k < u->seeds; k++) n += isnan(c->errors[k].split) ? 0 : 1;
    return n;
}

int compare_errors_save(const Compare *u)
{
    Sheet *s;
    TRY(sheet_new(compare_errors_columns, &s));
    for (size_t i = 0; i < u->cells * u->seeds; i++) {
        const Cell *c = &u->cell[i / u->seeds];
        const RunErrors *e = &c->errors[i % u->seeds];
        if (is_told(e))
            sheet_row(s, &(ErrorsRow){c->scheme->name, c->layers, u->seed + i % u->seeds, *e});
    }
    int code = sheet_rows(s) ? output_sheet(s, SHEET_CSV, u->dir, "errors.csv") : 0;
    sheet_free(s);
    return code;
}

static double *member(ErrorsRow *r, const Column *c)
{
    return (double *)(void *)((char *)r + c->at);
}

int compare_errors_take(const Csv *t, size_t row, RunErrors *out)
{
    ErrorsRow all = {.errors = *out}, got;
    TRY(csv_record(t, row, compare_errors_columns, &got));
    for (const Column *c = compare_errors_columns; c->name; c++) {
        if (c->type != SHEET_DOUBLE) continue;
        double *there = member(&all, c), x = *member(&got, c);
        if (!isnan(*there) && !isnan(x) && *there != x)
            return error_set(ERR_INPUT,
                             "%s: %s with seed %s has another %s than in a row before: measured in "
                             "another way?",
                             t->file, csv_named(t, row, "scheme"), csv_named(t, row, "seed"),
                             c->name);
        if (!isnan(x)) *there = x;
    }
    *out = all.errors;
    return 0;
}
