/* runs.h: many trainings, each by `trotter train` in a process of its own.
 *
 * A run of compare is a run of train: its directory DIR/runs/SCHEME-seedN holds its config.ini, log,
 * weights and result, and the same command given again reads finished runs and goes on with stopped
 * ones. A process each, so that peak memory is that run's own and one that fails harms no other.
 */
#ifndef TROTTER_RUNS_H
#define TROTTER_RUNS_H

#include "nn/nn.h"
#include "ode/table.h"
#include "studies/option.h"

typedef struct {
    double params, best_epoch, valid_ppl, test_ppl, tokens_per_s, peak_bytes; /* result.csv */
} RunResult;

/* Trains a scheme with a seed, or finds it trained; options of o that train knows are used. *skipped
 * out: 1 where nothing had to be done. ERR_INTERRUPTED after command_stop; any other failure of
 * the run itself: ERR_CHECK, its own line of words being on stderr already. */
int runs_train(const Options *o, const Table *scheme, uint64_t seed, const Corpus *c,
               const char *dir, RunResult *out, int *skipped);

/* A row of a run's log. */
typedef struct {
    double step, epoch, tokens, train_loss, valid_ppl; /* NaN where the log has none */
} RunRow;

/* The log of a run; caller frees *row (memory_free). */
int runs_log(const Table *scheme, uint64_t seed, const char *dir, RunRow **row, size_t *rows);

#endif
