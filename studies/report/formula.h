/* formula.h: turns the program's notation of formulas into MathML. */
#ifndef TROTTER_FORMULA_H
#define TROTTER_FORMULA_H

#include <stdio.h>

/* Writes a formula as <math>: "F''(F,G'F)", "[F,[F,G]]", "-1/24", "O(h^(p+1))", "G'F − F'G", "h·λ_F". A letter is a
 * variable, digits or '_' after it are its index, ' is its derivative, ^ is a power of a letter, a word, a number
 * or a bracket. p/q of whole numbers is a fraction; several letters are a word. Anything else is set as it is, so
 * any text is safe. The alttext is the text itself. A text longer than any formula of the program (FORMULA_MOST
 * bytes) is written as text. */
enum { FORMULA_MOST = 400 };
void formula_put(FILE *f, const char *text);

#endif
