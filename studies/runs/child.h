/* child.h: a training in a process of its own. */
#ifndef TROTTER_CHILD_H
#define TROTTER_CHILD_H

#include "studies/runs/lease.h"

/* Runs `trotter train --config DIR/config.ini --out DIR`, or `train --resume --out DIR`, and waits for
 * it, giving the claim's signs of life meanwhile; limit: its --memory-limit, or NULL. It trains alone,
 * even where this process is one of mpirun's. command_stop is passed on. ERR_INTERRUPTED when it was
 * stopped and has saved; any other failure: ERR_CHECK, its own line of words being on stderr already.
 * If this process ends, however, the child is told to save and end. */
int child_train(const char *dir, int resume, const char *limit, Lease *claim);

#endif
