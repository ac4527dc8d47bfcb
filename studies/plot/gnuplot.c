/* gnuplot.c: runs gnuplot as a process that can start no other. A filter of system calls (seccomp) is set between
 * fork and exec and stays in force in gnuplot. Source: Linux, Documentation/userspace-api/seccomp_filter.rst. */
#include "studies/plot/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels/tick.h"
#include "studies/tools/command.h"

#if defined __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define MACHINE AUDIT_ARCH_AARCH64
#endif

/* Refuses fork, vfork, and clone unless it starts a thread. clone3 hides its flags in memory, so it is reported
 * as unknown, and the C library uses clone. Where the kernel has no filters, gnuplot runs without one. */
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

/* Turns the child into gnuplot. It makes only system calls, as it borrows the parent's memory. */
static void become(const char *dir, char *const argv[])
{
    int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++) dup2(nothing, fd);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* stopping the command while it draws ends gnuplot too */
    if (chdir(dir) != 0) return;
    start_nothing();
    execvp(argv[0], argv);
}

int gnuplot_run(const char *dir, const char *script)
{
    char *argv[] = {(char *)"gnuplot", (char *)"-d", (char *)script, NULL};
    int status = -1;
    volatile int failed = 0;
    pid_t child = vfork(); /* fork would copy the page tables of a training's memory */
    if (child == 0) {
        become(dir, argv);
        failed = errno;
        _exit(127);
    }
    if (child < 0) return -1;
    for (pid_t ended = 0; ended == 0 || (ended < 0 && errno == EINTR);) {
        ended = waitpid(child, &status, WNOHANG);
        if (ended == 0) nanosleep(&(struct timespec){0, 10000000}, NULL);
        tick();
    }
    errno = failed;
    return failed ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* ---- drawing ------------------------------------------------------------------------------------- */

/* Warns of a drawing that is cut short, as on a full disk, and removes it: it lacks the last words of its format.
 * gnuplot does not check that its output arrives. Sources: SVG 1.1, section 5.1; PNG (ISO 15948), section 11.2.5. */
static void check_drawing(const char *dir, const char *name, const char *kind, const char *last)
{
    char path[OUTPUT_PATH], end[16] = "";
    if (output_path(path, dir, "%s.%s", name, kind) != 0) return;
    FILE *f = fopen(path, "rb");
    size_t n = f && fseek(f, -(long)sizeof end, SEEK_END) == 0 ? fread(end, 1, sizeof end, f) : 0;
    if (f) fclose(f);
    if (memmem(end, n, last, strlen(last))) return;
    notice_warn("%s could not be written whole; 'gnuplot %s.gp' there draws it again", path, name);
    remove(path);
}

void gnuplot_draw(const char *dir, const char *name, int pdf)
{
    char script[80], path[OUTPUT_PATH] = "";
    snprintf(script, sizeof script, "%s.gp", name);
    if (pdf && output_path(path, dir, "%s.pdf", name) == 0) remove(path);
    progress_show("drawing %s", name);
    int status = gnuplot_run(dir, script);
    progress_clear();
    if (status < 0)
        notice_lacks("gnuplot cannot be run (%s); %s/%s is written, not drawn", strerror(errno),
                     dir, script);
    if (status > 0) notice_warn("gnuplot failed; 'gnuplot %s' in %s tells why", script, dir);
    if (status != 0) return;
    check_drawing(dir, name, "svg", "</svg>");
    check_drawing(dir, name, "png", "IEND");
    if (!pdf) return;
    if (output_exists(path))
        check_drawing(dir, name, "pdf", "%%EOF");
    else
        notice_lacks("%s cannot be made: this gnuplot has no terminal pdfcairo", path);
}
