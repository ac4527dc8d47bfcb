/* manual.h: writes the commands' table as man pages and as a bash completion. */
#ifndef TROTTER_MANUAL_H
#define TROTTER_MANUAL_H

#include <stdio.h>

#include "studies/base/command.h"

/* Writes trotter(1): the list of the commands of the table, which NULL ends. */
void manual_overview(const Command *const *table, FILE *f);

/* Writes trotter-NAME(1): the text of `trotter NAME --help`. Other commands of the table that it
 * mentions stand under SEE ALSO. */
void manual_page(const Command *c, const Command *const *table, FILE *f);

/* Writes trotter-systems(5): the language of system files. */
void manual_systems(FILE *f);

/* Writes a script for bash: commands, a command's options, an option's values where the table has them. */
void manual_completion(const Command *const *table, FILE *f);

#endif
