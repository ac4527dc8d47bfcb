/* objective.h: the objectives that a search minimises. */
#ifndef TROTTER_DESIGN_OBJECTIVE_H
#define TROTTER_DESIGN_OBJECTIVE_H

#include "studies/design/fields.h"
#include "studies/design/form.h"

/* The data of a figure besides the scheme. */
typedef struct {
    const Forest *forest; /* trees of order up to order + 1 */
    int order;
    Fields *fields; /* NULL: no model was given */
} Against;

typedef struct {
    const char *name;
    const char *words; /* the axis of a plot */
    double sign;       /* -1: the search minimises the negative figure */
    /* Gives the figure of a table without learned names. */
    int (*figure)(const Against *a, const Table *t, double *figure);
    int stages_over_H; /* 1: defined only where every stage is H */
    int in_layers;     /* 1: a figure of a model's layers */
} Objective;

/* Rows in the order of OBJECTIVES, which --objective takes; ended by a NULL name. */
extern const Objective objectives[];
#define OBJECTIVES "norm|norm-one-colour|real|imag|error|growth"

#endif
