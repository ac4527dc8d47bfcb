/* frame.h: rows under named columns: a table saved as CSV (RFC 4180: quotes, doubled quotes, line ends of either kind). The first line has
 * the names of the columns. */
#ifndef TROTTER_FRAME_H
#define TROTTER_FRAME_H

#include <stddef.h>

#include "studies/base/sheet.h"

typedef struct {
    const char *file; /* borrowed until frame_close */
    size_t columns, rows;
    char **cell;  /* (rows + 1, columns), the names first */
    size_t *line; /* (rows + 1): where each begins */
    char *text;
} Frame;

/* Reads a file. ERR_INPUT with "FILE:LINE: ..." where it cannot be read, has another form (tabs, semicolons), rows of
 * unequal length or two columns of one name; ERR_MEMORY. */
int frame_read(Frame *c, const char *file);
/* Reads a file beneath a folder (file_beneath), which `file` names in errors. */
int frame_beneath(Frame *c, int folder, const char *path, const char *file);
void frame_close(Frame *c);

/* Returns the index of a named column, or -1. */
int frame_column(const Frame *c, const char *name);
const char *frame_cell(const Frame *c, size_t row, int column);
/* Returns the cell of a named column; "" where there is no such column. */
const char *frame_text(const Frame *c, size_t row, const char *name);
/* Reads a number. An empty cell is NaN, and `inf` is a number. ERR_INPUT with the line for anything else. */
int frame_number(const Frame *c, size_t row, int column, double *out);
/* Reads a row of a table with these columns into a record: the numbers (double) of the list are set, and a sparse
 * column that is missing becomes NaN. Other members stay as they are. ERR_INPUT where another column or the row is
 * missing. */
int frame_record(const Frame *c, size_t row, const Column *list, void *record);

#endif
