/* peer.h: something whose speed is measured: a stepper of Trotter or of another library, all on the
 * same field of the same system. C and C++.
 */
#ifndef TROTTER_PEER_H
#define TROTTER_PEER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    size_t N;              /* coordinates */
    const double *initial; /* (N) */
    double h;
    void (*field)(double t, const double *y, double *dy, void *arg); /* F + G, counted */
    void *arg;
} PeerProblem;

typedef struct {
    const char *name;
    /* A run of `method` from the initial state, which borrows the problem; NULL: the method is
     * unknown or memory is short. */
    void *(*open)(const char *method, const PeerProblem *p);
    int (*steps)(void *run, size_t count); /* 0, or a code as in kernels/error.h */
    void (*close)(void *run);
    void (*tell)(void *run, double *calls, double *moved); /* as in Contender (bench.h); or NULL */
} Peer;

/* What build/peers/boost_ode.so exports, found by dlsym. */
enum { PEER_VERSION = 1 };
typedef struct {
    int version;
    Peer peer;
} PeerLibrary;
#define PEER_SYMBOL "peer_library"

#ifdef __cplusplus
}
#endif
#endif
