/* commands.c: the table of commands, in the order of the help. */
#include "studies/tools/command.h"

/* clang-format off */
const Command *const command_table[] = {&command_schemes,
                                        &command_expand,
                                        &command_stability,
                                        &command_design,
                                        &command_order,
                                        &command_solve,
                                        &command_plot,
                                        &command_verify,
                                        &command_data,
                                        &command_bpe,
                                        &command_train,
                                        &command_eval,
                                        &command_generate,
                                        &command_export,
                                        &command_finetune,
                                        &command_classify,
                                        &command_translate,
                                        &command_score,
                                        &command_bleu,
                                        &command_m2,
                                        &command_compare,
                                        &command_sweep,
                                        &command_table_of_runs,
                                        &command_truncation,
                                        &command_attention,
                                        &command_bench,
                                        &command_report,
                                        &command_manual,
                                        NULL};
/* clang-format on */
