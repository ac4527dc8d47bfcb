/* start.h: settings that are made before any library of the program begins, and taken back once they have begun. */
#ifndef TROTTER_START_H
#define TROTTER_START_H

/* Removes from the environment what the program has set for its own libraries, so that a program that it starts sees
 * the user's environment. main calls it first. Returns NAME=VALUE where the program chose how threads wait, or NULL: a program of ours that is
 * started with it need not start itself again. */
const char *start_restore(void);

#endif
