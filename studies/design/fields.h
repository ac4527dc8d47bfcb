/* fields.h: the layers of a trained model as vector fields, each at the state that enters it on a real sentence.
 *
 *   error of a scheme = median over sentences and layers of  RMS(S(1) x - flow(1) x) / RMS(flow(1) x - x)
 *
 * as `trotter truncation` has it for schemes of one step: S a step of h = 1 on y' = F + G of the layer, x the state that
 * enters it. The flows are solved once, and the Jacobians of growth.h are taken once.
 */
#ifndef TROTTER_DESIGN_FIELDS_H
#define TROTTER_DESIGN_FIELDS_H

#include "studies/design/growth.h"
#include "studies/measure/sentences.h"
#include "studies/model/trained.h"

typedef struct {
    Network network;
    Text text;
    Drawn drawn;
    size_t count;         /* sentences times layers */
    System **system;      /* (count) initial: x */
    double **end;         /* (count) flow(1) x, (n, d) */
    double *displacement; /* (count) RMS of flow(1) x - x */
    double *relative;     /* (count) work */
    Growth growth;        /* of these layers; of no layer where `no_growth` says why */
    const char *no_growth;
} Fields;

typedef struct {
    const char *model, *text;
    size_t sentences, tokens; /* tokens 0: as many as the model was trained on */
    uint64_t seed;
    size_t threads;
} FieldsChoice;

/* A language model with one attention and one feed-forward set a layer, no word; another: ERR_INPUT. Caller: fields_close in
 * any case. */
int fields_open(const FieldsChoice *c, Fields *out);
void fields_close(Fields *f);
/* A frozen table of stages. History, sets that the layers lack: ERR_INPUT; a step that is not finite: ERR_ACCURACY. */
int fields_error(Fields *f, const Table *t, double *error);
/* The same of the growth; where there is none: ERR_INPUT with no_growth. */
int fields_growth(Fields *f, const Table *t, double *growth);

#endif
