/* progress.c: writes one updating line, or a line now and then. */
#include "studies/tools/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernels/clock.h"
#include "kernels/tick.h"
#include "studies/tools/utf8.h"

static int terminal;     /* 1: stderr is a terminal */
static int line_left;    /* 1: a line without its end stands on it */
static double last = -1; /* time of the last line */

/* The piece of work in hand. */
static struct {
    char words[512];
    double begun, looked; /* begun: start of the work; looked: last look at the clock */
    unsigned turns, look; /* turns of its loops since that look; turns until the next */
} work;

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

static void wipe(void)
{
    if (line_left) fputs("\r\033[K", stderr);
    line_left = 0;
}

void progress_clear(void)
{
    wipe();
    tick_listener = NULL;
}

/* Shows the words of the work in hand and, behind them, how long it has taken (so_far, or ""). A line that the terminal
 * broke in two could not be wiped, so the words are cut and the last column is left to the cursor. */
static void show_work(const char *so_far)
{
    size_t width = terminal_width(stderr), bytes = strlen(work.words);
    size_t behind = utf8_columns(so_far, SIZE_MAX) + (*so_far ? 2 : 0) + 1;
    int cut = width && utf8_columns(work.words, SIZE_MAX) + behind > width;
    if (cut) bytes = utf8_fit(work.words, width > behind ? width - behind - 1 : 0);
    wipe();
    fprintf(stderr, "%.*s%s%s%s%s", (int)bytes, work.words, cut ? "…" : "", *so_far ? ", " : "",
            so_far, terminal ? "" : "\n");
    line_left = terminal;
    last = clock_now();
    fflush(stderr);
}

/* Receives the ticks of long loops. Loops with short turns look at the clock only at some turns. */
static void on_tick(void)
{
    enum { TURNS = 64 };
    const double slow = 0.01;
    char so_far[32];
    if (++work.turns < work.look) return;
    double now = clock_now();
    work.look = now - work.looked > slow ? 1 : TURNS;
    work.looked = now;
    work.turns = 0;
    if (now - last < (terminal ? 1.0 : 10.0)) return;
    progress_time(now - work.begun, so_far);
    show_work(so_far);
}

int progress_due(void)
{
    double now = clock_now();
    terminal = isatty(STDERR_FILENO);
    if (last < 0 && !terminal) last = now; /* a log has no line for what is done at once */
    return last < 0 || now - last >= (terminal ? 0.2 : 10.0);
}

void progress_show(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(work.words, sizeof work.words, format, args);
    va_end(args);
    work.begun = work.looked = clock_now();
    tick_listener = on_tick;
    if (progress_due()) show_work("");
}

void progress_note(const char *format, ...)
{
    wipe();
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}
