/* starve.c: a library that stands before the C library (LD_PRELOAD) and lets one allocation fail: number TROTTER_STARVE, from
 * 1, of those that the program itself, jansson and GSL ask for. It writes how many there were to TROTTER_STARVED. Others,
 * as OpenMP and the C++ of oneDNN, end a process that gets no memory, which is theirs to decide. */
#include <dlfcn.h>
#include <fcntl.h>
#include <gsl/gsl_odeiv2.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t n);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

static atomic_long met;
static long failing = -1;

/* Tells whether GSL's bsimp asks, which goes on through NULL where it gets none, and tells its caller nothing. */
static int of_bsimp(const char *caller)
{
    const gsl_odeiv2_step_type *const *type = dlsym(RTLD_DEFAULT, "gsl_odeiv2_step_bsimp");
    const char *begin = type ? (const char *)(uintptr_t)(*type)->alloc : NULL;
    return begin && caller > begin && caller < begin + 1024;
}

/* Tells whether the allocation is to fail. A program by its path, and not a library, has no ".so" in its name. */
static int fails(const void *caller)
{
    Dl_info from;
    if (failing < 0 || dladdr(caller, &from) == 0 || !from.dli_fname) return 0;
    const char *name = strrchr(from.dli_fname, '/');
    name = name ? name + 1 : from.dli_fname;
    if (strstr(name, ".so") && strncmp(name, "libjansson", 10) != 0 &&
        strncmp(name, "libgsl.", 7) != 0)
        return 0;
    if (of_bsimp(caller)) return 0;
    return atomic_fetch_add(&met, 1) + 1 == failing;
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

/* The first line of main, which sets SIGPIPE, begins the count: the constructors of CUDA's runtime come before. */
__sighandler_t signal(int number, __sighandler_t handler)
{
    struct sigaction before = {0};
    const char *text = getenv("TROTTER_STARVE");
    if (number == SIGPIPE && failing < 0 && text) failing = atol(text);
    unsetenv("LD_PRELOAD"); /* children have all that they ask for */
    return sigaction(number, &(struct sigaction){.sa_handler = handler}, &before) == 0
               ? before.sa_handler
               : SIG_ERR;
}

__attribute__((destructor)) static void end(void)
{
    char line[32];
    const char *name = getenv("TROTTER_STARVED");
    int fd = name && failing >= 0 ? open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    failing = -1;
    if (fd < 0) return;
    (void)!write(fd, line, (size_t)snprintf(line, sizeof line, "%ld", (long)met));
    close(fd);
}
