/* truncator.h: what the parts of the truncation error share. Private to bridge/.
 *
 *   truncation.c          one scheme in one layer of one sentence
 *   truncation_scheme.c   schemes made ready
 *   truncation_flow.c     the exact flow at the times that a scheme asks for
 *   truncation_terms.c    the leading terms of the error
 *   truncation_sets.c     those of a scheme that reads different sets by themselves
 *   truncation_summary.c  medians over sentences and layers
 */
#ifndef TROTTER_TRUNCATOR_H
#define TROTTER_TRUNCATOR_H

#include <math.h>

#include "bridge/layer_field.h"
#include "bridge/truncation.h"

/* A scheme made ready once for all layers and sentences. */
typedef struct {
    const Table *scheme; /* as given */
    Table *table;        /* frozen; of FIELD_LAYER over F alone, which stands for L */
    int network;         /* the model's own scheme, and it has learned coefficients */
    int own;             /* reads the layer's sets by themselves, and there are several */
    char one;            /* one colour tells all, and its name: H or L; else 0 */
    int order;           /* for this field; -1: state weights do not sum to 1 */
    Forest *forest;      /* up to order + 1; NULL: no leading terms */
    double *coefficient; /* (forest->count) of the leading terms */
    double *pair;        /* own: (colours, colours) coefficients of x'y; else NULL */
    size_t colours;
} Scheme;

/* The exact flow as one scheme needs it: for every step h_j the states at the step's end, at its
 * beginning, and `history` steps before that, nearest first. */
typedef struct {
    double weight[COLOURS];
    int history;
    double *y;        /* (points, history + 2, N) */
    int *missing;     /* (points) */
    double agreement; /* of the two integrators */
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
    int colours;    /* of the field: 2, of a decoder's layer 3 */
    Scheme *scheme; /* (schemes) */
    LayerField *field;
    LayerOf of;
    size_t n, N;
    double *states[SIDES],
        *memory;   /* of either side (layers + 1, n d); what cross-attention reads */
    double *state; /* the measured side's (layers + 1, N) */
    int layer;     /* that flow and kept are of */
    size_t flows, keeps;
    ExactFlow *flow;
    Watch watch; /* of the flows' system */
    double solved, solving,
        wanted; /* time on the exact flows: done, in hand, all for this scheme */
    Kept *kept;
    double *error, *leading; /* (points, N), (N) scratch */
};

/* truncation_scheme.c: from the cache, or made ready now; borrowed until the next one is. */
int scheme_find(Truncator *u, const Table *scheme, const Scheme **out);
void scheme_free(Scheme *s);

/* truncation_flow.c: the system whose flow is exact, its operators so weighted. */
System *flow_system(Truncator *u, const double weight[COLOURS]);
/* From the cache, or solved now; borrowed until the next sentence or layer. flow_time: how much time that is. */
double flow_time(const Truncator *u, int history);
int flow_find(Truncator *u, const double weight[COLOURS], int history, const ExactFlow **out);
const double *flow_state(const Truncator *u, const ExactFlow *f, size_t point, int row);
void flow_free(ExactFlow *f);

/* truncation_terms.c: leading (N) out: the sum of coefficient * differential at y; *accuracy relative; names and sizes into
 * t, over `displacement`. *told = 0: nothing is told. */
int terms_find(Truncator *u, const Scheme *s, const double *y, double displacement, Truncation *t,
               double *accuracy, int *told);

/* truncation_sets.c: the coefficients of x'y where sets differ, and whether any is not zero. */
int sets_prepare(Scheme *s, int *differ);
int sets_find(Truncator *u, const Scheme *s, const double *y, double displacement, Truncation *t,
              double *accuracy);

/* Root mean square of x (N). */
static inline double truncation_rms(size_t N, const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < N; i++) sum += x[i] * x[i];
    return sqrt(sum / (double)N);
}

#endif
