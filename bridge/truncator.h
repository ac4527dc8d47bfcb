/* truncator.h: shared by the parts of the truncation error. Private to bridge/.
 *
 *   truncation.c          one scheme in one layer of one sentence
 *   truncation_scheme.c   schemes prepared for measuring
 *   truncation_carried.c  what the network carries, and what is carried on the exact flow
 *   truncation_flow.c     the exact flow at the times that a scheme asks for
 *   truncation_terms.c    the leading terms of the error
 *   truncation_summary.c  medians over sentences and layers
 */
#ifndef TROTTER_TRUNCATOR_H
#define TROTTER_TRUNCATOR_H

#include <limits.h>

#include <math.h>

#include "bridge/layer_field.h"
#include "bridge/truncation.h"

/* A scheme, prepared once for all layers and sentences. */
typedef struct {
    const Table *scheme; /* as given */
    Table *table;        /* frozen; with FIELD_LAYER over F alone, which stands for L */
    int network;         /* 1: the model's own scheme, with learned coefficients */
    int own;             /* 1: it reads each set of the layer by itself, and there are several */
    char one;            /* name of the colour if one is enough: H or L; else 0 */
    int order;           /* for this field; -1: state weights do not sum to 1 */
    Forest *forest;      /* up to order + 1; NULL: no leading terms */
    double *coefficient; /* (forest->count) coefficients of the leading terms */
    double *pair;        /* own: (colours, colours) coefficients of x'y; else NULL */
    size_t colours;
} Scheme;

/* The exact flow as one scheme needs it: for every step h_j the states at 0, h_j, 2 h_j, .. The step that is measured
 * begins at the state `history`, with those before it as its past, and ends at the next, the last. */
typedef struct {
    double weight[COLOURS];
    int history;
    double *y;        /* (points, history + 2, N) */
    int *missing;     /* (points) */
    double agreement; /* difference of the two integrators */
} ExactFlow;

/* Elementary differentials of a layer's field at the state where its steps begin. */
typedef struct {
    int order, one;
    Forest *forest;
    Differentials found;
} Kept;

struct Truncator {
    Model *model;
    const Table *trained;
    TruncationOptions options;
    size_t points, layers, schemes;
    int colours;    /* colours of the field: 2; 3 for a decoder's layer */
    Scheme *scheme; /* (schemes) */
    LayerField *field;
    LayerOf of;
    size_t n, N;
    double *states[SIDES],
        *memory;     /* states of either side (layers + 1, n d); memory of cross-attention */
    double *state;   /* the measured side's (layers + 1, N) */
    double *carried; /* and what enters its layers beside y (layers, carries, N) */
    int layer;       /* layer of `flow` and `kept` */
    size_t flows, keeps;
    ExactFlow *flow;
    Watch watch; /* progress of the flows' system */
    double solved, solving,
        wanted; /* time along the exact flows: solved, being solved, all for this scheme */
    Kept *kept;
    double *error, *leading; /* (points, N), (N) scratch */
};

/* truncation_scheme.c. Finds a scheme in the cache or prepares it; borrowed until the next one is prepared. */
int scheme_find(Truncator *u, const Table *scheme, const Scheme **out);
void scheme_free(Scheme *s);

/* truncation_flow.c. flow_find finds a flow in the cache or solves it; borrowed until the next sentence or layer. flow_time returns the
 * time it covers. */
double flow_time(int history);
int flow_find(Truncator *u, const double weight[COLOURS], int history, const ExactFlow **out);
const double *flow_state(const Truncator *u, const ExactFlow *f, size_t point, int row);
void flow_free(ExactFlow *f);

/* truncation_carried.c. Compares what the network carries into the layer with what its updates make on the exact flow. */
int carried_find(Truncator *u, const Scheme *s, Truncation *t);

/* truncation_terms.c. Computes leading (N), the sum of coefficient * differential at y; *accuracy is relative. Names
 * and sizes go into t, sizes divided by `displacement`. *told = 0: there are no terms. */
int terms_find(Truncator *u, const Scheme *s, const double *y, double displacement, Truncation *t,
               double *accuracy, int *told);
/* Finds the coefficients of x'y where sets differ; *differ: some is not zero. */
int sets_prepare(Scheme *s, int *differ);
/* Gives the slope of evaluation e the number map[e], or takes it out of the row. */
enum { ROW_DROPS = INT_MIN };
void row_map(const int *map, Row *r);

#endif
