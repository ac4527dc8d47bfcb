/* sheet_cells.h: the contents of a table, for sheet.c, which fills it, and sheet_people.c, which lays it out. */
#ifndef TROTTER_SHEET_CELLS_H
#define TROTTER_SHEET_CELLS_H

#include <math.h>
#include <string.h>

#include "studies/base/sheet.h"

/* A number, or the place of a text among the sheet's texts. Tables have millions of cells, so what CSV and people see of a number is
 * written when a table is. */
typedef struct {
    union {
        double x;
        size_t text;
    };
    char real;   /* 1: x is the cell */
    char number; /* 1: people see a number, or nothing */
} Cell;

/* The column that a cell of a row belongs to. */
typedef struct {
    const Column *column;
    const char *name; /* in CSV; NULL: for people alone */
    const char *head; /* for people */
    int half;         /* 1: half of the column's interval */
    int absent;       /* a sparse column that no row has so far, or its half */
    char whole[96];   /* its group's head and its own, for Markdown; "": it has no group */
} Slot;

struct Sheet {
    Column *list;        /* as sheet_new got it, owned */
    size_t columns;      /* cells of a row */
    Slot *slot;          /* (columns) */
    size_t shown, *view; /* (shown) columns of the table for people, in its order */
    size_t cells;
    Cell *cell; /* (cells), row-major */
    size_t bytes, room;
    char *texts;     /* (bytes, with room for more) one behind the other, each with its NUL */
    size_t *seen_at; /* (cells) places in seen, of sheet_write alone */
    char *seen;      /* what people see of the cells of shown columns */
    size_t streamed; /* cells already written by sheet_stream */
    int header;      /* written by sheet_stream */
    int narrow;      /* LaTeX for one column of a page of two */
    int code;
};

/* Returns 1 where two columns stand under one head. */
static inline int sheet_together(const Sheet *r, size_t a, size_t b)
{
    const char *x = r->slot[a].column->group, *y = r->slot[b].column->group;
    return x && y && strcmp(x, y) == 0;
}

/* Returns what people read in the j-th shown column: its head, or the cell of the row that begins at `first`. */
static inline const char *sheet_seen(const Sheet *r, size_t first, size_t j)
{
    size_t column = r->view[j];
    return first == SIZE_MAX ? r->slot[column].head : r->seen + r->seen_at[first + column];
}

/* Returns 1 where there is nothing in a cell. */
static inline int sheet_empty(const Sheet *r, const Cell *c)
{
    return c->real ? isnan(c->x) : r->texts[c->text] == '\0';
}

/* Writes a table for people: text, Markdown, LaTeX (sheet_write). A column that is empty in every row is left out. */
int sheet_lay_out(const Sheet *r, int form, FILE *f);

#endif
