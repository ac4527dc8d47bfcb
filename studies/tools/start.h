/* start.h: what is settled before any library of the program begins, and taken back once they have. */
#ifndef TROTTER_START_H
#define TROTTER_START_H

/* Takes from the environment what the program has set for its own libraries, so that a program it
 * starts sees what the user gave. main calls it first. 1: how threads wait is the program's choice. */
int start_restore(void);

#endif
