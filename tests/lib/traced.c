/* traced.c: see traced.h. */
#include "tests/lib/traced.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/test.h"

#ifndef __x86_64__
#error "calls are read from the registers of x86-64"
#endif

#define EACH_CALL(X)                                                                              \
    X(openat), X(openat2), X(open), X(creat), X(read), X(pread64), X(write), X(writev),           \
        X(pwrite64), X(lseek), X(fsync), X(fdatasync), X(ftruncate), X(truncate), X(rename),      \
        X(renameat), X(renameat2), X(unlink), X(unlinkat), X(link), X(linkat), X(mkdir),          \
        X(mkdirat), X(rmdir), X(close), X(fcntl), X(flock), X(newfstatat), X(getdents64),         \
        X(access), X(readlink), X(utimensat), X(mmap), X(mremap), X(brk), X(mprotect), X(fork),   \
        X(vfork), X(clone), X(clone3), X(execve), X(pipe2), X(dup2), X(wait4), X(chdir),          \
        X(clock_nanosleep), X(sched_getaffinity), X(getrandom), X(rt_sigaction), X(ioctl),        \
        X(getcwd), X(fchdir), X(prlimit64), X(close_range), X(poll), X(socket), X(bind),          \
        X(listen), X(getsockname), X(setsockopt), X(accept4), X(recvfrom), X(sendto), X(sendmsg), \
        X(epoll_create1), X(epoll_ctl), X(epoll_wait), X(dup), X(setpgid), X(kill)
#define NUMBER(call) SYS_##call
#define NAME(call) #call
static const long numbers[] = {EACH_CALL(NUMBER)};
static const char *const names[] = {EACH_CALL(NAME)};
enum { CALLS = sizeof numbers / sizeof *numbers };

const char *traced_name(long call)
{
    for (int i = 0; i < CALLS; i++)
        if (numbers[i] == call) return names[i];
    return NULL;
}

void traced_filter(TracedFilter *f, long only)
{
    struct sock_filter *rule = f->rule;
    const long *call = only ? &only : numbers;
    int n = only ? 1 : CALLS;
    _Static_assert(CALLS + 5 <= TRACED_RULES, "room for all calls");
    rule[0] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    rule[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0,
                                           (uint8_t)(n + 1));
    rule[2] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < n; i++)
        rule[3 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call[i],
                                                   (uint8_t)(n - i), 0);
    rule[3 + n] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    rule[4 + n] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    f->count = (unsigned short)(n + 5);
}

static void nothing(int number)
{
    (void)number;
}

/* Interrupts waitpid 50 times a second, or no longer. */
static void interrupt_waits(int on)
{
    const struct timeval often = {0, on ? 20000 : 0};
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = nothing}, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){often, often}, NULL);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Carries out what `meet` says of the call at which a process stands. Returns what it said. */
static int at_call(Traced *t, pid_t pid, pid_t first)
{
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, pid, NULL, &r) != 0) return TRACE_PASS; /* it was killed meanwhile */
    Call c = {pid, (long)r.orig_rax, {r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9}, pid == first, r.rsp};
    int what = t->meet(t->arg, &c);
    r.rdi = c.arg[0], r.rsi = c.arg[1], r.rdx = c.arg[2], r.r10 = c.arg[3];
    if (what < 0 || what == TRACE_PRETEND) {
        r.orig_rax = (unsigned long long)-1;
        r.rax = (unsigned long long)(what < 0 ? what : 0);
    }
    ptrace(PTRACE_SETREGS, pid, NULL, &r);
    return what;
}

/* The processes and threads that were met, and how many of them live. */
typedef struct {
    pid_t pid[1024];
    int count, living;
} Met;

static void meet(Met *m, pid_t pid)
{
    for (int i = 0; i < m->count; i++)
        if (m->pid[i] == pid || m->pid[i] == -pid) return;
    assert_true(m->count < 1024);
    m->pid[m->count++] = pid;
    m->living++;
}

static void part(Met *m, pid_t pid)
{
    for (int i = 0; i < m->count; i++)
        if (m->pid[i] == pid) m->pid[i] = -pid, m->living--;
}

static int is_birth(int event)
{
    return event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE;
}

/* Waits for all processes of the session, and ends them where it is time. */
static void watch(Traced *t, pid_t first)
{
    double end = now() + t->seconds, release = 0;
    pid_t held = 0;
    Met met = {0};
    int status, ended = 0;
    meet(&met, first);
    while (met.living > 0) {
        pid_t pid = waitpid(-1, &status, __WALL);
        if (held && now() > release) ptrace(PTRACE_CONT, held, 0, 0), held = 0;
        if (pid < 0 && errno != EINTR) return;
        if (now() > end) {
            if (ended) t->left++;
            t->late |= !ended;
            test_signal_group(first, SIGKILL);
            end = INFINITY;
        }
        if (pid < 0) continue;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            part(&met, pid);
            if (pid == first) t->status = status, ended = 1, end = now() + TRACE_LEFT;
            continue;
        }
        int event = status >> 16, signal = event ? 0 : WSTOPSIG(status);
        unsigned long born;
        meet(&met, pid);
        if (is_birth(event) && ptrace(PTRACE_GETEVENTMSG, pid, 0, &born) == 0)
            meet(&met, (pid_t)born);
        int what = event == PTRACE_EVENT_SECCOMP ? at_call(t, pid, first) : TRACE_PASS;
        if (what == TRACE_KILL) test_signal_group(first, SIGKILL);
        if (what == TRACE_HOLD)
            held = pid, release = now() + TRACE_HELD;
        else
            ptrace(PTRACE_CONT, pid, 0, signal);
    }
}

int traced_watch(Traced *t, pid_t pid, int go)
{
    int options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                  PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
    t->status = t->late = t->left = 0;
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (ptrace(PTRACE_SEIZE, pid, 0, options) != 0 || write(go, "", 1) != 1) {
        test_signal(pid, SIGKILL);
        return -1;
    }
    interrupt_waits(1);
    watch(t, pid);
    interrupt_waits(0);
    return WIFEXITED(t->status) && WEXITSTATUS(t->status) == 125 ? -1 : 0;
}

int traced_bytes(const Call *c, unsigned long long at, void *bytes, size_t count)
{
    struct iovec here = {bytes, count}, there = {(void *)(uintptr_t)at, count};
    return process_vm_readv(c->pid, &here, 1, &there, 1, 0) == (ssize_t)count ? 0 : -1;
}

int traced_text(const Call *c, unsigned long long at, char *text, size_t room)
{
    for (size_t n = 0; n + 1 < room; n++) {
        if (traced_bytes(c, at + n, text + n, 1) != 0) return -1;
        if (!text[n]) return 0;
    }
    text[room - 1] = '\0';
    return 0;
}
