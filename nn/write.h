/* write.h: store_write for a file that lies in memory in several parts. */
#ifndef TROTTER_WRITE_H
#define TROTTER_WRITE_H

#include <stddef.h>

typedef struct {
    const void *bytes;
    size_t count;
} WritePart;

/* Writes the parts one behind another, atomically; ERR_SYSTEM leaves an old file as it was (but for
 * a folder that cannot be synced: then the new one is there, though perhaps not for good). */
int write_parts(const char *file, const WritePart *part, size_t parts);

#endif
