/* rerun.c: compares a run directory with the options and schemes of now. */
#include "studies/model/train/rerun.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"

int rerun_config(const OptionGroup *const *groups, const char *dir, Options **out)
{
    char path[OUTPUT_PATH];
    SCOPED(options_drop) Options *there = NULL;
    TRY(output_path(path, dir, "config.ini"));
    TRY(options_new(groups, &there));
    TRY(options_read(there, path));
    *out = there;
    there = NULL;
    return 0;
}

/* ---- going on ------------------------------------------------------------------------------------ */

static int missing(const char *dir, const char *name, const char *words)
{
    return error_set(ERR_INPUT, "%s/%s is not there: %s; without --resume one begins", dir, name,
                     words);
}

int rerun_has_state(const char *dir)
{
    return output_there(dir, "state.safetensors");
}

/* Returns the flags of options that do not decide a run. scheme.txt is compared elsewhere, and the text of the corpus with
 * what the state knows of it. Its length decides a run whose rates depend on the end. */
static unsigned may_differ(const Options *o)
{
    int ends = schedule_ends(options_choice(o, "schedule"));
    return OPTION_MAY_DIFFER | OPTION_SOURCE | (ends ? 0 : OPTION_LENGTH);
}

int rerun_deciding(const Options *o, char **text)
{
    Output f;
    TRY(output_open(&f));
    return output_take(&f, options_write(o, may_differ(o), f.f), text);
}

/* Returns ERR_INPUT where an option that decides the run differs. */
static int same_run(const Options *o, const Options *there, const char *dir)
{
    char words[OPTION_WORDS];
    if (!options_differ(o, there, may_differ(there), words)) return 0;
    return error_set(ERR_INPUT, "the run in %s goes on only with its own options (%s)", dir, words);
}

int rerun_is_new(const char *dir)
{
    return !output_there(dir, "config.ini") && !output_there(dir, "result.csv") &&
           !rerun_has_state(dir);
}

/* Compares options with those that the state was saved with: config.ini may have been written anew since. States of version
 * 0.2 have none. */
static int same_state(const Options *o, const OptionGroup *const *groups, const char *dir)
{
    char path[OUTPUT_PATH];
    SCOPED(memory_drop) char *text = NULL;
    SCOPED(options_drop) Options *there = NULL;
    TRY(output_path(path, dir, "state.safetensors"));
    int code = output_exists(path) ? train_saved_options(path, &text) : ERR_INPUT;
    if (code == ERR_INPUT) return 0; /* a damaged state is told when it is read */
    TRY(code);
    TRY(options_new(groups, &there));
    TRY(options_parse(there, path, text));
    return same_run(o, there, dir);
}

int rerun_resume(Options *o, const OptionGroup *const *groups, const char *dir)
{
    char path[OUTPUT_PATH];
    SCOPED(options_drop) Options *there = NULL;
    if (!output_there(dir, "config.ini")) return missing(dir, "config.ini", "it has the options");
    if (output_there(dir, "result.csv") && !rerun_has_state(dir))
        return missing(dir, "state.safetensors", "a finished run goes on from nothing else");
    TRY(output_path(path, dir, "config.ini"));
    TRY(options_read(o, path));
    TRY(rerun_config(groups, dir, &there));
    TRY(same_run(o, there, dir));
    return same_state(o, groups, dir);
}

/* Reads the checksum of the corpus of the run's model. ERR_INPUT where there is no model, or one that
 * cannot be read. */
static int corpus_of(const char *dir, uint64_t *checksum)
{
    char path[OUTPUT_PATH];
    SCOPED(memory_drop) char *digits = NULL;
    TRY(output_path(path, dir, "model.safetensors"));
    TRY(store_meta(path, "corpus_checksum", &digits));
    *checksum = strtoull(digits, NULL, 16);
    return 0;
}

int rerun_same_corpus(const char *dir, uint64_t checksum)
{
    uint64_t there;
    return corpus_of(dir, &there) == 0 && there == checksum;
}

/* ---- beginning anew ------------------------------------------------------------------------------ */

