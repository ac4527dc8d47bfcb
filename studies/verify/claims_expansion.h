/* claims_expansion.h: map - minus as a series in h, for the checks of claims.
 *
 * Two answers are compared. The exact one is the two maps' series in rationals, tree by tree. The numerical one runs
 * both maps on the sine field, whose predicted terms are known vectors. The remainder after subtracting them must fall
 * with the next power of h, and must not when one coefficient is spoilt.
 */
#ifndef TROTTER_CLAIMS_EXPANSION_H
#define TROTTER_CLAIMS_EXPANSION_H

#include "studies/verify/claims.h"

static const double claim_near = 0.25; /* slopes are compared with whole numbers */

/* Returns a slope as it is printed, without "-0.00". */
static inline double claim_slope(double slope)
{
    return slope > -0.005 && slope < 0 ? 0 : slope;
}

typedef struct {
    int open; /* 0: nothing to close */
    Map map, minus;
    int has_minus;
    int one_field;       /* 1: G = 0, so only trees of F count */
    const char *letters; /* letters: "FG", "FGC"; "F" or "H" for one field; borrowed */
    int degree;
    Forest *forest;       /* trees of one degree more */
    mpq_t *want, *have;   /* (forest->count) factors of h^|t| F(t): as stated, as they are */
    mpq_t want_y, have_y; /* factors of h^0 y */
    int expands;          /* 0: no expansion about y */
    int coarsest; /* -log2 of the longest step measured; a word of 3F + 3G takes shorter steps */
    Sine sine;
} Expansion;

/* Opens map - minus. minus NULL: 0. field: "F" for one field, "H" for one field of maps whose stages are all H, else
 * "F+G"; borrowed. Caller: expansion_close. */
int expansion_open(const Zoo *z, const char *map, const char *minus, int degree, const char *field,
                   Expansion *x);
void expansion_close(Expansion *x);

/* Adds terms such as "1/2 G'F; -1/2 F'G + 1 y", of orders up to the degree, to want. ERR_INPUT. */
int expansion_terms(Expansion *x, const char *terms);
int expansion_name(const Expansion *x, size_t tree, char *out, size_t bytes); /* writes the tree
                                                                               * in the letters */
int expansion_counts(const Expansion *x, size_t tree); /* 1: the tree is one of the field */
int expansion_is_zero(const mpq_t q);                  /* or only rounding, for irrational tables */

/* Returns n zeros, or NULL. The caller clears each and frees the list with memory_free. */
mpq_t *expansion_rationals(size_t n);

/* expansion_met: are the trees of this order as in want (NULL: zero)? expansion_as_wanted:
 * are all through the degree? */
int expansion_met(const Expansion *x, int order, mpq_t *want);
int expansion_as_wanted(const Expansion *x);

/* Adds all non-zero terms through the degree, or else those of the first order after it, to the derivation. */
int expansion_derive(const Expansion *x, const char *map, Finding *f);
/* Writes have - want in words: the lowest order that has any, at most eight terms. */
void expansion_say(const Expansion *x, Finding *f);

/* Measures the slope in h of the remainder after want, and of a control with one coefficient of h^degree spoilt. */
int expansion_measure(const Expansion *x, int degree, double *slope, double *control);

#endif
