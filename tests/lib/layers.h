/* layers.h: small networks in double precision whose weights a test sets by name, and schemes for them. */
#ifndef TROTTER_TESTS_LAYERS_H
#define TROTTER_TESTS_LAYERS_H

#include "bridge/bridge.h"
#include "bridge/truncation.h"

enum { LAYERS_V = 5, LAYERS_TOKENS = 6 };

/* The zoo and two more schemes of texts, with every scheme of "all" expanded by Euler's method, and the
 * backend. layers_open and layers_close are cmocka's setup and teardown. */
extern Zoo layers_zoo;
extern Table **layers_scheme;
extern size_t layers_schemes;
int layers_open(void **state);
int layers_close(void **state);
Table *layers_find(const char *name); /* caller frees */

/* Makes a model of a scheme: one head, inner width = width, sinusoids, no dropout. */
Model *layers_model(const Table *t, size_t layers, size_t width, int act);
/* Set n numbers of a tensor from the `at`-th on, or all of them to one value. The test fails where there
 * is no such tensor. */
void layers_put(Model *m, const char *name, size_t at, const double *x, size_t n);
void layers_fill(Model *m, const char *name, double value);
/* Sets rows row .. row + D - 1 of a (.., D) matrix to the identity. */
void layers_identity(Model *m, const char *name, size_t row, size_t D);
/* Adds size * N(0, 1) to every parameter. */
void layers_shake(Model *m, double size);
/* Makes the sublayers give zero. */
void layers_zero(Model *m);

/* Tokens of a sentence. */
extern const int32_t layers_token[LAYERS_TOKENS];
/* Calls truncator_sentence on the first N of them. */
int layers_sentence(Truncator *u, size_t N, double *check);

#endif
