/* sealed.c: a filter of system calls (seccomp) is set between fork and exec and stays in force in the program. Source:
 * Linux, Documentation/userspace-api/seccomp_filter.rst. */
#include "studies/base/process/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define MACHINE AUDIT_ARCH_AARCH64
#endif

/* Refuses fork, vfork, and clone unless it starts a thread. clone3 hides its flags in memory, so it is reported
 * as unknown, and the C library uses clone. Where the kernel has no filters, the program runs without one. */
static void start_nothing(void)
{
#ifdef MACHINE
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define GIVE(what) BPF_STMT(BPF_RET | BPF_K, what)
    static struct sock_filter rule[] = {
        LOAD(arch),
        UNLESS(MACHINE, 9), /* a program of another machine has other call numbers */
        LOAD(nr),
        UNLESS(SYS_clone3, 1),
        GIVE(SECCOMP_RET_ERRNO | ENOSYS),
#ifdef SYS_fork
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fork, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_vfork, 3, 0),
#else
        BPF_STMT(BPF_MISC | BPF_TAX, 0), /* two statements that do nothing, for equal jumps */
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
#endif
        UNLESS(SYS_clone, 3),
        LOAD(args[0]), /* the lower half; these machines are little-endian */
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
        GIVE(SECCOMP_RET_ERRNO | EPERM),
        GIVE(SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rule / sizeof *rule, rule};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#endif
}

/* Turns the child into the program. It makes only system calls, as it borrows the parent's memory. */
static void become(const char *dir, int out, char *const argv[])
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++) dup2(fd == STDOUT_FILENO && out >= 0 ? out : nothing, fd);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* stopping the command meanwhile ends the program too */
    if (chdir(dir) != 0) return;
    start_nothing();
    execvp(argv[0], argv);
}

int sealed_start(const char *dir, int out, char *const argv[], pid_t *child)
{
    volatile int failed = 0;
    pid_t new = vfork(); /* fork would copy the page tables of a training's memory */
    if (new == 0) {
        become(dir, out, argv);
        failed = errno;
        _exit(127);
    }
    *child = new;
    if (new < 0 || !failed) return new < 0 ? -1 : 0;
    while (waitpid(new, NULL, 0) < 0 && errno == EINTR) continue;
    errno = failed;
    return -1;
}
