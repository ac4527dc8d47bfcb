/* copies_run.h: makes a program stand, and runs copies of it (copies.h) in the folder box/, which it makes what in/ is and
 * whose contents it tells. The program finds no gnuplot, whose calls are not ours. */
#ifndef TROTTER_TESTS_COPIES_RUN_H
#define TROTTER_TESTS_COPIES_RUN_H

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/hash.h"
#include "tests/faults/copies.h"
#include "tests/lib/program.h"

/* ---- box/: a file of the same size and time as in in/ is taken for the same, so that little is read and copied after a run
 * that changed little ---- */

/* Writes the next name of a folder and returns 1; 0: none is left. */
static inline int box_next(DIR *d, const char *of, char path[PATH_MAX], const char **name)
{
    struct dirent *e = d ? readdir(d) : NULL;
    if (!e) return 0;
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
        return box_next(d, of, path, name);
    *name = e->d_name;
    return snprintf(path, PATH_MAX, "%s/%s", of, e->d_name) > 0;
}

static inline int box_same(const struct stat *a, const struct stat *b)
{
    return S_ISREG(a->st_mode) && S_ISREG(b->st_mode) && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static inline void box_remove(const char *path)
{
    char inside[PATH_MAX];
    const char *name;
    DIR *d = opendir(path);
    while (box_next(d, path, inside, &name)) box_remove(inside);
    if (d) closedir(d);
    assert_int_equal(remove(path), 0);
}

static inline void box_copy_file(const char *from, const char *to, const struct stat *s)
{
    const struct timespec times[] = {s->st_atim, s->st_mtim};
    char part[1 << 14];
    ssize_t n;
    int in = open(from, O_RDONLY | O_CLOEXEC),
        copy = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    while ((n = read(in, part, sizeof part)) > 0) assert_int_equal(write(copy, part, (size_t)n), n);
    assert_int_equal(futimens(copy, times), 0);
    close(in);
    close(copy);
}

/* Makes a folder what another is. */
static inline void box_mend(const char *box, const char *in)
{
    char path[PATH_MAX], other[PATH_MAX];
    const char *name;
    struct stat s, t;
    DIR *d = opendir(box);
    if (!d) assert_int_equal(mkdir(box, 0777), 0);
    while (box_next(d, box, path, &name)) {
        snprintf(other, sizeof other, "%.2000s/%.2000s", in, name);
        int both = lstat(path, &s) == 0 && lstat(other, &t) == 0;
        if (!both || !(box_same(&s, &t) || (S_ISDIR(s.st_mode) && S_ISDIR(t.st_mode))))
            box_remove(path);
    }
    if (d) closedir(d);
    d = opendir(in);
    while (box_next(d, in, other, &name)) {
        snprintf(path, sizeof path, "%.2000s/%.2000s", box, name);
        assert_int_equal(lstat(other, &t), 0);
        if (S_ISDIR(t.st_mode))
            box_mend(path, other);
        else if (lstat(path, &s) != 0)
            box_copy_file(other, path, &t);
    }
    if (d) closedir(d);
}

static inline void box_fill(void)
{
    box_mend(file_path("box"), file_path("in"));
}

static inline uint64_t box_hash_file(const char *path)
{
    char part[1 << 14];
    uint64_t h = HASH_START;
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while ((n = read(fd, part, sizeof part)) > 0) h = hash_bytes(h, part, (size_t)n);
    close(fd);
    return h;
}

/* Returns a number that tells a folder from others; *temporary counts the files that a run should have removed. */
static inline uint64_t box_hash(const char *box, const char *in, int *temporary)
{
    char path[PATH_MAX], other[PATH_MAX];
    const char *name;
    struct stat s, t;
    uint64_t sum = 1;
    DIR *d = opendir(box);
    while (box_next(d, box, path, &name)) {
        const char *end = strrchr(name, '.');
        *temporary += strstr(name, ".tmp-") || strncmp(name, ".trotter-", 9) == 0 ||
                      (end && strcmp(end, ".claim") == 0);
        snprintf(other, sizeof other, "%.2000s/%.2000s", in, name);
        int there = lstat(path, &s) == 0, known = lstat(other, &t) == 0;
        uint64_t of = !there                      ? 0
                      : S_ISDIR(s.st_mode)        ? box_hash(path, other, temporary)
                      : known && box_same(&s, &t) ? 1
                                                  : box_hash_file(path);
        sum += hash_bytes(hash_bytes(HASH_START, name, strlen(name)), &of, sizeof of);
    }
    if (d) closedir(d);
    return sum;
}

/* ---- copies ---- */

/* UNTRACED: this machine does not let processes be traced, or has other registers than x86-64. */
enum {
    COPIES_WORDS = 64,
    COPIES_ROOM = 2048,
    COPIES_SECONDS = AWAIT_SECONDS,
    COPIES_UNTRACED = -2
};

static char copies_library[PATH_MAX]; /* starve.so, beside this program */

static inline int copies_open(void)
{
    ssize_t n = readlink("/proc/self/exe", copies_library, sizeof copies_library - 16);
    if (n < 0) return -1;
    copies_library[n] = '\0';
    strcpy(strrchr(copies_library, '/'), "/starve.so");
    return 0;
}

/* Parts a line of the program into its words, which lie in `room`. Values may stand in "". */
static inline void copies_words(const char *line, char room[COPIES_ROOM], char *argv[COPIES_WORDS])
{
    int argc = 0;
    argv[argc++] = program;
    snprintf(room, COPIES_ROOM, "%s", line);
    for (char *at = room; *(at += strspn(at, " ")) && argc < COPIES_WORDS - 1;) {
        char end[] = {*at == '"' ? '"' : ' ', '\0'};
        at += *at == '"';
        argv[argc++] = at;
        at += strcspn(at, end);
        if (*at) *at++ = '\0';
    }
    argv[argc] = NULL;
}

static inline void copies_stand(Copies *c, const char *line)
{
    char room[COPIES_ROOM], *argv[COPIES_WORDS];
    int orders[2], answers[2];
    copies_words(line, room, argv);
    assert_true(pipe2(orders, O_CLOEXEC) == 0 && pipe2(answers, O_CLOEXEC) == 0);
    c->pid = fork();
    if (c->pid == 0) {
        signal(SIGINT, SIG_DFL); /* a shell's background ignores SIGINT */
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        setenv("TROTTER_BOX", file_path("box"), 1);
        setenv("LD_PRELOAD", copies_library, 1);
        setenv("PATH", "/nowhere", 1); /* no gnuplot: its calls are not ours */
        int none = open("/dev/null", O_RDONLY);
        if (dup2(none, 0) == 0 && dup2(orders[0], COPIES_ORDERS) > 0 &&
            dup2(answers[1], COPIES_ANSWERS) > 0 && close(none) == 0)
            execv(program, argv);
        _exit(127);
    }
    close(orders[0]);
    close(answers[1]);
    c->orders = orders[1];
    c->answers = answers[0];
}

static inline void copies_leave(Copies *c)
{
    if (!c->pid) return;
    close(c->orders);
    close(c->answers);
    waitpid(c->pid, NULL, 0);
    c->pid = 0;
}

static inline void copies_wait(const Copies *c, void *answer, size_t bytes)
{
    if (read(c->answers, answer, bytes) != (ssize_t)bytes) fail_msg("no copy of the program");
}

/* Runs a copy, traced where the order has calls; out and err have its words. Returns its exit status, -1 where it died of a
 * signal, or COPIES_UNTRACED. */
static inline int copies_run(const Copies *c, const Order *o, Traced *t)
{
    pid_t pid;
    Ended ended;
    int code = 0;
    if (write(c->orders, o, sizeof *o) != sizeof *o) fail_msg("no copy of the program");
    copies_wait(c, &pid, sizeof pid);
    if (t->tell) *t->tell = pid;
    struct pollfd ends = {c->answers, POLLIN, 0};
    if (o->calls.count)
        code = traced_watch(t, pid, c->orders);
    else if ((t->late = poll(&ends, 1, 1000 * COPIES_SECONDS) == 0))
        test_signal_group(pid, SIGKILL);
    copies_wait(c, &ended, sizeof ended);
    t->left |= ended.left;
    if (code != 0) return COPIES_UNTRACED;
    file_read("out.txt", out, sizeof out);
    file_read("err.txt", err, sizeof err);
    return WIFEXITED(ended.status) ? WEXITSTATUS(ended.status) : -1;
}

/* Runs a line with all its calls shown. */
static inline int copies_trace(Traced *t, const char *line)
{
    Copies c;
    Order o = {0};
    traced_filter(&o.calls, 0);
    copies_stand(&c, line);
    int status = copies_run(&c, &o, t);
    copies_leave(&c);
    return status;
}

#endif
