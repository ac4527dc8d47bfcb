/* progress.c: writes one updating line, or a line now and then. */
#include "studies/base/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kernels/base/clock.h"
#include "kernels/base/plain_text.h"
#include "kernels/base/tick.h"
#include "studies/base/utf8.h"

static int terminal;       /* 1: stderr is a terminal */
static int line_left;      /* 1: a line without its end stands on it */
static double last = -1;   /* time of the last line */
static const char *faster; /* what makes the work less; NULL: nothing */
static double started;     /* time of progress_faster */

/* The piece of work in hand. */
static struct {
    char words[512];
    double begun, looked; /* begun: start of the work; looked: last look at the clock */
    unsigned turns, look; /* turns of its loops since that look; turns until the next */
    size_t done, all;     /* of progress_of; all 0: tick_share tells */
    double shown, share; /* time of the last line, and the share that was done then; both 0: none */
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
    work.all = 0;
}

void progress_faster(const char *how)
{
    faster = how;
    started = clock_now();
}

/* Returns the most memory that the program has had, in GB. */
static double most_memory(void)
{
    struct rusage use;
    return getrusage(RUSAGE_SELF, &use) == 0 ? (double)use.ru_maxrss * 1024 / 1e9 : 0;
}

/* Returns the seconds that the rest takes, `share` being done: as fast as all before or as since the last line, whichever is slower, since
 * parts that should take as long as one another may not, as times of a run whose steps have become short. */
static double rest(double now, double share)
{
    double each = (now - work.begun) / share;
    double late = (now - work.shown) / (share - work.share);
    if (work.shown > 0 && share > work.share) each = fmax(each, late);
    work.shown = now;
    work.share = share;
    return (1 - share) * each;
}

/* Writes what stands behind the words: how long the work has taken, how long it still takes, much memory, and what
 * makes both less. */
static void tell_time(double now, int so_far, char out[160])
{
    enum { ROOM = 160 };
    char time[32];
    double taken = now - work.begun;
    double share = work.all ? (double)work.done / (double)work.all : tick_share;
    size_t n = 0;
    progress_time(taken, time);
    if (so_far && *time) n += (size_t)snprintf(out, ROOM, ", %s", time);
    double left = share > 0 && share < 1 ? rest(now, share) : 0;
    progress_time(left, time);
    if (taken > 1 && left >= 0.5 && *time)
        n += (size_t)snprintf(out + n, ROOM - n, ", about %s left", time);
    double memory = most_memory(), age = now - started;
    if (memory > 1) n += (size_t)snprintf(out + n, ROOM - n, ", %.1f GB", memory);
    if (faster && (age >= 5 || memory > 1) && age < 25)
        n += (size_t)snprintf(out + n, ROOM - n, "; faster: %s", faster);
    out[n] = '\0';
}

/* Shows the words of the work in hand and what stands behind them (tell_time). A line that the terminal broke in two
 * could not be wiped, so the words are cut and the last column is left to the cursor. */
static void show_work(int so_far)
{
    char after[160];
    tell_time(clock_now(), so_far, after);
    size_t width = terminal_width(stderr), bytes = strlen(work.words);
    size_t behind = utf8_columns(after, SIZE_MAX) + 1;
    int cut = width && utf8_columns(work.words, SIZE_MAX) + behind > width;
    if (cut) bytes = utf8_fit(work.words, width > behind ? width - behind - 1 : 0);
    wipe();
    fprintf(stderr, "%.*s%s%s%s", (int)bytes, work.words, cut ? "…" : "", after,
            terminal ? "" : "\n");
    line_left = terminal;
    last = clock_now();
    fflush(stderr);
}

/* Returns the seconds between two lines; where stderr is no terminal, TROTTER_PROGRESS=0 in the environment lets none be
 * written: what is told then does not depend on how long the work takes. */
static double pause_between(double on_terminal)
{
    const char *wanted = getenv("TROTTER_PROGRESS");
    return terminal ? on_terminal : wanted && strcmp(wanted, "0") == 0 ? INFINITY : 10;
}

/* Receives the ticks of long loops. Loops with short turns look at the clock only at some turns, ever fewer. */
static void on_tick(void)
{
    enum { TURNS = 64 };
    const double slow = 0.01;
    if (++work.turns < work.look) return;
    double now = clock_now();
    work.look = now - work.looked > slow ? 1 : work.look < TURNS ? 2 * work.look : TURNS;
    work.looked = now;
    work.turns = 0;
    if (now - last < pause_between(1)) return;
    show_work(1);
}

int progress_due(void)
{
    double now = clock_now();
    terminal = isatty(STDERR_FILENO);
    if (last < 0 && !terminal) last = now; /* a log has no line for what is done at once */
    return last < 0 || now - last >= pause_between(0.2);
}

/* Writes words, which may have names of files and other texts of others in them. */
static void say(char *words, size_t room, const char *format, va_list args)
{
    vsnprintf(words, room, format, args);
    words[text_harmless(words, strlen(words))] = '\0';
}

/* Shows new words of the work in hand, which goes on where `begins` is 0. */
static void take_words(int begins, const char *format, va_list args)
{
    say(work.words, sizeof work.words, format, args);
    if (begins) {
        work.begun = work.looked = clock_now();
        work.shown = work.share = 0;
        work.turns = 0;
        work.look = 1;
    }
    tick_share = 0;
    tick_listener = on_tick;
    if (progress_due()) show_work(0);
}

void progress_show(const char *format, ...)
{
    va_list args;
    work.all = 0;
    va_start(args, format);
    take_words(1, format, args);
    va_end(args);
}

void progress_of(size_t done, size_t all, const char *format, ...)
{
    va_list args;
    int begins = work.all != all || done <= work.done;
    work.done = done;
    work.all = all;
    va_start(args, format);
    take_words(begins, format, args);
    va_end(args);
}

void progress_note(const char *format, ...)
{
    char words[8192];
    wipe();
    va_list args;
    va_start(args, format);
    say(words, sizeof words, format, args);
    va_end(args);
    fprintf(stderr, "%s\n", words);
}
