/* sheet.h: a table of results, written as CSV, as aligned text, as Markdown or as a LaTeX tabular.
 *
 * A number has two forms: the exact one, which reads back to the same double and goes into CSV, and the one people
 * read. An undefined value (NaN) is an empty cell; inf is written `inf`. The sheet keeps a memory failure, and the
 * writers return it.
 */
#ifndef TROTTER_SHEET_H
#define TROTTER_SHEET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/base/scoped.h"

enum { SHEET_CSV, SHEET_PLAIN, SHEET_MARKDOWN, SHEET_LATEX };

typedef struct Sheet Sheet;

/* A row is a C struct; beside it stands one const list with one line for each column. That line describes the column
 * completely: its name in CSV and in plots, its head and place in the table for people, how its number is shown there,
 * and what it holds, for the legend of `trotter report`. So a new column is one line here and the code that computes
 * it:
 *
 *   typedef struct { const char *scheme; size_t steps; double error; } Point;
 *   static const Column points[] = {
 *       COLUMN(Point, scheme, .words = "integrator by its name"),
 *       COLUMN(Point, steps, .words = "steps taken"),
 *       COLUMN(Point, error, .digits = 4, .words = "RMS error over coordinates at the end"),
 *       {0}};
 */
enum { SHEET_DOUBLE, SHEET_SIZE, SHEET_INT, SHEET_TEXT }; /* type of the member */
/* What digits count: significant digits; digits behind the point; nothing (yes, no). SHEET_FORMULA is a text that holds
 * a formula in the program's notation, which `trotter report` typesets; SHEET_WORDS is prose with formulas in it.
 * SHEET_SCIENTIFIC: 1.23e-4, digits as FIXED.
 * SHEET_CELL is a text that may be a number with its interval; behind SHEET_STRONG_MARK it is bold in LaTeX. */
enum {
    SHEET_REAL,
    SHEET_FIXED,
    SHEET_FLAG,
    SHEET_FORMULA,
    SHEET_WORDS,
    SHEET_SCIENTIFIC,
    SHEET_CELL
};
enum { SHEET_STRONG_MARK = '*' };

typedef struct {
    const char *name; /* in CSV and in plots; NULL: a column of tables for people alone */
    const char *head; /* in tables for people; NULL: the name */
    /* What it holds, with its unit; NULL: the usual words for a column of this name (column_usual). */
    const char *words;
    const char *low, *high; /* columns that hold the ends of its interval; NULL: none */
    /* In tables for people: head of a column behind it with the distance to that interval's upper end. */
    const char *half;
    /* in tables for people: the common head of columns beside each other; NULL: none */
    const char *group;
    size_t at;    /* offset of the member in the record */
    double scale; /* people see this multiple of the number; 0: 1 */
    /* Place in tables for people, from 1, left to right; 0: not there; all 0: all in order. */
    short place;
    /* of a double; 0: 6. Where neither digits nor a form are said, a number has those that are usual for the name. */
    short digits;
    unsigned char type, form;
    unsigned char more;   /* 1: more is better, where this is compared; of usual columns alone */
    unsigned char sparse; /* 1: left out where no row has it (not of sheet_stream) */
    /* The place in tables of `trotter report`; several may have one place. All 0: those with a `place`, else all. */
    unsigned char page;
} Column;

/* The line of a column for a member of a record, or for a member of a part of it (a.b), with the column's name. Other
 * members of Column follow as designators. Undefined values are a text (const char *) of NULL, an int below 0, a size_t
 * of SIZE_MAX, a NaN. */
#define FIELD(Record, column, ...) FIELD_OF(Record, column, __VA_ARGS__, )
/* The same where the member and the column have one name. */
#define COLUMN(Record, ...) COLUMN_OF(Record, __VA_ARGS__, )
#define COLUMN_OF(Record, member, ...) FIELD_OF(Record, #member, member, __VA_ARGS__)
#define FIELD_OF(Record, column, member, ...)                                                 \
    {                                                                                         \
        .name = (column), .at = offsetof(Record, member),                                   \
        .type = _Generic(((Record *)0)->member, double: SHEET_DOUBLE, size_t: SHEET_SIZE, \
                         int: SHEET_INT, char *: SHEET_TEXT, const char *: SHEET_TEXT),   \
        __VA_ARGS__ \
    }

/* The line of a column of a frame (frame.h), whose rows are no structs: its name, and other members of Column as designators. */
#define VALUE(...)          \
    {                       \
        .name = __VA_ARGS__ \
    }

/* Returns the usual column of a name (columns.c): its words, its digits and form, whether more is better; NULL: there is none. */
const Column *column_usual(const char *name);

/* Makes a table of such rows. The list ends with a line of zeros; it is copied, the texts in it are borrowed. */
int sheet_new(const Column *list, Sheet **out);
const Column *sheet_columns(const Sheet *r); /* that copy */
/* Returns another, of *n columns, to be changed before sheet_new; NULL: out of memory. Caller: memory_free. */
Column *sheet_copy(const Column *list, size_t *n);
/* Adds a row; copies what the record holds. */
void sheet_row(Sheet *s, const void *record);
/* Returns the number, from 1, of a column in CSV; the list must have a column of that name. */
int sheet_column(const Column *list, const char *name);

/* Shows people the columns `names`, separated by commas, in this order, in place of those with a place: first those
 * without a group, then these of each group. Borrows nothing. ERR_INPUT for a name that no column has. Rows
 * are added before. */
int sheet_choose(Sheet *r, const char *names);

/* Makes LaTeX fit a column of a page of two (84 mm) in place of a whole line. */
void sheet_one_column(Sheet *r);

void sheet_free(Sheet *r);
DROP(Sheet, sheet)
size_t sheet_rows(const Sheet *r);

/* Writes the table. For people: header, rule, rows. A SHEET_PLAIN wider than the terminal has its long texts in several
 * lines, or is written in parts one below the other, each with the columns that name a row. LaTeX: a tabular with the
 * rules of the package booktabs, or several where it is too wide or long. CSV: as in RFC 4180, lines ended by LF. */
int sheet_write(const Sheet *r, int form, FILE *f);
/* Writes CSV for the rows added since the last call (and the header before the first): for logs on stdout. */
int sheet_stream(Sheet *r, FILE *f);

/* Writes a finite number of a column as tables for people have it. */
enum { SHEET_SHOWN = 352 }; /* bytes; the largest double has 309 places */
void sheet_shown(const Column *c, double x, char out[SHEET_SHOWN]);

/* Writes the shortest of %.15g .. %.17g that reads back to x; "" for NaN; inf and -inf as such. */
void sheet_number(double x, char out[32]);

#endif
