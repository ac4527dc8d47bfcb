/* rerun.h: a run directory that is used again: its config.ini and scheme.txt against what is asked for now. */
#ifndef TROTTER_RERUN_H
#define TROTTER_RERUN_H

#include "studies/model/network.h"

/* Sets o, of these groups, from DIR/config.ini, below the command line's rank. ERR_INPUT where there is no run (with a
 * mistyped DIR another would begin unseen), where it is finished but its state is gone, and, with both values, where
 * an option that decides the run was given otherwise. */
int rerun_resume(Options *o, const OptionGroup *const *groups, const char *dir);

/* What the run in DIR is to one of o's options and schemes t. A shorter run goes on to more epochs as if it had been asked
 * for them at once: there is none where the rates depend on the end. What cannot be read is another. */
enum { RERUN_OTHER, RERUN_SHORTER, RERUN_SAME };
int rerun_is(const Options *o, const OptionGroup *const *groups, Stacks t, const char *dir);

/* The same of two sets of options alone, which have the same groups; *name: the first that differs, but with RERUN_SAME. */
int rerun_options(const Options *o, const Options *there, const char **name);

/* 1 where the model in DIR was trained on the corpus of this corpus_checksum: it may have changed behind its name. */
int rerun_same_corpus(const char *dir, uint64_t checksum);

/* 1 where the run in DIR goes on from a state; 0: it was stopped before it saved any, and begins again. */
int rerun_has_state(const char *dir);

/* ERR_INPUT where DIR holds a run, finished (result.csv) or stopped (state.safetensors), of other options than o's, or of
 * another scheme of that name than t, or finished on another corpus than that of this corpus_checksum: training there would
 * destroy it. resumes: 1 for a command that goes on with
 * --resume alone: then a stopped run of the same options is refused too, and the words may advise --resume. */
int rerun_refuse(const Options *o, const OptionGroup *const *groups, Stacks t, uint64_t checksum,
                 const char *dir, int resumes);

#endif
