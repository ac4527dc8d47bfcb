/* compile.h: what compile.c, which goes through layers, and compile_rows.c, which writes the rows of a table, share. */
#ifndef TROTTER_BRIDGE_COMPILE_H
#define TROTTER_BRIDGE_COMPILE_H

#include "bridge/bridge.h"

typedef struct {
    Row row; /* row of the table, symbols included */
    int reg;
} Known;

typedef struct {
    const Table *table; /* table of the layer that is compiled */
    const BridgeOptions *options;
    Plan *plan;
    int side;   /* SIDE_TARGET or SIDE_SOURCE of the layers that are compiled */
    int memory; /* register that cross-attention reads, in a plan of two sides */
    int past;   /* 1: what the last layer carries is computed too */
    size_t inner;
    int substeps; /* steps a layer, of size 1 / substeps */
    int step;     /* the step that is compiled, counted over all layers */
    int *y;       /* (steps+1) register of the state entering a step */
    int *k;       /* (steps, evals) register of an evaluation */
    /* (steps+1, carries) register of a carried quantity entering a step; -1: it is 0 */
    int *carried;
    int *symbol; /* (symbols) scalar or gate index in this layer, -1: not yet */
    size_t known;
    Known *list;
    int draws;
    int products; /* some of the rows have terms with two symbols */
} Compiler;

/* Returns the layer whose weights a step reads. */
static inline int compile_layer(const Compiler *c)
{
    return c->step / c->substeps;
}

/* Returns the register of a row, which it writes where no earlier one is equal; below 0: an error's code. */
int compile_row(Compiler *c, const Row *r);
/* Writes the update of a scheme that reads every slope so far, and returns its register. */
int compile_dense(Compiler *c);
/* Makes a term of a row whose source was made in step `from`, with `element` of its learned vectors. A slope is the
 * step size times a sublayer's output. */
int compile_term(Compiler *c, const Term *s, int from, size_t element, PlanTerm *out);
/* Returns the current element of a learned vector: the last. */
size_t compile_present(const Compiler *c);
/* Returns where the register of a carried quantity is kept that enters a step. */
int *compile_carried_register(const Compiler *c, int step, int eval);
/* Computes difference = r - q. */
int compile_difference(const Row *r, const Row *q, Row *difference);
/* Tells whether a row is one state, carried quantity or slope, as it is. */
int compile_is_bare(const Row *r);
/* Forgets the rows that have registers; compile_forget the symbols too: another layer begins. */
void compile_forget_rows(Compiler *c);
void compile_forget(Compiler *c);

#endif
