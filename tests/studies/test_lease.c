/* test_lease.c: what many processes share: claims, of which one process gets each, a living one keeps it and a dead one loses
 * it; and commands.csv, which several commands may write at once. */
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "studies/base/process/lease.h"
#include "studies/base/process/worker.h"
#include "studies/base/frame.h"
#include "studies/base/record.h"
#include "tests/lib/scratch.h"

/* ---- a file system that breaks its promises; the C library's functions below stand before its own ---------- */

static struct {
    int lost_answer; /* link makes the name and says EIO */
    int refused;     /* nobody gets a lock */
    int local;       /* everybody does, as where locks end at the machine */
} broken;

int link(const char *from, const char *to)
{
    long code = syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (code == 0 && broken.lost_answer) errno = EIO, code = -1;
    return (int)code;
}

int fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    void *arg = va_arg(args, void *);
    va_end(args);
    if (command == F_OFD_SETLK && broken.local) return 0;
    if (command == F_OFD_SETLK && broken.refused) return errno = ENOLCK, -1;
    return (int)syscall(SYS_fcntl, fd, command, arg);
}

/* Returns the time by the clock of the file system, which may be apart from this machine's. */
static time_t file_now(void)
{
    struct stat s;
    assert_int_equal(stat(file_write("now", "", 0), &s), 0);
    assert_int_equal(remove(file_path("now")), 0);
    return s.st_mtime;
}

/* Lets a claim have been silent for so many seconds. */
static void make_silent(const char *name, long seconds)
{
    time_t now = file_now();
    struct timespec then[2] = {{now - seconds, 0}, {now - seconds, 0}};
    assert_int_equal(utimensat(AT_FDCWD, file_path(name), then, 0), 0);
}

static Lease take_named(const char *name, const char *who, int expected)
{
    Lease c;
    int mine;
    if (lease_take(file_path(name), who, &c, &mine) != 0) fail_msg("%s", error_text());
    if (mine != expected) fail_msg("%s: had by %s: %d", name, who, mine);
    return c;
}

/* Another open of the file, even by this process, is another holder. */
TEST(test_one_holder)
{
    Lease a = take_named("one", "here 1", 1);
    assert_string_equal(a.left_over, "");
    take_named("one", "here 2", 0);
    lease_drop(&a);
    assert_int_equal(scratch_files(0), 0);
    Lease b = take_named("one", "here 2", 1);
    assert_string_equal(b.left_over, "");
    lease_drop(&b);
    lease_drop(&b); /* a second drop does nothing */
    assert_int_equal(scratch_files(0), 0);
}

/* Starts a child that takes the claim, says so through a pipe, and waits to be killed. */
static pid_t holder(const char *name, const char *who)
{
    int pipes[2];
    char byte;
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        Lease c;
        int mine = 0;
        if (lease_take(file_path(name), who, &c, &mine) == 0 && mine)
            (void)!write(pipes[1], "x", 1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    close(pipes[0]);
    close(pipes[1]);
    return child;
}

static void end(pid_t child)
{
    int status;
    test_signal(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
}

TEST(test_dead_holder)
{
    pid_t child = holder("dead", "here 17");
    take_named("dead", "here 2", 0); /* control: it lives */
    end(child);
    Lease c = take_named("dead", "here 2", 1);
    assert_string_equal(c.left_over, "here 17");
    take_named("dead", "here 3", 0);
    lease_drop(&c);
    assert_int_equal(scratch_files(0), 0);
}

/* A claim of another host holds until its file has been silent for long. */
TEST(test_other_host)
{
    end(holder("far", "elsewhere 17"));
    take_named("far", "here 2", 0);
    make_silent("far", LEASE_SILENCE + 5);
    Lease c = take_named("far", "here 2", 1);
    assert_string_equal(c.left_over, "elsewhere 17");
    lease_drop(&c);
    pid_t living = holder("far", "elsewhere 18"); /* silent, but its lock is there */
    make_silent("far", LEASE_SILENCE + 5);
    take_named("far", "here 2", 0);
    end(living);
    scratch_files(1);
}

/* An answer that is lost, and locks that nobody gets, are borne. */
TEST(test_lost_answers)
{
    broken.lost_answer = 1;
    Lease a = take_named("lost", "here 1", 1);
    broken.lost_answer = 0;
    take_named("lost", "elsewhere 2", 0);
    lease_drop(&a);
    broken.refused = 1;
    a = take_named("lost", "here 1", 1);
    make_silent("lost", 10 * LEASE_SILENCE);
    take_named("lost", "elsewhere 2", 0);
    lease_drop(&a);
    broken.refused = 0;
    a = take_named("lost", "elsewhere 2", 1);
    lease_drop(&a);
    assert_int_equal(scratch_files(0), 0);
}

/* Where locks end at the machine, one that is paused too long loses its claim, and on waking leaves it to its new
 * holder. */
TEST(test_woken)
{
    broken.local = 1;
    Lease a = take_named("woken", "here 1", 1);
    make_silent("woken", 60); /* a minute's pause */
    take_named("woken", "elsewhere 2", 0);
    make_silent("woken", LEASE_SILENCE + 5);
    Lease b = take_named("woken", "elsewhere 2", 1);
    make_silent("woken", LEASE_SILENCE - 60);
    a.beat -= LEASE_BEAT + 1;
    lease_keep(&a); /* no sign of life of b */
    struct stat s;
    assert_int_equal(fstat(b.fd, &s), 0);
    assert_true(s.st_mtime < file_now() - 60);
    lease_drop(&a);
    take_named("woken", "third 3", 0);
    lease_drop(&b);
    broken.local = 0;
    assert_int_equal(scratch_files(0), 0);
}

/* A sign of life makes the file new. */
TEST(test_sign_of_life)
{
    Lease c = take_named("alive", "here 1", 1);
    struct timespec old[2] = {{1000, 0}, {1000, 0}};
    struct stat s;
    assert_int_equal(futimens(c.fd, old), 0);
    lease_keep(&c); /* not due yet */
    assert_int_equal(fstat(c.fd, &s), 0);
    assert_int_equal(s.st_mtime, 1000);
    c.beat -= LEASE_BEAT + 1;
    lease_keep(&c);
    assert_int_equal(fstat(c.fd, &s), 0);
    assert_true(s.st_mtime > 1000);
    lease_drop(&c);
}

/* Lets the holder of a claim start a program that waits; once it runs, no other process has the file that it
 * has. */
static pid_t start_program(const Lease *c, int pass)
{
    int pipes[2];
    char byte;
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        if (pass) lease_pass(c);
        execlp("sleep", "sleep", "100", (char *)NULL);
        _exit(127);
    }
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &byte, 1), 0); /* closed by exec */
    close(pipes[0]);
    return child;
}

