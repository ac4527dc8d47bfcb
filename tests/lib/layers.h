/* layers.h: small networks in double precision whose weights a test sets by name, and schemes for them. */
#ifndef TROTTER_TESTS_LAYERS_H
#define TROTTER_TESTS_LAYERS_H

#include "bridge/bridge.h"
#include "bridge/truncation.h"

enum { LAYERS_V = 5, LAYERS_TOKENS = 6 };

/* The zoo with schemes of two texts more, every one of "all" expanded by Euler's method, and the backend;
 * as setup and teardown of cmocka. */
extern Zoo layers_zoo;
extern Table **layers_scheme;
extern size_t layers_schemes;
int layers_open(void **state);
int layers_close(void **state);
Table *layers_find(const char *name); /* caller frees */

/* A model of a scheme: one head, inner width = width, sinusoids, no dropout. */
Model *layers_model(const Table *t, size_t layers, size_t width, int act);
/* n numbers of a tensor from the `at`-th on; all of them one value. No such tensor fails the test. */
void layers_put(Model *m, const char *name, size_t at, const double *x, size_t n);
void layers_fill(Model *m, const char *name, double value);
/* Rows row .. row + D - 1 of a (.., D) matrix := the identity. */
void layers_identity(Model *m, const char *name, size_t row, size_t D);
/* Adds size * N(0, 1) to every parameter. */
void layers_shake(Model *m, double size);
/* Sublayers that give zero. */
void layers_zero(Model *m);

/* The tokens of a sentence. */
extern const int32_t layers_token[LAYERS_TOKENS];
/* truncator_sentence of the first N of them. */
int layers_sentence(Truncator *u, size_t N, double *check);

#endif
