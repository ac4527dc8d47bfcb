/* file.h: files that appear whole or not at all, by a temporary file and a rename. */
#ifndef TROTTER_FILE_H
#define TROTTER_FILE_H

#include <stddef.h>

typedef struct {
    const void *bytes;
    size_t count;
} FilePart;

/* Writes bytes to a file, which has them all or is as it was (but for a folder that cannot be synced: then the new
 * one is there, though perhaps not for good). ERR_SYSTEM. */
int file_replace(const char *file, const void *bytes, size_t count);

/* The same of a file that comes part by part: writes what `next` gives while it gives 1. A negative code of its own
 * ends that: it is passed up, and an old file stays. */
int file_stream(const char *file, int (*next)(void *arg, FilePart *part), void *arg);

/* Removes what writers that died on this machine left in a directory: files NAME.tmp-PID, PID as it is printed, where
 * there is no such process. It is for a caller who alone writes there: a writer on another machine looks dead. */
void file_sweep(const char *dir);

#endif
