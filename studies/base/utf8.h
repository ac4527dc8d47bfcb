/* utf8.h: characters of texts in UTF-8, the columns that they take on a terminal, and how many it has. */
#ifndef TROTTER_UTF8_H
#define TROTTER_UTF8_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Reads the next character of a text that has not ended and steps past it. Returns the character, or U+FFFD for a byte
 * that begins none. Source: RFC 3629, section 4. */
uint32_t utf8_next(const char **text);

/* Returns the columns of the first `bytes` bytes of a text (SIZE_MAX: of all): 2 for a wide character (Unicode's East
 * Asian Width, UAX 11), 0 for a mark that combines with the character before it, 1 for all others. */
size_t utf8_columns(const char *text, size_t bytes);

/* Returns the bytes of the longest beginning of whole characters that takes no more than `columns` columns. */
size_t utf8_fit(const char *text, size_t columns);

/* Returns the columns of the terminal that the stream writes to: COLUMNS of the environment where that is a number
 * (POSIX), else what the terminal reports. 0: no limit, as in a file or a pipe, or a width that the terminal does not
 * know. */
size_t terminal_width(FILE *stream);

#endif
