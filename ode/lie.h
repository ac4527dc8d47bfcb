/* lie.h: polynomials in words over {F, G} and their Lie elements; private to bracket.c, effective.c.
 *
 * Words of length n are numbered 2^n - 1 + (bits, first letter highest, G = 1); 0 is the empty word. So
 * numbers rise with length, and lexicographically within one.
 */
#ifndef TROTTER_LIE_H
#define TROTTER_LIE_H

#include <gmp.h>
#include <stddef.h>

#include "ode/ode.h"

/* sum c[w] w over words of length 0 .. max. */
typedef struct {
    int max;
    mpq_t *c;
} Words;

size_t lie_count(int max); /* words of length 0 .. max */
int lie_length(size_t w);
void lie_letters(size_t w, char *out); /* out (length + 1) */

int lie_new(int max, Words *p); /* zero; ERR_MEMORY */
void lie_free(Words *p);        /* a zeroed struct is allowed */
void lie_copy(Words *to, const Words *from);
/* out = a b, cut at length out->max; out != a, b. */
void lie_multiply(Words *out, const Words *a, const Words *b);
/* e = exp(c letter), letter OP_F or OP_G. */
void lie_exp_letter(Words *e, int letter, const mpq_t c);
/* p without an empty word := exp(p); p beginning with 1 := log(p). */
int lie_exp(Words *p);
int lie_log(Words *p);
/* p = the step of a table of flows: the product of exp(c F), exp(c G) in time order. */
int lie_step(const Table *t, Words *p);

/* Is the word smaller than all its proper suffixes? */
int lyndon_is(size_t w);
/* The bracket of a Lyndon word: [F,[F,G]]. */
void lyndon_name(size_t w, char *out, size_t bytes);
/* p -= c * (the bracket of the Lyndon word, expanded). */
void lyndon_subtract(Words *p, size_t w, const mpq_t c);

#endif
