/* disk.h: records what a program writes below a folder, and lays out what a disk may hold after a power cut.
 *
 * The model has what POSIX promises and no more (IEEE Std 1003.1, fsync(), rename(); as ext4 with data=writeback may
 * behave at its worst). fsync of a file makes its bytes and its length durable, but not its name. fsync of a folder
 * makes the names in it durable: those that came, went and were exchanged by rename or link, each of which is there
 * wholly or not at all. All else since the last fsync may have arrived or not, each change of a name and each write
 * for itself, in any order: a new name may stand for a file without its bytes, with some of them, or with zeros.
 * Folders are not renamed. Source of the method: Pillai et al. 2014, "All file systems are not created equal", OSDI.
 *
 *     Disk *d = disk_new(path of the folder, path of a copy of it as it is before);
 *     disk_meet(d, c) for each system call, in its order
 *     for (n = 0; n <= disk_length(d); n++) disk_lay(d, n, way, seed): the folder as it may be after n changes
 */
#ifndef TROTTER_TESTS_DISK_H
#define TROTTER_TESTS_DISK_H

#include <stdint.h>

#include "tests/lib/traced.h"

typedef struct Disk Disk;

/* What happens to changes that are not durable. */
enum {
    DISK_ALL,   /* all arrive: the program was killed */
    DISK_NONE,  /* none */
    DISK_NAMES, /* names arrive, no bytes */
    DISK_TORN,  /* names, and the first half of each write */
    DISK_ZEROS, /* names and lengths; the bytes are zeros */
    DISK_DRAWN, /* each by a coin */
    DISK_WAYS
};

Disk *disk_new(const char *folder, const char *before);
void disk_free(Disk *d);

/* Takes note of a call that will succeed; others and those outside the folder are passed over. */
void disk_meet(Disk *d, const Call *c);
size_t disk_length(const Disk *d);

/* Computes the disk after n changes, and returns a number that tells it from others. `why` names a file that was
 * given its name by rename, and is neither as the rename last made durable left it nor as a later one did; NULL: none. */
uint64_t disk_compute(Disk *d, size_t n, int way, uint64_t seed, const char **why);
/* Writes the disk computed last into the folder, which is as it was before the record. */
void disk_write(const Disk *d);

#endif
