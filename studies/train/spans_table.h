/* spans_table.h: what spans the heads of a trained model learnt (nn/spans.c). */
#ifndef TROTTER_SPANS_TABLE_H
#define TROTTER_SPANS_TABLE_H

#include "studies/tools/sheet.h"
#include "nn/nn.h"

/* A line of words for each attention sublayer and one on all; nothing of a model without spans. */
int spans_tell(const Model *m);

/* Of a model with spans: DIR/spans.csv, a row a head, and the words. */
extern const Column span_columns[];
int spans_write(const Model *m, const char *dir);

#endif
