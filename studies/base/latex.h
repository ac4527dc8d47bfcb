/* latex.h: texts and numbers in LaTeX's running text. */
#ifndef TROTTER_LATEX_H
#define TROTTER_LATEX_H

#include <stddef.h>
#include <stdio.h>

/* Writes the first character of a text for LaTeX so that no character is special. It needs no package and no particular
 * encoding of fonts. A control character becomes a blank. Returns the number of bytes read. */
size_t latex_character(const char *text, FILE *f);
/* Writes all characters of a text so. */
void latex_text(FILE *f, const char *text);
/* Writes a number as papers set it: -1.5e-07 with a minus sign and a power of ten, inf as a sign; other texts as
 * latex_text does. */
void latex_number(FILE *f, const char *text);
/* Writes a formula in the program's notation (formula_put of `trotter report` has it) for LaTeX's mathematics: "1/2 h^2
 * F''(F,G)" as \tfrac{1}{2} h^{2} F''(F,G). A sum stands over the letters of the indices behind it: "sum b_i a_ij c_j" is
 * \sum_{i,j} b_{i} a_{ij} c_{j}. */
void latex_formula(FILE *f, const char *text);
/* Returns an upper bound of the width of a text or a number, in thousandths of the font's size, for 10 points of
 * Computer Modern. */
size_t latex_width(const char *text, int number);
/* Returns about the width of a formula as latex_formula sets it, in hundredths of an em of Computer Modern; an article's
 * line has 3450 at 10 pt. */
size_t latex_formula_width(const char *text);

#endif