/* Writes "finished run", or how far a stopped one came. */
static void name_run(const char *dir, char words[64])
{
    char path[OUTPUT_PATH];
    uint64_t step;
    snprintf(words, 64, "%s run", output_there(dir, "result.csv") ? "finished" : "stopped");
    if (!output_there(dir, "result.csv") && output_path(path, dir, "state.safetensors") == 0 &&
        train_saved_step(path, &step) == 0)
        snprintf(words, 64, "stopped run (step %" PRIu64 ")", step);
}

/* Sets the error for a run of another configuration. way: advice beside the two that always hold. */
static int spare(const char *dir, const char *words, const char *way)
{
    char run[64];
    name_run(dir, run);
    return error_set(ERR_INPUT,
                     "%s holds a %s of another configuration (%s): give %sanother --out, or "
                     "remove %s first",
                     dir, run, words, way, dir);
}

/* Sets the error for a run with the same options that learned from another text of that name. */
static int spare_corpus(const Options *o, const char *dir)
{
    const char *name = options_text(o, "corpus");
    return error_set(
        ERR_INPUT,
        "%s holds a finished run of another text behind the name %s, which has changed "
        "since: give another --out, or remove %s first",
        dir, name, dir);
}

/* Sets the error for the same run, stopped, which a new training would destroy. */
static int spare_stopped(const char *dir)
{
    char run[64];
    name_run(dir, run);
    return error_set(ERR_INPUT,
                     "%s holds a %s: give --resume to go on with it, another --out, or remove %s "
                     "first",
                     dir, run, dir);
}

/* Sets *same = 1 where scheme.txt has the text of t; a text that cannot be read counts as another. */
static int same_scheme(Stacks t, const char *dir, int *same)
{
    char path[OUTPUT_PATH];
    SCOPED(memory_drop) char *now = NULL, *there = NULL;
    size_t bytes;
    TRY(output_path(path, dir, "scheme.txt"));
    TRY(network_scheme_text(t, &now));
    *same = output_read(path, &there, &bytes) == 0 && network_scheme_same(now, there);
    return 0;
}

/* Returns 1 where o asks for a longer run, in epochs alone. */
static int grows(const Options *o, const Options *there)
{
    return !schedule_ends(options_choice(o, "schedule")) &&
           options_size(there, "max-steps") == options_size(o, "max-steps") &&
           options_size(there, "epochs") < options_size(o, "epochs");
}

int rerun_options(const Options *o, const Options *there, char words[OPTION_WORDS])
{
    if (!options_differ(o, there, OPTION_SOURCE, words)) return RERUN_SAME;
    if (!options_differ(o, there, OPTION_SOURCE | OPTION_LENGTH, NULL) && grows(o, there))
        return RERUN_SHORTER;
    return RERUN_OTHER;
}

int rerun_is(const Options *o, const OptionGroup *const *groups, Stacks t, const char *dir)
{
    SCOPED(options_drop) Options *there = NULL;
    int same;
    if (same_scheme(t, dir, &same) != 0 || !same || rerun_config(groups, dir, &there) != 0)
        return RERUN_OTHER;
    return rerun_options(o, there, NULL);
}

static int compare_run(const Options *o, const Options *there, Stacks t, const char *dir,
                       int resumes)
{
    char words[OPTION_WORDS];
    int same;
    TRY(same_scheme(t, dir, &same));
    if (options_differ(o, there, OPTION_SOURCE, words)) {
        int goes_on = resumes && same && same_run(o, there, dir) == 0;
        return spare(dir, words, goes_on ? "--resume to go on with it, " : "");
    }
    if (same) return resumes && !output_there(dir, "result.csv") ? spare_stopped(dir) : 0;
    snprintf(words, sizeof words, "scheme.txt has another text of %s", t.layers->name);
    return spare(dir, words, "");
}

int rerun_refuse(const Options *o, const OptionGroup *const *groups, Stacks t, uint64_t checksum,
                 const char *dir, int resumes)
{
    SCOPED(options_drop) Options *there = NULL;
    uint64_t its;
    if (!output_there(dir, "result.csv") && !rerun_has_state(dir)) return 0;
    if (rerun_config(groups, dir, &there) != 0)
        return spare(dir, "its config.ini cannot be read", "");
    TRY(compare_run(o, there, t, dir, resumes));
    int other = output_there(dir, "result.csv") && corpus_of(dir, &its) == 0 && its != checksum;
    return other ? spare_corpus(o, dir) : 0;
}
