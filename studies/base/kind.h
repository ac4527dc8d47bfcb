/* kind.h: what a command writes into a directory, described beside the command: its tables with the lists of their
 * columns (sheet.h), and its plots. `trotter report` recognises a study by it, names it and says what its numbers
 * mean.
 */
#ifndef TROTTER_KIND_H
#define TROTTER_KIND_H

#include <stddef.h>

#include "studies/base/frame.h"

enum { KIND_TABLES = 13, KIND_PLOTS = 10, VERDICT_WORDS = 1024 };
enum { KIND_SOME = 24, KIND_MANY = 60, KIND_ALL = 400 }; /* rows on a page */

/* A study's finding in one line. bad: something is not as it should be; warned: its command warned. words are "" where nothing is judged. */
typedef struct {
    int bad, warned;
    char words[VERDICT_WORDS];
} Verdict;

/* Adds words. */
void verdict_say(Verdict *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds how often each word stands in a column, as "8 agree, 1 higher (NAME); ". Sets bad where "disagree" is among
 * them. */
void verdict_count(Verdict *v, const Frame *c, const char *column, const char *name);
/* Removes the last "; ". */
void verdict_end(Verdict *v);

typedef struct {
    const char *file;      /* NAME.csv as the command calls it; "*": any name */
    const Column *columns; /* `trotter report` recognises a table by the names of the first four */
    const char *caption;   /* as `about` is */
    size_t most;           /* rows on a page; 0: the data of a plot, not shown */
} KindTable;

typedef struct {
    const char *file;    /* NAME.svg; "path-*": any name with this beginning */
    const char *caption; /* as `about` is */
} KindPlot;

enum { RUN_MEASURES = 4 };

/* A column of numbers that are compared. */
typedef struct {
    const char *column;
    /* of the names of what is computed from it: "valid" makes valid_low, valid_sd; NULL: the column */
    const char *stem;
    const char *text; /* as words have it: "validation"; NULL: the column */
    int more;     /* 1: more is better, also where the usual column of the name does not say so */
    int positive; /* 1: intervals of means begin at 0 at least (statistics_positive) */
    const char *axis; /* words at an axis: "validation perplexity"; NULL: the text */
} RunMeasure;

/* How a table of runs is read: names of its columns. NULL: by default, the last column of numbers is the measure, one called `seed` the seed, and the
 * columns of text that vary are the design's, or without one the first column left. `by` is no part of the design. */
typedef struct {
    const char *design, *seed, *by; /* design: separated by commas */
    RunMeasure measure[RUN_MEASURES];
    const char *const *positive; /* other columns of positive numbers, ended by NULL; NULL: none */
} RunColumns;

typedef struct {
    const char *command; /* words after `trotter`; of its options only those that identify it */
    const char *title;
    const char *about; /* formulas stand between dollars (studies/page/report/typeset.c) */
    const char *words; /* a file with the words that it printed; NULL: none */
    void (*judge)(const Frame *first, Verdict *out); /* of the first table; NULL: no verdict */
    KindTable table[KIND_TABLES];                    /* ends with a NULL file */
    KindPlot plot[KIND_PLOTS];                       /* ends with a NULL file */
    /* How its table `runs` is read; a run without a number in the first measure is not done. NULL: it has no such table. */
    const RunColumns *runs;
    const char *also; /* another command that writes these files beside its own; NULL: none */
} Kind;
#define KINDS(...) ((const Kind[]){__VA_ARGS__, {0}}) /* a list of them, ended by a NULL command */

/* The sentence that `about` has wherever orders are. */
#define KIND_ORDERS \
    "Order $p$ means local error $O(h^(p+1))$, global error $O(h^p)$; error is numerical − exact."

/* Returns the kind after k among those of all commands, or with NULL the first; NULL: k is the last. The kinds of the
 * last command come first, as they build on the others. */
const Kind *kind_next(const Kind *k);
/* Returns its place among them, from 0; for NULL the number of kinds. */
size_t kind_place(const Kind *k);

/* Counts the runs of a study in its table of runs (not those for a choice, nor bounds), and those that are done. */
void kind_count(const Kind *k, const Frame *c, size_t *runs, size_t *done);
/* Returns the kind whose table of runs begins like this line; NULL: none. */
const Kind *kind_of_runs(const char *line);
/* Returns 1 where the first line of a file is that of this table. */
int kind_begins(const KindTable *t, const char *line);
/* Returns 1 where c, of this list, is the column of what parts a table, whose file names it as it is called there ("layers"):
 * this field, which the list does not have. */
int kind_parts(const Column *list, const Column *c, const char *field);
/* Writes the columns that a page shows to out, in order, at most `room`. Returns how many; 0: all columns of the
 * file. */
size_t kind_shown(const Column *list, const Column **out, size_t room);
/* Returns what a column of a kind's tables holds, with its unit; NULL: not known. With k NULL: what a column of that
 * name holds in any table. */
const char *kind_column(const Kind *k, const char *name);

#endif
