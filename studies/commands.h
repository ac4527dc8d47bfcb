/* commands.h: all commands. To add one, write its name here. */
#ifndef TROTTER_COMMANDS_H
#define TROTTER_COMMANDS_H

#include "studies/base/command.h"

/* All commands, in the order of the overview. */
/* clang-format off */
#define COMMANDS(X)                                                                 \
    X(schemes) X(expand) X(stability) X(design) X(order) X(solve) X(plot) X(verify) \
    X(data) X(tokenize) X(bpe) X(train) X(average) X(eval) X(generate) X(export)    \
    X(finetune) X(classify) X(translate) X(score) X(bleu) X(compare) X(sweep)       \
    X(table_of_runs) X(truncation) X(attention) X(bench) X(report) X(serve) X(manual)
/* clang-format on */
#define X(name) extern const Command command_##name;
COMMANDS(X)
#undef X

/* The same as a list, ended by NULL. */
extern const Command *const command_table[];

#endif
