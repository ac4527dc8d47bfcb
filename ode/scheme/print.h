/* print.h: the pieces of a scheme's text, for texts that are made of a table, and their way back into one. Private to
 * ode/scheme (print.c; over_operator.c, fixed_point.c, zoo.c, compose.c, butcher.c,
 * rosenbrock.c). */
#ifndef TROTTER_PRINT_H
#define TROTTER_PRINT_H

#include <stdio.h> /* before gmp.h, which declares gmp_fprintf only behind it */

#include "ode/scheme/table.h"

typedef struct Pen Pen;

/* The table being written, and what stands in its text for its own operators, states and slopes. */
struct Pen {
    const Table *t;
    FILE *f;
    int mark;          /* by which a reader of the text sees that it is inexact */
    int from, to;      /* the operator `from` is written as `to` */
    const char *state; /* what stands for y; "y" */
    /* Returns the number, from 1, of the slope of a stage, `past` steps ago; NULL: its own. */
    size_t (*number)(const Pen *pen, size_t stage, int past);
};

Pen print_pen(const Table *t, FILE *f);
/* Prints the lines before the body, with `behind` the title. */
void print_header(const Pen *pen, const char *behind);
/* Prints what stands before the stages: what is carried, and symbols that read no stage; returns the next symbol. */
size_t print_beginning(const Pen *pen);
/* Prints the line of stage i as that of slope k`number`. */
void print_stage(const Pen *pen, size_t number, size_t i);
void print_stages(const Pen *pen); /* the lines of symbols and stages */
/* Prints y' = ... and the error; behind > 0: a stage G at the new state, k`behind`, is added to it. */
void print_update(const Pen *pen, size_t behind);
void print_flows(const Pen *pen);

/* butcher.c: tableau_number writes an entry of a table's tableau, a fraction, or for an inexact table the shortest decimals
 * of the double: 0.2 stays 0.2. tableau_latex prints it for LaTeX: -1/2 as -\tfrac{1}{2}, 1e-07 as 1\cdot10^{-07}. */
enum { TABLEAU_ENTRY = 640 /* fractions of 300 digits */ };
typedef char TableauEntry[TABLEAU_ENTRY];
void tableau_number(const Table *t, const mpq_t q, TableauEntry out);
void tableau_latex(const char *entry, FILE *f);

/* scheme.c: reads the scheme that `write` writes of `of`; name is for messages. Caller frees. */
typedef int SchemeWriter(const void *of, FILE *f);
int scheme_written(const char *name, SchemeWriter *write, const void *of, Table **out);

#endif
