/* pictures.h: the pictures of `solve`: what they show, the points of its curves, and the steps that runs by tolerance tried.
 *
 * A curve goes through the ends of steps, and through further points within them, of the scheme's own values there, as long as the
 * curve leaves its chord by more than the eye tolerates. So it is smooth where the solution turns, and true to the scheme. */
#ifndef TROTTER_SOLVE_PICTURES_H
#define TROTTER_SOLVE_PICTURES_H

#include "ode/ode.h"
#include "studies/base/option.h"
#include "studies/base/select.h"
#include "studies/solve/times.h"

typedef struct Pictures Pictures;

/* What a study draws: schemes, a system of coordinates of these names (N) along a run over these times; all borrowed. */
typedef struct {
    const Options *options;
    const System *system;
    const Times *times;
    const Selection *schemes;
    size_t N;
    char (*names)[48];
} Drawn;

/* Reads --plot and --phase. ERR_INPUT in words. Caller: pictures_free. */
int pictures_open(const Drawn *d, Pictures **out);
void pictures_free(Pictures *p);
/* Begins the run of a scheme, whose steps it sees by *e, which becomes one that looks for nothing where it is NULL. For p NULL nothing
 * happens here and below. */
int pictures_begin(Pictures *p, size_t scheme, Events **e);
/* Ends the run of a scheme; e: the events that it found, NULL: none were looked for. */
int pictures_end(Pictures *p, const Events *e);
/* Adds the reference, states y (rows of the times, N) with NaN where it is not known; at: of states between them, NULL: there are none. */
int pictures_reference(Pictures *p, const double *y, EventState *at, void *of);
/* Writes curves.csv, steps.csv (by tolerance), section.csv (where there are events) and the pictures solution, phase and section to DIR. */
int pictures_save(Pictures *p, const char *dir);

#endif
