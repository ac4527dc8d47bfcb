/* notation.h: the notation of the program's formulas, what it means, and where formulas stand in prose. Formulas are texts,
 * "1/2 h^2 F''(F,G)"; formula_put (studies/page/report) sets them as MathML, latex_formula (latex.h) as LaTeX. */
#ifndef TROTTER_NOTATION_H
#define TROTTER_NOTATION_H

#include <stddef.h>
#include <stdio.h>

/* The page that defines it: a formula with its meaning, a row each, ended by zeros. In the words formulas stand between
 * dollars. */
typedef struct {
    const char *formula, *words;
} Notation;
extern const Notation notation[];

/* Writes the page for a terminal, or as LaTeX. */
void notation_print(int latex, FILE *f);

/* The next formula of a text: behind `words` bytes of prose; `bytes` 0: there is no more. */
typedef struct {
    size_t words, bytes;
    const char *formula, *behind;
} NotationPart;

/* Finds it: between dollars, or a run of letters, numbers and signs with a power, an index, a derivative or a commutator in
 * it, "numerical - exact = $h^2/2 (G'F - F'G)$". */
NotationPart notation_next(const char *text);
/* Writes prose for LaTeX, with its formulas between dollars. */
void notation_latex(FILE *f, const char *words);

#endif
