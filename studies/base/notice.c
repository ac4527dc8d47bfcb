/* notice.c: writes what every command says on stderr in the same form, and keeps the request to stop (command.h). */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "studies/base/command.h"

volatile int command_stop;
static const char *running = ""; /* name of the command */
static char warnings[4096];      /* those given so far */

void command_begin(const char *name)
{
    running = name;
}

int command_interrupted(void)
{
    return error_set(ERR_INTERRUPTED, "interrupted; the same command goes on from here");
}

const char *command_setting;

const char *command_program(void)
{
    static char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    return path;
}

/* Keeps the words for the record, each warning once, while there is room. */
static void keep(const char *words)
{
    size_t used = strlen(warnings);
    if (strstr(warnings, words)) return;
    snprintf(warnings + used, sizeof warnings - used, "%swarning: %s", used ? "; " : "", words);
}

const char *notice_warnings(void)
{
    return warnings;
}

static void warn(const char *format, va_list args, int kept)
{
    char words[1024];
    vsnprintf(words, sizeof words, format, args);
    if (kept) keep(words);
    progress_note("trotter %s: warning: %s", running, words);
}

void notice_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    warn(format, args, 1);
    va_end(args);
}

void notice_lacks(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    warn(format, args, 0);
    va_end(args);
}

static void write_words(const char *words)
{
    if (write(STDERR_FILENO, words, strlen(words)) < 0) return; /* there is nowhere to report it */
}

void notice_interrupted(void)
{
    write_words(isatty(STDERR_FILENO) ? "\ntrotter " : "trotter ");
    write_words(running);
    write_words(": interrupted; the work in hand is not saved\n");
}

void command_failed(int code)
{
    static int told;
    progress_clear();
    if (told++) return;
    fprintf(stderr, "trotter %s: %s\n", running, *error_text() ? error_text() : error_name(code));
}
