/* found.h: the studies in a directory and all below it, recognised by how their files begin (kind.h). */
#ifndef TROTTER_FOUND_H
#define TROTTER_FOUND_H

#include "studies/tools/kind.h"

/* A file of a study; paths are relative to the directory that was searched. */
typedef struct {
    int plot;     /* 1: a plot of its kind, 0: a table */
    size_t which; /* row of kind->plot or kind->table */
    char *path;
} FoundFile;

typedef struct {
    const Kind *kind; /* NULL: the trainings of a comparison; `file` has their directories */
    char *dir;        /* "" for the directory itself */
    char *prefix;     /* beginning of its files' names ("gelu-"), mostly "" */
    size_t files;
    FoundFile *file;
} Study;

typedef struct {
    const char *root; /* borrowed until found_free */
    size_t studies, outside;
    Study *study; /* sorted by directory, then in the order of the kinds, then by prefix */
    char **left;  /* (outside) words on each CSV or SVG file that belongs to no study */
    size_t drawings, records;
    char **drawing; /* SVG files, until studies take them */
    char **record;  /* files of recorded commands, until those without a study are dropped */
} Found;

/* Finds the studies below root. Does not follow symbolic links and skips names that begin with '.', as well as
 * `skip` (a path as the user gave it). The directories of trainings under a comparison's runs/, runs-NAME/ and
 * tune/ are one study each. ERR_INPUT where the directory cannot be read. */
int found_search(const char *root, const char *skip, Found *out);
void found_free(Found *f);

/* Writes "ROOT/PATH". */
int found_path(const Found *f, const char *path, char *out, size_t bytes);

#endif
