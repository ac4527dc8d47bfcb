/* families.h: schemes whose names have a pattern, as word:sfsf or dial:2-1/2: a text in the language of schemes is written for
 * each, so that the language is the only way into a table. Private to ode/ (zoo.c). */
#ifndef TROTTER_FAMILIES_H
#define TROTTER_FAMILIES_H

#include <stddef.h>
#include <stdio.h>

enum { LOOPS_MAX = 64 }; /* largest number in such a name, letters apart */

/* Writes the text; *made = 0: the name has no such pattern. ERR_INPUT: no such name of a pattern. */
int made_write(const char *name, FILE *f, int *made);
/* Returns what is behind "word:" and its like; the name itself where it has no pattern. */
const char *made_rest(const char *name);
/* Returns where a comma stands between the two numbers of a name, as sandwich:N,K; 0: nowhere. */
size_t made_comma(const char *name);
/* Writes THETA of dial:S-THETA in lowest terms: dial:2-1/2 for dial:2-0.5. Others stay. */
void made_reduce(char *name, size_t room);
/* Reads digits alone, a number up to `most`, and moves *at behind them; -1: none. */
int made_number(const char **at, int most);
/* Returns ERR_INPUT for a name that is longer than any can be. */
int made_too_long(const char *name);

#endif
