/* crossings.h: events of `solve`: what --event says, and the table of where quantities of a solution pass 0. */
#ifndef TROTTER_SOLVE_CROSSINGS_H
#define TROTTER_SOLVE_CROSSINGS_H

#include "ode/ode.h"
#include "studies/base/option.h"
#include "studies/solve/times.h"

typedef struct Crossings Crossings;

/* Reads every --event of the options on a system, along a run over these times; names (N): those of its coordinates; all borrowed.
 * *out is NULL where there is none. The run steps from 0 on (system_course), a quantity's t and the table's are the system's; up and
 * down are along the run, back in time too. ERR_INPUT in words. Caller: crossings_free. */
int crossings_open(const Options *o, const System *s, const Times *times, char (*names)[48],
                   Crossings **out);
void crossings_free(Crossings *c);
/* Begins the run of a scheme: *out is to be watched with, NULL where c is. */
int crossings_begin(Crossings *c, Events **out);
/* Adds what the run has found to the table. */
void crossings_end(Crossings *c, const char *scheme);
/* Prints the table for people; writes DIR/events.csv. Nothing where c is NULL. */
int crossings_show(const Crossings *c);
int crossings_save(const Crossings *c, const char *dir);

#endif
