/* terminal.h: the width of the terminal. */
#ifndef TROTTER_TERMINAL_H
#define TROTTER_TERMINAL_H

#include <stddef.h>
#include <stdio.h>

/* Returns the columns of the terminal that the stream writes to: COLUMNS of the environment where that is a number
 * (POSIX), else what the terminal reports. 0: no limit, as in a file or a pipe, or a width that the terminal does not
 * know. */
size_t terminal_width(FILE *stream);

#endif
