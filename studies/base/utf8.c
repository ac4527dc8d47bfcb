/* utf8.c: reads characters, their widths and a terminal's (utf8.h). */
#include "studies/base/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <unistr.h>
#include <uniwidth.h>

uint32_t utf8_next(const char **text)
{
    ucs4_t c;
    int n = u8_mbtoucr(&c, (const uint8_t *)*text, strnlen(*text, 4));
    *text += n > 0 ? n : 1;
    return n > 0 ? c : 0xfffd;
}

static size_t columns_of(uint32_t c)
{
    int n = uc_width(c, "UTF-8");
    return n < 0 ? 1 : (size_t)n;
}

size_t utf8_columns(const char *text, size_t bytes)
{
    const char *from = text;
    size_t n = 0;
    while (*text && (size_t)(text - from) < bytes) n += columns_of(utf8_next(&text));
    return n;
}

size_t utf8_fit(const char *text, size_t columns)
{
    const char *from = text, *end = text;
    size_t n = 0;
    while (*text && (n += columns_of(utf8_next(&text))) <= columns) end = text;
    return (size_t)(end - from);
}

size_t terminal_width(FILE *stream)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    int fd = stream == stdout ? STDOUT_FILENO : fileno(stream); /* stdout is screen.h's */
    if (fd < 0 || !isatty(fd)) return 0;
    unsigned long n =
        columns && *columns >= '0' && *columns <= '9' ? strtoul(columns, NULL, 10) : 0;
    if (n > 0) return n;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
