/* peer.h: an integrator of another library, on the field of a particle system; studies/solve has it take steps by
 * tolerance. C and C++. */
#ifndef TROTTER_PEER_H
#define TROTTER_PEER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    size_t N;                                                        /* coordinates */
    const double *initial;                                           /* (N) */
    void (*field)(double t, const double *y, double *dy, void *arg); /* F + G, counted */
    void *arg;
    long band; /* entries of its derivative are as near to the diagonal; -1: they are anywhere */
} PeerProblem;

/* A run by tolerance, from the initial state at time 0. The library compares steps with absolute + relative |y|, in its
 * own norm and by its own controller. */
typedef struct {
    double absolute, relative, t_end, first;
    size_t most; /* steps, rejected ones included */
} PeerTolerance;

enum { PEER_DONE, PEER_FAILED, PEER_STEPS }; /* PEER_STEPS: `most` were taken */
typedef struct {
    int outcome;
    size_t steps, rejected;
} PeerRun;

/* The record that build/peers/boost_ode.so and arkode.so export; dlsym finds it. */
enum { PEER_VERSION = 5 };
typedef struct {
    int version;
    /* Runs a method; y (N) out. Returns 0, or a code as in kernels/base/error.h. Methods of Boost: cash-karp, dopri5,
     * fehlberg78; of ARKODE: erk, dirk; of CVODE, in the same library: bdf. */
    int (*adapt)(const char *method, const PeerProblem *p, const PeerTolerance *o, double *y,
                 PeerRun *out);
} PeerLibrary;
#define PEER_SYMBOL "peer_library"

#ifdef __cplusplus
}
#endif
#endif
