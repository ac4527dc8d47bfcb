/* claims_expansion.h: map - minus as a series in h, for the checks of claims.
 *
 * Exactly: two maps' series in rationals, tree by tree. By numbers: both maps on the sine field, whose
 * predicted terms are known vectors; what is left after subtracting them must fall with the next power
 * of h, and must not when one coefficient is spoilt.
 */
#ifndef TROTTER_CLAIMS_EXPANSION_H
#define TROTTER_CLAIMS_EXPANSION_H

#include "studies/verify/claims.h"

static const double claim_near = 0.25; /* slopes are compared with whole numbers */

/* A slope as printed: no "-0.00". */
static inline double claim_slope(double slope)
{
    return slope > -0.005 && slope < 0 ? 0 : slope;
}

typedef struct {
    int open; /* 0: nothing to close */
    Map map, minus;
    int has_minus;
    int one_field;       /* G = 0: only trees of F count */
    const char *letters; /* of the terms: "FG", "FGC"; "F" or "H" of one field; borrowed */
    int degree;
    Forest *forest;       /* one degree more */
    mpq_t *want, *have;   /* (forest->count) before h^|t| F(t): as stated, as it is */
    mpq_t want_y, have_y; /* before h^0 y */
    int expands;          /* 0: no expansion about y */
    int coarsest; /* -log2 of the longest step measured; a word of 3F + 3G takes shorter ones */
    Sine sine;
} Expansion;

/* minus may be NULL: 0. field: "F" for one field, "H" for one of maps whose stages are all H, else "F+G"; borrowed. Caller:
 * expansion_close. */
int expansion_open(const Zoo *z, const char *map, const char *minus, int degree, const char *field,
                   Expansion *x);
void expansion_close(Expansion *x);

/* want += "1/2 G'F; -1/2 F'G + 1 y", of orders up to the degree; ERR_INPUT. */
int expansion_terms(Expansion *x, const char *terms);
int expansion_name(const Expansion *x, size_t tree, char *out, size_t bytes); /* in its letters */
int expansion_counts(const Expansion *x, size_t tree); /* 1: a tree of the field */
int expansion_is_zero(const mpq_t q);                  /* or rounding of irrational tables */

/* n zeros, or NULL; each to be cleared, the list by memory_free. */
mpq_t *expansion_rationals(size_t n);

/* Are the trees of an order as in want (NULL: zero)? All through the degree? */
int expansion_met(const Expansion *x, int order, mpq_t *want);
int expansion_as_wanted(const Expansion *x);

/* All non-zero terms through the degree, or else the first behind it, into the derivation. */
int expansion_derive(const Expansion *x, const char *map, Finding *f);
/* have - want in words: the lowest order that has any, eight terms at most. */
void expansion_say(const Expansion *x, Finding *f);

/* Slope in h of what want leaves, and of a control with a coefficient of h^degree spoilt. */
int expansion_measure(const Expansion *x, int degree, double *slope, double *control);

#endif
