/* formula.h: the program's own notation of formulas as MathML. */
#ifndef TROTTER_FORMULA_H
#define TROTTER_FORMULA_H

#include <stdio.h>

/* <math> of "F''(F,G'F)", "[F,[F,G]]", "-1/24", "O(h^(p+1))", "G'F − F'G", "h·λ_F": a letter is a variable, digits or '_'
 * behind it its index, ' its derivative, ^ a power of a letter, a word, a number or what stands in brackets; p/q of whole
 * numbers is a fraction, several letters are a word. What is none of these is set as it is, so any text is safe. Its
 * alttext is the text itself. What is longer than any formula of the program (FORMULA_MOST bytes) becomes text. */
enum { FORMULA_MOST = 400 };
void formula_put(FILE *f, const char *text);

#endif
