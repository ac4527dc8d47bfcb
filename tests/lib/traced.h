/* traced.h: runs a program and all that it starts under ptrace(2), and shows each of its system calls that can fail to a
 * function before the kernel sees it. The function lets the call pass, changes it, makes it fail, or ends the program
 * there. Unlike a library put in place of the C library's functions, it also sees the calls of stdio, of gnuplot and of
 * what a program does before main. A filter (seccomp) keeps the calls that nobody asks for at full speed.
 * Sources: Linux, ptrace(2); Documentation/userspace-api/seccomp_filter.rst.
 *
 * Clocks are no system calls here: Linux reads them from memory (vdso(7)).
 */
#ifndef TROTTER_TESTS_TRACED_H
#define TROTTER_TESTS_TRACED_H

#include <linux/filter.h>
#include <sys/types.h>

/* A call at its entry; changed arguments are given to the kernel, and their registers stay changed. */
typedef struct {
    pid_t pid;
    long number;
    unsigned long long arg[6];
    int first;                /* 1: the process that is watched, not one of its children */
    unsigned long long stack; /* its address, of the newest word */
} Call;

/* What becomes of the call, beside a negative number: it fails, with this errno. */
enum {
    TRACE_PASS,
    TRACE_PRETEND, /* it is not done, and returns 0 */
    TRACE_HOLD,    /* it is done after TRACE_HELD seconds, while other processes go on */
    TRACE_KILL,    /* all processes end here, as at a power cut */
};
#define TRACE_HELD 0.3
#define TRACE_LEFT 60 /* so long may what it started take to end */

typedef struct {
    int (*meet)(void *arg, Call *c);
    void *arg;
    double seconds;      /* after these the program is ended */
    _Atomic pid_t *tell; /* NULL, or where the number of the first process is written */
    int status;          /* of the first process, as waitpid gives it */
    int late;            /* 1: it did not end in time */
    int left;            /* processes that went on TRACE_LEFT seconds after the first had ended */
} Traced;

/* The calls at which the kernel stops a process: `only` one, or (0) all that are shown. */
enum { TRACED_RULES = 96 };
typedef struct {
    unsigned short count;
    struct sock_filter rule[TRACED_RULES];
} TracedFilter;
void traced_filter(TracedFilter *f, long only);

/* Shows the calls of a process, which leads its group and waits for a byte from `go`, then takes its filter and goes on. It need
 * not be a child of this one. Returns 0, or -1 where this machine does not let processes be traced. */
int traced_watch(Traced *t, pid_t pid, int go);

/* Copies a text of the process at `at` (NUL-ended, cut at `room`), or `count` bytes. Returns 0 where they are read. */
int traced_text(const Call *c, unsigned long long at, char *text, size_t room);
int traced_bytes(const Call *c, unsigned long long at, void *bytes, size_t count);

/* Returns the name of a system call, or NULL where it is not shown. */
const char *traced_name(long call);

#endif