/* A program to which a claim was passed keeps it; a program that was merely started does not. Both hold for a
 * new claim and for one that was taken over. */
TEST(test_passed)
{
    for (int k = 0; k < 4; k++) {
        int left_over = k / 2, pass = k % 2;
        if (left_over) end(holder("child", "here 17"));
        Lease c = take_named("child", "here 1", 1);
        pid_t child = start_program(&c, pass);
        close(c.fd); /* as if this process had died */
        c = take_named("child", "here 2", !pass);
        end(child);
        lease_drop(&c);
        scratch_files(1);
    }
}

/* Many processes try at once, and some are killed while they hold the claim: never two have it, and the last
 * one gets it. */
TEST(test_race)
{
    enum { WORKERS = 8, ROUNDS = 40 };
    for (int w = 0; w < WORKERS; w++) {
        if (fork() != 0) continue;
        const char *who = formed("here %ld", (long)getpid());
        for (int i = 0; i < ROUNDS;) {
            Lease c;
            int mine;
            if (lease_take(file_path("race"), who, &c, &mine) != 0) _exit(1);
            if (!mine) continue;
            /* exclusive: a process that finds the file there was not alone */
            int fd = open(file_path("inside"), O_CREAT | O_EXCL | O_WRONLY, 0666);
            if (fd < 0) _exit(2);
            close(fd);
            unlink(file_path("inside"));
            if (++i == ROUNDS && w % 2) raise(SIGKILL);
            lease_drop(&c);
        }
        _exit(0);
    }
    for (int w = 0; w < WORKERS; w++) {
        int status;
        assert_true(wait(&status) > 0);
        if (!(WIFEXITED(status) && WEXITSTATUS(status) == 0) &&
            !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
            fail_msg("a worker ended with %d: two had the claim, or it failed", status);
    }
    Lease c = take_named("race", "here 1", 1);
    lease_drop(&c);
    scratch_files(1);
}

/* A link that lies where a file is made leads no write outside: for a claim, our own file beside it, the log and
 * commands.csv, whose target is missing, or is there. */
TEST(test_links)
{
    static const char *const names[] = {"claim", "claim.here-1", "claim.log", RECORD_FILE};
    for (int there = 0; there < 2; there++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            Lease c;
            int mine;
            const char *outside = "outside";
            if (there) file_text(outside, "theirs");
            assert_int_equal(symlink(outside, file_path(names[i])), 0);
            lease_take(file_path("claim"), "here 1", &c, &mine);
            assert_int_equal(mine, i != 0);
            lease_log(file_path("claim.log"), "a line");
            record_command(folder, 1, (char *[]){"a command"}, 0);
            lease_drop(&c);
            assert_int_equal(file_exists(outside), there);
            if (there) {
                char *text = file_slurp(outside, NULL);
                assert_string_equal(text, "theirs");
            }
            for (size_t k = 0; k < sizeof names / sizeof *names; k++) unlink(file_path(names[k]));
            unlink(file_path(outside));
        }
}

TEST(test_impossible)
{
    Lease c;
    int mine;
    assert_int_equal(lease_take("/nowhere/at/all", "here 1", &c, &mine), ERR_SYSTEM);
    assert_int_equal(mine, 0);
    lease_drop(&c);
}

/* Returns the devices that a child sees of `count`, of which `seen` are named (NULL: none), under a rank. */
static const char *seen_by(const char *variable, const char *rank, const char *seen, int count)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                        "SLURM_LOCALID", "CUDA_VISIBLE_DEVICES"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
    if (seen) setenv("CUDA_VISIBLE_DEVICES", seen, 1);
    if (variable) setenv(variable, rank, 1);
    worker_device(count);
    worker_device(count); /* before the next run: the same */
    const char *now = getenv("CUDA_VISIBLE_DEVICES");
    return now ? now : "all";
}

