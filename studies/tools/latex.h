/* latex.h: texts and numbers in LaTeX's running text. */
#ifndef TROTTER_LATEX_H
#define TROTTER_LATEX_H

#include <stddef.h>
#include <stdio.h>

/* The first character of a text for LaTeX, for which no character is special then: it needs no package and no
 * particular encoding of fonts. A control character becomes a blank. Returns its bytes. */
size_t latex_character(const char *text, FILE *f);
/* All of them. */
void latex_text(FILE *f, const char *text);
/* A number as papers set it: -1.5e-07 with a minus sign and a power of ten, inf as a sign. Other texts as latex_text. */
void latex_number(FILE *f, const char *text);
/* An upper bound of the width of either in thousandths of the font's size, for 10 points of Computer Modern. */
size_t latex_width(const char *text, int number);

#endif
