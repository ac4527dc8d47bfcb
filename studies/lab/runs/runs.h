/* runs.h: many trainings, each by `trotter train` in a separate process.
 *
 * A run of compare is a run of train: its directory DIR/runs/SCHEME-seedN holds its config.ini, log, weights and
 * result, and the same command given again reads finished runs and goes on with stopped ones. Each run is a process, so
 * that peak memory is that run's own and a run that fails harms no other.
 *
 * Several processes may work at the same directory: a run is claimed (lease.h) before it is trained, so it is trained
 * once. The claim passes to the child, and a child whose parent dies saves its state and ends, so that another process
 * goes on from there. DIR/study.log records who did what.
 */
#ifndef TROTTER_RUNS_H
#define TROTTER_RUNS_H

#include "nn/nn.h"
#include "ode/scheme/table.h"
#include "studies/base/frame.h"
#include "studies/base/option.h"
#include "studies/base/output.h"
#include "studies/model/network.h"
#include "studies/model/train/result.h"

/* Many runs that share options, corpus and directory; all borrowed. */
typedef struct {
    const Options *options;
    const Corpus *corpus;
    const char *dir, *who;
    /* set by runs_open */
    uint64_t checksum;     /* corpus_checksum */
    struct timespec begun; /* by the clock of the file system */
} Runs;

/* A run as a list of options of `trotter train` with their values, as written; a design is the same list without a seed. All that a run
 * is made, named, found and told from others by is read off this list. */
enum { SPEC_OPTIONS = 16, SPEC_TEXT = TABLE_NAME };
/* Each design has the first: its scheme (of pairs encoder and decoder), layers, seed, untested. What a study varies stands in the
 * design's name. What was chosen for a design (--tune) stands in the names of the runs for that choice alone. */
enum { SPEC_OWN, SPEC_VARIED, SPEC_CHOSEN };
typedef struct {
    size_t count;
    struct {
        const char *name; /* borrowed: of a table that stays */
        int role;
        char text[SPEC_TEXT];
    } option[SPEC_OPTIONS];
} Spec;

/* Returns the value of an option; NULL: the list has none, so that the study's holds. */
const char *spec_text(const Spec *s, const char *name);
/* Returns the value of an option that is a whole number; 0 where the list has none. */
size_t spec_size(const Spec *s, const char *name);
/* Set an option, which has room (asserted), to a text or a whole number. */
void spec_set(Spec *s, int role, const char *name, const char *text);
void spec_put(Spec *s, const char *name, unsigned long long value); /* SPEC_OWN */
/* Returns 1 where two lists have the same options of a role (below 0: of all), with the same values, in the same order. */
int spec_same(const Spec *a, const Spec *b, int role);
/* Writes the options of a role with their values, `between` before each value and `before` before each option:
 * "-rate3e-4-dropout0.1". */
void spec_print(const Spec *s, int role, const char *before, const char *between, char *out,
                size_t room);

/* The options that --tune chooses, in the order in which they stand in names, up to NULL. The values of each are the parts
 * of --tune-NAME. */
extern const char *const runs_tuned[];
/* Writes the i-th value from which --tune chooses an option; returns 0 past the end, so for i = 0 where it does not. */
int runs_part(const Options *o, const char *name, size_t i, char part[32]);
/* Returns 1 where --tune chooses this option. */
int runs_tunes(const Options *o, const char *name);

/* Checks an option of train by its name, and with text (else NULL) that value. ERR_INPUT with words that begin by `where`. */
int runs_option(const char *where, const char *name, const char *text);

/* A run with what its options were compiled to. */
typedef struct {
    Spec own;
    Stacks stacks;  /* borrowed */
    size_t numbers; /* of the model; 0: not known */
} RunSpec;

enum { RUN_OPEN, RUN_BUSY /* another process has it */, RUN_THERE, RUN_TRAINED, RUN_FAILED };

/* Makes DIR/runs. A failure of a run in another process counts only after this moment. */
int runs_open(Runs *r);

/* Writes the name of a design without its depth: its scheme's (of pairs the decoder's), and behind it " OPTION=VALUE" for each
 * option that it varies. No scheme's name has a '='. */
void runs_design(const Spec *s, char out[512]);
/* Writes the name of a run, where NAME is that of the design with '-' for blanks: "NAME[-layersN]-seedN", for a choice its options stand before "-seedN", as in
 * "NAME[-layersN]-rateX-dropoutP[-epochsE]-seedN"; no two runs
 * have the same. N = 1 is left out of -layersN unless NAME itself ends in -layersN. For pairs NAME-layersN is
 * ENCODER@N+DECODER@N. */
int runs_name(const Spec *s, char out[512]);
/* Writes its directory: DIR/runs/..., for a choice DIR/tune/.... */
int runs_directory(const char *dir, const Spec *s, char out[OUTPUT_PATH]);

/* Reads the options, of these groups, of the study in DIR; NULL: there is none. The caller frees them. */
int runs_study(const OptionGroup *const *groups, const char *dir, Options **there);
/* Returns ERR_INPUT where that study's runs have other options than those of this one, and names them: each would take the
 * other's runs for foreign ones. Schemes, depths and seeds may differ, and where epochs are added the runs go on. */
int runs_same_study(const Runs *r, const Options *there);

/* Sets --warmup, where it is not given, to that of the study: its runs have it, and go on with it where epochs are added. Its
 * own default depends on their number (network_warmup). */
int runs_warmup(Options *o, const Options *there);

/* Returns ERR_INPUT where the run's directory holds a run of other options, finished or stopped, which training would destroy. A run of fewer epochs is no error; the training goes on from it. */
int runs_spare(const Runs *r, const RunSpec *s);

/* Trains a run, or finds it trained, failed or taken by another process. *state out: not RUN_OPEN; with RUN_THERE and
 * RUN_TRAINED the row of the frame has the run's result (run_columns). ERR_INTERRUPTED after command_stop. */
int runs_do(const Runs *r, const RunSpec *s, Frame *out, size_t row, int *state);

/* Reads the result of a run that this or another process has finished, *there = 1; the row stays as it is where none has. */
int runs_look(const Runs *r, const RunSpec *s, Frame *out, size_t row, int *there);

/* Makes the plan of a run's network with its own options. ERR_INPUT with words. */
int runs_plan(const Options *o, const RunSpec *s, Plan **out);
/* Makes the model of a run, for evaluation. ERR_INPUT with words. */
int runs_model(const Options *o, const RunSpec *s, const Vocab *v, const Backend *b, Model **out);

/* Finds what a training would find wrong with a run, before any is begun: it builds the model and drops it. *numbers
 * (NULL: not asked): how many numbers the model has. ERR_INPUT with words. */
int runs_check(const Options *o, const RunSpec *s, const Vocab *v, const Backend *b,
               size_t *numbers);

/* Reads the log of a run; the caller frees *row (memory_free). */
int runs_log(const char *dir, const Spec *s, RunRow **row, size_t *rows);

/* Adds a line to DIR/study.log: time, who, words. */
void runs_note(const Runs *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
