/* kind.h: what the commands write into a directory, as one table, one row a kind of study, from which `trotter
 * report` recognises it, names it and says what its numbers mean. */
#ifndef TROTTER_KIND_H
#define TROTTER_KIND_H

#include <stddef.h>

#include "studies/tools/csv.h"

enum { KIND_TABLES = 9, KIND_PLOTS = 7, VERDICT_WORDS = 1024 };

/* What a study found, in a line; bad: something is not as it should be. "" where nothing is judged. */
typedef struct {
    int bad;
    char words[VERDICT_WORDS];
} Verdict;

typedef struct {
    const char *file; /* NAME.csv as the command calls it; "*": any name */
    const char *head; /* how its first line begins: this is what it is recognised by */
    const char *caption;
    const char *show; /* page.h; NULL: all columns */
    size_t most;      /* rows on a page; 0: the data of a plot, not shown */
} KindTable;

typedef struct {
    const char *file; /* NAME.svg; "path-*": any name that begins so */
    const char *caption;
} KindPlot;

typedef struct {
    const char *command; /* the words after `trotter`; of options those that tell it from others */
    const char *title;
    const char *about; /* HTML */
    const char *words; /* a file with what it said of itself; NULL: none */
    void (*judge)(const Csv *first, Verdict *out); /* of the first table; NULL: nothing to judge */
    KindTable table[KIND_TABLES];                  /* ends with a NULL file */
    KindPlot plot[KIND_PLOTS + 1];
    const char *also; /* another command that writes these files beside its own; NULL: none */
} Kind;

extern const Kind kinds[];
extern const size_t kinds_count;

/* What a column of a kind's tables holds, with its unit; NULL: not known. */
const char *kind_column(const Kind *k, const char *name);

#endif
