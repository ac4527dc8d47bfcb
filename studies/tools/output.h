/* output.h: files of a study: its directory, and whole files written at once or not at all. */
#ifndef TROTTER_OUTPUT_H
#define TROTTER_OUTPUT_H

#include <stddef.h>
#include <stdio.h>

#include "studies/tools/sheet.h"

enum { OUTPUT_PATH = 4096 };

/* Makes the directory and those above it; one that is there is fine. ERR_INPUT with words. */
int output_directory(const char *dir);

/* ERR_INPUT where output_directory cannot succeed, as far as that is known beforehand: what is there of the path
 * is no directory or cannot be written. Makes nothing. */
int output_check(const char *dir);
/* The same of a file that output_close is to write: it is no regular file, or its folder is not there or cannot be
 * written. */
int output_check_file(const char *file);

/* out = "DIR/NAME" (printf style); ERR_INPUT where it is too long. */
int output_path(char out[OUTPUT_PATH], const char *dir, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* 1 where the file exists. */
int output_exists(const char *path);

/* The bytes of a file, terminated by a NUL; caller frees *text (memory_free). ERR_INPUT, ERR_MEMORY. */
int output_read(const char *path, char **text, size_t *bytes);

/* A text that is collected in memory and then written atomically, so that a full disk leaves the
 * old file. output_open, fprintf to it, output_close (which frees it in any case). */
typedef struct {
    FILE *f;
    char *text;
    size_t bytes;
} Output;
int output_open(Output *o);
int output_close(Output *o, const char *path);
void output_drop(Output *o); /* forgets it */
/* Where code is 0, writes what was collected as DIR/NAME. Forgets it in any case; gives code, or the writing's. */
int output_put(Output *o, int code, const char *dir, const char *name);
/* Where code is 0: *text is a copy of what was collected, caller frees it (memory_free). Forgets it in any
 * case; gives code, or ERR_MEMORY. */
int output_take(Output *o, int code, char **text);

/* Writes a sheet as DIR/NAME in one of its forms. */
int output_sheet(const Sheet *r, int form, const char *dir, const char *name);
/* Writes it for programs, pages and papers: as DIR/STEM.csv, DIR/STEM.md and DIR/STEM.tex. */
int output_table(const Sheet *r, const char *dir, const char *stem);

#endif
