/* spans_table.h: the attention spans that the heads of a trained model learnt (nn/model/spans.c). */
#ifndef TROTTER_SPANS_TABLE_H
#define TROTTER_SPANS_TABLE_H

#include "studies/tools/sheet.h"
#include "nn/nn.h"

/* Prints one line for each attention sublayer and one on all of them; does nothing
 * for a model without spans. */
int spans_tell(const Model *m);

/* Writes DIR/spans.csv with a row a head, and prints the same lines. The model has spans. */
extern const Column span_columns[];
int spans_write(const Model *m, const char *dir);

#endif
