/* report.h: a table of results, written as CSV, as aligned text, as Markdown or as a LaTeX tabular.
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
