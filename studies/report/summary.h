/* summary.h: the page of `trotter report`: a directory's studies, one section each. */
#ifndef TROTTER_SUMMARY_H
#define TROTTER_SUMMARY_H

#include <stdio.h>

#include "studies/report/found.h"

/* The line on a study in the contents and at the head of its section. */
typedef struct {
    char title[256], place[4096];
    Verdict verdict;
} Brief;

/* The page's state. Tables and figures are numbered through all sections. */
typedef struct {
    const Found *found;
    FILE *f;
    size_t tables, figures, refused; /* refused: files that are named but not shown */
} Summary;

/* Writes the whole page with this title. Files that cannot be shown are named in the page and
 * by a warning. ERR_MEMORY. */
int summary_write(Summary *s, const char *title);

/* ---- summary_part.c: the parts of sections ---- */

/* Tells of a file that is not shown, with error_text as the reason, in the page and as a warning. */
void summary_refuse(Summary *s);
/* Shows the beginning of a text file as it is, folded; does nothing where the file is missing. */
void summary_text(Summary *s, const char *path, const char *title);
/* Reads an SVG file that is complete, as far as its size, first and last words show. The caller frees *text
 * (memory_free). ERR_INPUT, ERR_MEMORY. */
int summary_drawing(const Summary *s, const char *file, char **text, size_t *bytes);
/* Shows the beginning of a Markdown file, without its tables where `tables` is 0; does nothing where the file is
 * missing. Its links and raw HTML are shown as text, and so are images of other things than drawings below the
 * directory that was searched. */
void summary_words(Summary *s, const char *path, int tables);
/* Shows the commands recorded for a study, and how they ended. */
void summary_commands(Summary *s, const Study *study);
/* Adds to `v` how the last of them ended, if not well. */
void summary_ended(const Summary *s, const Study *study, Verdict *v);

/* ---- summary_runs.c: trainings of a comparison ---- */

enum { TRAINING_COLUMNS = 24 };

/* One table with a row a training. `total` counts all, `finished` the finished ones. The
 * Csv borrows from the array. */
typedef struct {
    Csv table; /* its cells are its own; the names of result.csv stand between "run" and "state" */
    Column columns[TRAINING_COLUMNS];
    Csv *result; /* (total) */
    size_t total, finished;
} Trainings;
int trainings_open(const Summary *s, const Study *study, Trainings *r);
void trainings_close(Trainings *r);

#endif
