/* copies_run.h: makes a program stand, and runs copies of it in box/ (copies.h). It finds no gnuplot, whose calls are not
 * ours. */
#ifndef TROTTER_TESTS_COPIES_RUN_H
#define TROTTER_TESTS_COPIES_RUN_H

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/faults/copies.h"
#include "tests/lib/program.h"

/* UNTRACED: this machine does not let processes be traced, or has other registers than x86-64. */
enum { COPIES_WORDS = 64, COPIES_ROOM = 2048, COPIES_SECONDS = 30, COPIES_UNTRACED = -2 };

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
