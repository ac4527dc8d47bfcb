/* terminal.h: how wide the terminal is. */
#ifndef TROTTER_TERMINAL_H
#define TROTTER_TERMINAL_H

#include <stddef.h>
#include <stdio.h>

/* Columns of the terminal that the stream writes to: COLUMNS of the environment where that is a number (POSIX), else what the
 * terminal says. 0: there is no limit, as in a file or a pipe, or the terminal does not know. */
size_t terminal_width(FILE *stream);

#endif
