/* claims_net.h: small networks in double precision, for the checks of claims. */
#ifndef TROTTER_CLAIMS_NET_H
#define TROTTER_CLAIMS_NET_H

#include "bridge/bridge.h"
#include "studies/verify/claims.h"

enum { NET_WIDTH = 8, NET_TOKENS = 4, NET_N = NET_WIDTH * NET_TOKENS, NET_VOCAB = 9 };

typedef struct {
    const Backend *f64;
    Model *model;
    System *system; /* its sublayers, layer 0 until bridge_layer */
} Net;

/* Opens a model of a plan, which it takes over. The model has no positions, so r0 = sqrt(D)
 * E[tokens]; its output layer is untied. */
int net_open(Plan *plan, Net *n);
/* Opens a network of `layers` layers of a scheme, with its system. */
int net_scheme(const Table *t, size_t layers, Net *n);
void net_close(Net *n);

/* net_perturb adds a different random number to each parameter; net_shrink scales the
 * sublayers' last matrices. */
int net_perturb(Net *n);
int net_shrink(Net *n, double factor);

void net_start(double *y);                                           /* (N) out: a state */
void net_add(const double *x, double c, const double *v, double *y); /* y = x + c v; y may be x */

/* net_layer is the layer (12)-(13) of the Macaron paper. net_block is what the layer adds to x:
 * F of the ODE Transformer. */
typedef void Equations(const Net *n, const double *x, double *y);
Equations net_layer, net_block;

/* y = x + a F1 + b F2, F1 = f(x), F2 = f(x + F1): (12)-(14) and (23) of the ODE Transformer. */
void net_two_stages(const Net *n, Equations *f, double a, double b, const double *x, double *y);

#endif
