/* fields.h: the layers of a trained model as vector fields, each at the state that enters it on a real sentence.
 *
 *   error of a scheme = median over sentences and layers of  RMS(S(1) x - flow(1) x) / RMS(flow(1) x - x)
 *
 * as `trotter truncation` defines it for schemes of one step: S is a step of h = 1 on y' = F + G of the layer, and x is
 * the state that enters it. The flows are solved once, and the Jacobians of growth.h are taken once.
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
    Growth growth;        /* growth of these layers; of none where `no_growth` gives a reason */
    const char *no_growth;
} Fields;

typedef struct {
    const char *model, *text;
    size_t sentences, tokens; /* tokens 0: the model's sequence length */
    uint64_t seed;
    size_t threads;
} FieldsChoice;

/* Opens a language model with one attention and one feed-forward set a layer and no word. ERR_INPUT: another model.
 * Caller: fields_close in any case. */
int fields_open(const FieldsChoice *c, Fields *out);
void fields_close(Fields *f);
/* Finds the error of a frozen table of stages. ERR_INPUT: history, sets that the layers lack; ERR_ACCURACY: a
 * step that is not finite. */
int fields_error(Fields *f, const Table *t, double *error);
/* Finds the growth in the same way. ERR_INPUT with the words of no_growth where there is none. */
int fields_growth(Fields *f, const Table *t, double *growth);

#endif
