/* test_calls.c: every command while one of its system calls fails. */
#include "tests/lib/test.h"

#include <errno.h>
#include <sys/syscall.h>

#include "tests/lib/command_rows.h"
#include "tests/lib/traced.h"

static void skip_untraced(void)
{
    printf("# SKIP no process can be traced here\n");
    skip();
}

/* ---- a stop before the training begins -------------------------------------------------------------- */

static pid_t study;

/* Interrupts the study while its training stands between fork and exec. */
static int interrupt_study(void *arg, Call *c)
{
    int *done = arg;
    if (c->first) study = c->pid;
    if (c->first || c->number != SYS_dup2 || *done) return TRACE_PASS;
    *done = 1;
    kill(study, SIGINT);
    return TRACE_HOLD;
}

TEST(a_stop_before_a_training_begins_is_not_lost)
{
    int done = 0;
    Traced t = {.meet = interrupt_study, .arg = &done, .seconds = 20};
    command_rows_box();
    if (command_rows_trace(
            &t, "compare --scheme euler --seeds 1 --epochs 400 --corpus text --out o" TINY_TRAIN) !=
        0)
        skip_untraced();
    assert_true(done);
    assert_false(t.late);
    assert_int_equal(WEXITSTATUS(t.status), 130);
    assert_true(says("trotter compare: interrupted"));
    assert_false(file_exists("box/o/runs/euler-seed1/result.csv"));
}

static int open_all(void **state)
{
    return command_rows_open(state);
}
TEST_MAIN(open_all, program_close)