TEST(test_devices)
{
    static const char ompi[] = "OMPI_COMM_WORLD_LOCAL_RANK";
    assert_string_equal(seen_by(ompi, "0", "4,6", 2), "4");
    assert_string_equal(seen_by(ompi, "1", "4,6", 2), "6");
    assert_string_equal(seen_by(ompi, "2", "4,6", 2),
                        "4"); /* more processes than devices: in turns */
    assert_string_equal(seen_by("SLURM_LOCALID", "1", "GPU-8f,GPU-a0,GPU-1", 3), "GPU-a0");
    assert_string_equal(seen_by("MPI_LOCALRANKID", "2", NULL, 3), "2");
    assert_string_equal(seen_by(NULL, NULL, "4,6", 2), "4,6");
    assert_string_equal(seen_by(ompi, "1", "4", 1), "4");
    assert_string_equal(seen_by(ompi, "1", NULL, 1), "all");
    assert_string_equal(seen_by(ompi, "1", NULL, 0), "all");
    assert_string_equal(seen_by(ompi, "x", "4,6", 2), "4,6");
}

TEST(test_first_of_a_job)
{
    static const struct {
        const char *name[2], *value[2];
        int first;
    } row[] = {{{"OMPI_COMM_WORLD_RANK"}, {"3"}, 0},
               {{"PMI_RANK"}, {"1"}, 0},
               {{"SLURM_PROCID"}, {"2"}, 0},
               {{"OMPI_COMM_WORLD_RANK"}, {"0"}, 1},
               {{"PMI_RANK"}, {"x"}, 1},
               {{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN"}, {"5", "4"}, 0},
               {{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN"}, {"4", "4"}, 1}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        for (int k = 0; k < 2 && row[i].name[k]; k++) setenv(row[i].name[k], row[i].value[k], 1);
        if (worker_find().leader != row[i].first) fail_msg("row %zu", i);
        for (int k = 0; k < 2 && row[i].name[k]; k++) unsetenv(row[i].name[k]);
    }
}

/* ---- commands.csv -------------------------------------------------------------------------------- */

enum { WRITERS = 6, ROWS = 20 };

/* Starts a process that ends ROWS commands, one after another. */
static pid_t start_writer(int writer)
{
    pid_t pid = fork();
    if (pid != 0) return pid;
    int code = 0;
    for (int i = 0; i < ROWS && code == 0; i++) {
        char number[16], name[16];
        snprintf(name, sizeof name, "writer%d", writer);
        snprintf(number, sizeof number, "%d", i);
        code = record_command(folder, 2, (char *[]){name, number}, 0);
    }
    _exit(code != 0);
}

/* Every row of every writer is there, those of one writer in their order, under one header. */
TEST(test_every_row_stays)
{
    Frame c;
    pid_t pid[WRITERS];
    int seen[WRITERS] = {0};
    for (int w = 0; w < WRITERS; w++) assert_true((pid[w] = start_writer(w)) > 0);
    for (int w = 0; w < WRITERS; w++) {
        int status;
        assert_int_equal(waitpid(pid[w], &status, 0), pid[w]);
        assert_int_equal(status, 0);
    }
    if (frame_read(&c, file_path(RECORD_FILE)) != 0) fail_msg("%s", error_text());
    assert_int_equal(c.rows, WRITERS * ROWS);
    for (size_t i = 0; i < c.rows; i++) {
        int w, n;
        assert_int_equal(sscanf(frame_text(&c, i, "command"), "trotter writer%d %d", &w, &n), 2);
        assert_true(w >= 0 && w < WRITERS);
        assert_int_equal(seen[w]++, n);
    }
    frame_close(&c);
    assert_int_equal(scratch_files(1), 1); /* no other file is left */
}

/* A row that cannot be written leaves the earlier state: no file, or the old rows. */
TEST(test_no_room)
{
    struct rlimit old, none;
    getrlimit(RLIMIT_FSIZE, &old);
    none = (struct rlimit){0, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    for (int before = 0; before < 2; before++) {
        if (before) assert_int_equal(record_command(folder, 1, (char *[]){"before"}, 0), 0);
        setrlimit(RLIMIT_FSIZE, &none);
        int code = record_command(folder, 1, (char *[]){"after"}, 0);
        setrlimit(RLIMIT_FSIZE, &old);
        assert_int_equal(code, ERR_SYSTEM);
        assert_int_equal(file_exists(RECORD_FILE), before);
        if (!before) continue;
        char *text = file_slurp(RECORD_FILE, NULL);
        assert_true(strstr(text, "trotter before") && !strstr(text, "trotter after"));
    }
    assert_int_equal(scratch_files(1), 1);
}

TEST_MAIN(scratch_open, scratch_close)
