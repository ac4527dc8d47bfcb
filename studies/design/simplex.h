/* simplex.h: one descent over the coefficients that are not fixed, shared by search.c and round.c. */
#ifndef TROTTER_DESIGN_SIMPLEX_H
#define TROTTER_DESIGN_SIMPLEX_H

#include "studies/design/search.h"

typedef struct {
    Form *form; /* borrowed, as the next two */
    const SearchOptions *options;
    Search *search;             /* counts evaluations and keeps the gains */
    unsigned char *fixed;       /* (n) 1: stays at x */
    double *x;                  /* (n) in: where to begin; out: the best point */
    double *at, *asked, *least; /* (n) work */
    double best;                /* sign * figure at the best point; INFINITY: none yet */
    size_t start;
    int told; /* 1: gains are kept and shown */
    int code; /* a failure within the simplex */
} Simplex;

int simplex_new(Form *f, const SearchOptions *o, Search *s, Simplex *u); /* all zero, none fixed */
void simplex_free(Simplex *u);
int search_stopped(const SearchOptions *o);
/* Begins with steps of `size`; ends when search->evaluations is `most`. */
int simplex_run(Simplex *u, double size, size_t most);

/* *figure: the objective's figure at x, without the sign. ERR_ACCURACY: x out of bounds,
 * or the figure not finite. */
int objective_at(Form *f, const SearchOptions *o, const double *x, double *figure);

#endif
