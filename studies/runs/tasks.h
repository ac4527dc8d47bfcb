/* tasks.h: a list of trainings worked off by one process or several, for every study that trains
 * many models (compare, sweep).
 *
 * Each process goes through the list and does what nobody else has (runs.h, lease.h); what is with
 * others is looked at again until it is there, or is left to them.
 */
#ifndef TROTTER_TASKS_H
#define TROTTER_TASKS_H

#include "studies/runs/runs.h"

/* One thing to train, and what came of it. */
typedef struct {
    RunSpec spec;
    int state; /* RUN_*; RUN_OPEN at first */
    RunResult result;
    void *more; /* of the study */
} Task;

typedef struct {
    const Runs *runs;
    int wait; /* 0: leaves once what is left is with others */
    /* What is done about a task: sets its state, other than RUN_OPEN. NULL: it is trained. */
    int (*measure)(void *study, Task *t);
    void *study; /* measure's */
} Work;

/* Works off list (n); tells on stderr. ERR_INTERRUPTED after command_stop; before anything is trained ERR_INPUT
 * where runs_spare finds a run. */
int tasks_run(const Work *w, Task *list, size_t n);

/* 1 where the task has a result. */
int tasks_has_result(const Task *t);

/* 1: this process, which is the first, writes the tables; 0: another does, and words on stderr say so. */
int tasks_write_tables(int leader);

/* What a study ends with: ERR_CHECK where runs failed, or where models are no better than the frequencies of words (`word`:
 * what a token is called) and so not to be compared; worse: their names, "" where there are none. */
int tasks_verdict(size_t failed, const char *word, const char *worse);

/* DIR/config.ini, from which `trotter COMMAND --config` does the study again; written atomically. */
int tasks_save_config(const Runs *r, const char *command);

/* Takes DIR/tables.claim, so that one process at a time writes tables and plots, and has `save` write
 * them; where another is at it nothing is done, as it writes the same. */
int tasks_save_tables(const Runs *r, int (*save)(void *study), void *study);

#endif
