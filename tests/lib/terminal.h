/* terminal.h: reads what the program writes on a terminal while it works. */
#ifndef TROTTER_TEST_TERMINAL_H
#define TROTTER_TEST_TERMINAL_H

#include <poll.h>
#include <pty.h>
#include <time.h>
#include <signal.h>

#include "tests/lib/program.h"

static char shown[1 << 16]; /* output of the last program */

/* Waits until `words` stand in `shown`, the terminal closes, or AWAIT_SECONDS are over. */
static inline int terminal_read(int terminal, const char *words)
{
    size_t n = 0;
    struct pollfd p = {.fd = terminal, .events = POLLIN};
    time_t end = time(NULL) + AWAIT_SECONDS;
    shown[0] = '\0';
    while (!strstr(shown, words) && time(NULL) < end && n < sizeof shown - 1) {
        if (poll(&p, 1, 100) <= 0) continue;
        ssize_t got = read(terminal, shown + n, sizeof shown - 1 - n);
        if (got <= 0) break;
        n += (size_t)got;
        shown[n] = '\0';
    }
    return strstr(shown, words) != NULL;
}

/* Tells whether `trotter ARGUMENTS` writes the words on a terminal. Then it kills the program. */
static inline int terminal_shows(const char *arguments, const char *words)
{
    int terminal;
    need_terminal();
    pid_t child = forkpty(&terminal, NULL, NULL, NULL);
    if (child == 0) {
        execl("/bin/sh", "sh", "-c",
              formed("cd %s && exec %s %s >/dev/null </dev/null", folder, program, arguments),
              (char *)NULL);
        _exit(127);
    }
    int seen = terminal_read(terminal, words);
    test_signal(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(terminal);
    return seen;
}

/* Runs `call` with stdout and stderr on a terminal of so many columns (0: of an unknown size) and puts its output into
 * `shown`, with '
 * ' at the ends of lines. */
static inline void terminal_run(size_t columns, void (*call)(void))
{
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    int terminal;
    char *to = shown;
    need_terminal();
    pid_t child = forkpty(&terminal, NULL, NULL, &size);
    if (child == 0) {
        call();
        fflush(NULL);
        _exit(0);
    }
    terminal_read(terminal, "\x04");
    waitpid(child, NULL, 0);
    close(terminal);
    for (const char *c = shown; *c; c++)
        if (c[0] != '\r' || c[1] != '\n') *to++ = *c;
    *to = '\0';
}

#endif
