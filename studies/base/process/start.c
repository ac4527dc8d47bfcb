/* start.c: runs before the constructors of all libraries, as two libraries make settings there that cannot be changed
 * later. The linker's list of such functions is .preinit_array (Source: System V ABI, "Initialization and Termination
 * Functions"). The C library is not initialised either: only system calls and string functions work here.
 *
 * Memory: OpenBLAS does not end its constructor where it gets no memory (kernels/threads.c).
 *
 * Waiting: libgomp lets a thread that waits for others spin 300,000 times, some 5 ms, before it sleeps. Where other
 * processes want the processor, spinning takes it from the threads that are waited for. Sleeping at once costs little
 * there, but much on a quiet machine, where a step waits a hundred times for a thread to wake up. 1,000 spins last
 * about as long as a wake-up, 20 us, so they cost at most about twice as much as the better choice, until waiting.c
 * sees that others want the processors. libgomp reads the number from the environment in its constructor. So the
 * program starts itself again with the number in the environment, unless the user has said how threads wait.
 *
 * Stacks: kernels keep a thread's panels on its stack (cpu_math.h), up to 400 kB in one function (cpu_bf16.h), and the main
 * thread is one of the team. A stack that is too small ends in a signal, so the limit is raised as far as the user
 * may, which holds for the stacks of a program that is started then; where it stays below STACK_LEAST one line says so. A
 * smaller OMP_STACKSIZE, and more threads than threads_held, are hidden from libgomp. */
#include "studies/base/process/start.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "kernels/threads.h"

/* libgomp skips the blank at the end, which distinguishes this value from a user's. */
#define NAME "GOMP_SPINCOUNT"
#define SPINS "1000 "

/* The most that one function takes, five times; and what Linux gives. */
enum { STACK_LEAST = 2 << 20, STACK_USUAL = 8 << 20 };

/* Returns the place of a variable in the environment, or of its end. */
static char **find(char **environment, const char *name)
{
    size_t n = strlen(name);
    while (*environment && !(strncmp(*environment, name, n) == 0 && (*environment)[n] == '='))
        environment++;
    return environment;
}

static const char *value(char **environment, const char *name)
{
    const char *all = *find(environment, name);
    return all ? all + strlen(name) + 1 : NULL;
}

static void end(int code)
{
    if (code == 0) return;
    dprintf(STDERR_FILENO, "trotter: %s\n", error_text());
    _exit(error_status(code));
}

/* Ends the program where there is no room for OpenBLAS, which begins with a buffer for each thread of OMP_NUM_THREADS
 * that has a processor. */
static void check_room(char **environment)
{
    const char *text = value(environment, "OMP_NUM_THREADS");
    long asked = text ? strtol(text, NULL, 10) : 0;
    int most = threads_processors();
    end(threads_room(asked > 0 && asked < most ? (int)asked : most, 0));
}

/* Raises the limit of stacks to the usual one, or as far as it goes: 1 where it did. Ends the program where that is too
 * little. */
static int raise_stack(void)
{
    struct rlimit now, most;
    if (getrlimit(RLIMIT_STACK, &now) != 0 || now.rlim_cur >= STACK_USUAL) return 0;
    most = now;
    most.rlim_cur = now.rlim_max < STACK_USUAL ? now.rlim_max : STACK_USUAL;
    int raised = most.rlim_cur > now.rlim_cur && setrlimit(RLIMIT_STACK, &most) == 0;
    if ((raised ? most : now).rlim_cur < STACK_LEAST)
        end(error_set(ERR_MEMORY,
                      "out of memory: the stack needs %d kB, and %llu kB are allowed (ulimit -s)",
                      STACK_LEAST >> 10, (unsigned long long)most.rlim_cur >> 10));
    return raised;
}

/* Returns the bytes of a text as libgomp reads OMP_STACKSIZE: kB, unless a letter says B, K, M or G. */
static double stack_bytes(const char *text)
{
    static const char units[] = "BKMG";
    char *rest;
    double bytes = strtod(text, &rest);
    rest += strspn(rest, " \t");
    const char *unit = *rest ? strchr(units, *rest & ~0x20) : units + 1;
    for (; unit && unit > units; unit--) bytes *= 1024;
    return bytes;
}

/* Takes a variable out of the environment until start_restore. */
static char *hidden[3];

static void hide(char **environment, const char *name)
{
    size_t n = 0;
    char **at = find(environment, name);
    while (hidden[n]) n++;
    hidden[n] = *at;
    for (; *at; at++) at[0] = at[1];
}

static void hide_unusable(char **environment)
{
    static const char *const sizes[] = {"OMP_STACKSIZE", "GOMP_STACKSIZE"};
    const char *threads = value(environment, "OMP_NUM_THREADS");
    long asked = threads ? strtol(threads, NULL, 10) : 0;
    if (asked > 0 && threads_held(asked) != asked) hide(environment, "OMP_NUM_THREADS");
    for (int i = 0; i < 2; i++) {
        const char *size = value(environment, sizes[i]);
        if (size && stack_bytes(size) < STACK_LEAST) hide(environment, sizes[i]);
    }
}

/* Starts the program again, with the number of spins if `spin`. Where this fails, the program goes on as it is. The second execve
 * is for a program whose file has no name any more (runs.c); it shows another name in lists of processes. Nothing is
 * tried where the dynamic linker was called as a program (AT_BASE 0), as /proc/self/exe then names the linker. */
static void begin_anew(char **arguments, char **environment, int spin)
{
    char program[PATH_MAX];
    size_t n = 0;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0 || getauxval(AT_BASE) == 0) return;
    program[length] = '\0';
    while (environment[n]) n++;
    char *with[n + 2], spins[] = NAME "=" SPINS;
    memcpy(with + 1, environment, (n + 1) * sizeof *with);
    with[0] = spins;
    execve(program, arguments, with + !spin);
    execve("/proc/self/exe", arguments, with + !spin);
}

static void start(int count, char **arguments, char **environment)
{
    (void)count;
    check_room(environment);
    int raised = raise_stack(),
        spin = !value(environment, NAME) && !value(environment, "OMP_WAIT_POLICY");
    if (raised || spin) begin_anew(arguments, environment, spin);
    hide_unusable(environment);
}

__attribute__((section(".preinit_array"), used)) static void (*const entry)(int, char **,
                                                                            char **) = start;

const char *start_restore(void)
{
    const char *spins = getenv(NAME);
    int own = spins && strcmp(spins, SPINS) == 0;
    if (own) unsetenv(NAME);
    for (int i = 0; i < 3 && hidden[i]; i++) putenv(hidden[i]);
    return own ? NAME "=" SPINS : NULL;
}
