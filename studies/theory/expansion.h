/* expansion.h: the error terms of a scheme as trees or brackets, or its modified equation, for tables and for
 * LaTeX. */
#ifndef TROTTER_EXPANSION_H
#define TROTTER_EXPANSION_H

#include <stdio.h>

#include "ode/ode.h"
#include "studies/base/sheet.h"

/* TREES: numerical - exact = sum c h^degree (elementary differential). BRACKETS: log(step)/h - (F + G)
 * = sum c h^(degree - 1) (bracket of `degree` letters), for splittings by exact flows. MODIFIED: log(step)/h
 * = sum c h^(degree - 1) (elementary differential), the field whose exact flow the step is, of one-step schemes. */
enum { BASIS_TREES, BASIS_BRACKETS, BASIS_MODIFIED };
enum { EXPANSION_NAME = 80 };

typedef struct {
    int degree;
    char name[EXPANSION_NAME];
    mpq_t c;
} ExpansionTerm;

typedef struct {
    Table *table; /* frozen copy, owned */
    int basis, degree;
    int one; /* 1: terms of H alone */
    size_t count;
    ExpansionTerm *term; /* terms that are not zero, by degree */
    char warning[512];   /* why there are no terms, or one of h^0, or whose they are; "" */
} Expansion;

/* Finds the terms. one: for a scheme whose stages are all H = F + G, the fields are not distinguished; its terms are
 * H's, the trees of one colour. Another scheme with one: ERR_INPUT. degree 0: one more than the scheme's order. For a
 * stage without expansion about y it sets the warning and leaves no terms. ERR_INPUT for brackets of a scheme that is
 * not of flows, the modified equation of one with history, a degree too high. */
int expansion_find(const Table *scheme, int basis, int degree, int one, Expansion *out);
void expansion_free(Expansion *e);

/* Columns of expand.csv; expansion_report adds the terms as its rows. */
extern const Column expansion_columns[];
void expansion_report(const Expansion *e, Sheet *r);
/* Writes an align* of amsmath, after a comment that says what it is. Its lines fit an article's, and it may continue
 * over pages. */
int expansion_latex(const Expansion *e, FILE *f);

/* Writes a series about y as "y + 1/2 H - 3/4 H'H + ...", in trees of F as H where `one` is set. */
int expansion_words(const Table *t, const Forest *f, const Series *s, int one, char *out,
                    size_t bytes);
/* Writes c as "p/q", or with %.17g where the table is inexact. */
void expansion_number(const Table *t, const mpq_t c, char *out, size_t bytes);

#endif
