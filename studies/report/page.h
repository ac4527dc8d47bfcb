/* page.h: a page of HTML that needs nothing beside it: its head and look (page.css), text that means nothing but
 * itself, and tables of CSV files. */
#ifndef TROTTER_PAGE_H
#define TROTTER_PAGE_H

#include <stddef.h>
#include <stdio.h>

#include "studies/tools/csv.h"

/* <!DOCTYPE html> to <body>; the page may load nothing (Content-Security-Policy). `title` as it is. */
void page_begin(FILE *f, const char *title);
void page_end(FILE *f);

/* Text, escaped for elements and for quoted attributes; control characters as U+FFFD. */
void page_text(FILE *f, const char *text);
void page_bytes(FILE *f, const char *text, size_t n);

/* A drawing as an image in the page: what runs, links or loads in it is inert there. alt: what a screen reader says. */
void page_drawing(FILE *f, const char *svg, size_t bytes, const char *alt);

typedef struct {
    const char *caption; /* HTML of the program's own */
    const char *label;   /* "Table 3" */
    /* Columns in order, separated by ','; "a=low..high" has an interval behind the number; those that the file
     * lacks, or that are empty in every row, are left out. NULL: all of the file. */
    const char *show;
    size_t most;      /* rows */
    const char *file; /* where all are, told where rows are left out */
} PageTable;

/* `uses` (NULL: none) is told each column that is shown. On paper no cell is lost: the style (page.css) chooses the
 * size of type by the characters that the columns need, and a wide table's page lies across. */
void page_table(FILE *f, const Csv *c, const PageTable *t,
                void (*uses)(void *arg, const char *column), void *arg);

#endif
