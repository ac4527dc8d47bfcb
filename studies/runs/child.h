/* child.h: a training in a separate process. */
#ifndef TROTTER_CHILD_H
#define TROTTER_CHILD_H

#include "studies/runs/lease.h"

/* Runs `trotter train --config DIR/config.ini --out DIR`, or `train --resume --out DIR`, waits for it,
 * and keeps the claim alive meanwhile. The child trains alone, even where this process is one of mpirun's. command_stop is passed on to it. ERR_INTERRUPTED when it
 * was stopped and has saved; ERR_CHECK for any other failure, whose line of words the child has
 * written on stderr. If this process ends in any way, the child gets a signal to save and end. */
int child_train(const char *dir, int resume, Lease *claim);

#endif
