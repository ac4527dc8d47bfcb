/* peers.h: integrators of other libraries on the field of a particle system: GSL's odeiv2, and Boost's odeint where
 * `make peers` has built it. */
#ifndef TROTTER_PEERS_H
#define TROTTER_PEERS_H

#include "ode/ode.h"
#include "studies/measure/peer.h"

/* The arg of a problem whose field is peers_field. */
typedef struct {
    const System *system;
    double *scratch; /* (N) */
    size_t calls;    /* of the field */
} PeerField;

/* F + G, of a decoder's field + C: in one where the system has that, as Trotter's stepper takes it; else by parts and a
 * sum. */
void peers_field(double t, const double *y, double *dy, void *field);

/* Boost's, from peers/boost_ode.so beside the program; NULL, with a reason in error_text, where
 * `make peers` was not run. */
const PeerLibrary *peers_boost(void);

/* A pair of another library with its controller. */
typedef struct {
    const char *name, *method; /* as tables have it; as the library calls it */
    int boost;                 /* 0: GSL's */
    int order,
        estimate_order; /* of what it goes on with, and q as of theory_embedded; -1: it changes them */
} PeerPair;
const PeerPair *peers_pair(size_t i); /* NULL past the end; GSL's come first */

/* As adapt_run, by the peer's own norm and controller; o->first is needed. evals: of the field's operators, as adapt_run
 * counts them. A pair of Boost's without its library: ERR_INPUT. */
int peers_adapt(const PeerPair *pair, const System *s, const AdaptOptions *o, double *y,
                AdaptRun *out);

#endif
