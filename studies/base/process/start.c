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
 * program starts itself again with the number in the environment, unless the user has said how threads wait. */
#include "studies/base/process/start.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "kernels/threads.h"

/* libgomp skips the blank at the end, which distinguishes this value from a user's. */
#define NAME "GOMP_SPINCOUNT"
#define SPINS "1000 "

static const char *value(char *const *environment, const char *name)
{
    size_t n = strlen(name);
    for (; *environment; environment++)
        if (strncmp(*environment, name, n) == 0 && (*environment)[n] == '=')
            return *environment + n + 1;
    return NULL;
}

/* Ends the program where there is no room for OpenBLAS, which begins with a buffer for each thread of OMP_NUM_THREADS
 * that has a processor. */
static void check_room(char *const *environment)
{
    const char *text = value(environment, "OMP_NUM_THREADS");
    long asked = text ? strtol(text, NULL, 10) : 0;
    int most = threads_processors();
    int code = threads_room(asked > 0 && asked < most ? (int)asked : most, 0);
    if (code == 0) return;
    dprintf(STDERR_FILENO, "trotter: %s\n", error_text());
    _exit(error_status(code));
}

/* Starts the program again with the number of spins. Where this fails, the program goes on as it is. The second execve
 * is for a program whose file has no name any more (runs.c); it shows another name in lists of processes. Nothing is
 * tried where the dynamic linker was called as a program (AT_BASE 0), as /proc/self/exe then names the linker. */
static void begin_anew(char **arguments, char *const *environment)
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
    execve(program, arguments, with);
    execve("/proc/self/exe", arguments, with);
}

static void start(int count, char **arguments, char **environment)
{
    (void)count;
    check_room(environment);
    if (!value(environment, NAME) && !value(environment, "OMP_WAIT_POLICY"))
        begin_anew(arguments, environment);
}

__attribute__((section(".preinit_array"), used)) static void (*const entry)(int, char **,
                                                                            char **) = start;

int start_restore(void)
{
    const char *spins = getenv(NAME);
    int own = spins && strcmp(spins, SPINS) == 0;
    if (own) unsetenv(NAME);
    return own;
}
