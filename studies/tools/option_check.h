/* option_check.h: the text of an option's value, for option.c alone. */
#ifndef TROTTER_OPTION_CHECK_H
#define TROTTER_OPTION_CHECK_H

#include "studies/tools/option.h"

/* Returns 1 where text is a value of p; words: what is expected, in the form that stands behind "NAME: ". */
int option_check(const Option *p, const char *text, char *words, size_t bytes);

/* Writes the i-th part of "a,b,c"; returns 0 past the end, or where the part is longer than 31 bytes. */
int option_part(const char *text, size_t i, char out[32]);
/* Returns 1 where a flag's text is yes, true or 1. */
int option_yes(const char *text);

#endif
