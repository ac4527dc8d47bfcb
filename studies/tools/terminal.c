/* terminal.c: finds the width of the terminal (terminal.h). */
#include "studies/tools/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

size_t terminal_width(FILE *stream)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    int fd = fileno(stream);
    if (fd < 0 || !isatty(fd)) return 0;
    unsigned long n =
        columns && *columns >= '0' && *columns <= '9' ? strtoul(columns, NULL, 10) : 0;
    if (n > 0) return n;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
