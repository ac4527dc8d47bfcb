/* copies.h: a program that stands at the first line of its main, and copies of it (fork) that go on from there with one
 * fault each. What comes before, the dynamic linker's work, is most of the time of a short run and is done once. starve.c
 * does the program's part. */
#ifndef TROTTER_TESTS_COPIES_H
#define TROTTER_TESTS_COPIES_H

#include "tests/lib/traced.h"

enum { COPIES_ORDERS = 198, COPIES_ANSWERS = 199 }; /* descriptors of the program */

/* What a copy is to do. */
typedef struct {
    long starve;        /* the allocation that fails, from 1; 0: none */
    int sites;          /* 1: it writes the place of each to ../sites */
    TracedFilter calls; /* those that are shown; count 0: it is not traced */
} Order;

/* How a copy ended: its status, as waitpid gives it; left is 1 where a process that it began goes on a minute later. */
typedef struct {
    int status, left;
} Ended;

/* The answers are the copy's number, and, when it has ended, how. */
typedef struct {
    pid_t pid;
    int orders, answers;
} Copies;

#endif
