/* search.h: the coefficients of a form that minimise an objective, and simple fractions near them.
 *
 * Every point of the simplex is first moved to where the order conditions hold (form_project), so no weight of a
 * penalty has to be chosen. The method is that of Nelder, Mead 1965, in GSL's form (nmsimplex2), from several starts.
 * It is restarted from its last best point until that gains nothing. The result is a function of the options: the
 * same options give the same.
 */
#ifndef TROTTER_DESIGN_SEARCH_H
#define TROTTER_DESIGN_SEARCH_H

#include <stdint.h>

#include "studies/design/objective.h"

typedef struct {
    const Objective *objective;
    size_t starts; /* the form's own values, and random draws near them */
    /* Evaluations of the objective, shared by the starts, which finish a step of the simplex. Rounding takes more. */
    size_t evaluations;
    uint64_t seed;
    Fields *fields;           /* borrowed; NULL: none */
    double within;            /* coefficients stay in [-within, within] */
    double rise;              /* rounding may worsen the figure by this share */
    const volatile int *stop; /* set by a signal handler: ends with the best so far; NULL: none */
} SearchOptions;

/* One improvement within a start. */
typedef struct {
    size_t start, evaluation; /* from 0; from 1, of all starts */
    double best;              /* figure of the objective, the best of this start so far */
} SearchPoint;

typedef struct {
    double *x;                 /* (n) the best point; the order conditions hold to 1e-13 */
    double figure;             /* figure of the objective there */
    size_t start, evaluations; /* start of the best point; all evaluations */
    size_t searched;           /* evaluations before rounding */
    size_t points;
    SearchPoint *point;
    mpq_t *rounded; /* (n) */
    int decimal;    /* 1: some of these are decimals, as no fraction was found */
    size_t n;
} Search;

/* Runs the search. ERR_ACCURACY with words where no start reaches the order; ERR_INTERRUPTED where *stop came before
 * one did. Caller: search_free in any case. */
int search_run(Form *f, const SearchOptions *o, Search *out);
/* Fills `rounded` from x. It fixes coefficients at the smallest denominators up to 64, one after another, and each time
 * moves the others back to where the conditions hold. The coefficients that are then determined are read as fractions.
 * If some are no fractions, it tries once more in the order of the text. It writes decimals if the order still does not
 * hold exactly, or *stop is set. */
int search_round(Form *f, const SearchOptions *o, Search *s);
void search_free(Search *s);

#endif
