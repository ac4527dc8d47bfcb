/* page.h: a page of HTML that needs nothing beside it: its head and look (page.css), text that means nothing but
 * itself, and tables of CSV files. */
#ifndef TROTTER_PAGE_H
#define TROTTER_PAGE_H

#include <stddef.h>
#include <stdio.h>

#include "studies/report/html.h"
#include "studies/tools/csv.h"
#include "studies/tools/sheet.h"

/* <!DOCTYPE html> to <body>; the page may load nothing (Content-Security-Policy). `title` as it is. */
void page_begin(FILE *f, const char *title);
void page_end(FILE *f);

/* A drawing as an image in the page: what runs, links or loads in it is inert there. alt: what a screen reader says. */
void page_drawing(FILE *f, const char *svg, size_t bytes, const char *alt);

/* Words of the program's own, as text; what stands between dollars is a formula (formula.h). */
void page_words(FILE *f, const char *words);

typedef struct {
    const char *caption; /* HTML */
    const char *label;   /* "Table 3" */
    /* Of which it shows what kind_shown() says and the file has, not empty in every row */
    const Column *columns;
    size_t most;      /* rows */
    const char *file; /* where all are, told where rows are left out */
    int folded;       /* 1: nothing but the caption is seen until a reader unfolds it, or prints */
} PageTable;

/* `uses` (NULL: none) is told the name and the head of each column that is shown. Numbers are those of a terminal's table (sheet_shown):
 * with half of their interval where that has it, else with its ends in brackets. Nothing scrolls sideways: the style
 * (page.css) chooses the size of type by the characters that the columns need, rows become blocks with labels where a
 * screen is too narrow for them, columns that are too many become a second table. On paper no cell is lost; a wide
 * table's page lies across. */
void page_table(FILE *f, const Csv *c, const PageTable *t,
                void (*uses)(void *arg, const char *column, const char *head), void *arg);

#endif
