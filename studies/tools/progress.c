/* progress.c: one updating line, or a line now and then. */
#include "studies/tools/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "kernels/clock.h"

static int line_left;    /* a line without its end stands on the terminal */
static double last = -1; /* time of the last line */

double progress_now(void)
{
    return clock_now();
}

void progress_time(double s, char out[32])
{
    out[0] = '\0';
    if (!isfinite(s) || s < 0 || s > 1e9) return;
    long n = lround(s);
    if (n < 60)
        snprintf(out, 32, "%ld s", n);
    else if (n < 3600)
        snprintf(out, 32, "%ld min %02ld s", n / 60, n % 60);
    else
        snprintf(out, 32, "%ld h %02ld min", n / 3600, n / 60 % 60);
}

void progress_clear(void)
{
    if (line_left) fputs("\r\033[K", stderr);
    line_left = 0;
}

void progress_show(const char *format, ...)
{
    int terminal = isatty(STDERR_FILENO);
    if (last < 0) last = progress_now(); /* what is done in no time needs no words */
    if (progress_now() - last < (terminal ? 0.2 : 10.0)) return;
    last = progress_now();
    progress_clear();
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    if (!terminal) fputc('\n', stderr);
    line_left = terminal;
    fflush(stderr);
}

void progress_note(const char *format, ...)
{
    progress_clear();
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}
