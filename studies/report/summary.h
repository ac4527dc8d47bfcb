/* summary.h: the page of `trotter report`: a directory's studies, one section each. */
#ifndef TROTTER_SUMMARY_H
#define TROTTER_SUMMARY_H

#include <stdio.h>

#include "studies/report/found.h"

/* What a study says of itself before its section: in the contents and at the section's head. */
typedef struct {
    char title[256], place[4096];
    Verdict verdict;
} Brief;

/* The page's state: numbers of tables and figures go through all sections. */
typedef struct {
    const Found *found;
    FILE *f;
    size_t tables, figures, refused; /* refused: files that are told of, not shown */
} Summary;

/* The whole page, with this title. Files that cannot be shown are told of in the page and by a warning.
 * ERR_MEMORY. */
int summary_write(Summary *s, const char *title);

/* ---- summary_part.c: what sections are made of ---- */

/* A file that is not shown, with error_text for the reason: in the page and as a warning. */
void summary_refuse(Summary *s);
/* The beginning of a text file as it is, folded; nothing where it is not there. */
void summary_text(Summary *s, const char *path, const char *title);
/* The beginning of a Markdown file, without its tables where `tables` is 0; nothing where it is not there. Its links
 * and raw HTML are shown as text. */
void summary_words(Summary *s, const char *path, int tables);
/* The commands recorded for a study, and how they ended. */
void summary_commands(Summary *s, const Study *study);
/* How the last of them ended, if not well: to `v`. */
void summary_ended(const Summary *s, const Study *study, Verdict *v);

/* ---- summary_runs.c: trainings of a comparison ---- */

enum { TRAINING_COLUMNS = 24 };

/* One row a training, in one table; `total`, `finished`: how many there are. The Csv borrows from the array. */
typedef struct {
    Csv table; /* of its own cells, names as in result.csv between "run" and "state" */
    Column columns[TRAINING_COLUMNS];
    Csv *result; /* (total) */
    size_t total, finished;
} Trainings;
int trainings_open(const Summary *s, const Study *study, Trainings *r);
void trainings_close(Trainings *r);

#endif
