/* help.h: what a command's --help prints, filled to 80 columns, or to COLUMNS of the environment (40 .. 200). */
#ifndef TROTTER_HELP_H
#define TROTTER_HELP_H

#include "studies/base/command.h"

/* Prints what `word` asks for: HELP_SCREEN: purpose, the options that most people use and an example; "all": the whole
 * text and every option of the groups; another word: the options and the paragraphs that have it, in letters of either
 * case. ERR_INPUT where none has it. */
int help_print(const Command *c, const OptionGroup *const *groups, const char *word, FILE *f);

/* Writes the words beside an option: what it does, its default, whether it may be repeated, its other names. brief: the
 * first clause, without other names. */
void option_words(const Option *p, int brief, char words[OPTION_WORDS]);

#endif
