/* rerun.h: a run directory that is used again: compares its config.ini and scheme.txt with the options and schemes of
 * now. */
#ifndef TROTTER_RERUN_H
#define TROTTER_RERUN_H

#include "studies/model/network.h"

/* Reads the options, of these groups, of the run or study in DIR; the caller frees them. ERR_INPUT. */
int rerun_config(const OptionGroup *const *groups, const char *dir, Options **out);

/* Returns 1 where DIR, which may be missing, has nothing of a run: no options, no result, no state. */
int rerun_is_new(const char *dir);

/* Writes the options that decide a run, as config.ini has them, for the run's state (TrainConfig.options); the caller frees
 * the text (memory_free). */
int rerun_deciding(const Options *o, char **text);

/* Sets o, of these groups, from DIR/config.ini, below the command line's rank. ERR_INPUT where a run's config.ini is gone,
 * where the run is finished but its state is gone, and, with both values, where an option that decides the run was given
 * with another value than config.ini or the run's state has. */
int rerun_resume(Options *o, const OptionGroup *const *groups, const char *dir);

/* Returns what the run in DIR is to a run with o's options and schemes t. A shorter run goes on to more epochs as if
 * they had been asked for at once; no run is shorter where the rates depend on the end. A run that cannot be read is
 * another. */
enum { RERUN_OTHER, RERUN_SHORTER, RERUN_SAME };
int rerun_is(const Options *o, const OptionGroup *const *groups, Stacks t, const char *dir);

/* Returns the same for two sets of options alone, which have the same groups; words: what differs (options_differ). */
int rerun_options(const Options *o, const Options *there, char words[OPTION_WORDS]);

/* Returns 1 where the model in DIR was trained on the corpus of this corpus_checksum; a corpus may change and keep its
 * name. */
int rerun_same_corpus(const char *dir, uint64_t checksum);

/* Returns 1 where the run in DIR goes on from a state; 0: it was stopped before it saved any, and begins again. */
int rerun_has_state(const char *dir);

/* Returns ERR_INPUT where DIR holds a run, finished (result.csv) or stopped (state.safetensors), with other options
 * than o's or another scheme of that name than t, or a finished run on another corpus than that of this
 * corpus_checksum: training there would destroy it. resumes: 1 for a command that goes on only with --resume. It then
 * refuses a stopped run of the same options too, and the words may advise --resume. */
int rerun_refuse(const Options *o, const OptionGroup *const *groups, Stacks t, uint64_t checksum,
                 const char *dir, int resumes);

#endif
