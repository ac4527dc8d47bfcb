/* screen.c: see screen.h. The C library's own stream forgets why a write failed, once another call has set errno. */
#include "studies/base/screen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/plain_text.h"

static int people, error;
static char rest[4]; /* the beginning of a character whose end is not written yet */
static size_t rests;

/* Returns 0 where not all was written. */
static int put(const char *bytes, size_t count)
{
    for (ssize_t n; count > 0; bytes += n, count -= (size_t)n) {
        while ((n = write(STDOUT_FILENO, bytes, count)) < 0 && errno == EINTR) continue;
        if (n < 0 && error == 0) error = errno;
        if (n < 0) return 0;
    }
    return 1;
}

/* Writes what is harmless of the bytes; a character whose end is not there yet waits for it. */
static int put_harmless(const char *bytes, size_t count)
{
    char part[4096 + sizeof rest];
    while (count > 0) {
        size_t n = count < 4096 ? count : 4096;
        memcpy(part, rest, rests);
        memcpy(part + rests, bytes, n);
        size_t all = rests + n;
        rests = text_unended(part, all);
        memcpy(rest, part + all - rests, rests);
        if (!put(part, text_harmless(part, all - rests))) return 0;
        bytes += n;
        count -= n;
    }
    return 1;
}

static ssize_t on_write(void *cookie, const char *bytes, size_t count)
{
    (void)cookie;
    return (people ? put_harmless : put)(bytes, count) ? (ssize_t)count : 0;
}

static int on_close(void *cookie)
{
    (void)cookie;
    int cut = rests > 0 && !put("?", 1), failed = close(STDOUT_FILENO);
    if (failed && error == 0) error = errno;
    return cut || failed ? -1 : 0;
}

void screen_begin(void)
{
    int terminal = isatty(STDOUT_FILENO);
    FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = on_write, .close = on_close});
    if (!f) return; /* without memory nothing is printed */
    setvbuf(f, NULL, terminal ? _IOLBF : _IOFBF, BUFSIZ);
    people = terminal;
#ifndef __wasm__ /* a constant there, where no screen is */
    stdout = f;
#endif
}

void screen_people(void)
{
    people = 1;
}

int screen_error(void)
{
    return error;
}
