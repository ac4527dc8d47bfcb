/* csv.h: reads a table that was saved as CSV (RFC 4180: quotes, doubled quotes, line ends of either
 * kind), its first line the names of the columns. */
#ifndef TROTTER_CSV_H
#define TROTTER_CSV_H

#include <stddef.h>

#include "studies/tools/sheet.h"

typedef struct {
    const char *file; /* borrowed until csv_close */
    size_t columns, rows;
    char **cell;  /* (rows + 1, columns), the names first */
    size_t *line; /* (rows + 1): where each begins */
    char *text;
} Csv;

/* Not to be read, not of the form, rows of unequal length: ERR_INPUT with "FILE:LINE: ...". ERR_MEMORY. */
int csv_open(Csv *c, const char *file);
void csv_close(Csv *c);

/* Index of a named column, or -1. */
int csv_column(const Csv *c, const char *name);
const char *csv_cell(const Csv *c, size_t row, int column);
/* The cell of a named column; "" where there is none. */
const char *csv_named(const Csv *c, size_t row, const char *name);
/* A number; an empty cell is NaN; `inf` is one. Anything else: ERR_INPUT with the line. */
int csv_number(const Csv *c, size_t row, int column, double *out);
/* A row of a table with these columns: the numbers (double) that the list tells of go into the record, other members
 * stay as they are, and NaN where a sparse column is missing. ERR_INPUT where another column or the row is. */
int csv_record(const Csv *c, size_t row, const Column *list, void *record);

#endif
