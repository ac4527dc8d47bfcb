/* utf8.h: characters of texts in UTF-8, and the columns that they take on a terminal. */
#ifndef TROTTER_UTF8_H
#define TROTTER_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Takes the next character off a text that has not ended: it, or U+FFFD for a byte that begins none. Source: RFC 3629,
 * section 4. */
uint32_t utf8_next(const char **text);

/* Columns of the first bytes of a text, with SIZE_MAX of all: 2 of a wide character (Unicode's East Asian Width, UAX 11), 0 of a
 * mark that combines with the one before it, 1 of all others. */
size_t utf8_columns(const char *text, size_t bytes);

/* Bytes of the longest beginning of whole characters that takes no more than so many columns. */
size_t utf8_fit(const char *text, size_t columns);

#endif
