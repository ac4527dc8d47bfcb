/* kind.h: what a command writes into a directory, told beside the command: its tables with the lists of their columns
 * (sheet.h), and its plots. `trotter report` recognises a study by it, names it and says what its numbers mean.
 */
#ifndef TROTTER_KIND_H
#define TROTTER_KIND_H

#include <stddef.h>

#include "studies/tools/csv.h"
#include "studies/tools/sheet.h"

enum { KIND_TABLES = 12, KIND_PLOTS = 10, VERDICT_WORDS = 1024 };
enum { KIND_SOME = 24, KIND_MANY = 60, KIND_ALL = 400 }; /* rows on a page */

/* What a study found, in a line; bad: something is not as it should be. "" where nothing is judged. */
typedef struct {
    int bad;
    char words[VERDICT_WORDS];
} Verdict;

/* Adds words. */
void verdict_say(Verdict *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds how often each word stands in a column, as "8 agree, 1 higher (NAME); "; bad: "disagree" is among them. */
void verdict_count(Verdict *v, const Csv *c, const char *column, const char *name);
/* Takes the last "; " away. */
void verdict_end(Verdict *v);

typedef struct {
    const char *file;      /* NAME.csv as the command calls it; "*": any name */
    const Column *columns; /* the names of the first four are what a table is recognised by */
    const char *caption;   /* as `about` is */
    size_t most;           /* rows on a page; 0: the data of a plot, not shown */
} KindTable;

typedef struct {
    const char *file;    /* NAME.svg; "path-*": any name that begins so */
    const char *caption; /* as `about` is */
} KindPlot;

typedef struct {
    const char *command; /* the words after `trotter`; of options those that tell it from others */
    const char *title;
    const char *about; /* formulas stand between dollars (formula.h of studies/report) */
    const char *words; /* a file with what it said of itself; NULL: none */
    void (*judge)(const Csv *first, Verdict *out); /* of the first table; NULL: nothing to judge */
    KindTable table[KIND_TABLES];                  /* ends with a NULL file */
    KindPlot plot[KIND_PLOTS];                     /* ends with a NULL file */
    const char *also; /* another command that writes these files beside its own; NULL: none */
} Kind;

/* What `about` says wherever orders are. */
#define KIND_ORDERS \
    "Order $p$ means local error $O(h^(p+1))$, global error $O(h^p)$; error is numerical − exact."

/* The kinds of all commands, those of the last command first, as they build on the others: the one behind k, or
 * with NULL the first; NULL: k is the last. */
const Kind *kind_next(const Kind *k);
/* Its place among them, from 0; behind all for NULL. */
size_t kind_place(const Kind *k);

/* 1: the first line of a file is that of this table. */
int kind_begins(const KindTable *t, const char *line);
/* Columns that a page shows, in order, at most `room`; returns how many, 0 for all of the file. */
size_t kind_shown(const Column *list, const Column **out, size_t room);
/* What a column of a kind's tables holds, with its unit; k NULL: a column of that name in any; NULL: not known. */
const char *kind_column(const Kind *k, const char *name);

#endif
