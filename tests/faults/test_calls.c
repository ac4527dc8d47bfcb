/* test_calls.c: every command while one of its system calls fails, or one of its allocations. Each time the command ends
 * as it does undisturbed, with the same data and files, or with status 1 or 2 and one line. It leaves no process and no
 * temporary file, and when it is given again it ends as it does undisturbed.
 *
 * TROTTER_CALLS is the number of faults of each command, 0: all; TROTTER_FAULT_SEED draws others (`make check-faults`).
 */
#include "tests/lib/test.h"

#include <errno.h>
#include <sys/syscall.h>

#include "kernels/random.h"
#include "tests/lib/command_rows.h"

enum { FEW = 6, SHORT = 1, SECONDS = 30 };

static size_t most = FEW;
static uint64_t seed = 1;

/* How a call fails: by an errno, or by fewer bytes than asked. Those of which `retried` is 1 are to be tried again. */
static const struct {
    long number;
    int error, retried;
} ways[] = {
    {SYS_openat, EMFILE},
    {SYS_openat, EIO},
    {SYS_read, EIO},
    {SYS_read, EINTR},
    {SYS_read, SHORT, 1},
    {SYS_write, SHORT, 1},
    {SYS_write, EINTR},
    {SYS_write, ENOSPC},
    {SYS_write, EIO},
    {SYS_write, EDQUOT},
    {SYS_pwrite64, EIO},
    {SYS_lseek, EINVAL},
    {SYS_fsync, EIO},
    {SYS_truncate, EIO},
    {SYS_rename, EIO},
    {SYS_unlink, EACCES},
    {SYS_link, EPERM},
    {SYS_mkdir, ENOSPC},
    {SYS_close, EIO},
    {SYS_fcntl, ENOLCK},
    {SYS_newfstatat, EIO},
    {SYS_getdents64, EIO},
    {SYS_access, EACCES},
    {SYS_readlink, EIO},
    {SYS_mmap, ENOMEM},
    {SYS_mremap, ENOMEM},
    {SYS_brk, ENOMEM},
    {SYS_clone, EAGAIN},
    {SYS_clone3, EAGAIN},
    {SYS_vfork, EAGAIN},
    {SYS_fork, EAGAIN},
    {SYS_execve, ENOMEM},
    {SYS_wait4, EINTR},
    {SYS_pipe2, EMFILE},
    {SYS_dup2, EBUSY},
    {SYS_chdir, EIO},
    {SYS_getrandom, EAGAIN},
    {SYS_rt_sigaction, EINVAL},
    {SYS_clock_nanosleep, EINTR},
    {SYS_utimensat, EIO},
    {SYS_sched_getaffinity, EINVAL},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* ---- a stop before the training begins -------------------------------------------------------------- */

static void trace(Traced *t, const char *line)
{
    if (command_rows_trace(t, line) == 0) return;
    printf("# SKIP no process can be traced here\n");
    skip();
}

static pid_t study;

/* Interrupts the study while its training stands between fork and exec. */
static int interrupt_study(void *arg, Call *c)
{
    int *done = arg;
    if (c->first) study = c->pid;
    if (c->first || c->number != SYS_dup2 || *done) return TRACE_PASS;
    *done = 1;
    test_signal(study, SIGINT);
    return TRACE_HOLD;
}

TEST(a_stop_before_a_training_begins_is_not_lost)
{
    int done = 0;
    Traced t = {.meet = interrupt_study, .arg = &done, .seconds = SECONDS};
    command_rows_box();
    trace(&t, "compare --scheme euler --seeds 1 --epochs 400 --corpus text --out o" TINY_TRAIN);
    assert_true(done);
    assert_false(t.late);
    assert_int_equal(WEXITSTATUS(t.status), 130);
    assert_true(says("trotter compare: interrupted"));
    assert_false(file_exists("box/o/runs/euler-seed1/result.csv"));
}

/* ---- calls -------------------------------------------------------------------------------------------- */

typedef struct {
    size_t met[WAYS]; /* calls of each kind so far */
    int begun, way;   /* way: WAYS: none fails */
    size_t at;        /* the call that fails */
    char what[256];   /* the name of its file */
} Fault;

/* Counts from the first line of main on, which sets SIGPIPE: what is before is the dynamic linker's. */
static int fail_one(void *arg, Call *c)
{
    Fault *f = arg;
    int what = TRACE_PASS;
    if (c->first && c->number == SYS_rt_sigaction && c->arg[0] == SIGPIPE) f->begun = 1;
    for (int i = 0; f->begun && i < WAYS; i++) {
        if (ways[i].number != c->number || f->met[i]++ != f->at || i != f->way) continue;
        if (c->number == SYS_openat || c->number == SYS_newfstatat)
            traced_text(c, c->arg[1], f->what, sizeof f->what);
        else
            snprintf(f->what, sizeof f->what, "%llu", c->arg[0]);
        what = -ways[i].error;
        if (ways[i].error == SHORT && c->arg[2] > 1) c->arg[2] = (c->arg[2] + 1) / 2;
        if (c->number == SYS_brk)
            c->arg[0] = 0; /* it then returns the end as it was, its way to fail */
        if (ways[i].error == SHORT || c->number == SYS_brk) what = TRACE_PASS;
    }
    return what;
}

static int last_is_told(void)
{
    return strncmp(last_line(err), "trotter", 7) == 0;
}

/* Returns what is wrong with a run that a fault has met; NULL: nothing. */
static const char *judge(const CommandRow *row, const Traced *t, const Fault *f, int status,
                         const char *data)
{
    int got = WIFEXITED(t->status) ? WEXITSTATUS(t->status) : -1;
    if (t->late) return "it hangs";
    if (got < 0) return "it died of a signal";
    if (t->left) return "a process is left";
    int whole = got == status;
    if (whole && row->same_stdout && strcmp(out, data) != 0 && !says("warning: "))
        return "other data and no word";
    if (whole && command_rows_differ(row)) return "other files and no word";
    if (whole) return NULL;
    if (ways[f->way].retried) return "it is to be tried again";
    if (got != 1 && got != 2) return "another status";
    if (!last_is_told()) return "no line";
    int temporary =
        shell("find box -name '*.tmp-*' -o -name '.trotter-*' -o -name '*.claim' | grep -q .");
    if (temporary == 0 && ways[f->way].number != SYS_unlink) return "a temporary file is left";
    return NULL;
}

static int is_lost(const CommandRow *row, Fault *f, int status, const char *data)
{
    static char first[sizeof err];
    Traced t = {.meet = fail_one, .arg = f, .seconds = SECONDS};
    command_rows_box();
    trace(&t, row->line);
    snprintf(first, sizeof first, "%s", last_line(err));
    const char *why = judge(row, &t, f, status, data);
    if (!why && t.status != 0) {
        int again = row->again && file_exists("box/o/config.ini");
        int got =
            shell("cd box && PATH=/nowhere exec %s %s", program, again ? row->again : row->line);
        if (got != status || command_rows_differ(row)) why = "it does not go on";
    }
    if (!why) return 0;
    printf("LOST %.40s: %s %zu (%s), %s: %s: %s", row->line, traced_name(ways[f->way].number),
           f->at, f->what,
           ways[f->way].error == SHORT ? "short" : strerrorname_np(ways[f->way].error), why,
           *first ? first : "\n");
    fflush(stdout);
    return 1;
}

TEST(commands_bear_failing_calls)
{
    static char data[sizeof out];
    size_t all = 0, lost = 0;
    for (size_t i = 0; i < COMMAND_ROWS; i++) {
        const CommandRow *row = &command_rows[i];
        size_t faults = 0, tried = 0, before = lost;
        if (!command_rows_chosen(row)) continue;
        Fault whole = {.way = WAYS};
        Traced t = {.meet = fail_one, .arg = &whole, .seconds = SECONDS};
        command_rows_box();
        trace(&t, row->line);
        command_rows_keep(row);
        strcpy(data, out);
        for (int w = 0; w < WAYS; w++) faults += whole.met[w];
        for (int w = 0; w < WAYS; w++)
            for (size_t at = 0; at < whole.met[w]; at++) {
                if (most && random_below(seed + i, (uint64_t)w, at, faults) >= most) continue;
                lost +=
                    (size_t)is_lost(row, &(Fault){.way = w, .at = at}, WEXITSTATUS(t.status), data);
                tried++;
            }
        printf("# %-60.60s %5zu faults, %5zu tried, %zu lost\n", row->line, faults, tried,
               lost - before);
        fflush(stdout);
        all += tried;
    }
    printf("# %zu faults tried, %zu lost (seed %llu)\n", all, lost, (unsigned long long)seed);
    assert_int_equal(lost, 0);
}

static int open_all(void **state)
{
    const char *calls = getenv("TROTTER_CALLS"), *drawn = getenv("TROTTER_FAULT_SEED");
    if (calls) most = (size_t)atol(calls);
    if (drawn) seed = (uint64_t)atoll(drawn);
    return command_rows_open(state);
}

TEST_MAIN(open_all, program_close)
