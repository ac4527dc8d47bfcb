/* file.h: files that appear whole or not at all, by a temporary file and a rename; files read whole, and none
 * outside a folder. */
#ifndef TROTTER_FILE_H
#define TROTTER_FILE_H

#include <stddef.h>
#include <sys/stat.h>

typedef struct {
    const void *bytes;
    size_t count;
} FilePart;

/* Writes bytes to a file. The file then has all of them or is as it was (but if the folder cannot be synced, the new
 * file is there, though perhaps not durably). ERR_SYSTEM. */
int file_replace(const char *file, const void *bytes, size_t count);

/* Writes a file part by part, in the same way: `next` gives the parts while it returns 1. A negative code from it
 * ends the writing and is returned, and an old file stays. */
int file_stream(const char *file, int (*next)(void *arg, FilePart *part), void *arg);

/* Makes a folder whose name, too, survives a power cut; one that exists is no error. ERR_INPUT, ERR_SYSTEM. */
int file_folder(const char *path);

/* Removes what dead writers of this machine left in a directory: files NAME.tmp-PID where no process has the number
 * PID, as it is printed. Only a caller who alone writes there may use it: a writer on another machine looks dead. */
void file_sweep(const char *dir);

/* Opens a file to be read: *fd, -1 after a failure. ERR_INPUT: it cannot be opened, a FIFO without a writer for
 * FILE_FIFO_SECONDS. ERR_SYSTEM: the system fails, so the file may be good. */
enum { FILE_FIFO_SECONDS = 3 };
int file_open(const char *file, int *fd);

/* Reads the first `most` bytes of a file, or all (SIZE_MAX). A NUL is added behind *bytes. ERR_INPUT: as
 * file_open; a device other than a terminal and /dev/null, more than file_pipe_most bytes (4 GiB) from what is no regular
 * file. Caller: memory_free. */
extern size_t file_pipe_most;
int file_whole(const char *file, size_t most, char **bytes, size_t *count);

/* Files beneath a folder (a descriptor, or AT_FDCWD), and none outside it, whoever exchanges a file or folder for a link
 * meanwhile: no symbolic link is followed, and a path with an empty part, "." or ".." is refused ("" is the folder itself).
 * file_beneath opens with the flags O_RDONLY or O_PATH, and O_DIRECTORY, and waits for nothing: a descriptor, or -1 with errno
 * (a link: ELOOP or ENOTDIR). file_beneath_stat is lstat. file_beneath_whole reads a regular file as file_whole
 * does; `name` stands for it in errors. file_beneath_plain = 1: as where the kernel has no openat2 (tests). */
extern int file_beneath_plain;
int file_beneath(int folder, const char *path, int flags);
int file_beneath_stat(int folder, const char *path, struct stat *s);
int file_beneath_whole(int folder, const char *path, const char *name, size_t most, char **bytes,
                       size_t *count);

#endif
