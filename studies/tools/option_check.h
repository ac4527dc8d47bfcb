/* option_check.h: the text of an option's value, for option.c alone. */
#ifndef TROTTER_OPTION_CHECK_H
#define TROTTER_OPTION_CHECK_H

#include "studies/tools/option.h"

/* Whether text is a value of p; words: what is expected, as said behind "NAME: ". */
int option_check(const Option *p, const char *text, char *words, size_t bytes);

/* Bytes that a text like 512M tells; 0: none. */
size_t option_bytes(const char *text);
/* The i-th part of "a,b,c"; 0 past the end, or where it is longer than 31 bytes. */
int option_part(const char *text, size_t i, char out[32]);
/* A flag's text: 1 for yes, true and 1. */
int option_yes(const char *text);

#endif
