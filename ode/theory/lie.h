/* lie.h: polynomials in words over {F, G}, or {F, C, G}, and their Lie elements; private to bracket.c,
 * effective.c and structure.c.
 *
 * Words are numbered by rising length, and within one as numbers whose digits are the letters in their order
 * F < C < G, the first letter highest; 0 is the empty word. */
#ifndef TROTTER_LIE_H
#define TROTTER_LIE_H

#include <gmp.h>
#include <stddef.h>

#include "ode/scheme/scheme.h"
#include "ode/theory/theory.h"

/* sum c[w] w over words of length 0 .. max in 2 or 3 letters. */
typedef struct {
    int letters, max;
    mpq_t *c;
} Words;

size_t lie_shorter(const Words *p, int n); /* number of words that have fewer than n letters */
size_t lie_count(const Words *p);          /* number of all words */
int lie_length(const Words *p, size_t w);
size_t lie_letter(const Words *p, int op); /* the word of one letter, a colour */

int lie_new(int letters, int max, Words *p); /* zero; ERR_MEMORY */
void lie_free(Words *p);                     /* a zeroed struct is allowed */
void lie_copy(Words *to, const Words *from);
/* Computes out = a b, cut at length out->max, all of the same letters; out != a, b. */
void lie_multiply(Words *out, const Words *a, const Words *b);
/* Computes out = a b - b a. */
int lie_bracket(Words *out, const Words *a, const Words *b);
/* Replace p: without an empty word by exp(p), beginning with 1 by log(p). */
int lie_exp(Words *p);
int lie_log(Words *p);
/* Computes p, a step of flows: the product of exp(c F), exp(c G), ... in time order. */
int lie_step(const Table *t, Words *p);

/* Returns whether the word is smaller than all its proper suffixes. */
int lyndon_is(const Words *p, size_t w);
/* Writes the bracket of a Lyndon word: [F,[F,G]]. */
void lyndon_name(const Words *p, size_t w, char *out, size_t bytes);
/* Subtracts c * (the bracket of the Lyndon word, expanded) from p. */
void lyndon_subtract(Words *p, size_t w, const mpq_t c);

#endif
