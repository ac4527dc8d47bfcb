/* page.h: a page of HTML in one self-contained file: its head and style (page.css), escaped text,
 * and tables of CSV files. */
#ifndef TROTTER_PAGE_H
#define TROTTER_PAGE_H

#include <stddef.h>
#include <stdio.h>

#include "studies/report/html.h"
#include "studies/tools/csv.h"
#include "studies/tools/sheet.h"

/* Writes <!DOCTYPE html> to <body>. The page may load nothing (Content-Security-Policy).
 * `title` is written as it is. */
void page_begin(FILE *f, const char *title);
void page_end(FILE *f);

/* Puts a drawing into the page as an image: scripts, links and loads inside it do nothing there. alt:
 * text for a screen reader. */
void page_drawing(FILE *f, const char *svg, size_t bytes, const char *alt);

/* Writes the program's words as text; parts between dollars become formulas (formula.h). */
void page_words(FILE *f, const char *words);

typedef struct {
    const char *caption; /* HTML */
    const char *label;   /* "Table 3" */
    /* The table shows those that kind_shown() names and the file has, and that are not empty in every row. */
    const Column *columns;
    size_t most;      /* largest number of rows */
    const char *file; /* file with all rows, named where rows are left out */
    int folded;       /* 1: only the caption is visible until a reader unfolds or prints it */
} PageTable;

/* Writes a table. Calls `uses` (NULL: none) with the name and the head of each column shown. Numbers are those of a
 * terminal's table (sheet_shown): with half of their interval where that has it, else with its ends in brackets.
 * Nothing scrolls sideways. The style (page.css) chooses the type size by the characters that the columns need. On a
 * narrow screen rows become blocks with labels; too many columns become a second table. On paper no cell is lost, and a
 * wide table's page is in landscape. */
void page_table(FILE *f, const Csv *c, const PageTable *t,
                void (*uses)(void *arg, const char *column, const char *head), void *arg);

#endif
