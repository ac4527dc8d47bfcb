/* write.h: store_write for a file that comes part by part. */
#ifndef TROTTER_WRITE_H
#define TROTTER_WRITE_H

#include <stddef.h>

typedef struct {
    const void *bytes;
    size_t count;
} WritePart;

/* Writes what `next` gives while it gives 1, atomically. A negative code of its own ends that: it is
 * passed up, and an old file stays. ERR_SYSTEM leaves an old file as it was (but for
 * a folder that cannot be synced: then the new one is there, though perhaps not for good). */
int write_stream(const char *file, int (*next)(void *arg, WritePart *part), void *arg);

#endif
