/* frame.h: rows under named columns: a table that was read from a CSV file (RFC 4180: quotes, doubled quotes, line ends of
 * either kind; the first line has the names), or one that is made row by row. Where the first line has no comma, its tabs,
 * or else its semicolons, stand between columns. Behind semicolons, as spreadsheets of many countries write them, a number
 * may have a decimal comma: 1,5 is read as 1.5.
 *
 * A cell is a text, as CSV has it. A number in it is the shortest decimal that reads back to the same double (sheet_number), so
 * nothing is lost on the way from a computation through a frame into a file and back. An empty cell says that there is no value;
 * as a number it is NaN. So a number needs no record of its own between the place where it is computed and the tables that show it.
 */
#ifndef TROTTER_FRAME_H
#define TROTTER_FRAME_H

#include <stddef.h>
#include <stdio.h>

#include "studies/base/sheet.h"

typedef struct {
    const char *file; /* that it was read from, or is written to; borrowed until frame_close */
    size_t columns, rows;
    /* the number of first columns that were chosen before the run, the options of a training; 0: not known */
    size_t given;
    char apart;   /* what stands between the columns of the file that is read */
    char **cell;  /* (rows + 1, columns), the names first; NULL is an empty cell */
    size_t *line; /* (rows + 1): the line of the file where each begins; 0: not known */
    /* of the file that was read, into which the cells point; NULL: each cell is memory of its own */
    char *text;
    /* ERR_MEMORY where a cell that was made had no room; what writes the frame returns it */
    int code;
} Frame;

/* Reads a file. ERR_INPUT with "FILE:LINE: ..." where it cannot be read, has another form, rows of unequal length or
 * two columns of one name; ERR_MEMORY. */
int frame_read(Frame *c, const char *file);
/* Reads a file beneath a folder (file_beneath), which `file` names in errors. */
int frame_beneath(Frame *c, int folder, const char *path, const char *file);
void frame_close(Frame *c); /* takes {0} too */

/* frame_folder.c: lists the trainings that have ended at and beneath a folder (a descriptor, which `dir` names), by name: a
 * frame of one row each, whose file is DIR/.../result.csv. Its columns are the options of config.ini, then those of
 * result.csv that are no options, then `folder`. Links are not followed. ERR_INPUT, ERR_MEMORY; frames_close frees the
 * list in any case. */
int frame_trainings(int folder, const char *dir, Frame **list, size_t *count);
void frames_close(Frame *list, size_t count);
/* Writes the rows of frames under all their columns, as CSV. ERR_MEMORY. */
int frames_write(const Frame *list, size_t count, FILE *f);

/* Makes a frame without rows that has the columns of a list, with their names. ERR_MEMORY. frame_close frees it. */
int frame_new(Frame *f, const Column *list);
/* Adds an empty row to a frame that was made, the last. ERR_MEMORY. */
int frame_row(Frame *f);
/* Set a cell of a frame that was made: to a copy of a text (NULL: it is empty), to a number (NaN: it is empty). A column that the
 * frame does not have is left out, so that who knows a number need not know who asks for it. */
void frame_set(Frame *f, size_t row, const char *name, const char *text);
void frame_put(Frame *f, size_t row, const char *name, double x);
/* Copies a row of another frame: the cells of the columns that both have. */
void frame_copy(Frame *f, size_t row, const Frame *from, size_t from_row);
/* Makes a sheet of rows: row (n) has their numbers in order; NULL: all n in their own order. A column of the list is one of
 * numbers where it is not declared as one of texts and each of its cells here is a number or empty. ERR_MEMORY. */
int frame_sheet(const Frame *f, const Column *list, const size_t *row, size_t n, Sheet **out);

/* Returns the index of a named column, or -1. */
int frame_column(const Frame *c, const char *name);
const char *frame_cell(const Frame *c, size_t row, int column);
/* Returns the cell of a named column; "" where there is no such column. */
const char *frame_text(const Frame *c, size_t row, const char *name);
/* Returns the number of the cell of a named column; NaN where there is no such column, no cell, or no number in it. */
double frame_real(const Frame *c, size_t row, const char *name);
/* Reads a number. An empty cell is NaN, and `inf` is a number. ERR_INPUT with the line for anything else. */
int frame_number(const Frame *c, size_t row, int column, double *out);
/* Reads a row of a table with these columns into a record: the numbers (double) of the list are set, and a sparse
 * column that is missing becomes NaN. Other members stay as they are. ERR_INPUT where another column or the row is
 * missing. */
int frame_record(const Frame *c, size_t row, const Column *list, void *record);

#endif
