/* tasks.h: a list of trainings worked off by one process or several, for every study that trains
 * many models (compare, sweep).
 *
 * Each process goes through the list and does what no other process has (runs.h, lease.h). It looks again at what
 * others have until that is done, or leaves it to them.
 */
#ifndef TROTTER_TASKS_H
#define TROTTER_TASKS_H

#include "studies/runs/runs.h"

/* One training and its result. */
typedef struct {
    RunSpec spec;
    int state; /* RUN_*; RUN_OPEN at first */
    RunResult result;
    void *more; /* for the study's use */
} Task;

typedef struct {
    const Runs *runs;
    int wait; /* 0: returns once only tasks of other processes are left */
    /* Does a task in its own way: sets its state to one other than RUN_OPEN. NULL: the task is trained by trotter train. */
    int (*measure)(void *study, Task *t);
    /* Called when a task has ended; fresh 0: it had ended before. NULL: nothing */
    int (*ended)(void *study, Task *t, int fresh);
    void *study; /* argument of both */
    const char *
        config; /* the command for tasks_save_config, before anything is trained; NULL: not saved */
    int follow; /* 1: other runs of the study follow, so that it may need more rows of runs.csv (recorded_keep) */
} Work;

/* Works off list (n); reports on stderr. ERR_INTERRUPTED after command_stop; ERR_INPUT, before anything is trained,
 * where runs_spare returns it. */
int tasks_run(const Work *w, Task *list, size_t n);

/* Returns 1 where the task has a result. */
int tasks_has_result(const Task *t);

/* Returns 1 where this process is the first and so writes the tables; 0: another does, and words on stderr say so. */
int tasks_write_tables(int leader);

/* Returns the code of a study's end: ERR_CHECK where runs failed, or where models are no better than the frequencies of
 * words (`word`: the name of a token) and so cannot be compared; worse: their names, "" where there are none. */
int tasks_verdict(size_t failed, const char *word, const char *worse);

/* Takes DIR/tables.claim, so that one process at a time writes tables and plots, and calls `save` to write them. Does
 * nothing where another process is writing them, as it writes the same. */
int tasks_save_tables(const Runs *r, int (*save)(void *study), void *study);

#endif
