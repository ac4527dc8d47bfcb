/* peers.h: integrators of other libraries on the field of a particle system: GSL's odeiv2, and Boost's odeint and
 * SUNDIALS' ARKODE and CVODE where `make peers` has built them. */
#ifndef TROTTER_PEERS_H
#define TROTTER_PEERS_H

#include "ode/ode.h"
#include "studies/solve/peer.h"

enum { PEERS_GSL, PEERS_BOOST, PEERS_ARKODE };
/* Returns Boost's library or SUNDIALS' (PEERS_ARKODE), from peers/ beside the program; NULL, with a reason in error_text, where `make
 * peers` was not run or built another version. */
const PeerLibrary *peers_library(int which);

/* A pair of another library with its controller. */
typedef struct {
    const char *name, *method; /* its name in tables; its name in the library */
    int library;
    int order,
        estimate_order; /* of the solution it continues, and q as in theory_embedded; -1: they vary */
    int dense;          /* it takes a matrix with a row for each coordinate */
    size_t evals;       /* of the field in a step; 0: they vary */
} PeerPair;
const PeerPair *peers_pair(size_t i); /* NULL past the end; GSL's come first */

/* Works as adapt_run, by the peer's own norm and controller; o->first must be given. evals counts the field's operators
 * as adapt_run does. ERR_INPUT for a pair without its library. */
int peers_adapt(const PeerPair *pair, const System *s, const AdaptOptions *o, double *y,
                AdaptRun *out);

#endif
