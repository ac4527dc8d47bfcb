/* sealed.h: starts a program on data of others, which may compute, read and write, but start nothing. */
#ifndef TROTTER_SEALED_H
#define TROTTER_SEALED_H

#include <sys/types.h>

/* Starts a program (argv[0], sought on the PATH) in a folder. It reads nothing and says nothing, but that its output goes
 * to the descriptor `out` (-1: nowhere). The kernel refuses it new processes (Linux on x86-64 and arm64; elsewhere it may
 * start some), so whatever its files or settings name is not run. It ends when this process does. Returns 0 and *child,
 * which the caller waits for; -1 with errno where it cannot be run. */
int sealed_start(const char *dir, int out, char *const argv[], pid_t *child);

#endif
