/* derivation.h: how the coefficients of a step's expansion come about, line by line, as a paper shows it: what is
 * substituted in each stage or flow, a line for each power of h, which terms cancel against the exact solution, what is
 * left. Lines are texts in the program's notation (studies/base/notation.h), from which the terminal, LaTeX and the MathML of
 * `trotter report` are made. */
#ifndef TROTTER_DERIVATION_H
#define TROTTER_DERIVATION_H

#include <stdio.h>

#include "ode/ode.h"
#include "studies/base/sheet.h"

/* One line: "k2 =", "h H + h^2 H'H". left is "" where the formula goes on. */
typedef struct {
    char *part, *left, *formula, *note;
} DerivationLine;

/* Begin with zeros; `code` is the first failure, which every function returns from then on. */
typedef struct {
    size_t count;
    DerivationLine *line;
    int code;
    char part[400]; /* of the lines that are added next */
    const char *of; /* what stands before every part, as "macaron: "; NULL: nothing; borrowed */
} Derivation;

void derivation_free(Derivation *d);

/* What the series of a derivation are of. */
typedef struct {
    const Forest *forest; /* with cuts where a table has flows or history */
    char one;             /* letter of the one field, as 'H'; 0: F and G are told apart */
    int special;          /* of the table: terms that vanish are left out */
    int exact;            /* 0: coefficients are decimals, and 1e-12 is 0 */
} DerivationField;

/* Adds the stages and the update of a frozen table, or its flows, one after another. step out: its series (series_free). */
int derivation_step(Derivation *d, const DerivationField *of, const Table *t, Series **step);
/* Adds the exact solution after theta h. */
int derivation_exact(Derivation *d, const DerivationField *of, const mpq_t theta,
                     mpq_t weight[COLOURS], Series **exact);
/* Adds a series: left is "y =", with y in it where `state` is set. */
void derivation_series(Derivation *d, const DerivationField *of, const char *left, const Series *s,
                       int state);
/* Adds a - b (NULL: 0) term by term, with what cancels. */
int derivation_less(Derivation *d, const DerivationField *of, const Series *a, const Series *b);
/* Adds all of this for a frozen table: step, exact solution, difference, through h^degree. */
int derivation_error(Derivation *d, const Table *t, int degree, char one);
/* Adds log(step)/h of flows in brackets of up to `degree` letters: a product with one flow more at a time (Baker,
 * Campbell, Hausdorff), then less the field. */
int derivation_brackets(Derivation *d, const Table *t, int degree);

/* Names the part that the next lines belong to. */
void derivation_part(Derivation *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Write the lines for a terminal, behind a margin, and as displays of amsmath that fit an article's page. */
void derivation_print(const Derivation *d, int margin, FILE *f);
void derivation_latex(const Derivation *d, FILE *f);
/* Adds them as rows of steps.csv; `of`: a scheme, or a claim. */
extern const Column derivation_columns[], derivation_claim_columns[];
void derivation_rows(const Derivation *d, const char *of, Sheet *r);

#endif
