/* starve.c: a library that stands before the C library (LD_PRELOAD). At the first line of main, which sets SIGPIPE, it lets
 * the program stand and copy itself (copies.h). In a copy one allocation fails: number `starve` of those that the program
 * itself, jansson and GSL ask for. It writes how many there were to ../starved, and the place of each to ../sites, 8 bytes
 * made of the addresses that called. Others, as OpenMP and the C++ of oneDNN, end a process that gets no memory, which is
 * theirs to decide; so do the constructors of CUDA's runtime, which come before. */
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <gsl/gsl_odeiv2.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/faults/copies.h"

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t n);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

/* Shared with children that are copies of the program too, as those of a server. */
enum { SITES = 1 << 18 };
static struct {
    atomic_long met;
    uint64_t site[SITES];
} * shared;
static long failing = -1;
static int sites = -1, told = -1; /* descriptors */
static __thread int within;

/* ---- allocations --------------------------------------------------------------------------------- */

/* Code whose allocations may fail. */
static struct {
    uintptr_t low, high;
} code[8];
static int codes;

static int note_code(struct dl_phdr_info *i, size_t bytes, void *arg)
{
    const char *slash = strrchr(i->dlpi_name, '/'), *name = slash ? slash + 1 : i->dlpi_name;
    int own =
        *name == '\0' || strncmp(name, "libjansson", 10) == 0 || strncmp(name, "libgsl.", 7) == 0;
    (void)bytes, (void)arg;
    for (int p = 0; own && p < i->dlpi_phnum && codes < 8; p++) {
        const ElfW(Phdr) *h = &i->dlpi_phdr[p];
        if (h->p_type != PT_LOAD || !(h->p_flags & PF_X)) continue;
        code[codes].low = i->dlpi_addr + h->p_vaddr;
        code[codes++].high = i->dlpi_addr + h->p_vaddr + h->p_memsz;
    }
    return 0;
}

/* GSL's bsimp goes on through NULL where it gets none, and tells its caller nothing. */
static uintptr_t bsimp;

static void note_site(long number)
{
    void *frame[16];
    Dl_info from;
    uint64_t h = 1;
    within = 1; /* backtrace may allocate when it begins */
    for (int i = 2, n = backtrace(frame, 16); i < n; i++)
        if (dladdr(frame[i], &from))
            h = (h ^ ((uintptr_t)frame[i] - (uintptr_t)from.dli_fbase)) * 0x9e3779b97f4a7c15u ^
                h >> 29;
    within = 0;
    if (number < SITES) shared->site[number] = h;
}

/* Tells whether the allocation is to fail. */
static int fails(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    int own = 0;
    if (failing < 0 || within) return 0;
    for (int i = 0; i < codes; i++) own |= at >= code[i].low && at < code[i].high;
    if (!own || (at > bsimp && at < bsimp + 1024)) return 0;
    long number = atomic_fetch_add(&shared->met, 1);
    if (sites >= 0) note_site(number);
    return number + 1 == failing;
}

void *malloc(size_t n)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t count, size_t n)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, n);
}

void *realloc(void *p, size_t n)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(align, n);
}

__attribute__((destructor)) static void end(void)
{
    char line[32];
    failing = -1;
    if (told < 0) return;
    long met = shared->met;
    (void)!write(told, line, (size_t)snprintf(line, sizeof line, "%ld", met));
    if (sites < 0) return;
    (void)!write(sites, shared->site, sizeof *shared->site * (size_t)(met < SITES ? met : SITES));
}

/* ---- copies --------------------------------------------------------------------------------------- */

static int made(const char *name)
{
    return open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

/* Begins a copy: its group, its box, its files, and its fault. */
static void begin(const Order *o, const char *box)
{
    char byte;
    if (setpgid(0, 0) != 0 || chdir(box) != 0) _exit(125);
    int data = made("../out.txt"), words = made("../err.txt");
    if (dup2(data, 1) < 0 || dup2(words, 2) < 0) _exit(125);
    close(data);
    close(words);
    told = o->starve || o->sites ? made("../starved") : -1;
    sites = o->sites ? made("../sites") : -1;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) _exit(125);
    const gsl_odeiv2_step_type *const *type = dlsym(RTLD_DEFAULT, "gsl_odeiv2_step_bsimp");
    bsimp = type ? (uintptr_t)(*type)->alloc : 0;
    dl_iterate_phdr(note_code, NULL);
    unsetenv("LD_PRELOAD"); /* children have all that they ask for */
    unsetenv("TROTTER_BOX");
    struct sock_fprog calls = {o->calls.count, (struct sock_filter *)o->calls.rule};
    if (o->calls.count && read(COPIES_ORDERS, &byte, 1) != 1) _exit(125);
    close(COPIES_ORDERS);
    close(COPIES_ANSWERS);
    if (o->calls.count && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
                           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &calls) != 0))
        _exit(125);
    if (told >= 0) failing = o->starve;
}

/* Tells whether processes go on a minute after their parent, a copy, has ended. */
static int are_left(void)
{
    for (int i = 0; i < 6000; i++) {
        pid_t pid;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {}
        if (pid < 0) return 0;
        usleep(10000);
    }
    return 1;
}

/* Copies this process for each order, and returns in the copy. */
static void copy(const char *box)
{
    static Order o;
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    while (read(COPIES_ORDERS, &o, sizeof o) == sizeof o) {
        Ended ended = {.status = -1};
        pid_t pid = fork();
        if (pid == 0) {
            begin(&o, box);
            return;
        }
        (void)!write(COPIES_ANSWERS, &pid, sizeof pid);
        waitpid(pid, &ended.status, 0);
        ended.left = are_left();
        (void)!write(COPIES_ANSWERS, &ended, sizeof ended);
    }
    _exit(0);
}

__sighandler_t signal(int number, __sighandler_t handler)
{
    struct sigaction before = {0};
    const char *box = getenv("TROTTER_BOX");
    if (number == SIGPIPE && box) copy(box);
    return sigaction(number, &(struct sigaction){.sa_handler = handler}, &before) == 0
               ? before.sa_handler
               : SIG_ERR;
}
