/* search.h: the coefficients of a form that make an objective least, and simple fractions near them.
 *
 * Every point the simplex tries is put where the order conditions hold (form_project) before the objective is looked at, so
 * no weight of a penalty has to be chosen. Nelder, Mead 1965, as GSL has it (nmsimplex2), from several starts, begun again
 * where it came to rest until that gains nothing. A function of its options: the same again gives the same.
 */
#ifndef TROTTER_DESIGN_SEARCH_H
#define TROTTER_DESIGN_SEARCH_H

#include <stdint.h>

#include "studies/design/objective.h"

typedef struct {
    const Objective *objective;
    size_t starts; /* the form's own values, and draws about them */
    /* Of the objective, shared by the starts, which finish a step of the simplex; rounding takes more. */
    size_t evaluations;
    uint64_t seed;
    Fields *fields;           /* borrowed; NULL: none */
    double within;            /* coefficients stay in [-within, within] */
    double rise;              /* rounding may worsen the figure by this share */
    const volatile int *stop; /* set by a signal handler: ends with the best so far; NULL: none */
} SearchOptions;

/* A gain of a start. */
typedef struct {
    size_t start, evaluation; /* from 0; from 1, of all starts */
    double best;              /* figure of the objective, of this start so far */
} SearchPoint;

typedef struct {
    double *x;                 /* (n) the best point; the order conditions hold to 1e-13 */
    double figure;             /* its objective's */
    size_t start, evaluations; /* all of them, */
    size_t searched;           /* and those before rounding */
    size_t points;
    SearchPoint *point;
    mpq_t *rounded; /* (n) */
    int decimal;    /* 1: some of these are decimals, as no fraction was found */
    size_t n;
} Search;

/* ERR_ACCURACY with words where no start reaches the order, ERR_INTERRUPTED where *stop came before one did. Caller:
 * search_free in any case. */
int search_run(Form *f, const SearchOptions *o, Search *out);
/* Fills `rounded` from x: the smallest denominators up to 64 one after another, the others put back where the conditions
 * hold; those that are then decided are read as fractions. Where some are none, once more in the order of the text.
 * Decimals where the order does not hold exactly so, or *stop is set. */
int search_round(Form *f, const SearchOptions *o, Search *s);
void search_free(Search *s);

#endif
