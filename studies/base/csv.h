/* csv.h: reads a table saved as CSV (RFC 4180: quotes, doubled quotes, line ends of either kind). The first line has
 * the names of the columns. */
#ifndef TROTTER_CSV_H
#define TROTTER_CSV_H

#include <stddef.h>

#include "studies/base/sheet.h"

typedef struct {
    const char *file; /* borrowed until csv_close */
    size_t columns, rows;
    char **cell;  /* (rows + 1, columns), the names first */
    size_t *line; /* (rows + 1): where each begins */
    char *text;
} Csv;

/* Reads a file. ERR_INPUT with "FILE:LINE: ..." where it cannot be read, has another form (tabs, semicolons), rows of
 * unequal length or two columns of one name; ERR_MEMORY. */
int csv_open(Csv *c, const char *file);
/* Reads a file beneath a folder (file_beneath), which `file` names in errors. */
int csv_beneath(Csv *c, int folder, const char *path, const char *file);
void csv_close(Csv *c);

/* Returns the index of a named column, or -1. */
int csv_column(const Csv *c, const char *name);
const char *csv_cell(const Csv *c, size_t row, int column);
/* Returns the cell of a named column; "" where there is no such column. */
const char *csv_named(const Csv *c, size_t row, const char *name);
/* Reads a number. An empty cell is NaN, and `inf` is a number. ERR_INPUT with the line for anything else. */
int csv_number(const Csv *c, size_t row, int column, double *out);
/* Reads a row of a table with these columns into a record: the numbers (double) of the list are set, and a sparse
 * column that is missing becomes NaN. Other members stay as they are. ERR_INPUT where another column or the row is
 * missing. */
int csv_record(const Csv *c, size_t row, const Column *list, void *record);

#endif
