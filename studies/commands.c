/* commands.c: the table of commands. */
#include "studies/commands.h"

#define X(name) &command_##name,
const Command *const command_table[] = {COMMANDS(X) NULL};

__attribute__((constructor)) static void tell_all(void)
{
    command_all = command_table;
}
