/* times.h: the interval of a run of `solve`, the times of its states, and its steps where they are of one length. */
#ifndef TROTTER_TIMES_H
#define TROTTER_TIMES_H

#include "ode/field/field.h"
#include "studies/base/option.h"

typedef struct {
    double begin, end;
    int back;      /* the run goes back in time: end < begin */
    double length; /* |end - begin| */
    size_t rows;
    double *t;     /* (rows) behind `begin` in the direction of the run, the last `end`; owned */
    double *after; /* (rows) |t - begin|, which rise; owned */
    double h;      /* of steps of one length, > 0; 0: by tolerance */
    size_t steps;
    double log_from; /* --log-time: the time axis is logarithmic from there on; 0: it is linear */
} Times;

/* Reads --t-begin, --t-end, --log-time, --times and, unless `free`, --h. ERR_INPUT for no interval, for times out of it or not in the
 * direction of the run, and for more steps than `most`. */
int times_read(const Options *o, const System *s, int free, size_t most, Times *out);
void times_free(Times *t);
/* Returns the time that is so far behind the beginning, in the direction of the run. */
double times_of(const Times *t, double after);

#endif
