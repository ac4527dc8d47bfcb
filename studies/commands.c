/* commands.c: the table of commands. */
#include "studies/base/command.h"

#define X(name) &command_##name,
const Command *const command_table[] = {COMMANDS(X) NULL};
