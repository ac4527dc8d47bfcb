/* manual.h: the commands' table as man pages and as a bash completion. */
#ifndef TROTTER_MANUAL_H
#define TROTTER_MANUAL_H

#include <stdio.h>

#include "studies/tools/command.h"

/* trotter(1): the list of the commands of the table, which NULL ends. */
void manual_overview(const Command *const *table, FILE *f);

/* trotter-NAME(1): what `trotter NAME --help` says. The table's other commands that it speaks of stand under SEE ALSO. */
void manual_page(const Command *c, const Command *const *table, FILE *f);

/* A script for bash: commands, a command's options, an option's values where the table has them. */
void manual_completion(const Command *const *table, FILE *f);

#endif
