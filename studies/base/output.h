/* output.h: the directory of a study and its files, which are written whole or not at all. */
#ifndef TROTTER_OUTPUT_H
#define TROTTER_OUTPUT_H

#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include "studies/base/sheet.h"

enum { OUTPUT_PATH = 4096 };

/* Makes the directory and those above it; an existing one is no error. ERR_INPUT with words. */
int output_directory(const char *dir);

/* Returns ERR_INPUT where output_directory cannot succeed, as far as that is known beforehand: the part of the
 * path that exists is no directory, or nothing can be written there. Leaves nothing behind. */
int output_check(const char *dir);
/* Does the same for a file that output_close is to write: ERR_INPUT where it exists and is no regular file, or its
 * folder does not exist or cannot be written; NULL, standard output, is no error. */
int output_check_file(const char *file);

/* Writes "DIR/NAME" (printf style) to out; ERR_INPUT where it is too long. */
int output_path(char out[OUTPUT_PATH], const char *dir, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns 1 where the file exists. */
int output_exists(const char *path);
int output_is(const char *path, int fd);             /* it names this open file */
int output_there(const char *dir, const char *name); /* DIR/NAME */

/* Reads the bytes of a file, without UTF-8's byte-order mark, and ends them with a NUL; the caller frees *text
 * (memory_free). ERR_INPUT, ERR_MEMORY. */
int output_read(const char *path, char **text, size_t *bytes);

/* folder_walk.c: visits a folder (a descriptor, AT_FDCWD: where the process is) and all beneath it, by name, and follows no symbolic
 * link (file_beneath). A folder that cannot be read to its end is visited again, with the error. Returns what a visit
 * returned but for 0, and WALK_SKIP, with which a folder is not read. */
enum { WALK_SKIP = 1 };
typedef struct {
    const char *path, *name; /* path: behind the root, "" for itself; name: its last part */
    int level;               /* 0: the root */
    int error;               /* an errno; 0: st is known */
    struct stat st;
} WalkEntry;
typedef int WalkVisit(void *arg, const WalkEntry *e);
int output_walk(int root, WalkVisit *each, void *arg);

/* A text that is collected in memory and then written atomically, so that a full disk leaves the old file. Call
 * output_open, fprintf to f, then output_close, which frees it in any case. */
typedef struct {
    FILE *f;
    char *text;
    size_t bytes;
} Output;
int output_open(Output *o);
int output_begin(Output *o,
                 const char *file); /* with NULL f is stdout, which output_end leaves open */
int output_close(Output *o, const char *path);
void output_drop(Output *o); /* frees it without writing */
/* Where code is 0, writes what was collected as DIR/NAME. Frees it in any case. Returns code, or the code of
 * writing. */
int output_put(Output *o, int code, const char *dir, const char *name);
/* Where code is 0, copies what was collected to *text, which the caller frees (memory_free). Frees the output in
 * any case. Returns code, or ERR_MEMORY. */
int output_take(Output *o, int code, char **text);

/* Writes a sheet as DIR/NAME in one of its forms. */
int output_sheet(const Sheet *r, int form, const char *dir, const char *name);
/* output_paper writes it for programs and papers, as DIR/STEM.csv and DIR/STEM.tex; output_table for pages too, as
 * DIR/STEM.md. */
int output_paper(const Sheet *r, const char *dir, const char *stem);
int output_table(const Sheet *r, const char *dir, const char *stem);
/* Prints it, as CSV or for people, and with a DIR (NULL: none), which it makes, writes it there as output_table does. */
int output_shown(const Sheet *r, int csv, const char *dir, const char *stem);
/* Where code is 0, closes the output as a file; else drops it. Returns code, or the code of writing. */
int output_end(Output *o, int code, const char *path);

#endif
