/* test_network.c: a study by two machines, each of which sees a network file system that breaks one promise (network.c). It
 * ends with the runs of a study by one process, or says what is wrong; lease.h says which promises are needed. */
#include "tests/lib/test.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include "tests/faults/command_rows.h"

#define STUDY \
    "compare --scheme euler,heun --out o --seeds 1 --epochs 3 --truncation 0 --corpus text" TINY_TRAIN

/* ---- whether a promise is broken, as a process sees it to which network.c belongs ------------------------ */

static int is_there(const char *name)
{
    return syscall(SYS_faccessat, AT_FDCWD, name, F_OK) == 0;
}

static int make(const char *name, int flags)
{
    return open(name, O_RDWR | O_CREAT | flags, 0666);
}

/* Tells whether another process, which looks from before `from` is renamed until after it, sees both names or neither
 * meanwhile. */
static int is_seen_once(int both)
{
    int status, begun[2], over[2];
    char byte;
    make("from", 0);
    if (both)
        syscall(SYS_unlinkat, AT_FDCWD, "to", 0);
    else
        make("to", 0);
    if (pipe(begun) != 0 || pipe(over) != 0) _exit(2);
    pid_t other = fork();
    for (int seen = 0; other == 0;) {
        int here = is_there("to");
        seen |= both ? here && is_there("from") : !here;
        if (write(begun[1], "x", 1) != 1 || seen) _exit(seen);
        if (poll(&(struct pollfd){over[0], POLLIN, 0}, 1, 1) != 0) _exit(0);
    }
    if (read(begun[0], &byte, 1) != 1) _exit(2);
    rename("from", "to");
    (void)!write(over[1], "x", 1);
    for (int i = 0; i < 2; i++) close(over[i]), close(begun[i]);
    return waitpid(other, &status, 0) == other && WIFEXITED(status) && WEXITSTATUS(status);
}

/* On a busy machine the other one may have no processor in that moment, so several moments are tried. */
static int is_seen(int both)
{
    int seen = 0;
    for (int i = 0; i < 50 && !seen; i++) seen = is_seen_once(both);
    return seen;
}

static int lets_names_be_missing(void)
{
    return is_seen(0);
}

static int keeps_old_names(void)
{
    return is_seen(1);
}

static int links_twice(void)
{
    make("own", 0);
    return link("own", "name") == 0 && link("own", "name") == 0;
}

static int opens_what_exists(void)
{
    return make("one", O_EXCL) >= 0 && make("one", O_EXCL) >= 0;
}

static int syncs_nothing(void)
{
    return fsync(-1) == 0;
}

static int locks_twice(void)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int a = make("lock", 0), b = make("lock", 0);
    return fcntl(a, F_OFD_SETLK, &l) == 0 && fcntl(b, F_OFD_SETLK, &l) == 0;
}

static int remembers(void)
{
    int before = access("new", F_OK);
    close((int)syscall(SYS_openat, AT_FDCWD, "new", O_CREAT | O_WRONLY, 0666));
    return before != 0 && access("new", F_OK) != 0;
}

/* What a study comes to, beside the networks of one process. */
enum {
    ONCE,
    TWICE /* runs may be trained by both */,
    REFUSED /* or a line says that a file is broken */
};

static const struct {
    const char *promise, *other; /* the second machine; "a": it is the first */
    int end;
    int (*is_broken)(void);
} rows[] = {
    {"none", "b", ONCE, NULL},
    {"gap", "b", ONCE, lets_names_be_missing},
    {"both", "b", ONCE, keeps_old_names},
    {"exclusive", "b", ONCE, opens_what_exists},
    {"sync", "b", ONCE, syncs_nothing},
    {"locks", "b", ONCE, locks_twice},
    {"locks", "a", REFUSED, locks_twice},
    {"stale", "b", TWICE, remembers},
    {"link", "b", REFUSED, links_twice},
};
enum { ROWS = sizeof rows / sizeof *rows };

__attribute__((constructor)) static void look(void)
{
    const char *row = getenv("TROTTER_PROMISE");
    if (row) _exit(rows[atoi(row)].is_broken());
}

TEST(each_promise_is_broken_by_its_fake_alone)
{
    for (size_t i = 1; i < ROWS; i++)
        for (int broken = 0; broken < 2; broken++) {
            shell_ok("rm -rf c; mkdir c");
            int got = shell(
                "cd c && TROTTER_PROMISE=%zu LD_PRELOAD=%s TROTTER_BREAKS=%s TROTTER_HOST=%s exec $(dirname %s)/test_network",
                i, copies_library, broken ? rows[i].promise : "none", file_path("host"),
                copies_library);
            if (got != broken) fail_msg("%s: %d, not %d", rows[i].promise, got, broken);
        }
}

/* ---- a study ---------------------------------------------------------------------------------------------- */

static pid_t start(const char *log, const char *promise, const char *host)
{
    return shell_start(
        log, "env -C box PATH=/nowhere LD_PRELOAD=%s TROTTER_BREAKS=%s TROTTER_HOST=%s %s " STUDY,
        copies_library, promise, file_path(host), program);
}

static int has_other_networks(void)
{
    int wrong = 0;
    for (int i = 0; i < 2; i++) {
        char kept[128], now[128];
        const char *scheme = i ? "heun" : "euler";
        snprintf(kept, sizeof kept, "whole/runs/%s-seed1/model.safetensors", scheme);
        snprintf(now, sizeof now, "box/o/runs/%s-seed1/model.safetensors", scheme);
        wrong |= !file_exists(now) || !same_files(kept, now);
    }
    return wrong;
}

/* Tells whether a machine came to the end, or may be refused and says so in its last line. */
static int is_told(int status, const char *log, int end)
{
    file_read(log, err, sizeof err);
    return status == 0 || (end == REFUSED && (status == 1 || status == 2) &&
                           strncmp(last_line(err), "trotter compare: ", 17) == 0);
}

/* Returns what is wrong after two machines have worked at a study; NULL: nothing. */
static const char *judge(int a, int b, int end)
{
    if (!is_told(a, "a.err", end) || !is_told(b, "b.err", end)) return last_line(err);
    if (end == REFUSED && a + b > 0) return NULL;
    if (has_other_networks()) return "other networks";
    if (end != ONCE) return NULL;
    file_read("box/o/study.log", err, sizeof err);
    if (count_words(err, ": trains ") != 2) return "a run was trained twice";
    return same_files("a.out", "b.out") ? NULL : "other tables";
}

TEST(a_study_of_two_machines_bears_broken_promises)
{
    size_t bad = 0;
    box_fill();
    assert_int_equal(shell("cd box && PATH=/nowhere exec %s " STUDY, program), 0);
    shell_ok("mv box/o whole");
    for (size_t i = 0; i < ROWS; i++) {
        shell_ok("rm -f a b");
        box_fill();
        pid_t one = start("a", rows[i].promise, "a");
        pid_t other = start("b", rows[i].promise, rows[i].other);
        int a = shell_finish(one), b = shell_finish(other);
        const char *why = judge(a, b, rows[i].end);
        printf("# %-10s status %d and %d, %s\n", rows[i].promise, a, b, why ? why : "as expected");
        bad += why != NULL;
    }
    assert_int_equal(bad, 0);
}

TEST_MAIN(command_rows_open, program_close)
