/* derivation_pen.h: the lines of a derivation while they are written; private to derivation*.c. */
#ifndef TROTTER_DERIVATION_PEN_H
#define TROTTER_DERIVATION_PEN_H

#include "studies/theory/derivation.h"

/* ---- derivation_lines.c */

typedef struct {
    Derivation *d;
    const char *left;
    FILE *f;
    char *text;
    size_t bytes;
} Pen;

void pen_open(Pen *p, Derivation *d,
              const char *left); /* p must not move until pen_close; left is borrowed */
/* Adds a piece that is not broken; where the line is full, it begins the next one. */
void pen_put(Pen *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pen_break(Pen *p);                   /* ends the line; the next has no left side */
void pen_close(Pen *p, const char *note); /* ends the last line */

/* ---- derivation_terms.c */

enum { NUMBER = 64, NAME = 96 };

/* Returns whether a coefficient is zero, or in a table of decimals only rounding. */
int pen_zero(const DerivationField *of, const mpq_t c);
/* Write to out: |c|, as a decimal of few digits where the table has decimals or the fraction is long; c with its sign; |c|
 * before a term, "1/2 " or "" for 1. Return out. */
const char *pen_size(const DerivationField *of, const mpq_t c, char out[NUMBER]);
const char *pen_number(const DerivationField *of, const mpq_t c, char out[NUMBER]);
const char *pen_factor(const DerivationField *of, const mpq_t c, char out[NUMBER]);
/* Writes a power of h before a term: "", "h ", "h^2 ". */
const char *pen_power(int power, char out[16]);
/* pen_find: the factor of a tree's elementary differential; 0 where it is zero, or the differential is. pen_name: its name. */
int pen_find(const DerivationField *of, const Series *s, size_t tree, mpq_t out);
void pen_name(const DerivationField *of, size_t tree, char out[NAME]);
/* Writes op(at) by Taylor: "F + F'D + 1/2 F''(D,D)", with derivatives up to `most`. */
void pen_taylor(Pen *p, char op, int most);
/* Writes a line of a scheme's text: a blank for each '*', few digits of long decimals, broken before + and -. */
void pen_written(Pen *pen, const char *line);

/* Terms of one power, which stand in brackets where there are several. */
typedef struct {
    Pen *pen;
    int power, terms, open, begun;
} Powers;

/* Begin the terms of a power, of which there are `terms` (sign -1: a single one is negative), add one, and end them. */
void powers_begin(Powers *p, int power, int terms, int sign);
void powers_add(Powers *p, const char *factor, int negative, const char *name);
void powers_end(Powers *p);

#endif
