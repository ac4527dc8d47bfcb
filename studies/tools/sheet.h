/* sheet.h: a table of results, written as CSV, as aligned text, as Markdown or as a LaTeX tabular.
 *
 * Cells are added row by row, left to right. A number has two forms: the exact one, which reads back
 * to the same double and goes into CSV, and the one people read. An undefined value (NaN) is an empty
 * cell; inf is written `inf`. Memory failures are kept and told by the writers.
 */
#ifndef TROTTER_REPORT_H
#define TROTTER_REPORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { REPORT_CSV, REPORT_PLAIN, REPORT_MARKDOWN, REPORT_LATEX };

typedef struct Report Report;
typedef struct Report Sheet;

/* ---- a record and its list of columns ----
 *
 * A row is a C struct; beside it stands one const list with a line a column. All that is told of a column stands in that
 * line: its name in CSV and in plots, its head and place in the table for people, how its number is shown there, and what
 * it holds, for the legend of `trotter report`. So a new column is one line here and the code that computes it:
 *
 *   typedef struct { const char *scheme; size_t steps; double error; } Point;
 *   static const Column points[] = {
 *       COLUMN(Point, scheme, .words = "integrator by its name"),
 *       COLUMN(Point, steps, .words = "steps taken"),
 *       COLUMN(Point, error, .digits = 4, .words = "RMS over coordinates at the end"),
 *       {0}};
 */
enum { SHEET_DOUBLE, SHEET_SIZE, SHEET_INT, SHEET_TEXT }; /* type of the member */
enum {
    SHEET_REAL,
    SHEET_FIXED,
    SHEET_FLAG
}; /* digits count: significant; behind the point; yes, no */

typedef struct {
    const char *name;       /* the member's; in CSV and in plots */
    const char *head;       /* in tables for people; NULL: the name */
    const char *words;      /* what it holds, with its unit */
    const char *low, *high; /* columns that hold the ends of its interval; NULL: none */
    size_t at;              /* offset of the member in the record */
    short
        place; /* in tables for people, from 1 from left to right; 0: not there; all 0: all in order */
    short digits; /* of a double; 0: 6 */
    unsigned char type, form;
} Column;

/* The line of a member; what else there is to say follows as designators. A text is a const char *, NULL: undefined;
 * an int below 0 and a NaN are undefined. */
#define COLUMN(Record, member, ...)                                                           \
    {                                                                                         \
        .name = #member, .at = offsetof(Record, member),                                    \
        .type = _Generic(((Record *)0)->member, double: SHEET_DOUBLE, size_t: SHEET_SIZE,   \
                         int: SHEET_INT, char *: SHEET_TEXT, const char *: SHEET_TEXT),     \
        __VA_ARGS__ \
    }

/* A table of such rows. The list ends with a NULL name and is borrowed until report_free. */
int sheet_new(const Column *list, Sheet **out);
/* Adds a row; copies what the record holds. */
void sheet_row(Sheet *s, const void *record);

/* ---- cell by cell, for tables whose columns are known when the program runs alone ---- */

/* Columns in order; names are borrowed until report_free. */
int report_new(size_t columns, const char *const *name, Report **out);
void report_free(Report *r);

void report_text(Report *r, const char *text);        /* a word, to the left */
void report_size(Report *r, uint64_t n);              /* a whole number */
void report_real(Report *r, double x, int digits);    /* shown with %.<digits>g */
void report_fixed(Report *r, double x, int decimals); /* shown with %.<decimals>f */
void report_flag(Report *r, int flag);                /* yes, no */
void report_none(Report *r);                          /* undefined */
void report_order(Report *r, int order);              /* a whole number; undefined below 0 */

/* For people: header, rule, rows; LaTeX: a tabular that needs no package. CSV as RFC 4180, lines ended
 * by LF. */
int report_write(const Report *r, int form, FILE *f);
/* CSV for the rows added since the last call (and the header before the first): for logs on stdout. */
int report_stream(Report *r, FILE *f);

/* The first character of a text for LaTeX, for which no character is special then: it needs no package and no
 * particular encoding of fonts. A control character becomes a blank. Returns its bytes. */
size_t report_latex(const char *text, FILE *f);

/* The shortest %.15g .. %.17g that reads back to x; empty for NaN, inf, -inf. */
void report_number(double x, char out[32]);

#endif
